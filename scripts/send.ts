/**
 * Plays a file of messages to a server, and prints what crosses the wire in both directions. So you
 * can try what you like on a server without JSON on a shell's command line, where no quoting
 * survives every shell.
 *
 * Run: npx tsx scripts/send.ts servers/echo.ts scripts/messages/echo.jsonl
 * With arguments for the server: npx tsx scripts/send.ts SERVER FILE.jsonl ARGS…
 * Your own server, in any language: npx tsx scripts/send.ts FILE.jsonl -- COMMAND ARGS…
 *
 * Without ARGS a server gets those of the `Run:` line in its opening comment, and is run in the
 * folder which that line means. In the file, a line is one of these:
 *
 *   {"jsonrpc":"2.0",…}   a message. It must be JSON, and is sent as it stands, byte for byte.
 *   # text                a comment, which is printed.
 *   !raw text             sends what follows the blank, whatever it is, without a check or escapes.
 *                         To send a byte that is no UTF-8, put that byte into the file.
 *   !sleep 500            waits so many milliseconds.
 *   !close                ends the server's stdin here; no message can follow, !sleep can.
 *
 * An empty line is printed, not sent (`!raw` alone sends one). A byte order mark at the start of
 * the file and a "\r" at the end of a line belong to the file, and are not sent either.
 *
 * After a line that must be answered it waits for the answer before it goes on, so that the same
 * file gives the same output each time: after a request for the response with its id, after what is
 * no sound message (not JSON, a batch, an id that cannot be used) for any response. After a
 * notification and after a response of yours it does not wait. It does not answer what the server
 * asks. At the end stdin is closed, the rest is read, and the server has five seconds to leave.
 *
 * It judges nothing that is said: that is what the clients are for. Exit code: 0 the file was
 * played and the server ended well; 1 a request got no answer in time, or the server died, ended
 * badly or had to be forced; 2 called wrongly, or the file is not as above, or the server cannot be
 * started: then nothing was sent.
 *
 * SPDX-License-Identifier: MIT
 */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { folderOfRun, parseJson, parseRunLine, runtimeArguments } from './testing.ts';

type JsonObject = Record<string, unknown>;

/** What must come before the next line is sent: the answer to an id, any answer, or nothing. */
type Due = { id: string | number } | 'any answer' | 'nothing';

/** What one line of the file asks for. */
type Step =
  | { does: 'print'; text: string }
  | { does: 'send'; bytes: Buffer; text: string; due: Due }
  | { does: 'sleep'; text: string; ms: number }
  | { does: 'close'; text: string };

// ---------------------------------------------------------------------------------------------
// The file
// ---------------------------------------------------------------------------------------------

/** Reads the lines of a file; throws an Error that explains the first one that is wrong. */
function readSteps(name: string, bytes: Buffer): Step[] {
  const hasMark = bytes.subarray(0, 3).equals(Buffer.from([0xef, 0xbb, 0xbf]));
  const steps: Step[] = [];
  let isClosed = false;
  for (const [index, line] of cutLines(bytes.subarray(hasMark ? 3 : 0)).entries()) {
    const step = readLine(`${name}:${index + 1}`, line);
    if (isClosed && (step.does === 'send' || step.does === 'close')) {
      throw new Error(`${name}:${index + 1}: no message can follow !close, which ends the ` +
        'server\'s stdin. Put !close last, or take it out.');
    }
    isClosed ||= step.does === 'close';
    steps.push(step);
  }
  return steps;
}

/** Cuts at byte 10, and takes away the "\r" that an editor on Windows puts before it. */
function cutLines(bytes: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  for (let start = 0; start < bytes.length;) {
    const found = bytes.indexOf(10, start);
    const end = found === -1 ? bytes.length : found;
    const isReturn = end > start && bytes[end - 1] === 13;
    lines.push(bytes.subarray(start, isReturn ? end - 1 : end));
    start = end + 1;
  }
  return lines;
}

