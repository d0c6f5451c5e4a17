/**
 * The story of echo: one conversation with servers/echo.ts from hello to goodbye, told twice.
 *
 * The legacy story opens with a handshake and shows what the two sides then remember. The modern
 * story does the same work without one: each request says for itself who asks and how. In both,
 * some requests are meant to be refused, since how a server refuses is half of the protocol.
 *
 * Run: npx tsx clients/echo.ts
 * Your own server: npx tsx clients/echo.ts -- COMMAND ARGS…
 *
 * It proves that the server speaks both eras over stdio and keeps the contract of echo. It does not
 * prove that the server withstands broken bytes (scripts/raw-cases.ts does), nor anything of HTTP.
 *
 * SPDX-License-Identifier: MIT
 */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual, parseArgs } from 'node:util';

// ---------------------------------------------------------------------------------------------
// The stories: what is said, and what must come back. Start reading here.
// ---------------------------------------------------------------------------------------------

const NAME = 'echo';

const STORIES: Stories = { legacy: [legacyStory], modern: [modernStory] };

const CLIENT_INFO = { name: 'mcp-by-hand-client', version: '1.0.0' };

/** What every modern request carries (2026-07-28/basic/index, "_meta"). */
const meta = (version: unknown) => ({
  'io.modelcontextprotocol/protocolVersion': version,
  'io.modelcontextprotocol/clientInfo': CLIENT_INFO,
  'io.modelcontextprotocol/clientCapabilities': {},
});
const META = meta('2026-07-28');

// What the server must say. It is written out here, and never learned from the server.
const SERVER_INFO = { name: 'echo-server', version: '1.0.0' };
const ECHO_OUTLINE = { type: 'object', text: 'string', required: ['text'] };
const BAD_TEXT = 'arguments.text must be a string';
const BEYOND_ASCII = 'na\u00efve \u4f60\u597d \u{1f44b}';

async function legacyStory(server: Server): Promise<void> {
  step('Shake hands: both sides say which version they speak and what they can do');
  const offer = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: CLIENT_INFO };
  const hello = await server.request('initialize', offer);
  const version = at(hello, 'result', 'protocolVersion');
  const isKnown = version === '2025-11-25' || version === '2025-06-18';
  // A client that does not speak the version it is offered leaves (2025-11-25/basic/lifecycle).
  if (!verdict('a version that this client speaks', isKnown, '2025-11-25', version)) return;
  check('serverInfo (contract of echo)', at(hello, 'result', 'serverInfo'), SERVER_INFO);
  const tools = at(hello, 'result', 'capabilities', 'tools');
  verdict('the tools capability: an object', isObject(tools), 'an object', tools);
  await server.notify('notifications/initialized');

  step('Ask whether the server is there');
  const pong = await server.request('ping');
  verdict('ping answered', isObject(at(pong, 'result')), 'a result', pong);

  step('List the tools');
  const list = await server.request('tools/list');
  check('the tool listed (contract of echo)', outline(list), ECHO_OUTLINE);
  check('one page: no nextCursor', at(list, 'result', 'nextCursor'), undefined);

  step('Call the tool');
  const echo = await server.request('tools/call', { name: 'echo', arguments: { text: 'hello' } });
  check('the text echoed', at(echo, 'result', 'content'), [textBlock('hello')]);
  check('no isError on success (contract of echo)', at(echo, 'result', 'isError'), undefined);
  const unicode = { name: 'echo', arguments: { text: BEYOND_ASCII } };
  const other = await server.request('tools/call', unicode);
  check('text beyond ASCII echoed', at(other, 'result', 'content'), [textBlock(BEYOND_ASCII)]);

  step('Call a tool that is not there: a protocol error');
  const stranger = { name: 'reverse', arguments: { text: 'hello' } };
  const lost = await server.request('tools/call', stranger, 'an unknown tool');
  check('unknown tool: -32602', at(lost, 'error', 'code'), -32602);

  step('Call the tool with a number for a text: also an error, by the contract of echo');
  const wrong = { name: 'echo', arguments: { text: 42 } };
  const bad = await server.request('tools/call', wrong, 'a text that is no string');
  check('bad argument: -32602 (contract of echo)', at(bad, 'error', 'code'), -32602);
  check('bad argument: the message (contract of echo)', at(bad, 'error', 'message'), BAD_TEXT);

  step('Ask for a method that is not there');
  const unknown = await server.request('echo/reverse', {}, 'an unknown method');
  check('unknown method: -32601', at(unknown, 'error', 'code'), -32601);
}

