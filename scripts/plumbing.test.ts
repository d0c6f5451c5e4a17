import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import test, { type TestContext } from 'node:test';

import { blank, check, findDrift, measure, repair } from './plumbing.ts';
import { KIT, type Outcome, isUnderTsx, makeTempFolder, runNode, tsxArguments } from './testing.ts';

// ---------------------------------------------------------------------------------------------
// A kit in small: two servers and a client that keep every promise
// ---------------------------------------------------------------------------------------------

const WIRE = `// #region stdio — the wire
function serve(): void {
  process.stdin.resume();
}
// #endregion stdio`;

const NODE = `// #region node — the same lines in every server and client
function requireNode20(): void {}
// #endregion node`;

/** A file that keeps the law, made of what is above its banner and what is below. */
function program(path: string, above = 'const IDEA = 1;', below = `${WIRE}\n\n${NODE}`): string {
  return `/**
 * A program in small.
 *
 * Run: npx tsx ${path}
 *
 * SPDX-License-Identifier: MIT
 */

import { setTimeout as sleep } from 'node:timers/promises';

${above}

// Plumbing: the protocol.

${below}

async function main(): Promise<void> {
  await sleep(1);
}

main();
`;
}

function goodKit(): Record<string, string> {
  return {
    'servers/echo.ts': program('servers/echo.ts'),
    'servers/notes.ts': program('servers/notes.ts'),
    'clients/echo.ts': program('clients/echo.ts', 'const STORY = 1;', NODE),
  };
}

/** The good kit with one text of one file replaced; it must be there. */
function kitWith(path: string, from: string, to: string): Record<string, string> {
  const kit = goodKit();
  const text = kit[path] ?? '';
  assert.ok(text.includes(from), `${path} has no ${from}`);
  return { ...kit, [path]: text.replace(from, to) };
}

/** Finds a line's number by its text, so that no test has to count. */
function lineOf(text: string | undefined, part: string): number {
  return (text ?? '').split('\n').findIndex((line) => line.includes(part)) + 1;
}

function codeLines(count: number): string {
  return Array.from({ length: count }, (_, index) => `const N${index} = ${index};`).join('\n');
}

