/**
 * Stands between a real host (an editor, a desktop assistant) and a server, passes every byte on
 * unchanged and at once, and writes down what crossed: then you see what the host really says.
 *
 * In the host's configuration, put this before the command that starts the server. Afterwards, or
 * meanwhile, read the log, or make a page of it that opens in any browser:
 *
 * Run: npx tsx scripts/tap.ts LOG.jsonl -- COMMAND ARGS
 * Or:  npx tsx scripts/tap.ts --show LOG.jsonl [--follow]
 * Or:  npx tsx scripts/tap.ts --html PAGE.html LOG.jsonl
 *
 * The server has the tap's environment and folder. Its end of input, the signals that end or steer
 * a server (SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2) and its exit code are what they
 * would be without the tap. A log that cannot be written is one sentence on stderr: the
 * conversation goes on without it.
 *
 * LOG holds whatever crosses the wire, and the command: tokens and private text too, if they are
 * there. So it is created for your eyes only (mode 0600); look into it before you pass it on. It
 * has one JSON object a line, and grows with each run, since a host starts its servers again and
 * again. Several runs may write at once: `run` says which one a line is of, and `atMs` counts from
 * its start.
 *
 *   {"run":"3f9c2a1b","event":"started","atMs":0,"at":"2026-07-28T09:00:00.000Z",
 *    "command":["node","server.js"],"folder":"/home/alice","pid":4711}
 *   {"run":"3f9c2a1b","from":"client","atMs":12,"line":"{\"jsonrpc\":\"2.0\",…}"}
 *   {"run":"3f9c2a1b","event":"ended","atMs":5123,"exitCode":0,"signal":null,"force":null}
 *
 * `from` is client, server or stderr (the server's). `line` is the text without its line feed, and
 * `atMs` when that line feed was here. Three members are there only where they must be: `base64`
 * (the exact bytes of a line that is not UTF-8), `unterminated` (the stream ended in this line),
 * and `cutFrom` (so many bytes it had; a log keeps 64 Mi of them). Other events: EVENTS, below.
 *
 * --show prints each run the way the kit's clients do, says what answers what and after how long,
 * and what is still open. --follow waits for more, also for a LOG that is not there yet, until
 * Ctrl-C. --html writes one page that needs nothing from elsewhere; an older page is replaced, and
 * any other file is left alone.
 *
 * Exit code: the server's, or its signal. With --show and --html: 0 all is well, 1 a line of LOG is
 * damaged. 2 called wrongly, or the COMMAND cannot be started.
 *
 * SPDX-License-Identifier: MIT
 */