async function modernStory(server: Server): Promise<void> {
  step('Ask what the server speaks and offers: no handshake, and nothing is remembered');
  const discovery = await server.request('server/discover', { _meta: META });
  const isOffered = [at(discovery, 'result', 'supportedVersions')].flat().includes('2026-07-28');
  if (!verdict('2026-07-28 is offered', isOffered, 'it in supportedVersions', discovery)) return;
  const tools = at(discovery, 'result', 'capabilities', 'tools');
  verdict('the tools capability: an object', isObject(tools), 'an object', tools);
  checkModern('server/discover', discovery, 'cacheable');

  step('List the tools');
  const list = await server.request('tools/list', { _meta: META });
  check('the tool listed (contract of echo)', outline(list), ECHO_OUTLINE);
  checkModern('tools/list', list, 'cacheable');

  step('Call the tool');
  const call = { name: 'echo', arguments: { text: 'hello' } };
  const echo = await server.request('tools/call', { ...call, _meta: META });
  check('the text echoed', at(echo, 'result', 'content'), [textBlock('hello')]);
  checkModern('tools/call', echo);

  step('Speak a version that nobody speaks, then one that the server offers instead');
  const old = { ...call, _meta: meta('1999-01-01') };
  const odd = await server.request('tools/call', old, 'a version that nobody speaks');
  check('unknown version: -32022', at(odd, 'error', 'code'), -32022);
  check('data.requested', at(odd, 'error', 'data', 'requested'), '1999-01-01');
  const common = [at(odd, 'error', 'data', 'supported')].flat().find((v) => v === '2026-07-28');
  check('data.supported has a version we speak', common, '2026-07-28');
  const retry = await server.request('tools/call', { ...call, _meta: META });
  check('the retry is served', at(retry, 'result', 'content'), [textBlock('hello')]);

  step('Forget _meta, or half of it: the server has no session to fall back on');
  const bare = await server.request('tools/list', {}, 'a request without _meta');
  check('without _meta: -32602', at(bare, 'error', 'code'), -32602);
  const half = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
  const vague = await server.request('tools/list', { _meta: half }, 'no clientCapabilities');
  check('without clientCapabilities: -32602', at(vague, 'error', 'code'), -32602);

  step('Ask for ping, which the modern era took away');
  const ping = await server.request('ping', { _meta: META }, 'a method that is gone');
  check('ping: -32601', at(ping, 'error', 'code'), -32601);

  step('Call the tool with a number for a text: a result now, which the model can read');
  const wrong = { name: 'echo', arguments: { text: 42 }, _meta: META };
  const bad = await server.request('tools/call', wrong);
  check('bad argument: isError', at(bad, 'result', 'isError'), true);
  const why = at(bad, 'result', 'content', 0, 'text');
  check('bad argument: the text (contract of echo)', why, BAD_TEXT);

  step('Call a tool that is not there: still a protocol error');
  const stranger = { name: 'reverse', arguments: { text: 'hello' }, _meta: META };
  const lost = await server.request('tools/call', stranger, 'an unknown tool');
  check('unknown tool: -32602', at(lost, 'error', 'code'), -32602);
}

function textBlock(text: string): JsonObject {
  return { type: 'text', text: `echo: ${text}` };
}