function readLine(place: string, bytes: Buffer): Step {
  const text = bytes.toString();
  if (text.startsWith('#') || text.trim() === '') return { does: 'print', text };
  if (text.startsWith('!')) return readCommand(place, bytes, text);
  const fault = findFault(text);
  if (fault !== undefined) throw new Error(describeFault(place, text, fault));
  if (!Buffer.from(text).equals(bytes)) {
    throw new Error(`${place}: this line has bytes that are no UTF-8, which JSON must be. ` +
      'To send them all the same, begin the line with !raw and a blank.');
  }
  return { does: 'send', bytes, text, due: whatIsDue(text) };
}

function readCommand(place: string, bytes: Buffer, text: string): Step {
  const word = /^!(\S*)/.exec(text)?.[1] ?? '';
  const rest = text.slice(1 + word.length);
  if (word === 'raw') {
    if (/^[^ ]/.test(rest)) throw new Error(`${place}: after !raw comes one blank, not a tab.`);
    const raw = bytes.subarray('!raw '.length);
    return { does: 'send', bytes: raw, text: raw.toString(), due: whatIsDue(raw.toString()) };
  }
  const value = rest.trim();
  if (word === 'sleep' && /^\d{1,6}$/.test(value)) {
    return { does: 'sleep', text, ms: Number(value) };
  }
  if (word === 'sleep') {
    throw new Error(`${place}: after !sleep come milliseconds, such as !sleep 500: ` +
      'digits alone, six at most.');
  }
  if (word === 'close' && value === '') return { does: 'close', text };
  if (word === 'close') throw new Error(`${place}: !close stands alone on its line.`);
  throw new Error(`${place}: there is no ${show(`!${word}`)}. There are !raw TEXT, !sleep MS and ` +
    '!close; a message begins with {, a comment with #.');
}

/** What a server owes for one line, by JSON-RPC; a blank line is no message. */
function whatIsDue(text: string): Due {
  if (text.trim() === '') return 'nothing';
  const message = parseJson(text);
  if (!isObject(message)) return 'any answer';
  const { id, method, result, error } = message;
  const isResponse = method === undefined && (result !== undefined || error !== undefined);
  if (isResponse || (typeof method === 'string' && id === undefined)) return 'nothing';
  return typeof id === 'string' || typeof id === 'number' ? { id } : 'any answer';
}

// ---------------------------------------------------------------------------------------------
// Where JSON breaks. JSON.parse says it in words that differ between versions of Node, some of
// them without a position: so we look for ourselves.
// ---------------------------------------------------------------------------------------------

/** Where a text stops being JSON, counted in UTF-16 units from 0, and what should stand there. */
type Fault = { at: number; expected: string };

/** What may stand at a place in JSON, in the words of an error. */
const EXPECTED = {
  value: 'a value',
  firstItem: 'a value, or "]"',
  afterItem: '"," or "]"',
  name: 'a name in double quotes',
  firstName: 'a name in double quotes, or "}"',
  colon: '":"',
  afterMember: '"," or "}"',
  end: 'the end of the line',
};

type State = keyof typeof EXPECTED;

