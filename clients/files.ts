/**
 * The story of files: a schema checks types, not permission.
 *
 * Each path that is asked for here is a string, so each is right by the schema. Some lead to bait:
 * files that nobody meant to share. The client lays it out in a sandbox, a new temporary folder,
 * asks for it in many ways that people have found, and then searches all that the server said.
 *
 * Run: npx tsx clients/files.ts
 * Your own server: npx tsx clients/files.ts -- COMMAND ARGS…
 * (The two roots, folders of the sandbox, are added to the command as its last arguments.)
 *
 * It proves that none of these ways leads to the bait, in either era over stdio. It does not prove
 * that there is no other way (a hard link is one), that a path holds while somebody moves folders
 * about at the same time, nor that what is below the roots should be read by whoever asks.
 *
 * SPDX-License-Identifier: MIT
 */

import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, symlinkSync, writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { isDeepStrictEqual, parseArgs } from 'node:util';

// ---------------------------------------------------------------------------------------------
// The stories: what is said, and what must come back. Start reading here.
// ---------------------------------------------------------------------------------------------

const NAME = 'files';

// #region sandbox — what lies inside, what is bait, and the ways that are tried; files' own
// What the sandbox holds. `root` and `annex` are the roots; what is outside of them is bait.
const BAIT = 'Bait: whoever reads this has crossed the boundary.\n';
const PICTURE = Buffer.from('89504e470d0a1a0a', 'hex'); // how each PNG begins
const FILES: Record<string, string | Buffer> = {
  'root/greeting.txt': 'Hello from inside.\n',
  'root/docs/inner.txt': 'One folder down.\n',
  'root/two words.txt': 'A name with a space.\n',
  'root/100%25.txt': 'A name with a percent sign, which one decoding too many would change.\n',
  'root/c#.txt': 'A name with a hash.\n',
  'root/你好.txt': 'A Chinese name.\n',
  'root/long.txt': `${'x'.repeat(99)}😀 and more`,
  'root/large.txt': Buffer.concat([Buffer.alloc(1024 * 1024, 'x'), Buffer.of(0xff)]),
  'root/picture.png': PICTURE,
  'annex/extra.txt': 'In the second root.\n',
  'root-private/bait.txt': BAIT, // a sibling whose name starts as the root's does
  'outside/bait.txt': BAIT,
  'outside/never-asked-for.txt': BAIT,
};
// The links: where each lies, and what it leads to, seen from there.
const LINKS: Record<string, string> = {
  'door': 'root', // the root as the server gets it
  'way-in': 'root', // the same, from where nobody shares anything
  'root/inner-link.txt': 'docs/inner.txt',
  'root/inner-folder': 'docs',
  'root/link.txt': '../outside/bait.txt',
  'root/folder': '../outside',
  'root/chain.txt': 'link.txt',
  'root/loop': 'pool',
  'root/pool': 'loop',
  'root/dangling': '../outside/not-there.txt',
  'root/up': '..',
  'root/device': '/dev/zero',
};
const NOT_MADE: string[] = []; // what this system, or this user, cannot make
const SANDBOX = makeSandbox();
const inSandbox = (path: string) => join(SANDBOX, path);
const uriOf = (path: string, from = SANDBOX) => pathToFileURL(resolve(from, path)).href;
const ROOT_URI = uriOf('root');
const ROOTS = [inSandbox(NOT_MADE.includes('door') ? 'root' : 'door'), inSandbox('annex')];
// What must not be in anything that the server says: the first bytes of the bait, as text and as
// base64 (of six bytes, since three make four characters), and a name that no request has in it.
const LEAKS = ['Bait: ', Buffer.from('Bait: ').toString('base64'), 'never-asked-for'];

// What the server must say of all this. It is written out here, and never learned from it.
const TOOLS = [['read_file_summary', 'string'], ['list_files', 'string']];
const TEMPLATE = `${ROOT_URI}/{+path}`;
const DOCS = '[{"name":"inner.txt","type":"file"}]';
const REFUSED = 'Not found below the roots';
const REFUSAL = [{ type: 'text', text: REFUSED }];

