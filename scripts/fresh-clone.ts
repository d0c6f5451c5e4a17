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

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');

/** A fence of a Markdown page: its label, what is in it, and the line where it starts. */
export type Fence = { label: string; body: string; line: number };

/** Finds the fences of a Markdown page, in order. */
export function fences(page: string): Fence[] {
  const found: Fence[] = [];
  let open: Fence | undefined;
  for (const [index, text] of page.split('\n').entries()) {
    if (!text.startsWith('```')) {
      if (open) open.body += `${text}\n`;
    } else if (open) {
      found.push(open);
      open = undefined;
    } else {
      open = { label: text.slice(3).trim(), body: '', line: index + 1 };
    }
  }
  return found;
}

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
    const all = fences(readFileSync(join(clone, 'README.md'), 'utf8'));
    for (const [index, { label, body, line }] of all.entries()) {
      // The tests ran before this, in the caller's own folder; what is left of it is the install.
      const isTests = label === 'sh not-run: the tests themselves';
      if (label !== 'sh' && !isTests) continue;
      for (const command of isTests ? ['npm ci'] : body.trim().split('\n')) {
        const { status, stdout, stderr } = run(command, clone);
        const next = all[index + 1];
        const isRight = next?.label !== 'text' || isAsShown(stdout, next.body);
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
