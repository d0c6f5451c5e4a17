/**
 * Runs the faults (scripts/faults.ts), a test each, and then the tool itself where things go wrong:
 * a fault that nobody notices, an edit that no longer fits, a server that outlives its client, and
 * names that there are not.
 */

import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';

import {
  applyEdit, FAULTS, isPossible, judge, runClient, runControl, runFault, runFaults,
} from './faults.ts';
import type { Fault, Run } from './faults.ts';
import { isUnderTsx, KIT, makeTempFolder, runNode, tsxArguments } from './testing.ts';

const RUNTIME = isUnderTsx() ? tsxArguments() : [];
const SCRIPT = join(KIT, 'scripts', 'faults.ts');
const PAIRS = ['echo', 'notes', 'atlas', 'snapshot', 'files'];

/** Runs the tool as one would at a prompt, with paths from the kit's folder. */
const faults = (...args: string[]) => runNode([...RUNTIME, SCRIPT, ...args]);

/** A fault of the table, changed for a test. */
function changed(name: string, changes: Partial<Fault>): Fault {
  const fault = FAULTS.find((one) => one.name === name);
  assert.ok(fault, `no fault ${name}`);
  return { ...fault, ...changes };
}

// ---------------------------------------------------------------------------------------------
// The table
// ---------------------------------------------------------------------------------------------

test('the table: each name once, after its file, and enough for each server', () => {
  const names = FAULTS.map(({ name }) => name);
  assert.deepEqual(names, [...new Set(names)]);
  for (const { name, file, symptom } of FAULTS) {
    const [, folder, pair] = /^(servers|clients)\/(\w+)\.ts$/.exec(file) ?? [];
    const expected = folder === 'clients' ? `client-${pair}-` : `${pair}-`;
    assert.ok(name.startsWith(expected), `${name} begins with ${expected}`);
    assert.match(symptom, /^[A-Z].*\.$/, `${name}: the symptom is a sentence`);
  }
  const enough = { echo: 8, notes: 8, atlas: 8, snapshot: 4, files: 8 };
  for (const [pair, least] of Object.entries(enough)) {
    const count = FAULTS.filter(({ file }) => file === `servers/${pair}.ts`).length;
    assert.ok(count >= least, `${pair} has ${count} faults`);
  }
});

// Two at once: each is a client and a server, which mostly take turns.
test('unedited copies', { concurrency: 2 }, async (t) => {
  await Promise.all(PAIRS.map((pair) => t.test(pair, async (t) => {
    const { code, failed, left } = await runControl(pair, makeTempFolder(t));
    assert.deepEqual({ code, failed, left }, { code: 0, failed: [], left: [] });
  })));
});

test('faults', { concurrency: 2 }, async (t) => {
  const skipOf = (fault: Fault) => !isPossible(fault) && 'Windows has nothing like it';
  await Promise.all(FAULTS.map((fault) => {
    return t.test(fault.name, { skip: skipOf(fault) }, async (t) => {
      const run = await runFault(fault, makeTempFolder(t));
      assert.deepEqual(judge(fault, run), [], run.stdout);
    });
  }));
});

// ---------------------------------------------------------------------------------------------
// The tool, where something is wrong
// ---------------------------------------------------------------------------------------------

test('an edit fits once, or says so', () => {
  const fault = changed('echo-banner', { find: 'a', replace: 'b' });
  assert.equal(applyEdit(fault, 'xay'), 'xby');
  assert.throws(() => applyEdit(fault, 'xy'), /echo-banner: .* in servers\/echo\.ts.* 0 times/);
  assert.throws(() => applyEdit(fault, 'aa'), /occurs 2 times/);
  // What looks like a pattern to String.replace is none.
  assert.equal(applyEdit({ ...fault, replace: "$& $1 $'" }, 'xay'), "x$& $1 $'y");
});