/** What matters of the echo tool in a `tools/list` answer; its wording is the server's own. */
function outline(list: Answer): unknown {
  const tools = at(list, 'result', 'tools');
  const tool = Array.isArray(tools) ? tools.find((one) => at(one, 'name') === 'echo') : undefined;
  const schema = at(tool, 'inputSchema');
  const text = at(schema, 'properties', 'text', 'type');
  return { type: at(schema, 'type'), text, required: at(schema, 'required') };
}

// #region checks — the same lines in every client
/** Checks what each modern result carries, and the hints of one that a client may keep. */
function checkModern(label: string, { result }: Answer, cacheable?: 'cacheable'): void {
  const { resultType, _meta, ttlMs, cacheScope } = result ?? {};
  const info = at(_meta, 'io.modelcontextprotocol/serverInfo');
  check(`${label}: resultType`, resultType, 'complete');
  check(`${label}: serverInfo in _meta (contract of ${NAME})`, info, SERVER_INFO);
  if (!cacheable) return;
  // 2026-07-28/server/utilities/caching
  const isTtl = Number.isInteger(ttlMs) && Number(ttlMs) >= 0;
  const hasHints = isTtl && (cacheScope === 'public' || cacheScope === 'private');
  verdict(`${label}: cache hints`, hasHints, 'ttlMs >= 0, a cacheScope', { ttlMs, cacheScope });
}
// #endregion checks

// ---------------------------------------------------------------------------------------------
// Plumbing: how the conversation is held, the same in every client. Skip it on first reading.
// ---------------------------------------------------------------------------------------------

// #region conversation — one story with one server; the same lines in every client
type JsonObject = Record<string, unknown>;

/** A response whose envelope is whole: it has exactly one of the two. */
type Answer = { result?: JsonObject; error?: JsonObject };

/** The stories by name, which begins with the era; behind each, what ends the server's command. */
type Stories = Record<string, [(server: Server) => Promise<void>, ...string[]]>;

/** What a story is told to. */
type Server = Awaited<ReturnType<typeof startServer>>;

