/**
 * What all judges share: what they are given, how they count, how an expectation is written, and
 * how a program is run. A judge is a function in a file of its own; interop.ts has their list.
 *
 * SPDX-License-Identifier: MIT
 */

import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';

/** The kit's own folder, and the folder of the judges. */
export const KIT = fileURLToPath(new URL('../..', import.meta.url));
export const INTEROP = fileURLToPath(new URL('.', import.meta.url));

/** Who is judged, and how. */
export type Stand = {
  /** The folder of the servers: the kit's own, or one with edited copies of some. */
  servers: string;
  /** The servers are edited copies: what does not depend on them is left out. */
  isEdited: boolean;
  /** Where each judge writes down what crossed the wire, in a folder of its own. */
  records: string;
  /** All judges are asked, so that the last one may count on the records of the others. */
  isWhole: boolean;
  /** Run the whole of `npm test` too, which takes longer than all judges together. */
  withTests: boolean;
};

export type Judge = (stand: Stand, verdict: Verdict) => Promise<void>;

export type Era = 'legacy' | 'modern';
export type JsonObject = Record<string, unknown>;

export function serverFile({ servers }: Stand, name: string): string {
  return join(servers, `${name}.ts`);
}

/** Is this server judged? Of the kit's own all are; of edited copies, those that there are. */
export function isJudged(stand: Stand, name: string): boolean {
  return !stand.isEdited || existsSync(serverFile(stand, name));
}

/** Makes the empty folder where one judge keeps its records. */
export function freshFolder(stand: Stand, judge: string): string {
  const folder = join(stand.records, judge);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  return folder;
}

// ---------------------------------------------------------------------------------------------
// Counting
// ---------------------------------------------------------------------------------------------

export type Verdict = ReturnType<typeof newVerdict>;

/** Begins the account of one judge. */
export function newVerdict() {
  const account = { checks: 0, failures: [] as string[], notes: [] as string[], counted: '' };
  return Object.assign(account, {
    /** Counts a check; `problem` says what is wrong, and is undefined where nothing is. */
    check(label: string, problem: string | undefined): boolean {
      account.checks += 1;
      if (problem !== undefined) account.failures.push(`${label}: ${problem}`);
      return problem === undefined;
    },
    /** Counts a check that holds or does not; `came` is shown where it does not. */
    that(label: string, holds: boolean, came: unknown): boolean {
      return this.check(label, holds ? undefined : `came ${show(came)}`);
    },
  });
}

export function show(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value) ?? String(value);
  return text.length > 400 ? `${text.slice(0, 400)}…` : text;
}

// ---------------------------------------------------------------------------------------------
// Expectations
// ---------------------------------------------------------------------------------------------

/**
 * What a value must be: the same value, where a RegExp stands for a text that it finds and a
 * function for its own judgement. An object has exactly the members that are named.
 */
export type Pattern =
  | string | number | boolean | null | undefined | RegExp | ((value: unknown) => boolean)
  | readonly Pattern[] | { readonly [member: string]: Pattern };

/** Allows a member to be missing. */
export const optional = (pattern: Pattern) => (value: unknown) =>
  value === undefined || mismatch(pattern, value) === undefined;