import { isUtf8 } from 'node:buffer';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  closeSync, constants as files, existsSync, fstatSync, openSync, readSync, realpathSync,
  renameSync, rmSync, statSync, writeFileSync,
} from 'node:fs';
import { Socket } from 'node:net';
import { constants as system } from 'node:os';
import { basename, resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { parseJson, runtimeArguments } from './testing.ts';

const IS_WINDOWS = process.platform === 'win32';

// A log keeps this much of one line. A server of the kit reads no longer ones either.
const LINE_LIMIT = 64 * 1024 * 1024;

// What a line of LOG can have at most: each of those bytes as \u0000. No string could hold more.
const LOG_LINE_LIMIT = 500 * 1024 * 1024;

/** One line that crossed. */
export type Spoken = {
  run: string;
  from: 'client' | 'server' | 'stderr';
  atMs: number;
  line: string;
  base64?: string;
  unterminated?: boolean;
  cutFrom?: number;
};

/** Something that happened to one run; EVENTS has what can. */
export type Happening = {
  run: string;
  event: string;
  atMs: number;
  at?: string;
  command?: string[];
  folder?: string;
  pid?: number;
  exitCode?: number | null;
  signal?: string | null;
  force?: string | null;
};

/** The events of a log, in words. */
export const EVENTS: Record<string, string> = {
  'started': 'the server was started',
  'client-end': 'the client has no more to say: the end of its input is passed on to the server',
  'server-end': 'the server closed its stdout',
  'input-refused': 'the server takes no more input',
  'host-gone': 'the host reads no more: the server is seen out',
  'signal': 'the host sent a signal, which is passed on',
  'ended': 'the server ended',
};

// ---------------------------------------------------------------------------------------------
// The tap
// ---------------------------------------------------------------------------------------------

// What a host may end its server with. SIGKILL cannot be passed on: nobody gets to see it.
const SIGNALS: readonly NodeJS.Signals[] = IS_WINDOWS
  ? ['SIGINT', 'SIGTERM', 'SIGHUP']
  : ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'];

/** Starts the command and stands between it and whoever started this program, until it ends. */
async function tap(file: string, command: string[]): Promise<void> {
  const [program = '', ...args] = withRuntime(command);
  // Its stderr goes through a pipe too, so that the log has its last words.
  const child = spawn(program, args, { stdio: 'pipe', windowsHide: true });
  let [hasExited, force] = [false, null as string | null];
  const exited = once(child, 'exit');
  const closed = once(child, 'close').then(() => true); // it has exited, and all of it is read
  await once(child, 'spawn').catch(({ message }: Error) =>
    leave(2, `Cannot start "${command[0]}" (${message}): is it installed, and on the PATH?`));
  child.on('error', () => {}); // a signal that comes too late
  const startedAt = performance.now();
  const now = () => Math.round(performance.now() - startedAt);
  const log = openLog(file);
  const [at, folder, pid] = [new Date().toISOString(), process.cwd(), Number(child.pid)];
  log({ event: 'started', atMs: 0, at, command, folder, pid });

  // --- What crosses ---

  const out = openStdout();
  let lastMoved = 0;
  const cutters = [
    passOn('client', process.stdin, child.stdin),
    passOn('server', child.stdout, out),
    passOn('stderr', child.stderr, process.stderr),
  ];

  // Passed on first, then written down. `pipe` waits where the target is full, so what this
  // program holds stays small, however fast one side writes and slow the other reads.
  function passOn(from: Spoken['from'], source: Readable, target: Writable) {
    const cutter = newCutter(LINE_LIMIT, (line) => log({ from, atMs: now(), ...line }));
    source.pipe(target);
    source.on('data', (chunk: Buffer) => {
      lastMoved = now();
      cutter.add(chunk);
    });
    source.on('end', () => {
      cutter.end();
      if (from !== 'stderr') log({ event: `${from}-end`, atMs: now() });
    });
    return cutter;
  }

  // --- When one side goes away, the other must see what it would see without a tap ---

  process.stdin.on('error', () => child.stdin.end());
  child.stdin.on('error', () => {
    if (!hasExited) log({ event: 'input-refused', atMs: now() });
    closeStdin(); // the host gets a broken pipe, too
  });
  process.stderr.on('error', () => child.stderr.destroy());
  out.on('error', () => {
    child.stdout.destroy();
    if (hasExited) return;
    log({ event: 'host-gone', atMs: now() });
    closeStdin();
    child.stdin.end();
    void seeOut();
  });

  // As a host does it: stdin ends, then SIGTERM, then SIGKILL (2026-07-28/basic/transports/stdio).
  async function seeOut(): Promise<void> {
    const isWithin = (ms: number) => Promise.race([exited.then(() => true), sleep(ms, false)]);
    if (!(await isWithin(5000))) child.kill((force = 'SIGTERM'));
    if (!(await isWithin(2000))) child.kill((force = 'SIGKILL'));
  }

  for (const signal of SIGNALS) {
    process.on(signal, () => {
      // Ctrl-C in a terminal goes to every program of the command; passed on, it would come twice.
      const hasIt = signal === 'SIGINT' && (IS_WINDOWS || process.stdin.isTTY);
      log({ event: 'signal', atMs: now(), signal });
      if (hasExited) leaveAs(child.exitCode, child.signalCode); // only the rest is not yet read
      else if (!hasIt) child.kill(signal);
    });
  }

  // --- The end ---

  const [exitCode, signal] = await exited as [number | null, NodeJS.Signals | null];
  hasExited = true;
  closeStdin();
  await drain();
  for (const cutter of cutters) cutter.end();
  log({ event: 'ended', atMs: now(), exitCode, signal, force });
  leaveAs(exitCode, signal);

  // All that the server said must arrive. What it started may live on and hold its pipes, though:
  // they are let go when they have been silent for half a second. Who reads no stderr, as some
  // hosts do not, is not waited for either.
  async function drain(): Promise<void> {
    const exitedAt = now();
    let lastFull = exitedAt; // when the host was last slow
    const isSilent = () => {
      if (out.writableLength > 0) lastFull = now();
      // What the server left in its pipes has come long before: the rest is from others, for ever.
      const isOthers = now() - lastFull > 5000;
      const isStill = now() - Math.max(lastMoved, exitedAt) > 500;
      return out.writableLength === 0 && (isStill || isOthers);
    };
    while (!(await Promise.race([closed, sleep(20, false)])) && !isSilent());
    await new Promise((resolve) => out.end(resolve));
    const flushed = new Promise((resolve) => process.stderr.write('', resolve));
    await Promise.race([flushed, sleep(500)]);
  }
}

/** Opens our own stdout so that it can be closed where the server closes its own. */
function openStdout(): Writable {
  try {
    // process.stdout cannot be closed: the host would not see the end of the server's output. And
    // Node lets go of the three standard streams without closing them, so that is done here.
    const socket = new Socket({ fd: 1, readable: false, writable: true });
    return socket.once('close', () => closeStandard(1));
  } catch {
    return process.stdout; // a file or a terminal, where nobody waits for an end
  }
}

/** Closes our own stdin, so that the host is told if it writes on. */
function closeStdin(): void {
  const { stdin } = process;
  if (stdin.destroyed) return;
  if (stdin instanceof Socket) stdin.once('close', () => closeStandard(0));
  stdin.destroy();
}

/** Ends this program as the server ended: with its exit code, or by its signal. */
function leaveAs(exitCode: number | null, signal: NodeJS.Signals | null): void {
  if (signal === null) return process.exit(exitCode ?? 1);
  const code = 128 + system.signals[signal]; // as a shell puts it
  // Node itself answers SIGUSR1, with its debugger; and Windows has no signals to end by.
  if (IS_WINDOWS || signal === 'SIGUSR1') return process.exit(code);
  for (const name of SIGNALS) process.removeAllListeners(name);
  process.kill(process.pid, signal);
  setTimeout(() => process.exit(code), 1000); // it is one that Node ignores, such as SIGPIPE
}

function closeStandard(descriptor: 0 | 1): void {
  try {
    closeSync(descriptor);
  } catch {
    // This Node, or this system, has closed it already.
  }
}

const SCRIPT = /\.m?[jt]s$/;

/** A script is run by the same runtime that runs this program: never a shell, no npx. */
function withRuntime([file = '', ...args]: string[]): string[] {
  if (!SCRIPT.test(file)) return [file, ...args];
  return [process.execPath, ...runtimeArguments(), resolve(file), ...args];
}

// ---------------------------------------------------------------------------------------------
// Writing the log
// ---------------------------------------------------------------------------------------------

type Unwritten = Omit<Spoken, 'run'> | Omit<Happening, 'run'>;

/** Opens LOG for one run. What goes wrong with it is said once, and stops nothing. */
function openLog(file: string): (entry: Unwritten) => void {
  const run = randomUUID().slice(0, 8);
  let descriptor: number | undefined;
  attempt(() => { descriptor = openForAppending(file); });
  return (entry) => attempt(() => {
    if (descriptor === undefined) return;
    if (fstatSync(descriptor).nlink === 0) throw new Error('it was removed');
    // Written at once, not some time later: a crash would lose just the lines that explain it.
    writeFileSync(descriptor, `${reveal(JSON.stringify({ run, ...entry }))}\n`);
  });

  function attempt(action: () => void): void {
    try {
      action();
    } catch (error) {
      descriptor = undefined;
      const reason = (error as Error).message;
      const sentence = `tap: no log from here on, ${file} cannot be written (${reason}).`;
      process.stderr.write(`${reveal(sentence)} The conversation goes on.\n`);
    }
  }
}

/** Opens a log, new or begun; throws where the file is another thing. */
function openForAppending(file: string): number {
  // O_NONBLOCK: to open a named pipe that nobody reads would wait, and the host with us.
  const { O_RDWR, O_CREAT, O_APPEND, O_NONBLOCK = 0 } = files;
  const descriptor = openSync(file, O_RDWR | O_CREAT | O_APPEND | O_NONBLOCK, 0o600);
  const stats = fstatSync(descriptor);
  if (!stats.isFile() || isStandard(stats)) {
    closeSync(descriptor);
    throw new Error('it is no ordinary file, or the conversation itself');
  }
  const { size } = stats;
  if (size === 0) return descriptor;
  const start = Buffer.alloc(LOG_START.length);
  readSync(descriptor, start, 0, start.length, 0);
  if (start.toString() !== LOG_START) {
    closeSync(descriptor);
    throw new Error('it is there already, and is no log of the tap');
  }
  const last = Buffer.alloc(1);
  readSync(descriptor, last, 0, 1, size - 1);
  if (last[0] !== 10) writeFileSync(descriptor, '\n'); // a run was cut off in the middle of a line
  return descriptor;
}

/** Is this the file behind our stdin, stdout or stderr? /dev/stdout would be, for one. */
function isStandard({ dev, ino }: { dev: number; ino: number }): boolean {
  return [0, 1, 2].some((descriptor) => {
    try {
      const other = fstatSync(descriptor);
      return other.dev === dev && other.ino === ino;
    } catch {
      return false; // it is closed
    }
  });
}

const LOG_START = '{"run":';

/** A line without its line feed, and what is odd about it; the names are those of the log. */
type Line = Pick<Spoken, 'line' | 'base64' | 'unterminated' | 'cutFrom'>;

/** Cuts a stream at byte 10; of a line longer than the limit it keeps the start. */
function newCutter(limit: number, take: (line: Line) => void) {
  let held = Buffer.alloc(0);
  let bytes = 0; // of this line, kept or not
  const kept = () => Math.min(bytes, limit);

  // Into one buffer that doubles: a list of pieces would be huge where they are one byte each.
  function hold(piece: Buffer): void {
    const size = Math.min(bytes + piece.length, limit);
    if (size > held.length) {
      const larger = Buffer.allocUnsafe(Math.min(2 * size, limit));
      held.copy(larger, 0, 0, kept());
      held = larger;
    }
    piece.copy(held, kept(), 0, size - kept());
    bytes += piece.length;
  }

  function close(end?: 'unterminated'): void {
    const whole = held.subarray(0, kept());
    const isCut = bytes > limit;
    // The decoder leaves out half a character, which is where a cut may have come down.
    const entry: Line = {
      line: isCut ? new StringDecoder('utf8').write(whole) : whole.toString(),
    };
    if (isCut) entry.cutFrom = bytes;
    else if (!isUtf8(whole)) entry.base64 = whole.toString('base64');
    if (end) entry.unterminated = true;
    bytes = 0;
    if (held.length > 1024 * 1024) held = Buffer.alloc(0);
    take(entry);
  }

  return {
    add(chunk: Buffer): void {
      let start = 0;
      for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
        hold(chunk.subarray(start, end));
        close();
        start = end + 1;
      }
      hold(chunk.subarray(start));
    },
    /** The stream has ended; a line without a line feed is one all the same. */
    end: () => void (bytes > 0 && close('unterminated')),
  };
}

