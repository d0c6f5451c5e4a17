/**
 * How the tests of the clients start a client, read what it prints, and look for processes that it
 * left behind. The servers it talks to are scripts/fake-server.mjs, which keeps a diary of itself.
 */

import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import {
  isUnderTsx, KIT, listClients, runNode, tsxArguments, withoutNodeWarnings,
} from './testing.ts';
import type { Outcome } from './testing.ts';

export const FAKE_SERVER = join(KIT, 'scripts', 'fake-server.mjs');

/** Bounds a hang, and measures nothing. */
export const DEADLINE_MS = 60_000;

/** What must stand before a client's file, so that Node runs it as it runs this file. */
export const RUNTIME = isUnderTsx() ? tsxArguments() : [];

/** One story as a client told it. */
export type Story = {
  /** `legacy`, `modern`, or one of these and a scenario: `legacy-mixed`. */
  name: string;
  text: string;
  /** The labels of the checks that passed, and of those that failed. */
  passes: string[];
  fails: string[];
  /** The lines that it said it sent, and that it said came. */
  sent: string[];
  came: string[];
};

/** Lists the clients that hold a conversation over stdio with the server that has their name. */
export function listTalkers(): { name: string; file: string; server: string }[] {
  return listClients()
    .filter((file) => readFileSync(file, 'utf8').includes('// #region conversation '))
    .map((file) => {
      const server = join(file, '..', '..', 'servers', basename(file));
      return { name: basename(file, '.ts'), file, server };
    })
    .filter(({ server }) => existsSync(server));
}

/** Takes the types out of some files, once and for all; they are then `.js` in that folder. */
export async function compile(files: string[], folder: string): Promise<void> {
  const compiler = createRequire(import.meta.url).resolve('typescript/package.json');
  const command = join(compiler, '..', 'bin', 'tsc');
  const options = '--ignoreConfig --noCheck --module nodenext --target es2022 --types node';
  const outcome = await runNode([command, ...options.split(' '), '--outDir', folder, ...files]);
  if (outcome.code !== 0) throw new Error(`tsc: ${outcome.stdout}${outcome.stderr}`);
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}\n');
}

/** Cuts what a client printed into its stories. */
export function readStories(stdout: string): Story[] {
  return stdout.split(/^(?=== \S+: the \S+ story ==$)/m).flatMap((text) => {
    const name = /^== \S+: the (\S+) story ==$/m.exec(text)?.[1];
    const find = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, found = '']) => found);
    return name === undefined ? [] : {
      name, text,
      passes: find(/^PASS {2}(.*)$/gm), fails: find(/^FAIL {2}(.*)$/gm),
      sent: find(/^--> (.*)$/gm), came: find(/^<-- (.*)$/gm),
    };
  });
}

/** Looks at what must hold of everything that a client prints; gives what does not. */
export function lookAtOutput({ stdout, stderr, code }: Outcome): string[] {
  const complaints: string[] = [];
  const expect = (what: string, holds: boolean): unknown => holds || complaints.push(what);
  const lines = stdout.split('\n');
  const fails = lines.filter((line) => line.startsWith('FAIL  ')).length;
  const said = /\nresult: (?:(\d+) of \d+ checks failed|\d+ checks passed)\n$/.exec(stdout);
  expect('stderr is silent', withoutNodeWarnings(stderr) === '');
  expect('the last line counts the FAIL lines', said !== null && Number(said[1] ?? 0) === fails);
  expect(`the exit code is ${fails > 0 ? 1 : 0}`, code === (fails > 0 ? 1 : 0));
  expect('no control character is printed', !/[\0-\x09\x0b-\x1f\x7f-\x9f]/.test(stdout));
  const own = lines.filter((line) => !/^(?:-->|<--| {4}\||\$) /.test(line));
  expect('all but messages, stderr and paths is ASCII', own.every((line) => !/[^ -~]/.test(line)));
  const numbers = lines.flatMap((line) => /^(\d+)\. \S/.exec(line)?.[1] ?? []).map(Number);
  expect('the step numbers run on', numbers.every((number, index) => number === index + 1));
  for (const { name, text, fails, passes } of readStories(stdout)) {
    expect(`${name}: the command that starts the server`, /^.*\n\$ \S/.test(text));
    expect(`${name}: a step that says goodbye`, /^\d+\. Say goodbye/m.test(text));
    for (const label of ['exit 0 when stdin closes', 'no force needed to end it']) {
      expect(`${name}: a verdict on: ${label}`, [...fails, ...passes].includes(label));
    }
  }
  return complaints;
}

/** What the fake servers have written down: what was said to each, in which era. */
export function readDiary(diary: string): { era: 'legacy' | 'modern'; heard: string[] }[] {
  const files = readdirSync(diary).filter((file) => file.endsWith('.heard'));
  return files.map((file) => {
    const heard = readFileSync(join(diary, file), 'utf8').split('\n').slice(0, -1);
    return { era: heard[0]?.includes('"initialize"') ? 'legacy' : 'modern', heard };
  });
}

/** Waits until no process of a diary is left; ends those that stay, and gives their ids. */
export async function findSurvivors(diary: string): Promise<number[]> {
  const pids = readdirSync(diary).map((file) => Number.parseInt(file, 10));
  const until = Date.now() + 5_000; // the system takes a moment to clear away what has ended
  while (pids.some(isAlive) && Date.now() < until) await sleep(20);
  const survivors = pids.filter(isAlive);
  for (const pid of survivors) process.kill(pid, 'SIGKILL');
  return survivors;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // Where nobody collects orphans, one that has ended keeps its id.
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch (error) {
    // No such process; or no /proc, and then the process is there.
    return (error as NodeJS.ErrnoException).syscall !== 'kill' && process.platform !== 'linux';
  }
}

/** A client that runs, for tests that do something to it meanwhile. */
export type Running = {
  child: ChildProcessWithoutNullStreams;
  stdout: () => string;
  stderr: () => string;
  /** Waits until it has printed something. */
  until: (pattern: RegExp) => Promise<void>;
  /** Waits until it has ended. */
  ended: () => Promise<Outcome>;
};

/** Starts a client with its stdin open; it is killed if it is still there when the test ends. */
export function startClient(
  t: { after: (kill: () => void) => void },
  args: string[],
): Running {
  const { NODE_TEST_CONTEXT: _, FORCE_COLOR: __, ...env } = process.env;
  const limits = { timeout: DEADLINE_MS, killSignal: 'SIGKILL' } as const;
  const child = spawn(process.execPath, [...RUNTIME, ...args], { cwd: KIT, env, ...limits });
  t.after(() => child.kill('SIGKILL'));
  let [stdout, stderr] = ['', ''];
  let look = (): void => {};
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    look();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  child.stdin.on('error', () => {}); // it may end first
  const outcome = new Promise<Outcome>((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
  return {
    child,
    stdout: () => stdout,
    stderr: () => stderr,
    until: (pattern) => Promise.race([
      new Promise<void>((resolve) => {
        look = () => pattern.test(stdout) && resolve();
        look();
      }),
      outcome.then(({ code, signal }) => {
        const end = `it ended (code ${code}, signal ${signal})`;
        if (!pattern.test(stdout)) throw new Error(`${end} before ${pattern}:\n${stdout}${stderr}`);
      }),
    ]),
    ended: () => outcome,
  };
}
