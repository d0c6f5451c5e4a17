/**
 * Asks the outside judges about the kit, one after the other, and prints a line for each.
 *
 * Run: npm run interop
 * Or:  npm run interop -- --only sdk-clients,schemas
 *
 *   --only NAMES     these judges alone, by name, with commas between them
 *   --servers DIR    judge the servers in this folder, edited copies of the kit's own: do the
 *                    judges see it? What does not depend on them is left out.
 *   --prove          break a rule in copies of a server, and say which judge catches it
 *   --tests          run `npm test` too, on this Node; else that is left to `npm cit`
 *
 * It installs what the judges need (npm ci, here in scripts/interop) where that is missing or out
 * of date. Exit code: 0 all judges agree, 1 one does not or could not be asked, 2 called wrongly.
 *
 * SPDX-License-Identifier: MIT
 */

import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

import {
  type Judge, type Stand, type Verdict, INTEROP, KIT, newVerdict, run, runNpm,
} from './judging.ts';

// What the servers have no part in.
const WITHOUT_SERVERS = ['types', 'sdk-servers', 'foreign', 'tapped'];

/** Who is asked, in this order. The schemas come last: they judge what the others recorded. */
const JUDGES: Record<string, () => Promise<Judge>> = {
  'types': async () => judgeTypes,
  'sdk-clients': async () => (await import('./sdk-clients.ts')).judge,
  'sdk-servers': async () => (await import('./sdk-servers.ts')).judge,
  'inspector': async () => (await import('./inspector.ts')).judge,
  'runtimes': async () => (await import('./runtimes.ts')).judge,
  'foreign': async () => (await import('./foreign.ts')).judge,
  'tapped': async () => (await import('./tapped.ts')).judge,
  'schemas': async () => (await import('./schemas.ts')).judge,
};

/** Installs what package-lock.json says, unless the last install was of the same file. */
async function install(_stand: Stand, verdict: Verdict): Promise<void> {
  const lock = readFileSync(join(INTEROP, 'package-lock.json'));
  const digest = createHash('sha256').update(lock).digest('hex');
  const stamp = join(INTEROP, 'node_modules', '.interop-lock');
  verdict.counted = 'as package-lock.json says, from before';
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === digest) return;
  const args = ['ci', '--no-audit', '--no-fund', '--loglevel=error'];
  const { code, stdout, stderr } = await runNpm(args, { cwd: INTEROP, deadline: 540_000 });
  verdict.counted = stdout.trim();
  // npm goes on to list its options; what is wrong comes first.
  const why = stderr.trim().split('\n').slice(0, 6).join('\n      ');
  if (code !== 0) throw new Error(`npm ci failed: ${why}`);
  writeFileSync(stamp, digest);
}

/** Type-checks this folder, with the kit's own compiler. */
async function judgeTypes(_stand: Stand, verdict: Verdict): Promise<void> {
  const compiler = join(KIT, 'node_modules', 'typescript', 'bin', 'tsc');
  if (!existsSync(compiler)) throw new Error('there is no TypeScript: run npm ci first');
  const { code, stdout } = await run(process.execPath, [compiler, '-p', INTEROP]);
  verdict.check('tsc', code === 0 ? undefined : stdout.trim());
  verdict.counted = 'tsc -p scripts/interop';
}

/** Asks one judge, and prints the verdict; a judge that breaks has not agreed. */
async function ask(name: string, judge: Judge, stand: Stand): Promise<boolean> {
  const verdict = newVerdict();
  const startedAt = Date.now();
  try {
    await judge(stand, verdict);
  } catch (error) {
    verdict.check('could not be asked', error instanceof Error ? error.message : String(error));
  }
  const seconds = `${((Date.now() - startedAt) / 1000).toFixed(0)} s`;
  const { checks, counted, failures, notes } = verdict;
  const isWell = failures.length === 0;
  const count = isWell ? `${checks} checks` : `${failures.length} of ${checks} checks failed`;
  const parts = [...(checks > 0 || !isWell ? [count] : []), counted, seconds].filter(Boolean);
  console.log(`${isWell ? 'PASS' : 'FAIL'}  ${name.padEnd(12)} ${parts.join('; ')}`);
  for (const line of [...failures, ...notes]) console.log(`      ${line}`);
  return isWell;
}

function refuse(sentence: string): never {
  console.error(`${sentence}\nJudges: ${Object.keys(JUDGES).join(', ')}`);
  process.exit(2);
}

function readOptions() {
  const options = {
    'only': { type: 'string' }, 'servers': { type: 'string' },
    'prove': { type: 'boolean' }, 'tests': { type: 'boolean' },
  } as const;
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    return refuse((error as Error).message);
  }
}

async function main(): Promise<void> {
  const { only, servers, prove: isProof, tests: withTests = false } = readOptions();
  const isEdited = servers !== undefined;
  const all = Object.keys(JUDGES).filter((name) => !isEdited || !WITHOUT_SERVERS.includes(name));
  const names = only?.split(',') ?? all;
  const unknown = names.find((name) => !Object.hasOwn(JUDGES, name));
  if (unknown !== undefined) refuse(`There is no judge ${unknown}.`);
  if (isEdited && !existsSync(servers)) refuse(`There is no folder ${servers}.`);
  if (isProof) {
    const { prove } = await import('./prove.ts');
    process.exitCode = (await prove()) ? 0 : 1;
    return;
  }
  // What edited copies said is kept apart from what the kit says.
  const records = join(INTEROP, 'records', isEdited ? 'edited' : 'kit');
  const isWhole = only === undefined && !isEdited;
  if (only === undefined) rmSync(records, { recursive: true, force: true });
  const folder = isEdited ? resolve(servers) : join(KIT, 'servers');
  const stand: Stand = { servers: folder, isEdited, records, isWhole, withTests };

  // Without what they need, nobody can be asked.
  let failed = (await ask('install', install, stand)) ? 0 : 1;
  for (const [name, load] of failed > 0 ? [] : Object.entries(JUDGES)) {
    if (!names.includes(name)) continue;
    const judge: Judge = async (...args) => (await load())(...args);
    if (!(await ask(name, judge, stand))) failed += 1;
  }
  console.log(failed > 0 ? `result: ${failed} failed` : 'result: all judges agree');
  process.exitCode = failed > 0 ? 1 : 0;
}

void main();