/** Lays out the sandbox, in a new folder that goes when this program ends. */
function makeSandbox(): string {
  const folder = makeTempFolder();
  process.on('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  for (const [path, content] of Object.entries(FILES)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  for (const [path, target] of Object.entries(LINKS)) {
    try {
      symlinkSync(target, join(folder, path));
    } catch {
      NOT_MADE.push(path); // Windows asks for a right to make links
    }
  }
  // A FIFO: Node cannot make one, and Windows has none in folders.
  if (spawnSync('mkfifo', [join(folder, 'root/pipe')]).status !== 0) NOT_MADE.push('root/pipe');
  return folder;
}

/** Makes an empty folder; ends this program where that cannot be. */
function makeTempFolder(): string {
  try {
    // The real path, because on some systems the temporary folder is itself a link.
    return mkdtempSync(join(realpathSync(tmpdir()), 'mcp-by-hand-files-'));
  } catch {
    console.error(`The bait needs a temporary folder, and none can be made in ${tmpdir()}.`);
    process.exit(2);
  }
}

// What is inside: how it is asked for, and the file that must come.
const GOOD_PATHS: Record<string, [path: string, file: string]> = {
  'relative to the first root': ['greeting.txt', 'root/greeting.txt'],
  'a folder down': ['docs/inner.txt', 'root/docs/inner.txt'],
  'with a dot and slashes': ['.//docs/./inner.txt', 'root/docs/inner.txt'],
  'through the root that is a link': [inSandbox('door/greeting.txt'), 'root/greeting.txt'],
  'absolute, by the real root': [inSandbox('root/greeting.txt'), 'root/greeting.txt'],
  'absolute, in the second root': [inSandbox('annex/extra.txt'), 'annex/extra.txt'],
  'a space': ['two words.txt', 'root/two words.txt'],
  'percent signs': ['100%25.txt', 'root/100%25.txt'],
  'a hash': ['c#.txt', 'root/c#.txt'],
  'Chinese': ['你好.txt', 'root/你好.txt'],
  'a link that stays inside': ['inner-link.txt', 'root/docs/inner.txt'],
  'a linked folder that stays inside': ['inner-folder/inner.txt', 'root/docs/inner.txt'],
  'links that go out and come in again': ['up/root/greeting.txt', 'root/greeting.txt'],
};

// What of a file is read for a summary.
const STARTS: Record<string, [path: string, start: string]> = {
  '100 characters, the last one whole': ['long.txt', `${'x'.repeat(99)}😀`],
  '1 MiB is read at most (contract of files)': ['large.txt', 'x'.repeat(100)], // then comes no text
};

// Not all of it can be tried everywhere: an absolute path on Windows has a drive, which this
// server refuses by rule.
const INSIDE = Object.entries(GOOD_PATHS).filter(([, [path]]) =>
  !NOT_MADE.some((name) => path.startsWith(name.replace('root/', ''))) &&
  !(process.platform === 'win32' && isAbsolute(path)));

