/**
 * Runs the kit's tests: every *.test.ts in servers/, clients/ and scripts/, found by looking, so
 * that nobody has to keep a list.
 *
 * Node's own runner is content with a file that runs no test, and with a skip that nobody reads.
 * Here both count: a file must run a test, and what is skipped must say why, and is listed at the
 * end.
 *
 * Run: npx tsx scripts/test.ts [NAME…]     the files that have one of the names in their path
 *      node scripts/test.ts [NAME…]        the same without tsx, on Node 22.18 and later
 *
 * Exit code: 0 all passed, 1 something failed, 2 called wrongly.
 */

import { existsSync, readdirSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FOLDERS = ['servers', 'clients', 'scripts'];
const ELSEWHERE = ['interop', 'node_modules']; // interop has dependencies, and a runner, of its own
const FILE_LIMIT_MS = 10 * 60_000; // a file that takes longer hangs

/** Lists the test files below the kit's folder, as paths from there with forward slashes. */
function listTestFiles(root: string): string[] {
  const files: string[] = [];
  for (const folder of FOLDERS) walk(join(root, folder));
  return files;

  function walk(folder: string): void {
    if (!existsSync(folder)) return;
    const entries = readdirSync(folder, { withFileTypes: true });
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = join(folder, entry.name);
      if (entry.isDirectory() && !ELSEWHERE.includes(entry.name)) walk(path);
      if (entry.isFile() && entry.name.endsWith('.test.ts')) {
        files.push(relative(root, path).split(sep).join('/'));
      }
    }
  }
}

/** What a test that ended, or was skipped, is known by: of Node's event, what is used here. */
type TestEnd = {
  name: string;
  skip?: string | boolean;
  todo?: string | boolean;
  details: { type?: string; error?: { failureType?: string } };
};

/** Runs the files one after the other, prints how it goes, and says whether all is well. */
async function runFiles(files: string[]): Promise<boolean> {
  const reporter = new spec();
  reporter.pipe(process.stdout);
  const counts = { tests: 0, pass: 0, fail: 0, skipped: 0, todo: 0 };
  const notRun: string[] = [];
  const startedAt = Date.now();

  // One file at a time: each starts processes of its own and gives them deadlines, and two files
  // at once on a small machine would fail for want of a processor.
  for (const file of files) await runFile(file);

  for (const line of notRun) say(line);
  for (const [name, count] of Object.entries(counts)) say(`${name} ${count}`);
  say(`duration_ms ${Date.now() - startedAt}`);
  reporter.end(); // prints the failures once more, together
  return counts.fail === 0;

  async function runFile(file: string): Promise<void> {
    say(file);
    const before = { ...counts };
    // A signal, for Node's own `timeout` does not end a process that keeps itself alive.
    const signal = AbortSignal.timeout(FILE_LIMIT_MS);
    for await (const event of run({ files: [resolve(file)], signal })) {
      const data = event.data as TestEnd;
      // Node counts a file without tests as a test that passed, named after the file. What it says
      // of a file matters only when the file failed as a whole.
      const isFile = data.name !== undefined && resolve(data.name) === resolve(file);
      if (isFile && event.type !== 'test:fail') continue;
      // Its sums are those of one file; ours come at the end.
      if (event.type === 'test:summary' || isSum(event)) continue;
      reporter.write(event);
      if (event.type === 'test:pass' || event.type === 'test:fail') count(file, event.type, data);
    }
    if (signal.aborted) fail(file, `this file was stopped after ${FILE_LIMIT_MS / 1000} s`);
    const hasRun = counts.pass > before.pass || counts.fail > before.fail;
    if (!hasRun) fail(file, 'this file ran no test');
  }

  function count(file: string, type: string, { name, skip, todo, details }: TestEnd): void {
    const reason = skip ?? todo;
    if (reason !== undefined) {
      const why = skip === undefined ? 'todo' : 'skipped';
      const isReason = typeof reason === 'string' && reason !== '';
      counts[why] += 1;
      notRun.push(`NOT RUN, ${why}: ${file}: ${name}: ${isReason ? reason : '(no reason)'}`);
      if (!isReason) fail(file, `${name}: ${why} without a reason`);
    } else if (details.type !== 'suite') {
      counts.tests += 1;
      counts[type === 'test:pass' ? 'pass' : 'fail'] += 1;
    } else if (type === 'test:fail' && details.error?.failureType !== 'subtestsFailed') {
      counts.fail += 1; // a suite that fails by itself, in a hook
    }
  }

  function fail(file: string, message: string): void {
    const error = new Error(message);
    delete error.stack; // it would show this file, which is not at fault
    const place = { file: resolve(file), line: 1, column: 1 };
    const details = { duration_ms: 0, error };
    reporter.write({ type: 'test:fail', data: { name: file, nesting: 0, ...place, details } });
    counts.fail += 1;
  }

  function say(message: string): void {
    reporter.write({ type: 'test:diagnostic', data: { nesting: 0, message } });
  }
}

/** Is this one of the lines with which Node's runner ends, such as `pass 5`? */
function isSum({ type, data }: { type: string; data: unknown }): boolean {
  const { nesting, message } = data as { nesting?: number; message?: string };
  const sum = /^(?:tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/;
  return type === 'test:diagnostic' && nesting === 0 && sum.test(message ?? '');
}

function refuse(message: string): never {
  console.error(message);
  process.exit(2);
}

async function main(): Promise<void> {
  const names = process.argv.slice(2);
  const flag = names.find((name) => name.startsWith('-'));
  if (flag !== undefined) refuse(`Unknown option ${flag}. Usage: npx tsx scripts/test.ts [NAME…]`);

  process.chdir(ROOT);
  const all = listTestFiles(ROOT);
  const files = all.filter((file) => !names.length || names.some((name) => file.includes(name)));
  const unknown = names.find((name) => !all.some((file) => file.includes(name)));
  if (unknown !== undefined) {
    refuse(`No test file has "${unknown}" in its path. There are:\n  ${all.join('\n  ')}`);
  }
  if (files.length === 0) console.error(`No *.test.ts below ${ROOT}: ${FOLDERS.join(', ')}.`);
  const isWell = files.length > 0 && (await runFiles(files));
  process.exitCode = isWell ? 0 : 1;
}

main();
