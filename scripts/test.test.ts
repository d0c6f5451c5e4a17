import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import test, { type TestContext } from 'node:test';

import { KIT, type Outcome, isUnderTsx, makeTempFolder, runNode, tsxArguments } from './testing.ts';

const PASSING = "import test from 'node:test';\ntest('adds', () => {});\n";
const FAILING = `import test from 'node:test';
test('adds', () => { throw new Error('one and one are three'); });
`;

const RUNNER = readFileSync(join(KIT, 'scripts', 'test.ts'), 'utf8');

/** Runs a copy of the runner, which looks for tests beside itself, with these files around it. */
function runTests(
  t: TestContext,
  files: Record<string, string>,
  names: string[] = [],
): Promise<Outcome> {
  const root = makeTempFolder(t);
  const all = { 'package.json': '{"type":"module"}', 'scripts/test.ts': RUNNER, ...files };
  for (const [name, text] of Object.entries(all)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  const runner = join(root, 'scripts', 'test.ts');
  return runNode([...(isUnderTsx() ? tsxArguments() : []), runner, ...names], { cwd: root });
}

/** The closing lines, such as `pass 1`, without the mark that the reporter puts before them. */
function closing({ stdout }: Outcome): string {
  const lines = [...stdout.matchAll(/^\S+ ((?:tests|pass|fail|skipped|todo) \d+)$/gm)];
  return lines.map((line) => line[1]).join(', ');
}

test('tests that pass: exit 0, in all three folders and below', async (t) => {
  const outcome = await runTests(t, {
    'servers/one.test.ts': PASSING,
    'clients/two.test.ts': PASSING,
    'scripts/deep/three.test.ts': PASSING,
    'scripts/not-a-test.ts': FAILING,
    'scripts/interop/four.test.ts': FAILING,
    'scripts/node_modules/five.test.ts': FAILING,
    'lessons/six.test.ts': FAILING,
  });
  assert.equal(outcome.code, 0, outcome.stdout);
  assert.equal(closing(outcome), 'tests 3, pass 3, fail 0, skipped 0, todo 0');
});

test('a test that fails: exit 1, and its message', async (t) => {
  const files = { 'servers/bad.test.ts': FAILING, 'servers/good.test.ts': PASSING };
  const outcome = await runTests(t, files);
  assert.equal(outcome.code, 1, outcome.stdout);
  assert.match(outcome.stdout, /one and one are three/);
  assert.equal(closing(outcome), 'tests 2, pass 1, fail 1, skipped 0, todo 0');
});

const WITHOUT_TEST = {
  'nothing at all': 'export {};\n',
  'a suite without tests': "import { describe } from 'node:test';\ndescribe('sums', () => {});\n",
  'nothing but a skip': "import test from 'node:test';\ntest('adds', { skip: 'later' });\n",
  'an exit before the first test ends': "import 'node:test';\nprocess.exit(0);\n",
};
for (const [what, text] of Object.entries(WITHOUT_TEST)) {
  test(`a file with ${what}: exit 1, and the file is named`, async (t) => {
    const files = { 'clients/empty.test.ts': text, 'servers/good.test.ts': PASSING };
    const outcome = await runTests(t, files);
    assert.equal(outcome.code, 1, outcome.stdout);
    assert.match(outcome.stdout, /clients\/empty\.test\.ts\b[^]*this file ran no test/);
  });
}

test('an import that does not exist: exit 1, and the import is named', async (t) => {
  const outcome = await runTests(t, { 'scripts/a.test.ts': `import './gone.ts';\n${PASSING}` });
  assert.equal(outcome.code, 1, outcome.stdout);
  assert.match(outcome.stdout, /gone\.ts/);
});

const BAD_ENDS = {
  'an exit code': 'process.exitCode = 3;\n',
  'an error that no test caught': "process.on('exit', () => { throw new Error('too late'); });\n",
};
for (const [what, text] of Object.entries(BAD_ENDS)) {
  test(`tests that pass in a process that ends with ${what}: exit 1`, async (t) => {
    const outcome = await runTests(t, { 'scripts/a.test.ts': PASSING + text });
    assert.equal(outcome.code, 1, outcome.stdout);
  });
}

test('a hook that fails after tests that passed: exit 1', async (t) => {
  const text = `import { after, describe, test } from 'node:test';
describe('sums', () => {
  after(() => { throw new Error('no numbers left'); });
  test('adds', () => {});
});
`;
  const outcome = await runTests(t, { 'scripts/a.test.ts': text });
  assert.equal(outcome.code, 1, outcome.stdout);
  assert.match(outcome.stdout, /no numbers left/);
});

test('a file that hangs: stopped at the limit, exit 1', async (t) => {
  const impatient = RUNNER.replace('LIMIT_MS = 10 * 60_000;', 'LIMIT_MS = 3000;');
  assert.notEqual(impatient, RUNNER);
  const hang = "test('waits', () => new Promise(() => setInterval(() => {}, 1000)));\n";
  const files = { 'scripts/test.ts': impatient, 'scripts/a.test.ts': PASSING + hang };
  const outcome = await runTests(t, files);
  assert.equal(outcome.code, 1, outcome.stdout);
  assert.match(outcome.stdout, /scripts\/a\.test\.ts\n.*this file was stopped after 3 s/);
});

test('a skip that says why: exit 0, and listed at the end', async (t) => {
  const skip = "test('divides', { skip: 'no zero here' }, () => {});\n";
  const outcome = await runTests(t, { 'scripts/a.test.ts': PASSING + skip });
  assert.equal(outcome.code, 0, outcome.stdout);
  assert.match(outcome.stdout, /NOT RUN, skipped: scripts\/a\.test\.ts: divides: no zero here/);
  assert.equal(closing(outcome), 'tests 1, pass 1, fail 0, skipped 1, todo 0');
});

for (const what of ['skip', 'todo']) {
  test(`a ${what} that does not say why: exit 1`, async (t) => {
    const silent = `test('divides', { ${what}: true }, () => {});\n`;
    const outcome = await runTests(t, { 'scripts/a.test.ts': PASSING + silent });
    assert.equal(outcome.code, 1, outcome.stdout);
    assert.match(outcome.stdout, /divides: (?:skipped|todo) without a reason/);
  });
}

test('no test file: exit 1, and the folders are named', async (t) => {
  const outcome = await runTests(t, {});
  assert.equal(outcome.code, 1);
  assert.match(outcome.stderr, /No \*\.test\.ts below .*servers, clients, scripts/);
});

test('names choose the files', async (t) => {
  const files = { 'servers/bad.test.ts': FAILING, 'servers/good.test.ts': PASSING };
  const outcome = await runTests(t, files, ['good']);
  assert.equal(outcome.code, 0, outcome.stdout);
  assert.equal(closing(outcome), 'tests 1, pass 1, fail 0, skipped 0, todo 0');
});

test('a name that no file has: exit 2, and the files that there are', async (t) => {
  const outcome = await runTests(t, { 'servers/good.test.ts': PASSING }, ['goood']);
  assert.equal(outcome.code, 2);
  assert.match(outcome.stderr, /"goood"[^]*servers\/good\.test\.ts/);
});

test('an option that is none: exit 2, and the usage', async (t) => {
  const outcome = await runTests(t, { 'servers/good.test.ts': PASSING }, ['--fast']);
  assert.equal(outcome.code, 2);
  assert.match(outcome.stderr, /--fast\. Usage: /);
});
