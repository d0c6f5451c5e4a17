/**
 * The other end of a server's pipes, for the raw cases: starts a server as a real process, writes
 * bytes, reads messages, and waits for what must come, never for longer than a deadline. It knows
 * nothing of the protocol but what every line of stdout must be.
 */

import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams, StdioOptions } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

import { isObject, show } from './raw-cases.ts';
import type { Bytes } from './raw-cases.ts';
import { KIT, withoutNodeWarnings } from './testing.ts';

/** The deadline for a message. It bounds a hang, and measures nothing. */
export const DEADLINE_MS = 5_000;
/** The deadline for what includes a start, or many messages. */
export const LONG_DEADLINE_MS = 3 * DEADLINE_MS;

/** A server to run: its name, its file, and the arguments that its `Run:` line has. */
export type Server = { name: string; file: string; args: readonly string[] };

export type Message = Record<string, unknown>;

/** How a process ended. */
export type Exit = { code: number | null; signal: string | null };

/** One running server. */
export type Wire = {
  child: ChildProcessWithoutNullStreams;
  /** What is being done, for the sentence of a failure. */
  label: string;
  /** Every message that has come so far. */
  messages: Message[];
  /** The same, as lines; damaged ones too. */
  lines: string[];
  /** What is wrong with lines of stdout that are no message. */
  complaints: string[];
  /** What stderr has said, Node's own warnings aside. */
  stderr: () => string;
  exit: Exit | undefined;
  /** Writes; false when the pipe is full, as a stream's own `write`. */
  write: (bytes: Bytes) => boolean;
  /** Waits until something holds; throws a sentence if the deadline or the process ends first. */
  until: (what: string, holds: () => boolean, ms?: number) => Promise<void>;
  /** Makes the error that tells what was sent and what came. */
  trouble: (what: string) => Error;
};

const running = new Set<ChildProcessWithoutNullStreams>();
// However the tests end, no server outlives them.
process.on('exit', killRunning);

/** Kills the servers that are still running; gives how many there were. */
export function killRunning(): number {
  for (const child of running) child.kill('SIGKILL');
  return running.size;
}

/** Starts a server, lets `use` work with it, and kills it if it is still there after that. */
export async function withServer<T>(
  server: Server,
  use: (wire: Wire) => Promise<T>,
  options: StartOptions = {},
): Promise<T> {
  const wire = startServer(server, options);
  try {
    return await use(wire);
  } finally {
    await stop(wire);
  }
}

/** Kills a server that is still there, and waits until it is gone. */
export async function stop(wire: Wire): Promise<void> {
  if (wire.exit === undefined) wire.child.kill('SIGKILL');
  await wire.until('the end after SIGKILL', () => wire.exit !== undefined, LONG_DEADLINE_MS);
}

/** `stdin` and `stdout` are descriptors of files, where there shall be no pipes. */
export type StartOptions = { label?: string; stdin?: number; stdout?: number };

/** Starts a server with pipes, run by the same Node and loader as this process. */
export function startServer(server: Server, options: StartOptions = {}): Wire {
  const { label = 'the start', stdin = 'pipe', stdout = 'pipe' } = options;
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const runtime = process.execArgv.filter((text) => !/^--(?:inspect|test)/.test(text));
  const command = [...runtime, server.file, ...server.args];
  // A server's arguments may name folders of the kit.
  const stdio: StdioOptions = [stdin, stdout, 'pipe'];
  const child = spawn(process.execPath, command, { cwd: KIT, env, stdio }) as
    ChildProcessWithoutNullStreams; // stdin and stdout are null where a file stands for them
  running.add(child);

  const waiting = new Set<() => void>();
  const look = (): void => waiting.forEach((check) => check());
  let written = 0;
  let recent = ''; // the end of what was written, to show
  const escape = (text: string): string => text.replace(/[^\x20-\x7e\n]/g, (character) =>
    `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`).replaceAll('\n', '\n    ');
  let errors = '';

  const wire: Wire = {
    child,
    label,
    messages: [],
    lines: [],
    complaints: [],
    stderr: () => withoutNodeWarnings(errors),
    exit: undefined,
    write(bytes) {
      written += Buffer.byteLength(bytes);
      recent = (recent + Buffer.from(bytes as string).subarray(-400).toString('utf8')).slice(-400);
      return child.stdin.write(bytes);
    },
    until(what, holds, ms = DEADLINE_MS) {
      return new Promise((resolve, reject) => {
        const check = (): void => {
          if (holds()) settle(resolve);
          else if (wire.exit) settle(() => reject(wire.trouble(`it ended before ${what}`)));
        };
        const timer = setTimeout(() => {
          settle(() => reject(wire.trouble(`waited ${ms} ms in vain for ${what}`)));
        }, ms);
        const settle = (how: () => void): void => {
          clearTimeout(timer);
          waiting.delete(check);
          how();
        };
        waiting.add(check);
        check();
      });
    },
    trouble(what) {
      const came = wire.lines.slice(-4).map((line) => escape(line.slice(0, 300))).join('\n    ');
      const { exit } = wire;
      const end = exit ? `It ended with code ${exit.code}, signal ${exit.signal}.` : 'It runs.';
      return new Error(`${server.name}: ${wire.label}: ${what}.
  Sent (${written} bytes), last: ${escape(recent.trimEnd()) || 'nothing'}
  Came (${wire.lines.length} lines), last: ${came || 'nothing'}
  ${end} Its stderr: ${wire.stderr().slice(-600) || 'nothing'}`);
    },
  };

  child.stdin?.on('error', () => {}); // the server may end first; its exit tells
  child.stdin?.on('drain', look);
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
    look();
  });
  child.on('error', (error) => {
    errors += String(error);
  });
  child.on('exit', look);
  child.on('close', (code, signal) => {
    running.delete(child);
    wire.exit = { code, signal };
    look();
  });
  child.stdout?.on('data', takeLines(wire)).on('data', look);
  return wire;
}