/** Starts a server and holds the conversation with it; throws if it cannot start. */
async function startServer(name: string, command: string[], options: Options) {
  const [file = '', ...args] = command;
  // On POSIX the server leads a group of processes, so that what it starts can be ended with it.
  const child = spawn(file, args, { env: options.env, detached: !IS_WINDOWS, windowsHide: true });
  child.stdin.on('error', () => {}); // a broken pipe: the end of its stdout tells the rest
  process.on('exit', () => end(child, 'SIGKILL')); // however this program ends
  await once(child, 'spawn');
  const exited = once(child, 'exit');
  const closed = once(child, 'close'); // it has exited, and all that it wrote is read
  const started = performance.now();
  const transcript: JsonObject[] = [];
  const open = new Map<unknown, (answer: Answer) => void>(); // who waits, by the request's id
  const answered = new Set<unknown>();
  const story = new AbortController(); // aborted where the rest of the story cannot be told
  const over = once(story.signal, 'abort');
  let [lastId, line, stderr, strayStdoutBytes, isClosing] = [0, '', '', 0, false];
  // Waits for Enter, if --step asks for it; a story that has ended meanwhile goes no further.
  const turn = () => options.pause()
    .then(() => (story.signal.aborted ? new Promise(() => {}) : undefined));
  const lastWords = () => `its last words on stderr: ${stderr.slice(-300).trim() || 'none'}`;

  // --- Out: what this client says ---

  function record(from: 'client' | 'server', line: string, expectsRefusal: string | null): void {
    transcript.push({ from, atMs: Math.round(performance.now() - started), expectsRefusal, line });
    say(`${from === 'client' ? '-->' : '<--'} ${line}`);
  }

  function send(message: JsonObject, expectsRefusal: string | null = null): void {
    if (isClosing) return; // its stdin has ended
    const text = JSON.stringify({ jsonrpc: '2.0', ...message });
    record('client', text, expectsRefusal);
    child.stdin.write(`${text}\n`);
  }

  /** Sends a request and waits for its answer; `refused` says why it is meant to be refused. */
  async function request(method: string, params?: JsonObject, refused?: string): Promise<Answer> {
    await turn();
    const id = ++lastId;
    const wait = id === 1 ? 3 * options.timeout : options.timeout; // the first includes the start
    setTimeout(() => expire(id, method, wait), wait).unref();
    return new Promise<Answer>((resolve) => {
      open.set(id, resolve);
      send({ id, method, params }, refused);
    });
  }

  /** Sends a notification, which nobody answers. */
  async function notify(method: string): Promise<void> {
    await turn();
    send({ method });
  }

  // --- In: what the server says ---

  // Lines are cut at byte 10 alone; setEncoding keeps a character whole that two reads split.
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    for (const [index, piece] of text.split('\n').entries()) {
      if (index > 0 && line.trim() !== '') take(line.replace(/\r$/, ''));
      line = index > 0 ? piece : line + piece;
    }
    if (line.length <= 64 * 1024 * 1024) return;
    envelope('response line', false, 'a line of 64 Mi characters at most', line);
    child.stdout.destroy();
  });

  child.stderr.setEncoding('utf8').on('data', (text: string) => { stderr += text; });
  // stderr is for people: node:readline may cut it, since no message depends on it.
  createInterface({ input: child.stderr }).on('line', (text) => say(`    | ${text}`));

  function take(text: string): void {
    record('server', text, null);
    const message = parse(text);
    if (message === undefined) strayStdoutBytes += Buffer.byteLength(text) + 1;
    // Of a story that has ended nothing more is judged: one fault, one FAIL. A late reply is none.
    if (story.signal.aborted) return say('      (that came after the story had ended)');
    if (!envelope('response JSON', message !== undefined, 'a line of JSON', text)) return;
    const isSound = isObject(message) && !isDeeper(message, 500);
    if (!envelope('response object', isSound, 'a JSON object, 500 deep at most', text)) return;
    const { jsonrpc, id, method, result, error } = message as JsonObject;
    const isAnswer = result !== undefined || error !== undefined || typeof method !== 'string';
    if (!isAnswer) return id === undefined ? undefined : asked(id, method);
    if (answered.has(id)) return void verdict(`second answer ${id}`, false, 'one answer', text);
    const isError = Number.isInteger(at(error, 'code')) && typeof at(error, 'message') === 'string';
    const type = name.startsWith('legacy') ? 'complete' : at(result, 'resultType');
    const isType = type === 'complete' || type === 'input_required';
    const isWhole =
      envelope('response jsonrpc', jsonrpc === '2.0', '"2.0"', jsonrpc) &&
      envelope('response identity', open.has(id), `an id of [${[...open.keys()]}]`, text) &&
      envelope('result xor error', (result === undefined) !== (error === undefined), 'one', text) &&
      (error === undefined
        ? envelope('result object', isObject(result), 'an object', result) &&
          envelope('result type', isType, 'complete or input_required', type)
        : envelope('error shape', isError, 'an integer code and a string message', error));
    if (!isWhole) return;
    open.get(id)?.(message as Answer);
    open.delete(id);
    answered.add(id);
  }

  // A request of the server's own. Only the legacy era has such: the modern stdio page (2026-07-28/
  // basic/transports/stdio, "Receiving Messages") forbids the server to write them.
  function asked(id: unknown, method: unknown): void {
    if (name.startsWith('modern')) verdict('no request from the server', false, 'none', method);
    else if (method === 'ping') send({ id, result: {} });
    else send({ id, error: { code: -32601, message: `Method not found: ${method}` } });
  }

  // --- When it goes wrong ---

  // Checks one part of an answer's envelope; its name ends in the number of the request that waits.
  // A PASS is counted and not printed. After a FAIL the story is over: that request gets no answer.
  function envelope(name: string, holds: boolean, expected: string, came: unknown): boolean {
    verdict(`${name} ${[...open.keys()][0] ?? lastId}`, holds, expected, came, true);
    if (holds || open.size === 0) return holds;
    open.clear();
    story.abort();
    return false;
  }

  function expire(id: number, method: string, wait: number): void {
    if (!open.has(id)) return; // it was answered, or its story has ended
    // 2025-11-25/basic/utilities/cancellation: initialize must not be cancelled.
    const params = { requestId: id };
    if (method !== 'initialize') send({ method: 'notifications/cancelled', params });
    const came = `nothing within ${wait} ms; ${lastWords()}`;
    envelope('response in time', false, `an answer to ${method}`, came);
  }

  // Its output ends when it exits; 0.3 s later we know how, even if what it started lives on.
  child.stdout.once('close', () => setTimeout(() => {
    const came = `nothing; exit: ${child.exitCode ?? child.signalCode ?? 'none'}; ${lastWords()}`;
    if (!isClosing) envelope('server still there', false, 'an answer', came);
    story.abort();
  }, 300));

  // --- Goodbye ---

  /** Sees the server out: stdin ends, then SIGTERM, then SIGKILL (2025-11-25/basic/lifecycle). */
  async function close() {
    const isWithin = (ms: number, event: Promise<unknown>) =>
      Promise.race([event.then(() => true), sleep(ms, false, { ref: false })]);
    let force: string | null = null; // the signal that it took
    isClosing = true;
    child.stdin.end();
    if (!(await isWithin(5000, exited))) end(child, (force = 'SIGTERM'));
    if (!(await isWithin(2000, exited))) end(child, (force = 'SIGKILL'));
    await exited;
    // What the server started may outlive it, and hold its pipes: that has to go too.
    if (!(await isWithin(500, closed))) force = 'SIGKILL';
    end(child, 'SIGKILL');
    for (const pipe of child.stdio) pipe?.destroy();
    strayStdoutBytes += Buffer.byteLength(line);
    const { exitCode, signalCode: signal } = child;
    verdict('exit 0 when stdin closes', exitCode === 0, 'code 0', signal ?? `code ${exitCode}`);
    verdict('no force needed to end it', force === null, 'the end of stdin is enough', force);
    verdict('nothing stray on stdout', strayStdoutBytes === 0, '0 bytes', strayStdoutBytes);
    // Node's own warnings are not the server's words. A foreign server's stderr is not judged: it
    // is no sign of an error (2026-07-28/basic/transports/stdio).
    const words = stderr.replace(/^(\(node:|\(Use `|To eliminate this warning).*\n/gm, '');
    if (options.isKit) verdict('silent stderr', words === '', 'nothing', words);
    const bytes = { strayStdoutBytes, stderrBytes: Buffer.byteLength(stderr) };
    return { transcript, stderr, cleanup: { exitCode, signal, force, ...bytes } };
  }
  return { request, notify, close, over, transcript };
}

/** Ends a process and what it started; on Windows, which has no such groups, the process alone. */
function end(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(IS_WINDOWS ? Number(child.pid) : -Number(child.pid), signal);
  } catch {
    // It was gone already.
  }
}

/** What lies at a path inside a value; undefined where the path leads nowhere. */
function at(value: unknown, ...path: (string | number)[]): unknown {
  return path.reduce((inner, key) => Object(inner)[key], value);
}

/** The JSON value of a text; undefined, which no JSON text means, where it is none. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Is a value nested deeper than this? To print or to compare one without a bound would crash. */
function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}
// #endregion conversation

// #region report — what is printed, and how it counts; the same lines in every client
const tally = { checks: 0, passed: 0, failed: 0 };
const HAS_COLOUR = process.stdout.isTTY && !process.env.NO_COLOR;
let steps = 0;

/** Prints one line. Strange characters are shown as \u…, never sent to the terminal. */
function say(text: string, colour = 0, strange = /[\u0000-\u001f\u007f-\u009f]/g): void {
  const shown = text.replace(strange, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
  // On a terminal `_meta`, which repeats itself and drowns the rest, is dimmed. It is short, and a
  // search with no such bound could take minutes over a line of megabytes.
  const dimmed = shown.replace(/"_meta":\{"io\.model.{0,400}?\}\}/, '\u001b[2m$&\u001b[22m');
  process.stdout.write(HAS_COLOUR ? `\u001b[${colour}m${dimmed}\u001b[0m\n` : `${shown}\n`);
}

/** Begins a step; the numbers run on through all stories. */
function step(title: string): void {
  say('');
  say(`${++steps}. ${title}`, 1);
}

/** Checks that what came equals what is expected, to the last member. */
function check(label: string, came: unknown, expected: unknown): boolean {
  return verdict(label, isDeepStrictEqual(came, expected), expected, came);
}

/** Counts a check and says how it went; a quiet one speaks only when it fails. */
function verdict(label: string, holds: boolean, expected: unknown, came: unknown, quiet = false) {
  tally.checks += 1;
  tally[holds ? 'passed' : 'failed'] += 1;
  if (!holds || !quiet) say(`${holds ? 'PASS' : 'FAIL'}  ${label}`, holds ? 32 : 31);
  for (const [name, value] of holds ? [] : [['expected:', expected], ['came:    ', came]]) {
    const text = typeof value === 'string' ? value : JSON.stringify(value) ?? 'nothing';
    say(`      ${name} ${text.slice(0, 500)}${text.length > 500 ? '...' : ''}`, 0, /[^ -~]/g);
  }
  return holds;
}
// #endregion report

// #region command-line — how this program is called; the same lines in every client
const USAGE = `Usage: npx tsx clients/${NAME}.ts [SERVER.ts] [OPTIONS]
       npx tsx clients/${NAME}.ts [OPTIONS] -- COMMAND ARGS     any server, in any language
  --era legacy|modern  this era alone       --step      wait for Enter before each message
  --timeout MS  for one answer (5000)       --save DIR  write transcripts and results there
  --env NAME    pass this variable on       --help      print this`;
const FLAGS = {
  era: { type: 'string' }, step: { type: 'boolean' }, save: { type: 'string' },
  timeout: { type: 'string' }, env: { type: 'string', multiple: true }, help: { type: 'boolean' },
} as const;
const IS_WINDOWS = process.platform === 'win32';
// Of our environment a server gets these variables, and those that --env names.
const ENV = /^(PATH|HOME|TMPDIR|TMP|TEMP|NODE_.*|SYSTEM(ROOT|DRIVE)|COMSPEC|PATHEXT|USERPROFILE)$/i;

type Options = ReturnType<typeof readOptions>;

/** Ends this program with a sentence and the usage: code 0 for --help, 2 for a wrong call. */
function leave(code: 0 | 2, sentence: string): never {
  (code === 0 ? console.log : console.error)(`${sentence}\n\n${USAGE}`);
  process.exit(code);
}

/** Reads how this program was called; ends it, or throws, where that makes no sense. */
function readOptions(argv: string[]) {
  const cut = argv.includes('--') ? argv.indexOf('--') : argv.length;
  const isKit = cut === argv.length;
  const call = parseArgs({ args: argv.slice(0, cut), options: FLAGS, allowPositionals: true });
  const { era, step, save = '', timeout = '5000', env: names = [], help } = call.values;
  const ours = join(fileURLToPath(import.meta.url), '..', '..', 'servers', `${NAME}.ts`);
  const [server = ours] = call.positionals;
  const command = isKit ? [server] : argv.slice(cut + 1);
  const unset = names.find((name) => process.env[name] === undefined);
  if (help) leave(0, `Tells the stories of ${NAME} to a server, and judges its answers.`);
  if (call.positionals.length > (isKit ? 1 : 0)) leave(2, 'One server: SERVER.ts, or -- COMMAND.');
  if (!command[0]) leave(2, 'After -- comes the COMMAND that starts your server.');
  if (SCRIPT.test(command[0]) && !existsSync(command[0])) {
    leave(2, `There is no file ${command[0]}: pass the server's file, or -- and its COMMAND.`);
  }
  if (!['legacy', 'modern', undefined].includes(era)) leave(2, `--era ${era}: legacy or modern.`);
  if (!/^[1-9]\d{0,7}$/.test(timeout)) leave(2, `--timeout ${timeout}: milliseconds, in digits.`);
  if (existsSync(save) && !statSync(save).isDirectory()) leave(2, `--save ${save}: not a folder.`);
  if (step) say('Enter sends the next message.');
  if (unset !== undefined) leave(2, `--env ${unset}: there is no such variable here.`);
  const enter = step && createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  const isPassed = ([name]: [string, unknown]) => ENV.test(name) || names.includes(name);
  return {
    era, save, isKit, command, timeout: Number(timeout),
    env: Object.fromEntries(Object.entries(process.env).filter(isPassed)),
    pause: async () => void (enter && (await enter.next())),
  };
}
// #endregion command-line

// #region main — from story to story; the same lines in every client
const SCRIPT = /\.m?[jt]s$/;

/** A script is run by the same runtime that runs this program: never a shell, no npx. */
function withRuntime([file = '', ...args]: string[]): { command: string[]; shown: string[] } {
  if (!SCRIPT.test(file)) return { command: [file, ...args], shown: [file, ...args] };
  const runtime = process.execArgv.filter((argument) => !argument.startsWith('--inspect'));
  const name = runtime.some((argument) => argument.includes('tsx')) ? 'npx tsx' : 'node';
  const command = [process.execPath, ...runtime, resolve(file), ...args];
  return { command, shown: [name, relative('', file).replaceAll('\\', '/'), ...args] };
}

/** Tells one story to a server of its own. */
async function tell(name: string, options: Options): Promise<void> {
  const [story, ...args] = STORIES[name] ?? [];
  const { command, shown } = withRuntime([...options.command, ...args]);
  say(`== ${NAME}: the ${name} story ==`, 1);
  say(`$ ${shown.join(' ')}`);
  const server = await startServer(name, command, options).catch(({ message }: Error) =>
    leave(2, `Cannot start "${command[0]}" (${message}): is it installed, and on the PATH?`));
  // An answer that a story did not foresee must not bring down the whole program.
  const stumble = ({ message }: Error) => verdict('the whole story', false, 'no error', message);
  await Promise.race([story?.(server), server.over]).catch(stumble);
  step('Say goodbye: stdin ends');
  const { transcript, cleanup, stderr } = await server.close();
  say('');
  save(options.save, `${name}.transcript.json`, transcript);
  save(options.save, `${name}.cleanup.json`, cleanup);
  save(options.save, `${name}.stderr.log`, stderr);
}

/** Writes one file of the account, if --save asked for it. */
function save(folder: string, file: string, content: unknown): void {
  if (folder === '') return;
  const text = typeof content === 'string' ? content : `${JSON.stringify(content, null, 2)}\n`;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, file), text);
}

async function main(): Promise<void> {
  process.exitCode = 2; // until the stories are told
  if (parseInt(process.versions.node) < 20) return console.error('This needs Node 20 or later.');
  const options = readOptions(process.argv.slice(2));
  process.stdout.on('error', () => process.exit(2)); // nobody reads this any more
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(2));
  const names = Object.keys(STORIES).filter((name) => name.startsWith(options.era ?? ''));
  for (const name of names) await tell(name, options);
  const { checks, passed, failed } = tally;
  say(`result: ${failed > 0 ? `${failed} of ${checks} checks failed` : `${passed} checks passed`}`);
  save(options.save, 'results.json', tally);
  process.exitCode = failed > 0 ? 1 : 0;
  process.stdin.destroy(); // --step reads it, and would wait on
}
// #endregion main

// What ends it early is told in a sentence, without a stack: an unknown flag, a full disk.
main().catch(({ message }: Error) => leave(2, message.replace(/\. [^]*/, '.')));