// ---------------------------------------------------------------------------------------------
// Reading the log: what each line is, and what answers what
// ---------------------------------------------------------------------------------------------

/** A request, and what became of it. */
export type Request = {
  from: Spoken['from'];
  method: string;
  id: unknown;
  number: number;
  atMs: number;
  answer?: { number: number; afterMs: number };
  isCancelled: boolean;
};

/** One line that crossed, understood. */
export type Reading = {
  /** Counts the lines of a run from 1, those on stderr too. */
  number: number;
  spoken: Spoken;
  kind: 'request' | 'answer' | 'notification' | 'batch' | 'not JSON' | 'no message' | 'stderr';
  /** Its JSON value, where it has one. */
  message: unknown;
  /** The request that it makes, answers or cancels. */
  request?: Request;
  /** An error response, a tool that failed, or a line that is no message. */
  isError: boolean;
  /** What a reader should know of it, in ASCII. */
  notes: string[];
};

type JsonObject = Record<string, unknown>;

/** Reads the lines of one run in their order. */
export function newReader() {
  const open: Request[] = []; // what nobody has answered, cancelled or not
  const readings: Reading[] = [];

  function read(spoken: Spoken): Reading {
    const { line, from } = spoken;
    const message = from === 'stderr' ? undefined : parseJson(line);
    const kind = from === 'stderr' ? 'stderr' : kindOf(message);
    const number = readings.length + 1;
    const reading: Reading = { number, spoken, kind, message, isError: false, notes: [] };
    const { notes } = reading;
    if (kind === 'request') ask(reading, message as JsonObject);
    if (kind === 'answer') answer(reading, message as JsonObject);
    if (kind === 'notification') notify(reading, message as JsonObject);
    if (kind === 'batch') notes.push(`a batch of ${(message as unknown[]).length}, left unpaired`);
    const isBlank = line.trim() === ''; // which readers skip
    if (kind === 'not JSON') notes.push(isBlank ? 'a blank line' : 'ERROR: this is not JSON');
    if (kind === 'no message') notes.push('ERROR: JSON, but no message of JSON-RPC');
    reading.isError = kind === 'no message' || (kind === 'not JSON' && !isBlank) || reading.isError;
    if (spoken.base64 !== undefined) notes.push('not UTF-8: the log has its exact bytes in base64');
    if (spoken.cutFrom !== undefined) notes.push(`cut: it had ${spoken.cutFrom} bytes`);
    if (spoken.unterminated) notes.push('no line feed: the stream ended here');
    readings.push(reading);
    return reading;
  }

  function ask(reading: Reading, { id, method }: JsonObject): void {
    const { from, atMs } = reading.spoken;
    const { number } = reading;
    const isInUse = findOpen(from, id) !== undefined;
    reading.request = { from, method: String(method), id, number, atMs, isCancelled: false };
    open.push(reading.request);
    if (isInUse) reading.notes.push(`the id ${brief(id)} is in use: answers are paired by a guess`);
  }

  // Ids belong to the side that asked, so an answer is to the other side.
  function answer(reading: Reading, message: JsonObject): void {
    const { from, atMs } = reading.spoken;
    const request = findOpen(from === 'client' ? 'server' : 'client', message.id);
    const { error, result } = message;
    const isFailedTool = (Object(result) as JsonObject).isError === true;
    reading.isError = error !== undefined || isFailedTool;
    const { code, message: words } = Object(error) as JsonObject;
    if (error !== undefined) reading.notes.push(`ERROR ${brief(code)}: ${brief(words)}`);
    if (isFailedTool) reading.notes.push('ERROR: the tool failed (isError)');
    const { resultType } = Object(result) as JsonObject;
    if (resultType === 'input_required') reading.notes.push('input_required: the server asks back');
    if (request === undefined) {
      const id = message.id == null ? 'no id' : `the id ${brief(message.id)}`;
      reading.notes.push(`answers nothing that is open: ${id}`);
      return;
    }
    const afterMs = atMs - request.atMs;
    request.answer = { number: reading.number, afterMs };
    open.splice(open.indexOf(request), 1);
    reading.request = request;
    const late = request.isCancelled ? ', although it was cancelled' : '';
    reading.notes.push(`answers ${nameOf(request)} after ${afterMs} ms${late}`);
  }

  function notify(reading: Reading, { method, params }: JsonObject): void {
    const { from } = reading.spoken;
    if (method !== 'notifications/cancelled') {
      reading.notes.push(`notification ${brief(method)}`);
      return;
    }
    const { requestId } = Object(params) as JsonObject;
    // A server, too, ends a subscription with it (2026-07-28/basic/patterns/cancellation).
    const subscription = from === 'server' ? findOpen('client', requestId) : undefined;
    const isSubscription = subscription?.method === 'subscriptions/listen';
    const request = findOpen(from, requestId) ?? (isSubscription ? subscription : undefined);
    if (request === undefined) {
      reading.notes.push(`cancels nothing that is open: the id ${brief(requestId)}`);
      return;
    }
    request.isCancelled = true;
    reading.request = request;
    reading.notes.push(`cancels ${nameOf(request)}`);
  }

  // The oldest first. An id is the same in value and type: 3 is not "3".
  function findOpen(from: Spoken['from'], id: unknown): Request | undefined {
    return open.find((one) => one.from === from && one.id === id);
  }
  return { read, open, readings };
}

