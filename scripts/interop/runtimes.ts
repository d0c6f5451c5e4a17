/**
 * Judge: the Nodes that the kit promises to run on. On each, every client tells its stories to its
 * server, and every file is copied out alone: on the Node of this run as it is (with tsx, where
 * that started it), on the others natively, as `node clients/echo.ts`. The whole of `npm test` is
 * for the Node of this run.
 *
 * SPDX-License-Identifier: MIT
 */

import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';

import {
  type Stand, type Verdict,
  freshFolder, inPairs, isJudged, KIT, nodeOf, run, runNpm, RUNTIME_ARGUMENTS,
  serverFile,
} from './judging.ts';

/** A Node, and what stands before a `.ts` file so that it runs. */
type Runtime = { name: string; node: string; before: string[]; isOwn: boolean };

/** One cell of the matrix. */
type Cell = { column: string; shown: string; problem?: string | undefined };

const OTHERS = ['node22', 'node24', 'node26']; // from the npm package `node`, see package.json

async function listRuntimes(): Promise<Runtime[]> {
  const way = RUNTIME_ARGUMENTS.length > 0 ? ' with tsx' : '';
  const own = { node: process.execPath, before: RUNTIME_ARGUMENTS, isOwn: true };
  const runtimes: Runtime[] = [{ name: `${process.versions.node}${way}`, ...own }];
  for (const name of OTHERS) {
    const node = nodeOf(name);
    const { stdout } = await run(node, ['--version']);
    runtimes.push({ name: stdout.trim().slice(1), node, before: [], isOwn: false });
  }
  return runtimes;
}

function listClients(): string[] {
  const files = readdirSync(join(KIT, 'clients')).filter((file) => /(?<!\.test)\.ts$/.test(file));
  return files.sort().map((file) => basename(file, '.ts'));
}

/** Lets one client tell its stories to its server. */
async function tellStories(
  stand: Stand,
  folder: string,
  { name, node, before }: Runtime,
  client: string,
): Promise<Cell> {
  const save = join(folder, name.replaceAll(' ', '-'), client);
  const file = join(KIT, 'clients', `${client}.ts`);
  const server = serverFile(stand, client);
  // The probe has no server of its own: it visits echo, and saves nothing.
  const isPair = existsSync(server);
  const args = isPair ? [file, server, '--save', save] : [file, serverFile(stand, 'echo')];
  const { code, stdout, stderr } = await run(node, [...before, ...args]);
  const result = /^result: (\d+) checks passed$/m.exec(stdout);
  if (code === 0 && result) return { column: client, shown: result[1] ?? '' };
  const failed = [...stdout.matchAll(/^FAIL .*\n.*\n.*$/gm)].map(([text]) => text).join('; ');
  return { column: client, shown: 'FAIL', problem: failed || stderr || `exit code ${code}` };
}

/** Copies every file out alone (scripts/alone.test.ts). */
async function copyAlone({ node, before, isOwn }: Runtime): Promise<Cell> {
  const column = 'alone';
  if (isOwn) return { column, shown: 'npm cit' }; // it is one of the kit's own tests
  const file = join(KIT, 'scripts', 'alone.test.ts');
  const args = [...before, '--test', '--test-reporter=tap', file];
  const { code, stdout, stderr } = await run(node, args, { deadline: 300_000 });
  const passed = Number(/^# pass (\d+)$/m.exec(stdout)?.[1] ?? 0);
  if (code === 0 && passed > 0) return { column, shown: String(passed) };
  const failed = [...stdout.matchAll(/^ *not ok .*$/gm)].map(([text]) => text.trim()).join('; ');
  return { column, shown: 'FAIL', problem: failed || stderr || `exit code ${code}` };
}

/** Runs the whole of `npm test`, if asked to: `npm cit` has done so where that comes first. */
async function test(stand: Stand, { isOwn }: Runtime): Promise<Cell> {
  const column = 'npm test';
  if (!isOwn) return { column, shown: '-' };
  if (!stand.withTests) return { column, shown: 'npm cit' };
  const { code, stdout } = await runNpm(['test'], { deadline: 1_800_000 });
  if (code === 0) return { column, shown: 'passed' };
  return { column, shown: 'FAIL', problem: `exit code ${code}: ${stdout.slice(-2000)}` };
}

/** Draws the matrix: a row a Node, a column a test. */
function draw(rows: [string, Cell[]][]): string[] {
  const header = ['Node', ...(rows[0]?.[1] ?? []).map(({ column }) => column)];
  const body = rows.map(([name, cells]) => [name, ...cells.map(({ shown }) => shown)]);
  const lines = [header, ...body];
  const width = (column: number) => Math.max(...lines.map((line) => line[column]?.length ?? 0));
  return lines.map((line) => line.map((text, at) => text.padEnd(width(at))).join('  ').trimEnd());
}

export async function judge(stand: Stand, verdict: Verdict): Promise<void> {
  const folder = freshFolder(stand, 'runtimes');
  const runtimes = await listRuntimes();
  const clients = listClients().filter((name) => isJudged(stand, name));
  const rows = new Map<string, Cell[]>();
  await inPairs(runtimes.map((runtime) => async () => {
    const cells: Cell[] = [];
    for (const client of clients) cells.push(await tellStories(stand, folder, runtime, client));
    if (!stand.isEdited) cells.push(await copyAlone(runtime), await test(stand, runtime));
    rows.set(runtime.name, cells);
  }));
  const drawn = runtimes.map(({ name }) => [name, rows.get(name) ?? []] as [string, Cell[]]);
  for (const [name, cells] of drawn) {
    for (const { column, problem } of cells) verdict.check(`Node ${name}: ${column}`, problem);
  }
  verdict.counted = `${runtimes.length} Nodes, ${clients.length} clients`;
  verdict.notes.push(...draw(drawn));
}
