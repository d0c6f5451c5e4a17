/**
 * What several tests of the kit need: which programs there are, how to start one of them, and a
 * folder to do it in. Servers and clients import nothing of this; only tests and scripts do.
 */

import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, normalize, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** The kit's own folder, where package.json is. */
export const KIT = fileURLToPath(new URL('..', import.meta.url));

/** Lists the files of all servers, tests aside, sorted by name. */
export function listServers(root: string = KIT): string[] {
  return listPrograms(join(root, 'servers'));
}

/** Lists the files of all clients, tests aside, sorted by name. */
export function listClients(root: string = KIT): string[] {
  return listPrograms(join(root, 'clients'));
}

function listPrograms(folder: string): string[] {
  const names = readdirSync(folder).filter((name) => /(?<!\.test)\.ts$/.test(name));
  return names.sort().map((name) => join(folder, name));
}

/** Gives the arguments of a program, as the `Run:` line of its opening comment has them. */
export function runLine(file: string): string[] {
  const found = parseRunLine(readFileSync(file, 'utf8'));
  if (found === undefined) throw new Error(`${file}: no "Run: npx tsx …" in the opening comment`);
  return found.args;
}

/** The folder in which a `Run:` line is meant, since FILE is seen from there; undefined if none. */
export function folderOfRun(path: string, file: string): string | undefined {
  const whole = resolve(path);
  const end = normalize(`/${file}`); // of ./server.ts, too, it is /server.ts
  return whole.endsWith(end) ? whole.slice(0, 1 - end.length) : undefined;
}

/** Finds `Run: npx tsx FILE ARGS` in the opening comment of a text; undefined without one. */
export function parseRunLine(text: string): { file: string; args: string[] } | undefined {
  const opening = /^(?:\/\*[^]*?\*\/|(?:\/\/.*\n)+)/.exec(text)?.[0] ?? '';
  const command = /^[ */]*Run: npx tsx (.+)$/m.exec(opening)?.[1];
  const [file, ...args] = command?.trim().split(/\s+/) ?? [];
  return file === undefined ? undefined : { file, args };
}

/** Is this process run by tsx? If not, Node itself runs TypeScript here, by dropping the types. */
export function isUnderTsx(): boolean {
  return process.execArgv.some((argument) => /[\\/]tsx[\\/]dist[\\/]/.test(argument));
}

/** What to put before a file, after `process.execPath`, so that the kit's tsx runs it anywhere. */
export function tsxArguments(): string[] {
  // The tsx that runs this process will do for the next: a copy of the kit has none of its own.
  const isTsx = (argument: string | undefined) => /[\\/]tsx[\\/]dist[\\/]/.test(argument ?? '');
  const ours = process.execArgv.filter(
    (argument, index, all) => isTsx(argument) || isTsx(all[index + 1]));
  if (ours.length > 0) return ours;
  // Else it is looked up from here, not from the folder where the file is run: there is no tsx. And
  // never `npx tsx`: on Windows that is a command file, which spawn does not find.
  const loader = createRequire(import.meta.url).resolve('tsx');
  return ['--import', pathToFileURL(loader).href];
}

/** The JSON value of a text; undefined, which no JSON text means, where it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** This program's own runtime arguments, for a script that it starts; a debugger is left out. */
export function runtimeArguments(): string[] {
  return process.execArgv.filter((argument) => !argument.startsWith('--inspect'));
}

/** Makes an empty folder, by default with a space in its path; it goes when the test ends. */
export function makeTempFolder(
  t: { after: (remove: () => void) => void },
  prefix = 'mcp by hand ',
): string {
  // The real path, because macOS's temp folder is a link and programs print where they really are.
  const folder = mkdtempSync(join(realpathSync(tmpdir()), prefix));
  // Windows frees a file a moment after the process that used it: hence the retries.
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

/** How a process ended, and what it said. */
export type Outcome = {
  code: number | null;
  signal: string | null;
  stdout: string;
  stderr: string;
};

/** Runs this Node with some arguments to its end; after the deadline it is killed. */
export function runNode(
  args: string[],
  { cwd = KIT, input = '', deadline = 60_000 }: Partial<RunOptions> = {},
): Promise<Outcome> {
  // Node would take a process with NODE_TEST_CONTEXT for a test file of the runner above us; and
  // FORCE_COLOR would put colours into what a test is about to compare.
  const { NODE_TEST_CONTEXT: _, FORCE_COLOR: __, ...env } = process.env;
  const limits = { timeout: deadline, killSignal: 'SIGKILL' } as const;
  const child = spawn(process.execPath, args, { cwd, env, ...limits });
  const outcome = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (outcome.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (outcome.stderr += text));
  child.stdin.on('error', () => {}); // it may end before it has read all
  child.stdin.end(input);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, ...outcome }));
  });
}

type RunOptions = { cwd: string; input: string; deadline: number };

/** Takes Node's own warnings, such as that of type stripping, out of what a program said. */
export function withoutNodeWarnings(stderr: string): string {
  // The other lines belong to the warning about a package.json without "type".
  const warning = /^(?:\(node:\d+\) |\(Use `node |Reparsing as ES |To eliminate this ).*\n?/gm;
  return stderr.replace(warning, '');
}