test('what is not as the table says is a FAIL that names it', async (t) => {
  const temp = useTempFolder(t);
  const said: string[] = [];
  const isWell = await runFaults([
    changed('echo-banner', { name: 'harmless', replace: '  serveStdio(); // as before' }),
    changed('echo-banner', { name: 'out of date', find: 'no such text' }),
    changed('echo-banner', { name: 'elsewhere', fails: 'the text echoed' }),
    changed('echo-banner', { name: 'right' }),
  ], (line) => said.push(line));
  assert.equal(isWell, false);
  const text = said.join('\n');
  assert.match(text, /^PASS {2}echo, unedited: all \d+ checks pass$/m);
  assert.match(text, /^FAIL {2}harmless\n {6}nobody noticed: no check failed in the legacy /m);
  assert.match(text, /^FAIL {2}out of date\n {6}out of date: its text must occur once/m);
  assert.match(text, /^FAIL {2}elsewhere\n {6}"response JSON 1" failed first, not "the text echo/m);
  assert.match(text, /^PASS {2}right: fails at "response JSON 1" \(legacy\)$/m);
  assert.equal(said.at(-1), 'faults: 4, FAIL lines: 3');
  // tsx keeps what it has compiled in the same place.
  assert.deepEqual(readdirSync(temp).filter((name) => !name.startsWith('tsx-')), []);
});

/** Gives the system's temporary folder to a test alone, until it ends. */
function useTempFolder(t: TestContext): string {
  const folder = makeTempFolder(t);
  for (const name of ['TMPDIR', 'TEMP', 'TMP']) {
    const before = process.env[name];
    process.env[name] = folder;
    t.after(() => {
      if (before === undefined) delete process.env[name];
      else process.env[name] = before;
    });
  }
  return folder;
}

test('a server that outlives its client is found, and ended', async (t) => {
  const fault = changed('echo-banner', {
    replace: `  process.on('SIGTERM', () => {});
  serveStdio();
  void import('node:child_process').then(({ spawn }) => {
    const args = [...process.execArgv, '-e', 'setTimeout(() => {}, 30_000)'];
    spawn(process.execPath, args, { detached: true, stdio: 'ignore' }).unref();
  });
  void import('node:fs').then(({ writeFileSync }) => writeFileSync('left.txt', ''));`,
  });
  const { left } = await runFault(fault, makeTempFolder(t));
  assert.equal(left.length, 2, left.join());
  assert.match(left.join(), /^process \d+,file left\.txt$/);
});

test('what makes a fault badly noticed', () => {
  const fault = changed('echo-banner', {});
  const good: Run = {
    code: 1, stdout: 'result: 1 of 9 checks failed\n', stderr: '', passed: [], left: [],
    failed: [{ story: 'modern', label: 'another' }, { story: 'legacy', label: 'response JSON 1' }],
  };
  assert.deepEqual(judge(fault, good), []);
  assert.match(judge(fault, { ...good, code: 2 }).join(), /ended with 2, not with 1/);
  assert.match(judge(fault, { ...good, stdout: 'x' }).join(), /its last line was: x/);
  assert.match(judge(fault, { ...good, stderr: 'Error\n    at y' }).join(), /on stderr: Error/);
  assert.match(judge(fault, { ...good, left: ['process 1'] }).join(), /left behind: process 1/);
  const elsewhere = good.failed.slice(0, 1);
  assert.match(judge(fault, { ...good, failed: elsewhere }).join(), /failed: "another" in modern/);
});

// ---------------------------------------------------------------------------------------------
// The command
// ---------------------------------------------------------------------------------------------

test('--only runs the faults that are named, however they are named', async () => {
  const names = ['--only', 'echo-no-ping,echo-banner', '--only', 'echo-string-id,echo-banner'];
  const { code, stdout, stderr } = await faults(...names);
  assert.equal(stderr, '');
  assert.equal(code, 0, stdout);
  // In the order in which they were named, whichever ended first; and none twice.
  assert.deepEqual(stdout.split('\n').slice(1), [
    'PASS  echo-no-ping: fails at "ping answered" (legacy)',
    'PASS  echo-banner: fails at "response JSON 1" (legacy)',
    'PASS  echo-string-id: fails at "response identity 1" (legacy)',
    'faults: 3, each was noticed where it should be',
    '',
  ]);
});

test('--list shows every fault with its symptom', async () => {
  const { code, stdout } = await faults('--list');
  assert.equal(code, 0);
  for (const { name, symptom } of FAULTS) {
    assert.ok(stdout.includes(`${name}\n  ${symptom}\n`), name);
  }
});

const WRONG_CALLS: Record<string, [args: string[], says: RegExp]> = {
  'an unknown name': [['--only', 'echo-nothing'], /no fault "echo-nothing"[^]*echo-banner/],
  'an empty name': [['--only', ''], /no fault ""/],
  'an unknown option': [['--faults'], /Unknown option '--faults'/],
  'a name without --only': [['echo-banner'], /Names come after --only/],
  'a name to write without a file': [['--write', 'echo-legacy-only'], /comes the FILE/],
  'a file that is there': [['--write', 'echo-legacy-only', 'package.json'], /is there already/],
  'a folder that is not there': [['--write', 'echo-legacy-only', 'none/x.ts'], /no folder none/],
  'an unknown name to write': [['--write', 'none', 'none.ts'], /no fault "none"/],
};

test('wrong calls end with 2 and a sentence', { concurrency: 2 }, async (t) => {
  const packageJson = readFileSync(join(KIT, 'package.json'), 'utf8');
  await Promise.all(Object.entries(WRONG_CALLS).map(([name, [args, says]]) =>
    t.test(name, async () => {
      const { code, stdout, stderr } = await faults(...args);
      assert.equal(code, 2);
      assert.match(stderr, says);
      assert.match(stderr, /\n\nUsage: /);
      assert.doesNotMatch(stderr, /\n {4}at /);
      assert.equal(stdout, '');
    })));
  assert.equal(readFileSync(join(KIT, 'package.json'), 'utf8'), packageJson);
  assert.equal(existsSync(join(KIT, 'none.ts')), false);
});

// ---------------------------------------------------------------------------------------------
// The two variants that are kept for others
// ---------------------------------------------------------------------------------------------

const INITIALIZE = {
  protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' },
};
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** Sends requests to a server, one after the other, and gives what it answers. */
async function ask(file: string, requests: [method: string, params: object][]): Promise<Answer[]> {
  const lines = requests.map(([method, params], index) =>
    `${JSON.stringify({ jsonrpc: '2.0', id: index + 1, method, params })}\n`);
  const { code, stdout, stderr } = await runNode([...RUNTIME, file], { input: lines.join('') });
  assert.equal(code, 0, stderr);
  return stdout.trimEnd().split('\n').map((line) => JSON.parse(line));
}

type Answer = {
  result?: Record<string, unknown>;
  error?: { code: number; message: string; data?: unknown };
};

test('echo-legacy-only: a whole server of its era, and a stranger to the other', async (t) => {
  const folder = makeTempFolder(t);
  const file = join(folder, 'echo.ts');
  assert.equal((await faults('--write', 'echo-legacy-only', file)).code, 0);
  const client = join(KIT, 'clients', 'echo.ts');
  const { code, left } = await runClient(client, [file, '--era', 'legacy'], folder);
  assert.deepEqual({ code, left }, { code: 0, left: [] });
  const [before, , after, call] = await ask(file, [
    ['server/discover', { _meta: META }],
    ['initialize', INITIALIZE],
    ['server/discover', { _meta: META }],
    ['tools/call', { name: 'echo', arguments: { text: 'x' }, _meta: META }],
  ]);
  // No modern error, whatever its lifecycle is: so a client that knows both falls back.
  assert.equal(before?.error?.code, -32602);
  assert.doesNotMatch(before?.error?.message ?? '', /2026/);
  assert.equal(after?.error?.code, -32601);
  assert.deepEqual(call?.result, { content: [{ type: 'text', text: 'echo: x' }] });
});

test('echo-modern-only: refuses initialize, and names what it speaks', async (t) => {
  const folder = makeTempFolder(t);
  const file = join(folder, 'echo.ts');
  assert.equal((await faults('--write', 'echo-modern-only', file)).code, 0);
  const client = join(KIT, 'clients', 'echo.ts');
  const { code, left } = await runClient(client, [file, '--era', 'modern'], folder);
  assert.deepEqual({ code, left }, { code: 0, left: [] });
  const [hello, list, ping] = await ask(file, [
    ['initialize', INITIALIZE], ['tools/list', {}], ['ping', {}],
  ]);
  assert.equal(hello?.error?.code, -32022);
  assert.match(hello?.error?.message ?? '', /2026-07-28/);
  assert.deepEqual(hello?.error?.data, { supported: ['2026-07-28'], requested: '2025-11-25' });
  assert.equal(list?.error?.code, -32602);
  assert.equal(ping?.error?.code, -32602);
});