/** Finds the first place where a text is not JSON (RFC 8259); undefined if it is. */
export function findFault(text: string): Fault | undefined {
  const open: string[] = []; // the brackets that are to be closed, so that depth costs no stack
  let at = 0;
  let state: State = 'value';

  const afterValue = (): State => {
    if (open.length === 0) return 'end';
    return open.at(-1) === '{' ? 'afterMember' : 'afterItem';
  };

  // One turn is one token.
  for (;;) {
    at = skip(/[ \t\n\r]*/y, text, at);
    const token = text[at] ?? '';
    const fault = { at, expected: EXPECTED[state] };
    if (state === 'end') return at === text.length ? undefined : fault;
    const isClosing =
      (token === '}' && (state === 'firstName' || state === 'afterMember')) ||
      (token === ']' && (state === 'firstItem' || state === 'afterItem'));
    if (isClosing) {
      open.pop();
      at += 1;
      state = afterValue();
    } else if (state === 'afterItem' || state === 'afterMember') {
      if (token !== ',') return fault;
      at += 1;
      state = state === 'afterItem' ? 'value' : 'name';
    } else if (state === 'colon') {
      if (token !== ':') return fault;
      at += 1;
      state = 'value';
    } else if (state === 'name' || state === 'firstName') {
      if (token !== '"') return fault;
      const end = skipString(text, at);
      if (typeof end !== 'number') return end;
      at = end;
      state = 'colon';
    } else if (token === '{' || token === '[') {
      open.push(token);
      at += 1;
      state = token === '{' ? 'firstName' : 'firstItem';
    } else {
      const end = token === '"' ? skipString(text, at) : skip(SCALAR, text, at);
      if (typeof end !== 'number') return end;
      if (end === at) return fault;
      at = end;
      state = afterValue();
    }
  }
}

const SCALAR = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)/y;

/** The place behind what a sticky pattern finds; the same place if it finds nothing. */
function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