export type Reader = ReturnType<typeof newReader>;

function kindOf(message: unknown): Reading['kind'] {
  if (message === undefined) return 'not JSON';
  if (Array.isArray(message)) return 'batch';
  const { method, id, result, error } = Object(message) as JsonObject;
  if (typeof method === 'string') return id === undefined ? 'notification' : 'request';
  return result === undefined && error === undefined ? 'no message' : 'answer';
}

/** A request as one speaks of it: its method and its id. */
export function nameOf({ method, id }: Request): string {
  return `${brief(method)} ${brief(id)}`;
}

/** A value in few words; a string that is an id keeps its quotation marks only if it needs them. */
export function brief(value: unknown): string {
  const text = typeof value === 'string' && /^[a-z]/i.test(value) ? value : stringify(value);
  return text.length > 100 ? `${text.slice(0, 100)}...` : text;
}

/** A value as JSON; one that is nested too deep for that is told in words. */
export function stringify(value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'nothing';
  } catch {
    return 'a value nested too deep'; // JSON.parse reads deeper than JSON.stringify writes
  }
}

const isText = (value: unknown) => typeof value === 'string';

/** Understands one line of LOG; undefined where it is none of the tap's. */
function parseEntry(text: string): Spoken | Happening | undefined {
  const entry = Object(parseJson(text)) as Partial<Spoken & Happening>;
  if (typeof entry.run !== 'string' || typeof entry.atMs !== 'number') return undefined;
  const { at = '', signal, force, exitCode, cutFrom = 0, command = [] } = entry;
  const isSound = typeof at === 'string' && [signal ?? '', force ?? ''].every(isText) &&
    [exitCode ?? 0, cutFrom].every(Number.isFinite) && [command].flat().every(isText);
  if (!isSound) return undefined; // somebody else has written in this log
  if (typeof entry.event === 'string') return entry as Happening;
  const isSide = ['client', 'server', 'stderr'].includes(String(entry.from));
  return isSide && typeof entry.line === 'string' ? (entry as Spoken) : undefined;
}

