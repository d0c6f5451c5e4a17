/**
 * Does what README.md says, to the letter, where nothing is installed: clones this repository's
 * HEAD into a temporary folder with a space in its name, runs each `sh` fence there in order, and
 * compares what was printed with the `text` fence after it. Needs git, npm and the npm registry.
 *
 * Run: npm run fresh-clone
 *
 * SPDX-License-Identifier: MIT
 */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { parsePage } from './lessons.ts';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');

/** Says whether an output is as a page shows it: `…` there stands for anything, lines included. */
export function isAsShown(output: string, shown: string): boolean {
  const parts = shown.trim().split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('[^]*')}$`).test(output.trim());
}

/** Runs a command of the README without a shell; npm and npx by their scripts, as on any system. */
function run(command: string, cwd: string) {
  const [program = '', ...args] = command.split(' ');
  const npm = process.env.npm_execpath ?? '';
  if (!existsSync(npm)) throw new Error('Start this with: npm run fresh-clone');
  const scripts: Record<string, string> = { npm, npx: join(dirname(npm), 'npx-cli.js') };
  const script = scripts[program];
  const [file, rest] = script ? [process.execPath, [script, ...args]] : [program, args];
  // What npm sets for its own children would otherwise lead the clone's npm back to this folder.
  const env = Object.entries(process.env).filter(([name]) => !/^(npm_|INIT_CWD)/i.test(name));
  return spawnSync(file, rest, { cwd, env: Object.fromEntries(env), encoding: 'utf8' });
}

function main(): void {
  const folder = mkdtempSync(join(tmpdir(), 'fresh clone '));
  const clone = join(folder, 'mcp by hand');
  let failed = 0;
  try {
    const cloned = spawnSync('git', ['clone', '--quiet', ROOT, clone], { encoding: 'utf8' });
    if (cloned.status !== 0) throw new Error(`git clone failed: ${cloned.stderr}`);
    const readme = readFileSync(join(clone, 'README.md'), 'utf8');
    const { fences } = parsePage('README.md', readme).page;
    for (const [index, { label, lines, line }] of fences.entries()) {
      // The tests ran before this, in the caller's own folder; what is left of it is the install.
      const isTests = label === 'sh not-run: the tests themselves';
      if (label !== 'sh' && !isTests) continue;
      for (const command of isTests ? ['npm ci'] : lines) {
        const { status, stdout, stderr } = run(command, clone);
        const next = fences[index + 1];
        const isRight = next?.label !== 'text' || isAsShown(stdout, next.lines.join('\n'));
        const verdict = status === 0 && isRight ? 'PASS' : 'FAIL';
        console.log(`${verdict}  README.md:${line}  ${command}`);
        if (verdict === 'PASS') continue;
        failed += 1;
        console.log(`      exit code ${status}; it printed:\n${stdout}${stderr}`);
      }
    }
    const changed = spawnSync('git', ['status', '--porcelain'], { cwd: clone, encoding: 'utf8' });
    if (changed.stdout !== '') throw new Error(`The commands left in the tree:\n${changed.stdout}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  process.exitCode = failed > 0 ? 1 : 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