/** Cuts stdout into lines, and keeps each as a message or as a complaint. */
function takeLines(wire: Wire): (chunk: Buffer) => void {
  let pieces: Buffer[] = [];
  wire.child.stdout.on('end', () => {
    if (pieces.length > 0) wire.complaints.push('the last line has no line feed');
  });
  return (chunk) => {
    let start = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, start)) {
      keepLine(wire, Buffer.concat([...pieces, chunk.subarray(start, at)]));
      pieces = [];
      start = at + 1;
    }
    if (start < chunk.length) pieces.push(chunk.subarray(start));
  };
}

/** Keeps a line, after a look at what each of them must be, in both eras. */
export function keepLine(wire: Wire, bytes: Buffer): void {
  const line = bytes.toString('utf8');
  wire.lines.push(line);
  const complain = (what: string): unknown => wire.complaints.push(`${what}: ${show(line)}`);
  if (!Buffer.from(line).equals(bytes)) complain('not UTF-8');
  let message: unknown;
  try {
    message = JSON.parse(line);
  } catch {
    return void complain('not JSON');
  }
  if (!isObject(message)) return void complain('not an object');
  wire.messages.push(message);
  const { jsonrpc, id, error } = message;
  const has = (name: string): boolean => Object.hasOwn(message, name);
  const members = ['jsonrpc', 'id', 'method', 'params', 'result', 'error'];
  if (jsonrpc !== '2.0') complain('not jsonrpc 2.0');
  if (Object.keys(message).some((name) => !members.includes(name))) complain('a strange member');
  if (['method', 'result', 'error'].filter(has).length !== 1) {
    complain('not exactly one of method, result, error');
  }
  // The server asks nothing of its client, so what has a method is a notification.
  if (has('method') && has('id')) complain('a request of the server');
  if (has('result') && !isObject(message.result)) complain('a result that is no object');
  if (has('result') && !has('id')) complain('a result without an id');
  if (has('id') && typeof id !== 'string' && !Number.isSafeInteger(id)) complain('a strange id');
  if (!has('error')) return;
  const { code, message: text } = isObject(error) ? error : {};
  if (!Number.isInteger(code) || typeof text !== 'string') {
    complain('no error with an integer code and a message');
  }
}

/** Writes pieces one by one, with a moment between, so that they arrive as pieces. */
export async function writePieces(wire: Wire, pieces: readonly Bytes[]): Promise<void> {
  for (const [index, piece] of pieces.entries()) {
    if (wire.exit) return;
    // A few cuts are worth a pause that a busy machine cannot swallow.
    if (index > 0 && pieces.length <= 40) await sleep(1);
    else if (index > 0) await new Promise((resolve) => setImmediate(resolve));
    wire.write(piece);
  }
}

/** Writes a lot, no faster than the server takes it; all of it within one deadline. */
export async function pour(wire: Wire, pieces: Iterable<Bytes>): Promise<void> {
  const end = Date.now() + LONG_DEADLINE_MS;
  for (const piece of pieces) {
    if (wire.write(piece)) continue;
    const isEmpty = (): boolean => wire.child.stdin.writableLength === 0;
    await wire.until('room in its stdin', isEmpty, end - Date.now());
  }
}

/** Waits for the end; gives what is wrong with it, where it should be quiet and good. */
export async function goodEnd(wire: Wire, ms: number = LONG_DEADLINE_MS): Promise<void> {
  await wire.until('its end', () => wire.exit !== undefined, ms);
  if (wire.exit?.code !== 0) throw wire.trouble('it should end with code 0');
  if (wire.stderr() !== '') throw wire.trouble('stderr should be silent');
  if (wire.complaints[0] !== undefined) throw wire.trouble(wire.complaints[0]);
}

/** The most memory that a server has had, in MB; undefined where there is no /proc to tell it. */
export function peakMemory(wire: Wire): number | undefined {
  try {
    const status = readFileSync(`/proc/${wire.child.pid}/status`, 'utf8');
    const kilobytes = /^VmHWM:\s*(\d+) kB$/m.exec(status)?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) / 1024;
  } catch {
    return undefined;
  }
}