/** Where one left off reading a file: a new file under the same name is read from its start. */
type Place = { inode: number; offset: number };

/** Reads what has come to a file since the last time, piece by piece. */
function* readOn(file: string, place: Place): Generator<Buffer | undefined> {
  const descriptor = openSync(file, 'r');
  try {
    const { ino, size } = fstatSync(descriptor);
    if (place.inode !== ino || size < place.offset) {
      if (place.offset > 0) yield undefined; // it is another file now
      Object.assign(place, { inode: ino, offset: 0 });
    }
    for (;;) {
      const buffer = Buffer.alloc(64 * 1024);
      const count = readSync(descriptor, buffer, 0, buffer.length, place.offset);
      if (count === 0) return;
      place.offset += count;
      yield buffer.subarray(0, count);
    }
  } finally {
    closeSync(descriptor);
  }
}

// ---------------------------------------------------------------------------------------------
// --show
// ---------------------------------------------------------------------------------------------

// What a terminal, or a reader, could be deceived with: control characters, marks that turn the
// direction of the text, and characters that nobody sees; also halves of characters.
const ODD = new RegExp(
  '[\\u0000-\\u001f\\u007f-\\u009f\\u2028-\\u202e\\u2800\\ufff9-\\ufffb\\ud800-\\udfff' +
  '\\p{Default_Ignorable_Code_Point}]', 'gu');