function writeKit(t: TestContext, kit: Record<string, string>): string {
  const root = makeTempFolder(t);
  for (const [path, text] of Object.entries(kit)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

function runPlumbing(...args: string[]): Promise<Outcome> {
  const script = join(KIT, 'scripts', 'plumbing.ts');
  return runNode([...(isUnderTsx() ? tsxArguments() : []), script, ...args]);
}

/** What the check says about a kit, a line a finding: `servers/notes.ts:20: …`. */
function checkKit(kit: Record<string, string>): string[] {
  const findings = check(new Map(Object.entries(kit)));
  return findings.map(({ path, line, message }) => `${path}:${line}: ${message}`);
}

// ---------------------------------------------------------------------------------------------
// The script itself, as a process
// ---------------------------------------------------------------------------------------------

test('a kit that keeps its promises: exit 0, the sizes, one line of summary', async (t) => {
  // A test beside them is nobody's concern.
  const root = writeKit(t, { ...goodKit(), 'servers/echo.test.ts': "import 'anything';\n" });
  const outcome = await runPlumbing(root);
  assert.equal(outcome.code, 0, outcome.stdout + outcome.stderr);
  assert.deepEqual(outcome.stdout.trimEnd().split('\n'), [
    'lines of code     idea or stories    plumbing',
    'servers/echo.ts           2 of 70    8 of 240',
    'servers/notes.ts          2 of 70    8 of 240',
    'clients/echo.ts          2 of 130    5 of 270',
    'plumbing: 3 files, 2 regions in 5 places, all is well',
  ]);
});

test('a copy that drifted: exit 1, the place, and both lines; nothing is written', async (t) => {
  const kit = kitWith('servers/notes.ts', '.resume()', '.pause()');
  const root = writeKit(t, kit);
  const outcome = await runPlumbing(root);
  assert.equal(outcome.code, 1);
  const [line, original] = [kit['servers/notes.ts'], kit['servers/echo.ts']]
    .map((text) => lineOf(text, 'process.stdin'));
  assert.ok(outcome.stdout.startsWith([
    `servers/notes.ts:${line}: region stdio differs from the original, servers/echo.ts:${original}`,
    '  expected: "  process.stdin.resume();"',
    '  found:    "  process.stdin.pause();"',
  ].join('\n')), outcome.stdout);
  assert.match(outcome.stdout, /findings: 1\n$/);
  assert.equal(readFileSync(join(root, 'servers/notes.ts'), 'utf8'), kit['servers/notes.ts']);
});

test('--write copies the originals over what drifted, and over nothing else', async (t) => {
  const kit = kitWith('servers/notes.ts', '.resume()', '.pause();\n  // and one line more');
  for (const path of ['servers/notes.ts', 'clients/echo.ts']) {
    kit[path] = kit[path]?.replace('20(): void {}', '20(): void {};') ?? '';
  }
  const root = writeKit(t, kit);
  const outcome = await runPlumbing('--write', root);
  assert.equal(outcome.code, 0, outcome.stdout);
  for (const [path, text] of Object.entries(goodKit())) {
    assert.equal(readFileSync(join(root, path), 'utf8'), text);
  }
  assert.match(outcome.stdout, /^servers\/notes\.ts: drifted regions repaired$/m);
  assert.match(outcome.stdout, /^clients\/echo\.ts: drifted regions repaired$/m);
  assert.doesNotMatch(outcome.stdout, /^servers\/echo\.ts: /m);
});

test('--write writes nothing while a marker is wrong', async (t) => {
  const kit = kitWith('servers/notes.ts', '.resume()', '.pause()');
  kit['servers/echo.ts'] = kit['servers/echo.ts']?.replace('// #endregion node', '') ?? '';
  const root = writeKit(t, kit);
  const outcome = await runPlumbing(root, '--write');
  assert.equal(outcome.code, 1);
  assert.match(outcome.stdout, /Nothing is written while a marker is wrong/);
  assert.equal(readFileSync(join(root, 'servers/notes.ts'), 'utf8'), kit['servers/notes.ts']);
});

const BAD_CALLS: Record<string, [args: string[], message: RegExp]> = {
  'an unknown option': [['--wirte'], /--wirte/],
  'two folders': [['one', 'two'], /One folder at most, not 2/],
  'a folder without a kit': [[join(KIT, '.github')], /No \*\.ts in .*servers or .*clients/],
};
for (const [what, [args, message]] of Object.entries(BAD_CALLS)) {
  test(`${what}: exit 2, and the usage`, async () => {
    const outcome = await runPlumbing(...args);
    assert.equal(outcome.code, 2);
    assert.match(outcome.stderr, message);
    assert.match(outcome.stderr, /\nUsage: /);
    assert.equal(outcome.stdout, '');
  });
}

// ---------------------------------------------------------------------------------------------
// Each promise, broken
// ---------------------------------------------------------------------------------------------

test('the small kit gives no finding', () => {
  assert.deepEqual(checkKit(goodKit()), []);
});

/** What breaks a promise: the file, the edit, where the finding is (a text), what it says. */
const BROKEN: Record<string, [path: string, from: string, to: string, at: string, says: RegExp]> = {
  'a region without an end': ['servers/notes.ts', '// #endregion node', '',
    '// #region node', /region node has no end/],
  'an end without a beginning': ['servers/notes.ts', '// #region node — the', '// The',
    '// #endregion node', /region node ends here, but no region is open/],
  'an end of another name': ['servers/notes.ts', '// #endregion node', '// #endregion nodes',
    '// #endregion nodes', /region nodes ends here, but the open region is node/],
  'a region in a region': ['servers/notes.ts', '// #endregion stdio\n', '',
    '// #region node', /region node begins inside stdio, which began at line \d+/],
  'a region twice': ['servers/notes.ts', NODE, `${NODE}\n${NODE.replace('— the', '— again, the')}`,
    '— again', /region node is here for the second time/],
  'a marker without a dash': ['servers/notes.ts', '// #region node — the', '// #region node the',
    '// #region node', /a marker is "\/\/ #region NAME — what it is"/],
  'a marker that is indented': ['servers/notes.ts', '// #endregion node', '  // #endregion node',
    '// #endregion node', /a marker is/],
  'a marker with a space in it': ['servers/notes.ts', '// #endregion node', '// # endregion node',
    '// # endregion node', /a marker is/],
  'no banner': ['servers/notes.ts', '// Plumbing:', '// The plumbing:',
    '/**', /no banner line "\/\/ Plumbing: …"/],
  'a package': ['clients/echo.ts', "'node:timers/promises'", "'timers-ext'",
    'timers-ext', /imports 'timers-ext': only node: modules/],
  'a built-in without node:': ['clients/echo.ts', "'node:timers/promises'", '"timers/promises"',
    'timers/promises', /imports "timers\/promises"/],
  'a file of the kit': ['clients/echo.ts', 'const STORY',
    "import type {\n  A,\n} from './a.ts';\nconst B", "from './a.ts'", /imports '\.\/a\.ts'/],
  'an import for its effect': ['clients/echo.ts', 'const STORY', "import './a.ts';\nconst B",
    './a.ts', /imports '\.\/a\.ts'/],
  'a re-export': ['clients/echo.ts', 'const STORY', "export * from './a.ts';\nconst B",
    './a.ts', /imports '\.\/a\.ts'/],
  'an import at run time': ['clients/echo.ts', '  await sleep(1);', '  await import(`./a.ts`);',
    './a.ts', /imports `\.\/a\.ts`/],
  'an import of who knows what': ['clients/echo.ts', 'await sleep(1);', 'await import(where);',
    'import(where)', /imports where: only node: modules, named outright/],
  'a require': ['clients/echo.ts', 'await sleep(1);', "require('ws');",
    "require('ws')", /imports 'ws'/],
  'an await at the top level': ['servers/notes.ts', '\nmain();', '\nawait main();',
    'await main()', /await at the top level/],
  'an await in a block at the top level': ['servers/notes.ts', '\nmain();',
    '\nif (process.argv[2]) {\n  await main();\n}', '  await main()', /await at the top level/],
  'a loop that awaits at the top level': ['servers/notes.ts', '\nmain();',
    '\nfor await (const x of process.stdin) {\n  console.log(x);\n}', 'for await', /top level/],
  'no licence': ['servers/notes.ts', ' * SPDX-License-Identifier: MIT\n', '',
    '/**', /no "SPDX-License-Identifier: MIT" in the opening comment/],
  'a licence further down': ['servers/notes.ts', ' * SPDX-License-Identifier: MIT\n */',
    ' */\nconst A = 1;\n// SPDX-License-Identifier: MIT', '/**', /no "SPDX-License/],
  'no command': ['servers/notes.ts', ' * Run: npx tsx servers/notes.ts\n', '',
    '/**', /"Run: npx tsx servers\/notes\.ts" belongs .* has no such line/],
  'the command of another file': ['servers/notes.ts', 'tsx servers/notes.ts', 'tsx notes.ts',
    '/**', /"Run: npx tsx servers\/notes\.ts" belongs .* has notes\.ts/],
  'a wide line': ['servers/notes.ts', 'const IDEA = 1;', `// ${'é'.repeat(98)}\nconst IDEA = 1;`,
    'éé', /101 columns, 100 at most/],
};
for (const [what, [path, from, to, at, says]] of Object.entries(BROKEN)) {
  test(`${what} is found, with its file and line`, () => {
    const kit = kitWith(path, from, to);
    const place = `${path}:${lineOf(kit[path], at)}: `;
    const found = checkKit(kit);
    const isThere = found.some((finding) => finding.startsWith(place) && says.test(finding));
    assert.ok(isThere, `expected ${place}${says}, found:\n${found.join('\n')}`);
  });
}

const KEPT: Record<string, [from: string, to: string]> = {
  'an await in an async arrow': ['\nmain();', '\nmain().then(async () => {\n  await main();\n});'],
  'a type in braces before an async body': ['Promise<void> {', 'Promise<{ a: 1 } | void> {'],
  'words in strings and comments': ['const IDEA = 1;',
    "const IDEA = \"await import('x')\"; // from 'y'\n/* await */ const T = `require('z') ${1}`;"],
  'what only looks like an import': ['const IDEA = 1;',
    "const IDEA = { from: 'x', ...Array.from('abc'), ...library.require('it') };"],
  'an await after a block': ['  await sleep(1);', '  if (IDEA) {\n  }\n  await sleep(1);'],
  'a line of 100 columns': ['const IDEA = 1;', `// ${'é'.repeat(97)}\nconst IDEA = 1;`],
};
for (const [what, [from, to]] of Object.entries(KEPT)) {
  test(`${what} breaks nothing`, () => {
    assert.deepEqual(checkKit(kitWith('servers/notes.ts', from, to)), []);
  });
}

// ---------------------------------------------------------------------------------------------
// Ceilings
// ---------------------------------------------------------------------------------------------

// What `program` itself has: an import above; main(), of three lines, and its call below.
const ABOVE = 1;
const BELOW = 4;

const CEILINGS: [path: string, part: string, most: number][] = [
  ['servers/echo.ts', 'the idea', 70],
  ['servers/notes.ts', 'the idea', 70],
  ['servers/snapshot.ts', 'the idea', 80],
  ['servers/atlas.ts', 'the idea', 110],
  ['servers/echo.ts', 'the plumbing', 240],
  ['servers/files.ts', 'the plumbing', 240],
  ['clients/echo.ts', 'the stories', 130],
  ['clients/files.ts', 'the stories', 130],
  ['clients/atlas.ts', 'the stories', 190],
  ['clients/snapshot.ts', 'the stories', 190],
  ['clients/atlas.ts', 'the plumbing', 270],
];
for (const [path, part, most] of CEILINGS) {
  test(`${path}: ${part} may have ${most} lines of code, and no more`, () => {
    const isAbove = part !== 'the plumbing';
    const kit = (lines: number): Record<string, string> => ({
      [path]: isAbove
        ? program(path, codeLines(lines - ABOVE), '')
        : program(path, '// nothing', codeLines(lines - BELOW)),
    });
    assert.deepEqual(checkKit(kit(most)), []);
    const message = `${part}: ${most + 1} lines of code, ${most} at most; look for the simpler way`;
    assert.deepEqual(checkKit(kit(most + 1)), [`${path}:1: ${message}`]);
  });
}

test('other servers have no ceiling for the idea', () => {
  const path = 'servers/other.ts';
  assert.deepEqual(checkKit({ [path]: program(path, codeLines(500)) }), []);
});

test("a server's own regions do not count as plumbing; a client's do", () => {
  const own = `// #region roots — of this program alone\n${codeLines(300)}\n// #endregion roots`;
  const [server, client] = ['servers/files.ts', 'clients/files.ts'];
  const files = new Map(Object.entries({
    ...goodKit(),
    [server]: program(server, '', `${own}\n${NODE}`),
    [client]: program(client, '', `${own}\n${NODE}`),
  }));
  assert.equal(measure(server, files)?.below, BELOW + 1);
  assert.equal(measure(client, files)?.below, BELOW + 1 + 300);
});

test("a file's own regions do not count as its idea, or as its stories", () => {
  const own = `// #region sandbox — of this program alone\n${codeLines(300)}\n// #endregion sandbox`;
  for (const path of ['servers/files.ts', 'clients/files.ts']) {
    const files = new Map(Object.entries({ ...goodKit(), [path]: program(path, own, NODE) }));
    const without = new Map(Object.entries({ ...goodKit(), [path]: program(path, '', NODE) }));
    assert.equal(measure(path, files)?.above, measure(path, without)?.above);
    assert.ok((measure(path, files)?.above ?? 0) > 0);
  }
});

test('comments and blank lines do not count, whatever looks like one does', () => {
  const text = [
    'const A = 1; // code',
    '// a comment',
    '/* one',
    '   const B = 2;',
    '*/ const C = 3;',
    '',
    "const D = '// no comment';",
    'const E = "/*"; /* a comment */',
    'const F = `',
    '  // a line of the template',
    '',
    '  ${`/* ${ { a: "`" }.a + "`" } */`} // another',
    '`;',
    '// a comment',
    'const G = /[/*]\\/\\/`/.test(D);',
    'const H = (1 + 2) / 3; // a comment with a ` in it',
    '  /* a comment */ // and one more',
  ];
  const isCode = [1, 0, 0, 0, 1, 0, 1, 1, 1, 1, 0, 1, 1, 0, 1, 1, 0];
  const lines = blank(text.join('\n')).split('\n');
  assert.deepEqual(lines.map((line) => (line.trim() === '' ? 0 : 1)), isCode);
  assert.deepEqual(lines.map((line) => line.length), text.map((line) => line.length));
});

// ---------------------------------------------------------------------------------------------
// Who has the original
// ---------------------------------------------------------------------------------------------

/** Tells which of these files has the original of a region that is different in each. */
function originalOf(...paths: string[]): string | undefined {
  const region = (path: string): string => `// #region x — it\n// ${path}\n// #endregion x`;
  const files = new Map(paths.map((path) => [path, program(path, '', region(path))]));
  const originals = new Set(findDrift(files).map(({ original }) => original.path));
  assert.equal(originals.size, 1);
  const after = new Map([...files, ...repair(files)]);
  assert.deepEqual(findDrift(after), []);
  return [...originals][0];
}

test("the original is the echo server's, then the echo client's, then the first by name", () => {
  const [server, client] = ['servers/echo.ts', 'clients/echo.ts'];
  assert.equal(originalOf('clients/atlas.ts', client, 'servers/atlas.ts', server), server);
  assert.equal(originalOf('clients/atlas.ts', client, 'servers/atlas.ts'), client);
  assert.equal(originalOf('clients/files.ts', 'servers/http.ts'), 'clients/files.ts');
  assert.equal(originalOf('clients/files.ts', 'servers/files.ts'), 'servers/files.ts');
});

test('a copy that lost its last lines is repaired, its neighbours untouched', () => {
  const kit = kitWith('servers/notes.ts', '  process.stdin.resume();\n}\n', '');
  const files = new Map(Object.entries(kit));
  assert.equal(repair(files).get('servers/notes.ts'), goodKit()['servers/notes.ts']);
});