/** Compares; gives undefined, or where the value first differs and how. */
export function mismatch(pattern: Pattern, value: unknown, path = ''): string | undefined {
  const differs = `${path || 'the value'} is ${show(value)}, not ${show(pattern ?? 'absent')}`;
  if (pattern instanceof RegExp) {
    return typeof value === 'string' && pattern.test(value) ? undefined : `${differs}${pattern}`;
  }
  if (typeof pattern === 'function') return pattern(value) ? undefined : differs;
  if (typeof pattern !== 'object' || pattern === null) {
    return isDeepStrictEqual(pattern, value) ? undefined : differs;
  }
  if (!Array.isArray(pattern) && !isObject(value)) return differs;
  if (Array.isArray(pattern) && !(Array.isArray(value) && value.length === pattern.length)) {
    return differs;
  }
  const [wanted, came] = [pattern as JsonObject, value as JsonObject];
  for (const key of new Set([...Object.keys(wanted), ...Object.keys(came)])) {
    const problem = mismatch(wanted[key] as Pattern, came[key], path ? `${path}.${key}` : key);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

// ---------------------------------------------------------------------------------------------
// Records of the wire
// ---------------------------------------------------------------------------------------------

/** One line that crossed the wire, as `--save` of the kit's clients writes it, and tap.ts too. */
export type Crossing = {
  from: 'client' | 'server';
  atMs: number;
  /** Why the client expects this request to be refused; null where it does not. */
  expectsRefusal: string | null;
  line: string;
};

/** How a server ended, as `--save` writes it; `wasTerminated` is known to tap.ts alone. */
export type Ending = {
  exitCode: number | null;
  signal: string | null;
  strayStdoutBytes: number;
  stderrBytes: number;
  wasTerminated?: boolean;
};

/** A conversation with one server process. Its name begins with its era. */
export type Conversation = { name: string; file: string; crossings: Crossing[]; ending: Ending };

/** Reads every conversation below a folder, sorted by name. */
export function readRecords(folder: string): Conversation[] {
  const suffix = '.transcript.json';
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(suffix))
    .sort()
    .map((relative) => {
      const file = join(folder, relative);
      const read = (path: string) => JSON.parse(readFileSync(path, 'utf8'));
      const ending = read(file.replace(suffix, '.cleanup.json'));
      return { name: relative.slice(0, -suffix.length), file, crossings: read(file), ending };
    });
}

// ---------------------------------------------------------------------------------------------
// Programs
// ---------------------------------------------------------------------------------------------

/** How a program ended, and what it said. */
export type Outcome = { code: number | null; stdout: string; stderr: string };

/** What stands before a `.ts` file so that this process's own Node runs it: tsx, or nothing. */
export const RUNTIME_ARGUMENTS = process.execArgv.filter((one) => !one.startsWith('--inspect'));

/** The program of another Node, which the npm package `node` brought. */
export function nodeOf(name: string): string {
  const program = join(INTEROP, 'node_modules', name, 'bin', IS_WINDOWS ? 'node.exe' : 'node');
  if (!existsSync(program)) throw new Error(`there is no ${program}: install again`);
  return program;
}

const IS_WINDOWS = process.platform === 'win32';

type RunOptions = { cwd?: string; env?: NodeJS.ProcessEnv; deadline?: number };

/** Runs a program without a shell to its end; after the deadline it is killed. */
export function run(
  program: string,
  args: readonly string[],
  { cwd = KIT, env = process.env, deadline = 120_000 }: RunOptions = {},
): Promise<Outcome> {
  // FORCE_COLOR would put colours into what is read here; and Node would take a process with
  // NODE_TEST_CONTEXT for a part of a test runner above.
  const { FORCE_COLOR: _, NODE_TEST_CONTEXT: __, ...rest } = env;
  const options = { cwd, env: rest, timeout: deadline, killSignal: 'SIGKILL' } as const;
  const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const outcome = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (outcome.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (outcome.stderr += text));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, ...outcome }));
  });
}

/** Runs npm by its own script, which knows itself what it was started with, in a folder. */
export function runNpm(args: readonly string[], options: RunOptions): Promise<Outcome> {
  const npm = process.env.npm_execpath ?? '';
  if (!existsSync(npm)) throw new Error('start this with: npm run interop');
  // What npm tells its scripts of itself would lead the next npm back to the folder of this one;
  // what it is configured with (a registry, a proxy) stays.
  const own = /^(INIT_CWD|npm_(?!config_).*|npm_config_.*prefix)$/i;
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !own.test(name)));
  return run(process.execPath, [npm, ...args], { ...options, env });
}

/** Runs jobs two at a time: a small machine has two processors, and servers have deadlines. */
export async function inPairs(jobs: readonly (() => Promise<void>)[]): Promise<void> {
  const queue = [...jobs];
  const worker = async () => {
    for (let job = queue.shift(); job !== undefined; job = queue.shift()) await job();
  };
  await Promise.all([worker(), worker()]);
}