/** Shows what is odd in a text as JSON writes it: \u and four digits. */
export function reveal(text: string, odd: RegExp = ODD): string {
  return text.replace(odd, (characters) => characters.split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''));
}

function say(text: string): void {
  process.stdout.write(`${reveal(text)}\n`);
}

/** Prints a remark of our own, in which a message's words may occur: in ASCII, all of it. */
function remark(text: string): void {
  process.stdout.write(`      ${reveal(text, /[^ -~]/g)}\n`);
}

/** Prints a log, and with `isFollowing` what comes to it, until a signal; gives the exit code. */
async function show(file: string, isFollowing: boolean): Promise<number> {
  const stop = new AbortController();
  for (const signal of isFollowing ? SIGNALS : []) process.on(signal, () => stop.abort());
  const printer = newPrinter();
  let lineNumber = 0;
  let damaged = 0;
  const newLines = () => newCutter(LOG_LINE_LIMIT, ({ line, unterminated }) => {
    lineNumber += 1;
    const entry = parseEntry(line);
    if (entry !== undefined) return printer.print(entry);
    if (line.trim() === '') return;
    damaged += 1;
    const why = unterminated ? 'its end is missing' : 'it is no entry of a log';
    say(`LOG line ${lineNumber} is damaged and left out (${why}): ${line.slice(0, 60)}`);
  });
  const place = { inode: -1, offset: 0 };
  let lines = newLines();
  if (!existsSync(file) && isFollowing) say(`${file} is not there yet: waiting for it.`);

  // Looking again and again is what works on every system and every disk.
  for (let isFirst = true; isFirst || (isFollowing && !stop.signal.aborted); isFirst = false) {
    try {
      for (const piece of readOn(file, place)) {
        if (piece === undefined) {
          say(`${file} was begun anew.`);
          [lines, lineNumber] = [newLines(), 0];
        } else lines.add(piece);
        if (process.stdout.writableNeedDrain) await once(process.stdout, 'drain');
      }
    } catch (error) {
      if (!isFollowing || (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    if (isFollowing) await sleep(200, null, { signal: stop.signal }).catch(() => {});
  }
  lines.end();
  printer.finish();
  if (damaged > 0) say(`damaged lines in the log: ${damaged}`);
  return damaged > 0 ? 1 : 0;
}

/** Prints the entries of a log as they come, each run with a reader of its own. */
function newPrinter() {
  const runs = new Map<string, Reader>();
  let current: string | undefined;

  function print(entry: Spoken | Happening): void {
    const { run } = entry;
    const reader = runs.get(run) ?? newReader();
    const isStart = 'event' in entry && entry.event === 'started';
    const state = runs.has(run) ? 'continued' : 'its start is missing';
    if (current !== run && !isStart) say(`== run ${run}, ${state} ==`);
    runs.set(run, reader);
    current = run;
    if ('event' in entry) tell(entry, reader);
    else printLine(reader.read(entry));
  }

  function tell(entry: Happening, reader: Reader): void {
    const { run, event, atMs } = entry;
    if (event === 'started') {
      say(`== run ${run}, ${entry.at} ==`);
      say(`$ ${[entry.command].flat().join(' ')}`);
      say('');
    } else if (event === 'ended') {
      say('');
      say(`ended: ${describeEnd(entry)}, ${atMs} ms after the start`);
      summarize(run, reader);
    } else {
      const words = Object.hasOwn(EVENTS, event) ? EVENTS[event] : event;
      remark(`(at ${atMs} ms) ${words}${entry.signal ? `: ${entry.signal}` : ''}`);
    }
  }

  function printLine({ spoken, notes }: Reading): void {
    const { from, line } = spoken;
    say(`${{ client: '-->', server: '<--', stderr: '    |' }[from]} ${line}`);
    for (const note of notes) remark(note);
  }

  function summarize(run: string, reader: Reader): void {
    for (const request of reader.open) {
      const state = request.isCancelled ? 'cancelled, and not answered' : 'still open';
      remark(`${state}: ${nameOf(request)}, asked by the ${request.from} at ${request.atMs} ms`);
    }
    say(`summary: ${summaryOf(reader)}`);
    say('');
    runs.delete(run);
    current = undefined;
  }

  /** Sums up the runs that have not ended. */
  function finish(): void {
    for (const [run, reader] of runs) {
      say('');
      say(`not ended, or its end is missing: run ${run}`);
      summarize(run, reader);
    }
  }
  return { print, finish };
}

/** How a server ended, in words. */
export function describeEnd({ exitCode, signal, force }: Happening): string {
  const how = signal ? `by ${signal}` : `exit code ${exitCode}`;
  return force ? `${how} (it took force: ${force})` : how;
}

/** Counts what a run has. */
export function summaryOf({ readings, open }: Reader): string {
  const count = (kind: Reading['kind']) => readings.filter((one) => one.kind === kind).length;
  const others = count('batch') + count('not JSON') + count('no message');
  const stderr = count('stderr');
  const errors = readings.filter(({ isError }) => isError).length;
  const parts = [
    `requests: ${count('request')}`, `answers: ${count('answer')}`, `errors: ${errors}`,
    `notifications: ${count('notification')}`, `without an answer: ${open.length}`,
    ...(others > 0 ? [`other lines: ${others}`] : []),
    ...(stderr > 0 ? [`lines on stderr: ${stderr}`] : []),
  ];
  return parts.join(', ');
}

// ---------------------------------------------------------------------------------------------
// --html
// ---------------------------------------------------------------------------------------------

/** One run of a log, for the page. */
export type Run = { name: string; entries: (Reading | Happening)[]; reader: Reader };

/** Reads a whole log, run by run, and counts the lines that are none of the tap's. */
export function readLog(file: string): { runs: Run[]; damaged: number[] } {
  const runs = new Map<string, Run>();
  const damaged: number[] = [];
  let lineNumber = 0;
  const lines = newCutter(LOG_LINE_LIMIT, ({ line }) => {
    lineNumber += 1;
    const entry = parseEntry(line);
    if (entry === undefined) return void (line.trim() !== '' && damaged.push(lineNumber));
    const run = runs.get(entry.run) ?? { name: entry.run, entries: [], reader: newReader() };
    runs.set(entry.run, run);
    run.entries.push('event' in entry ? entry : run.reader.read(entry));
  });
  for (const piece of readOn(file, { inode: -1, offset: 0 })) lines.add(piece ?? Buffer.alloc(0));
  lines.end();
  return { runs: [...runs.values()], damaged };
}

/** Makes a page of a log; gives the exit code. */
async function writePage(page: string, file: string): Promise<number> {
  const { renderPage, PAGE_START } = await import('./tap-page.ts');
  if (existsSync(page) && !startsWith(page, PAGE_START)) {
    leave(2, `${page} is there already, and is no page of the tap: choose another name.`);
  }
  const { runs, damaged } = readLog(file);
  // Under another name first, so that there is never half a page; for your eyes only, as the log.
  const draft = `${page}.${process.pid}.tmp`;
  const descriptor = openSync(draft, 'wx', 0o600); // is there one, then it is not ours
  try {
    try {
      for (const part of renderPage(basename(file), runs, damaged)) writeFileSync(descriptor, part);
    } finally {
      closeSync(descriptor);
    }
    renameSync(draft, page);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
  const count = runs.reduce((sum, { reader }) => sum + reader.readings.length, 0);
  say(`${page}: runs: ${runs.length}, lines: ${count}`);
  for (const line of damaged) say(`LOG line ${line} is damaged and left out.`);
  return damaged.length > 0 ? 1 : 0;
}

function startsWith(file: string, start: string): boolean {
  if (!statSync(file).isFile()) return false;
  const bytes = Buffer.alloc(start.length);
  const descriptor = openSync(file, 'r');
  readSync(descriptor, bytes, 0, bytes.length, 0);
  closeSync(descriptor);
  return bytes.toString() === start;
}

// ---------------------------------------------------------------------------------------------
// The command
// ---------------------------------------------------------------------------------------------

const USAGE = `Usage: npx tsx scripts/tap.ts LOG.jsonl -- COMMAND ARGS    stand in a server's place
       npx tsx scripts/tap.ts --show LOG.jsonl [--follow]  print what crossed
       npx tsx scripts/tap.ts --html PAGE.html LOG.jsonl   make a page of it`;

/** Ends this program with a sentence and the usage: code 0 for --help, 2 for a wrong call. */
function leave(code: 0 | 2, sentence: string): never {
  (code === 0 ? console.log : console.error)(`${reveal(sentence)}\n\n${USAGE}`);
  process.exit(code);
}

/** What this program was called for. */
type Call =
  | { task: 'tap'; log: string; command: string[] }
  | { task: 'show'; log: string; isFollowing: boolean }
  | { task: 'html'; log: string; page: string };

/** Reads how this program was called; ends it, or throws, where that makes no sense. */
function readCall(argv: string[]): Call {
  const cut = argv.includes('--') ? argv.indexOf('--') : argv.length;
  const options = {
    show: { type: 'string' }, html: { type: 'string' },
    follow: { type: 'boolean' }, help: { type: 'boolean' },
  } as const;
  const { values, positionals } =
    parseArgs({ args: argv.slice(0, cut), options, allowPositionals: true });
  const { show: shown, html: page, follow: isFollowing = false, help } = values;
  const command = argv.slice(cut + 1);
  const [log = shown ?? '', ...rest] = positionals;
  const isTap = shown === undefined && page === undefined;
  if (help) leave(0, 'Writes down what a host and a server say to each other, and shows it.');
  if (shown !== undefined && page !== undefined) leave(2, '--show or --html, not both.');
  if (isFollowing && shown === undefined) leave(2, '--follow goes with --show.');
  if (!isTap && cut < argv.length) leave(2, 'A COMMAND goes with neither --show nor --html.');
  if (shown !== undefined && positionals.length > 0) leave(2, '--show takes one LOG.jsonl.');
  if (page === '') leave(2, '--html takes the PAGE.html that is to be written.');
  if (log === '' || rest.length > 0) leave(2, 'Name one LOG.jsonl.');
  if (shown !== undefined) return { task: 'show', log, isFollowing };
  if (page !== undefined) return { task: 'html', log, page };
  if (!command[0]) leave(2, 'After LOG.jsonl come -- and the COMMAND that starts the server.');
  if (SCRIPT.test(command[0]) && !existsSync(command[0])) {
    leave(2, `There is no file ${command[0]}: pass the server's file, or its COMMAND.`);
  }
  return { task: 'tap', log, command };
}

async function main(): Promise<void> {
  const call = readCall(process.argv.slice(2));
  if (call.task === 'tap') return tap(call.log, call.command);
  process.stdout.on('error', () => process.exit(2)); // nobody reads this any more
  const { log } = call;
  const isAwaited = call.task === 'show' && call.isFollowing;
  if (!existsSync(log) && !isAwaited) leave(2, `There is no file ${log}.`);
  if (existsSync(log) && !statSync(log).isFile()) leave(2, `${log} is no file: name a log.`);
  process.exitCode =
    await (call.task === 'show' ? show(log, call.isFollowing) : writePage(call.page, log));
}

// The page and the tests import this file; then it does nothing by itself.
if (realpathSync(process.argv[1] ?? '.') === realpathSync(fileURLToPath(import.meta.url))) {
  main().catch(({ message }: Error) => leave(2, message.replace(/\. [^]*/, '.')));
}