/** The place behind a string that begins here, or what is wrong inside it. */
function skipString(text: string, start: number): number | Fault {
  for (let at = start + 1;;) {
    at = skip(/[^"\\\u0000-\u001f]+/y, text, at);
    if (text[at] === '"') return at + 1;
    if (at === text.length) return { at, expected: 'the " that ends this string' };
    if (text[at] !== '\\') return { at, expected: 'an escape here: \\n, \\t or \\u0000' };
    const end = skip(/\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y, text, at);
    if (end === at) return { at, expected: 'an escape: \\\\ \\" \\/ \\b \\f \\n \\r \\t \\u0000' };
    at = end;
  }
}

/** Says where a line breaks, with a caret under the place. */
function describeFault(place: string, text: string, { at, expected }: Fault): string {
  const column = [...text.slice(0, at)].length + 1;
  // Of a long line you see what is around the place.
  const from = at > 60 ? at - 50 : 0;
  const [before, after] = [text.slice(from, at), text.slice(at, at + 30)].map(show);
  const [head, tail] = [from > 0 ? '...' : '', at + 30 < text.length ? '...' : ''];
  // Chinese and emoji take two columns on a terminal, accents and invisible characters none.
  const isWide = (one: string) => WIDE.test(one) || EMOJI.test(one);
  const columnsOf = (one: string) => (NARROW.test(one) ? 0 : isWide(one) ? 2 : 1);
  const indent = [...`${head}${before}`].map((one) => ' '.repeat(columnsOf(one))).join('');
  return [
    `${place}:${column}: this line is not JSON: expected ${expected}`,
    `    ${head}${before}${after}${tail}`,
    `    ${indent}^`,
    'One message is one line. What shall go out as it is, JSON or not, begins with !raw and a ' +
      'blank; a comment begins with #.',
  ].join('\n');
}

const NARROW = /[\p{Mn}\p{Me}\p{Cf}]/u;
const EMOJI = /\p{Emoji_Presentation}/u;
const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uff00-\uff60\u{20000}-\u{3fffd}]/u;

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

// ---------------------------------------------------------------------------------------------
// The play
// ---------------------------------------------------------------------------------------------

const LINE_LIMIT = 64 * 1024 * 1024; // UTF-16 units of one line of the server's
const WORDS_LIMIT = 10_000; // characters of a line on stderr that are shown
const IS_WINDOWS = process.platform === 'win32';

/** Plays the steps to a server; gives this program's exit code. Throws if it cannot start. */
async function play(steps: Step[], options: Options): Promise<0 | 1> {
  const server = await startServer(options);
  let isOver = false;
  void server.over.then(() => (isOver = true));
  for (const step of steps) {
    if (step.does !== 'print' && isOver) break;
    if (step.does === 'send') await server.send(step);
    else say(step.text);
    if (step.does === 'sleep') await within(step.ms, server.over);
    if (step.does === 'close') server.endInput();
  }
  const total = steps.filter(({ does }) => does === 'send').length;
  const { how, sent, came, problem } = await server.seeOut(total);
  const count = sent === total ? `${sent}` : `${sent} of ${total}`;
  const said = `${count} ${count === '1' ? 'message' : 'messages'} sent, ${came} came`;
  say('');
  say(`end: ${how}; ${said}${problem && `; ${problem}`}`);
  return how === 'exit 0' && problem === '' ? 0 : 1;
}

/** Starts a server, and prints what crosses the wire from then on. Throws if it cannot start. */
async function startServer({ command, cwd, env, timeout }: Options) {
  const [file = '', ...args] = command;
  // On POSIX the server leads a group of processes, so that what it starts can be ended with it.
  const child = spawn(file, args, { cwd, env, detached: !IS_WINDOWS, windowsHide: true });
  child.stdin.on('error', () => {}); // it no longer reads; what it says, or its end, tells the rest
  process.on('exit', () => end(child, 'SIGKILL')); // however this program ends
  await once(child, 'spawn');
  const exited = once(child, 'exit');
  const closed = once(child, 'close'); // it has exited, and all that it wrote is read
  const silent = once(child.stdout, 'close');
  // What it started may hold its pipes: soon after it has gone, or said its last, all is over.
  const last = Promise.race([exited, silent]);
  const over = Promise.race([closed, last.then(() => within(300, closed))]);

  let [sent, came, unanswered, line, problem] = [0, 0, 0, '', ''];
  let due: Due = 'nothing';
  let settle = () => {}; // called when what is due has come

  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    for (const [index, piece] of text.split('\n').entries()) {
      if (index > 0) take(line);
      line = index > 0 ? piece : line + piece;
    }
    if (line.length <= LINE_LIMIT) return;
    problem = `a line of the server's has more than ${LINE_LIMIT} characters`;
    line = '';
    child.stdout.destroy();
  });
  // Of a line on stderr no more is kept than is worth reading: it may never end.
  let words = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    for (const [index, piece] of text.split('\n').entries()) {
      if (index > 0) sayWords();
      words += piece.slice(0, WORDS_LIMIT + 1 - words.length);
    }
  }).on('end', () => words === '' || sayWords());

  function sayWords(): void {
    const isCut = words.length > WORDS_LIMIT;
    const end = isCut ? '... (the rest of this line is left out)' : '';
    say(`    | ${words.slice(0, WORDS_LIMIT).replace(/\r$/, '')}${end}`);
    words = '';
  }

  function take(text: string): void {
    if (text.trim() === '') return;
    came += 1;
    say(`<-- ${text.replace(/\r$/, '')}`);
    const message = parseJson(text);
    if (!isObject(message) || typeof message.method === 'string') return;
    if (due === 'any answer' || (isObject(due) && due.id === message.id)) settle();
  }

  /** Sends one line, and waits for what is due for it, as long as the server is there. */
  async function send({ bytes, text, due: owed }: Step & { does: 'send' }): Promise<void> {
    say(`--> ${text}`);
    const wait = sent === 0 ? 3 * timeout : timeout; // the first includes the start
    sent += 1;
    due = owed;
    let isAnswered = owed === 'nothing';
    const answered = new Promise<void>((resolve) => {
      settle = () => {
        isAnswered = true;
        resolve();
      };
    });
    child.stdin.write(Buffer.concat([bytes, Buffer.from('\n')]));
    if (isAnswered) return;
    const isInTime = await within(wait, Promise.race([answered, over]));
    if (isAnswered) return;
    due = 'nothing';
    // JSON-RPC asks for an error after what is no sound message, but many a server is silent there.
    if (isObject(owed)) unanswered += 1;
    const to = isObject(owed) ? ` to ${JSON.stringify(owed.id)}` : '';
    say(`      (no answer${to}${isInTime ? ': the server has ended' : ` in ${wait} ms`})`);
  }

  /** Sees it out: stdin ends, then SIGTERM, then SIGKILL (2025-11-25/basic/lifecycle). */
  async function seeOut(total: number) {
    if (sent < total) problem ||= 'the server ended before the rest was sent';
    child.stdin.end();
    let force = '';
    if (!(await within(5000, exited))) end(child, (force = 'SIGTERM'));
    if (!(await within(2000, exited))) end(child, (force = 'SIGKILL'));
    await exited;
    if (force !== '') problem ||= `it outlived the end of its stdin, and took ${force}`;
    if (!(await within(500, closed))) problem ||= 'what it had started outlived it: SIGKILL';
    end(child, 'SIGKILL');
    for (const pipe of child.stdio) pipe?.destroy();
    if (line !== '') take(line); // the last line may lack its end
    if (unanswered > 0) problem ||= `${unanswered} got no answer`;
    return { how: child.signalCode ?? `exit ${child.exitCode}`, sent, came, problem };
  }
  return { over, send, endInput: () => void child.stdin.end(), seeOut };
}