// The files below the roots as they are listed: with linked files, and without linked folders.
const LISTED = Object.keys({ ...FILES, 'root/inner-link.txt': '' })
  .filter((path) => /^(root|annex)\//.test(path) && !NOT_MADE.includes(path))
  .map((path) => uriOf(path)).sort();

// What is refused: the paths, by what is wrong with them.
const BAD_PATHS: Record<string, string[]> = {
  'up and out': [
    '../outside/bait.txt', './../outside/bait.txt', 'docs/../../outside/bait.txt',
    '..//outside//bait.txt', 'docs/./../../outside/bait.txt', '../outside/not-there.txt',
    `${SANDBOX}/root/../outside/bait.txt`, '../../../../../../../../../../etc/passwd', '..',
  ],
  'up, and in again (contract of files)': [
    'docs/../greeting.txt', '../root/greeting.txt', 'docs/..',
  ],
  'absolute, outside': [inSandbox('outside/bait.txt'), '/etc/passwd', '/', SANDBOX],
  'a sibling that starts as the root': [inSandbox('root-private/bait.txt')],
  'a link to a file outside': ['link.txt', inSandbox('door/link.txt')],
  'a link to a folder outside': ['folder/bait.txt', 'up/outside/bait.txt'],
  'a chain of links': ['chain.txt'],
  'a loop of links': ['loop', 'loop/greeting.txt'],
  'a link to nothing outside': ['dangling'],
  'a link outside that leads in (contract of files)': [inSandbox('way-in/greeting.txt')],
  'an encoded dot or slash': ['%2e%2e/outside/bait.txt', '..%2foutside%2fbait.txt'],
  'a dot or slash encoded twice': ['%252e%252e%252foutside%252fbait.txt'],
  'NUL': ['greeting.txt\0', 'greeting.txt\0.png', '../outside/bait.txt\0', '\0'],
  'a device': ['/dev/zero', 'device'],
  'a FIFO': ['pipe'],
  'a directory as a file': ['docs', '.', 'inner-folder', 'folder'],
  'backslashes': ['..\\outside\\bait.txt', 'docs\\..\\..\\outside\\bait.txt'],
  'drives and hosts': [
    'C:\\Windows\\win.ini', 'C:greeting.txt', '\\\\files.example.invalid\\a',
    '//files.example.invalid/a',
  ],
  'an empty path': [''],
  'not there': ['not-there.txt', ' ', 'greeting.txt/more', '~/bait.txt', 'x'.repeat(300)],
  'a URI as a path (contract of files)': [uriOf('outside/bait.txt'), `${ROOT_URI}/greeting.txt`],
};
const BAD_FOLDERS = [
  '..', '../outside', inSandbox('outside'), 'folder', 'up', '/', inSandbox('root-private'), 'loop',
  'greeting.txt', 'pipe', 'not-there', 'docs/../..', '\0',
];
const BAD_URIS: Record<string, string[]> = {
  'up and out': [
    `${ROOT_URI}/../outside/bait.txt`, `${ROOT_URI}/docs/../../outside/bait.txt`,
    `${ROOT_URI}/.\t./outside/bait.txt`, `${ROOT_URI}/.\n./outside/bait.txt`,
  ],
  'up, and in again (contract of files)': [`${ROOT_URI}/docs/../greeting.txt`],
  'outside': [uriOf('outside/bait.txt'), 'file:///etc/passwd', 'file:///', 'file:'],
  'a sibling that starts as the root': [uriOf('root-private/bait.txt')],
  'links that lead outside': [
    `${ROOT_URI}/link.txt`, `${ROOT_URI}/folder/bait.txt`, `${ROOT_URI}/chain.txt`,
    `${ROOT_URI}/loop`, `${ROOT_URI}/dangling`, `${ROOT_URI}/up/outside/bait.txt`,
  ],
  'a link outside that leads in (contract of files)': [uriOf('way-in/greeting.txt')],
  'an encoded dot (contract of files)': [
    `${ROOT_URI}/%2e%2e/outside/bait.txt`, `${ROOT_URI}/%2E./outside/bait.txt`,
    `${ROOT_URI}/greeting%2etxt`,
  ],
  'an encoded slash or backslash (contract of files)': [
    `${ROOT_URI}/..%2foutside%2fbait.txt`, `${ROOT_URI}/docs%2Finner.txt`,
    `${ROOT_URI}/..%5coutside`,
  ],
  'a dot or slash encoded twice': [
    `${ROOT_URI}/%252e%252e/outside/bait.txt`, `${ROOT_URI}/..%252foutside%252fbait.txt`,
  ],
  'NUL, and what is no encoding': [
    `${ROOT_URI}/greeting.txt%00`, `${ROOT_URI}/\0`, `${ROOT_URI}/%zz`,
  ],
  'a device and a FIFO': ['file:///dev/zero', `${ROOT_URI}/device`, `${ROOT_URI}/pipe`],
  'a directory as a file': [ROOT_URI, `${ROOT_URI}/`, `${ROOT_URI}/docs`],
  'a foreign host': [
    ROOT_URI.replace('file://', 'file://files.example.invalid').concat('/greeting.txt'),
    `${ROOT_URI.replace('file://', 'file:////')}/greeting.txt`,
  ],
  'backslashes and drives': [`${ROOT_URI}\\..\\outside\\bait.txt`, 'file:///C:/Windows/win.ini'],
  'a query, a fragment, a space (contract of files)': [
    `${ROOT_URI}/greeting.txt?`, `${ROOT_URI}/greeting.txt#1`, ` ${ROOT_URI}/greeting.txt`,
    `${ROOT_URI}/greeting.txt `,
  ],
  'another scheme, or none': [
    'https://files.example.invalid/greeting.txt', 'greeting.txt', '',
    inSandbox('root/greeting.txt'),
  ],
  'not there': [`${ROOT_URI}/not-there.txt`, `${ROOT_URI}/greeting.txt/more`],
};
// #endregion sandbox

const STORIES: Stories = { legacy: [legacyStory, ...ROOTS], modern: [modernStory, ...ROOTS] };

const CLIENT_INFO = { name: 'mcp-by-hand-client', version: '1.0.0' };

/** What every modern request carries (2026-07-28/basic/index, "_meta"). */
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': CLIENT_INFO,
  'io.modelcontextprotocol/clientCapabilities': {},
};