/** Does it happen within so many milliseconds? Leaves no timer behind. */
async function within(ms: number, event: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => (timer = setTimeout(resolve, ms, false)));
  try {
    return await Promise.race([event.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Ends a process and what it started; on Windows, which has no such groups, the process alone. */
function end(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (child.pid === undefined) return; // it never started
  try {
    process.kill(IS_WINDOWS ? child.pid : -child.pid, signal);
  } catch {
    // It was gone already.
  }
}

/** Prints one line, in which nothing can steer the terminal. */
function say(text: string): void {
  process.stdout.write(`${show(text)}\n`);
}

/** Writes control characters, and what turns the direction of a text round, as \u…. */
function show(text: string): string {
  const strange = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
  return text.replace(strange, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

// ---------------------------------------------------------------------------------------------
// The command
// ---------------------------------------------------------------------------------------------

const USAGE = `Usage: npx tsx scripts/send.ts [OPTIONS] SERVER FILE.jsonl [ARGS]
       npx tsx scripts/send.ts [OPTIONS] FILE.jsonl -- COMMAND ARGS    any server
  SERVER        .ts, .mts, .js or .mjs; without ARGS it gets those of its Run: line
  --timeout MS  for one answer (5000)       --env NAME  pass this variable on
  --help        print this
A line of FILE: a message of JSON, # comment, !raw TEXT, !sleep MS, or !close.`;
const FLAGS = {
  timeout: { type: 'string' }, env: { type: 'string', multiple: true }, help: { type: 'boolean' },
} as const;
const SCRIPT = /\.m?[jt]s$/;
// Of our environment a server gets these variables, and those that --env names.
const ENV = /^(PATH|HOME|TMPDIR|TMP|TEMP|NODE_.*|SYSTEM(ROOT|DRIVE)|COMSPEC|PATHEXT|USERPROFILE)$/i;

type Options = ReturnType<typeof readOptions>;

/** Ends this program with a sentence and the usage: code 0 for --help, 2 for a wrong call. */
function leave(code: 0 | 2, sentence: string): never {
  const shown = sentence.split('\n').map(show).join('\n');
  (code === 0 ? console.log : console.error)(`${shown}\n\n${USAGE}`);
  process.exit(code);
}

function readOptions(argv: string[]) {
  const cut = argv.includes('--') ? argv.indexOf('--') : argv.length;
  const isAny = cut < argv.length;
  const call = parseArgs({ args: argv.slice(0, cut), options: FLAGS, allowPositionals: true });
  const { timeout = '5000', env: names = [], help } = call.values;
  if (help) leave(0, 'Plays a file of messages to a server, and prints both directions.');
  if (!/^[1-9]\d{0,7}$/.test(timeout)) leave(2, `--timeout ${timeout}: milliseconds, in digits.`);
  const unset = names.find((name) => process.env[name] === undefined);
  if (unset !== undefined) leave(2, `--env ${unset}: there is no such variable here.`);
  const isPassed = ([name]: [string, unknown]) => ENV.test(name) || names.includes(name);
  return {
    ...(isAny ? readAny(call.positionals, argv.slice(cut + 1)) : readOurs(call.positionals)),
    timeout: Number(timeout),
    env: Object.fromEntries(Object.entries(process.env).filter(isPassed)),
  };
}

/** FILE.jsonl -- COMMAND ARGS */
function readAny(before: string[], command: string[]) {
  const [messages] = before;
  if (messages === undefined || before.length > 1) {
    leave(2, `Before -- comes the FILE of messages alone; here are ${before.length} names.`);
  }
  if (!command[0]) leave(2, 'After -- comes the COMMAND that starts your server.');
  if (SCRIPT.test(command[0])) checkServer(command[0]);
  return { messages, ...withRuntime(command), cwd: undefined };
}

/** SERVER FILE.jsonl [ARGS] */
function readOurs([server, messages, ...args]: string[]) {
  if (server === undefined) leave(2, 'Which SERVER, and which FILE of messages?');
  if (messages === undefined) leave(2, `After ${server} comes the FILE of messages to play to it.`);
  if (!SCRIPT.test(server)) {
    leave(2, `${server} is no SERVER.ts. The server comes first, then the file of messages; any ` +
      'other command comes last, after --.');
  }
  checkServer(server);
  if (args.length > 0) return { messages, ...withRuntime([server, ...args]), cwd: undefined };
  // The line says how to run the server, and so in which folder: `servers/files.ts lessons`.
  const run = parseRunLine(readFileSync(server, 'utf8'));
  const cwd = run === undefined ? undefined : folderOfRun(server, run.file);
  return { messages, ...withRuntime([server, ...(run?.args ?? [])]), cwd };
}

function checkServer(server: string): void {
  if (existsSync(server) && !statSync(server).isDirectory()) return;
  leave(2, `There is no file ${server}: pass the server's file, or -- and the COMMAND of yours.`);
}

/** A script is run by the same runtime that runs this program: never a shell, no npx. */
function withRuntime([file = '', ...args]: string[]): { command: string[]; shown: string[] } {
  if (!SCRIPT.test(file)) return { command: [file, ...args], shown: [file, ...args] };
  const runtime = runtimeArguments();
  const name = runtime.some((argument) => argument.includes('tsx')) ? 'npx tsx' : 'node';
  const command = [process.execPath, ...runtime, resolve(file), ...args];
  return { command, shown: [name, relative('', file).replaceAll('\\', '/'), ...args] };
}

/** Reads the file of messages; ends this program where it is not as it should be. */
function readMessages(file: string): Step[] {
  if (!existsSync(file)) leave(2, `There is no file ${file}. Samples are in scripts/messages/.`);
  if (statSync(file).isDirectory()) leave(2, `${file} is a folder: name a file in it.`);
  try {
    return readSteps(file, readFileSync(file));
  } catch (error) {
    return leave(2, (error as Error).message);
  }
}

async function main(): Promise<void> {
  process.exitCode = 2; // until the file is played
  const options = readOptions(process.argv.slice(2));
  const steps = readMessages(options.messages);
  process.stdout.on('error', () => process.exit(2)); // nobody reads this any more
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(2));
  say(`$ ${options.shown.join(' ')}`);
  process.exitCode = await play(steps, options);
}

// The tests import this file; then it does nothing by itself. Links are resolved, since a path that
// leads through one is not the file's URL.
if (realpathSync(process.argv[1] ?? '.') === realpathSync(fileURLToPath(import.meta.url))) {
  main().catch((error: NodeJS.ErrnoException) => {
    const isStart = error.syscall?.startsWith('spawn') === true;
    if (isStart) leave(2, `Cannot start it (${error.message}): is it installed, and on the PATH?`);
    leave(2, error.message.replace(/\. [^]*/, '.'));
  });
}