const SERVER_INFO = { name: 'files-server', version: '1.0.0' };

async function legacyStory(server: Server): Promise<void> {
  step('Shake hands: this server offers tools and resources');
  const offer = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: CLIENT_INFO };
  const hello = await server.request('initialize', offer);
  const version = at(hello, 'result', 'protocolVersion');
  const isKnown = version === '2025-11-25' || version === '2025-06-18';
  // A client that does not speak the version it is offered leaves (2025-11-25/basic/lifecycle).
  if (!verdict('a version that this client speaks', isKnown, '2025-11-25', version)) return;
  check('serverInfo (contract of files)', at(hello, 'result', 'serverInfo'), SERVER_INFO);
  const { tools, resources } = Object(at(hello, 'result', 'capabilities'));
  verdict('tools and resources: objects', isObject(tools) && isObject(resources), 'two', hello);
  await server.notify('notifications/initialized');
  await lookAround({ server, era: 'legacy' });
}

async function modernStory(server: Server): Promise<void> {
  step('Ask what the server speaks and offers: no handshake, and nothing is remembered');
  const found = await server.request('server/discover', { _meta: META });
  const isOffered = [at(found, 'result', 'supportedVersions')].flat().includes('2026-07-28');
  if (!verdict('2026-07-28 is offered', isOffered, 'it in supportedVersions', found)) return;
  const { tools, resources } = Object(at(found, 'result', 'capabilities'));
  verdict('tools and resources: objects', isObject(tools) && isObject(resources), 'two', found);
  checkModern('server/discover', found, 'cacheable');
  await lookAround({ server, era: 'modern' });
}

/** A conversation that has been opened, and the era that it is held in. */
type Talk = { server: Server; era: 'legacy' | 'modern' };

/** Both stories from here on: only the codes, and what a result says of itself, differ. */
async function lookAround(talk: Talk): Promise<void> {
  if (NOT_MADE.length > 0) say(`NOTE  not made, so that a refusal proves nothing: ${NOT_MADE}`);
  step('List the tools: their schemas say that a path is a string, and can say no more');
  const offer = await ask(talk, 'tools/list');
  checkResult(talk, 'tools/list', offer, 'cacheable');
  const tools = [at(offer, 'result', 'tools')].flat().map((tool) => (
    [at(tool, 'name'), at(tool, 'inputSchema', 'properties', 'path', 'type')]));
  check('the tools (contract of files)', tools, TOOLS);

  step('Read what is inside, by both doors: each path leads to a file below a root');
  for (const [label, [path, file]] of INSIDE) {
    const summary = await call(talk, 'read_file_summary', path);
    check(`${label}: the tool`, textOf(summary), FILES[file]);
    const read = await ask(talk, 'resources/read', { uri: uriOf(path, inSandbox('root')) });
    check(`${label}: the resource`, at(read, 'result', 'contents', 0, 'text'), FILES[file]);
  }

  step('Read the start of a long text, and of a large one');
  for (const [label, [path, start]] of Object.entries(STARTS)) {
    check(label, textOf(await call(talk, 'read_file_summary', path)), start);
  }

  step('Read what is no text: the tool fails, and the resource is a blob');
  const summary = await call(talk, 'read_file_summary', 'picture.png');
  check('no text: isError', at(summary, 'result', 'isError'), true);
  checkResult(talk, 'tools/call', summary);
  const read = await ask(talk, 'resources/read', { uri: `${ROOT_URI}/picture.png` });
  check('no text: a blob', at(read, 'result', 'contents', 0, 'blob'), PICTURE.toString('base64'));
  checkResult(talk, 'resources/read', read, 'cacheable');

  step('List folders: names and kinds, and not where a link leads');
  check('a folder (contract of files)', textOf(await call(talk, 'list_files', 'docs')), DOCS);
  const top = textOf(await call(talk, 'list_files'));
  verdict('no path: the first root', String(top).includes('greeting.txt'), 'its files', top);

  step('Ask the tool for what is outside: one and the same refusal, whatever is there');
  for (const [label, paths] of Object.entries(BAD_PATHS)) {
    for (const path of paths) checkRefusal(label, await call(talk, 'read_file_summary', path));
  }
  for (const path of BAD_FOLDERS) checkRefusal('a folder', await call(talk, 'list_files', path));

  step('Ask the resources for the same');
  for (const [label, uris] of Object.entries(BAD_URIS)) {
    for (const uri of uris) {
      const { error } = await ask(talk, 'resources/read', { uri }, label);
      check(`${label}: the code`, error?.code, talk.era === 'legacy' ? -32002 : -32602);
      check(`${label}: the message (contract of files)`, error?.message, REFUSED);
      if (talk.era === 'modern') check(`${label}: data.uri as it was sent`, error?.data, { uri });
      else check(`${label}: no data (contract of files)`, error?.data, undefined);
    }
  }

  step('List the resources: the files below the roots, no link that leads out, and a template');
  const list = await ask(talk, 'resources/list');
  checkResult(talk, 'resources/list', list, 'cacheable');
  const uris = [at(list, 'result', 'resources')].flat().map((one) => at(one, 'uri'));
  check('the files, and no others (contract of files)', uris.sort(), LISTED);
  const { resourceTemplates } = (await ask(talk, 'resources/templates/list')).result ?? {};
  check('the template (contract of files)', at(resourceTemplates, 0, 'uriTemplate'), TEMPLATE);

  step('Search all that the server said, for bait');
  const said = talk.server.transcript.filter(({ from }) => from === 'server');
  const leaks = said.filter(({ line }) => LEAKS.some((leak) => String(line).includes(leak)));
  check('no byte of the bait crossed the wire', leaks, []);
}

/** Sends a request as its era has it; `refused` says why it is meant to be refused. */
function ask({ server, era }: Talk, method: string, params: JsonObject = {}, refused?: string) {
  return server.request(method, era === 'legacy' ? params : { ...params, _meta: META }, refused);
}

function call(talk: Talk, name: string, path?: string): Promise<Answer> {
  return ask(talk, 'tools/call', { name, arguments: { path } });
}

function textOf(answer: Answer): unknown {
  return at(answer, 'result', 'content', 0, 'text');
}

function checkResult({ era }: Talk, label: string, answer: Answer, cacheable?: 'cacheable'): void {
  if (era === 'modern') checkModern(label, answer, cacheable);
}

/** Checks that a tool refused a path, and told nothing but that. */
function checkRefusal(label: string, { result }: Answer): void {
  const { content, isError, structuredContent } = result ?? {};
  check(`${label}: isError`, isError, true);
  check(`${label}: the text (contract of files)`, content, REFUSAL);
  check(`${label}: nothing besides (contract of files)`, structuredContent, undefined);
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
