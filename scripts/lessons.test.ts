import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import test, { type TestContext } from 'node:test';

import {
  checkEnvelope, compare, draw, type Entry, findAnchors, findVolatile, isLineAsShown, parseCommand,
  parsePage, readMessages, refresh, select,
} from './lessons.ts';
import { KIT, type Outcome, isUnderTsx, makeTempFolder, runNode, tsxArguments } from './testing.ts';

// ---------------------------------------------------------------------------------------------
// A kit in small: a client that says three things, and pages that show them
// ---------------------------------------------------------------------------------------------

const SAID: Entry[] = [
  { from: 'client', line: '{"jsonrpc":"2.0","id":1,"method":"ping"}', expectsRefusal: null },
  { from: 'server', line: '{"jsonrpc":"2.0","id":1,"result":{}}', expectsRefusal: null },
  { from: 'client', line: '{"jsonrpc":"2.0","id":2,"method":"pong"}', expectsRefusal: 'a typo' },
  { from: 'server', line: '{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"No"}}' },
];

const CLIENT = `import { mkdirSync, writeFileSync } from 'node:fs';

const SAID = ${JSON.stringify(SAID)};

const GREETING = 'hello';

// #region greet — says hello
function greet(): void {
  console.log(GREETING);
}
// #endregion greet

const folder = process.argv[process.argv.indexOf('--save') + 1] ?? '';
if (process.argv.includes('--save')) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(folder + '/legacy.transcript.json', JSON.stringify(SAID));
}
const isTsx = process.execArgv.some((argument) => argument.includes('tsx'));
console.log(isTsx ? '$ npx tsx servers/tiny.ts' : '$ node servers/tiny.ts');
greet();
console.log('one\\ntwo\\nthree');
`;

// Node alone runs these, so that they can be started in any way on any Node.
const TOOLS = {
  'scripts/shout.mjs': `for await (const chunk of process.stdin) {
  process.stdout.write(String(chunk).toUpperCase());
}
`,
  'scripts/fail.mjs': "console.error('it failed here');\nprocess.exitCode = 2;\n",
  'scripts/litter.mjs': `import { writeFileSync } from 'node:fs';
writeFileSync('litter.txt', 'x');
`,
  'scripts/facts.mjs': `console.log('Node ' + process.version);
console.log('listening on http://127.0.0.1:' + (process.argv[2] ?? 40123));
console.log(import.meta.url);
`,
};

const GOOD_PAGE = `# A page

Read \`clients/tiny.ts\`, then [the map](README.md#the-map-again) and [this](#a-page). Run
\`npm run tiny\`.

\`\`\`sh
# what it says
npx tsx clients/tiny.ts
node clients/tiny.ts --save scratch/tiny
npm run tiny -- --save scratch/other
\`\`\`

Some prose, and then what it printed, in two parts:

\`\`\`text
$ npx tsx servers/tiny.ts
hello
…
$ node servers/tiny.ts
…
\`\`\`

\`\`\`text
…
t…o
three
\`\`\`

\`\`\`sh exit-2
node scripts/fail.mjs
\`\`\`

\`\`\`text stderr
it failed …
\`\`\`

1. In a list:

   \`\`\`sh
   node scripts/shout.mjs
   \`\`\`

   \`\`\`jsonl typed
   {"jsonrpc":"2.0","id":1,"method":"ping"}
   \`\`\`

   \`\`\`text
   {"JSONRPC":"2.0",…}
   \`\`\`

\`\`\`sh not-run: a second terminal
npx tsx clients/tiny.ts -- python3 my_server.py
\`\`\`

\`\`\`text not-run: a second terminal
anything
\`\`\`

\`\`\`powershell not-run
npx.cmd tsx clients\\tiny.ts
\`\`\`

\`\`\`ts clients/tiny.ts region greet
function greet(): void {
  // …
}
\`\`\`

\`\`\`ts clients/tiny.ts in "if (" from "writeFileSync"
writeFileSync(folder + '/legacy.transcript.json', JSON.stringify(SAID));
\`\`\`

\`\`\`json package.json from "\\"scripts\\"" to "}"
"scripts": {
  "tiny": "tsx clients/tiny.ts"
}
\`\`\`

\`\`\`jsonl
{"jsonrpc":"2.0","id":"a","result":{…}}
\`\`\`

\`\`\`jsonl said clients/tiny.ts legacy
{"jsonrpc":"2.0","id":1,"method":"ping"}
…
{"jsonrpc":"2.0",…,"error":{…,"message":"No"}}
\`\`\`

\`\`\`json said scratch/tiny/legacy.transcript.json
{
  "jsonrpc": "2.0",
  "id": 2,
  "error": { "code": -32601, … }
}
\`\`\`

\`\`\`mermaid clients/tiny.ts legacy pong
sequenceDiagram
    participant C as client
    participant S as server
    Note over C,S: to be refused: a typo
    C->>S: pong (id 2)
    S-->>C: error -32601 (id 2): No
\`\`\`

\`\`\`mermaid drawn
flowchart LR
  A --> B
\`\`\`

Change one line:

\`\`\`ts clients/tiny.ts from "const GREETING"
const GREETING = 'hello';
\`\`\`

\`\`\`ts instead
const GREETING = 'goodbye';
\`\`\`

\`\`\`sh
npx tsx clients/tiny.ts
\`\`\`

\`\`\`text
…
goodbye
…
\`\`\`

\`\`\`sh
git restore clients/tiny.ts
mkdir scratch/copies
cp clients/tiny.ts scratch/copies
npx tsx scratch/copies/tiny.ts
\`\`\`

\`\`\`text
…
hello
…
\`\`\`
`;

function kitWith(pages: Record<string, string>): Record<string, string> {
  const links = Object.keys(pages).map((path) => `[page](${path.replace('lessons/', '')})`);
  return {
    'package.json': `${JSON.stringify(
      { type: 'module', scripts: { tiny: 'tsx clients/tiny.ts' } }, null, 2)}\n`,
    'clients/tiny.ts': CLIENT,
    ...TOOLS,
    'README.md': '# Kit\n\n[Lessons](lessons/).\n',
    'lessons/README.md': `# The map again\n\n${links.join(' ')}\n`,
    ...pages,
  };
}

function writeKit(t: TestContext, kit: Record<string, string>): string {
  const root = makeTempFolder(t);
  for (const [path, text] of Object.entries(kit)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

function runLessons(...args: string[]): Promise<Outcome> {
  const script = join(KIT, 'scripts', 'lessons.ts');
  const deadline = 9 * 60_000; // all lessons, on a small machine
  return runNode([...(isUnderTsx() ? tsxArguments() : []), script, ...args], { deadline });
}

/** What is in a kit: each file's text by its path. */
function readKit(root: string): Record<string, string> {
  const names = readdirSync(root, { recursive: true, encoding: 'utf8' }).sort();
  return Object.fromEntries(names.flatMap((name) => {
    const isFolder = existsSync(join(root, name, '.')) && !name.includes('.');
    return isFolder ? [] : [[name.replaceAll('\\', '/'), readFileSync(join(root, name), 'utf8')]];
  }));
}

// ---------------------------------------------------------------------------------------------
// The script itself, as a process
// ---------------------------------------------------------------------------------------------

test('the pages of this kit: what they show is what there is', async () => {
  const { code, stdout, stderr } = await runLessons();
  assert.equal(code, 0, stdout + stderr);
  assert.match(stdout, /^README\.md: .*all is well$/m);
});

test('a page with a fence of each kind: exit 0, counts, and nothing left behind', async (t) => {
  const kit = kitWith({ 'lessons/01-page/README.md': '# One\n', 'lessons/GOOD.md': GOOD_PAGE });
  const root = writeKit(t, kit);
  const temp = makeTempFolder(t);
  const before = process.env.TMPDIR;
  process.env.TMPDIR = temp; // where the copies of the kit are made, save on Windows
  t.after(() => {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
  });
  const { code, stdout, stderr } = await runLessons(root);
  assert.equal(code, 0, stdout + stderr);
  assert.deepEqual(stdout.trimEnd().split('\n'), [
    'README.md: 1 link, all is well',
    'lessons/01-page/README.md: all is well',
    'lessons/GOOD.md: 10 commands, 6 outputs, 5 quotations, 5 messages, 2 diagrams, 2 links, '
      + '2 not run, all is well',
    'lessons/README.md: 2 links, all is well',
    'lessons: 4 pages, 10 commands in 8 runs, all is well',
  ]);
  assert.deepEqual(readKit(root), kit);
  assert.deepEqual(readdirSync(temp).filter((name) => name.includes('lessons')), []);
});

const fence = (label: string, ...lines: string[]): string => (
  ['```' + label, ...lines, '```', ''].join('\n'));
const NEXT_NODE = Number.parseInt(process.versions.node, 10) + 1;

/** Each breaks one rule, at the line that has the given text, and says so in these words. */
const BROKEN: Record<string, [page: string, at: string, message: RegExp]> = {
  'a fence without a label': [fence('', 'x'), '```', /this fence has no label: .*sh, text/],
  'a fence of another kind': [fence('yaml', 'x'), '```yaml', /no fence is labelled "yaml"/],
  'a label that is none': [fence('ts', 'x'), '```ts', /"ts" is no label; expected: ts FILE/],
  'a fence of tildes': ['~~~\nx\n', '~~~', /a fence is made of backticks/],
  'a fence in a quotation': ['> ```sh\n> ls\n', '> ```sh', /stands in no quotation/],
  'a fence without an end': ['```sh\nnode x.mjs\n', '```sh', /this fence has no end/],
  'code without a fence': ['Run this:\n\n    ls\n', '    ls', /put it into a fence/],
  'an output that drifted': [
    fence('sh', 'npx tsx clients/tiny.ts') + fence('text', '…', 'hello', 'three'), 'hello',
    /this output has drifted.*\n    shown: "hello"\n    came:  "two"/,
  ],
  'an output that goes on': [
    fence('sh', 'npx tsx clients/tiny.ts') + fence('text', '…', 'two'), 'two',
    /shown: "two"\n    came:  "three"/,
  ],
  'an output of nothing': [fence('text', 'x'), '```text', /There is no sh fence above it/],
  'an output that is all holes': [
    fence('sh', 'npx tsx clients/tiny.ts') + fence('text', '…'), '```text', /nothing is shown/,
  ],
  'an output of what was not run': [
    fence('sh not-run: installing', 'npm ci') + fence('text', 'x'), '```text',
    /not run, so: text not-run: installing/,
  ],
  'a quotation that drifted': [
    fence('ts clients/tiny.ts from "const GREETING"', "const GREETING = 'hi';"), 'const GREETING =',
    /this quotation has drifted.*\n.*'hi';"\n.*'hello';"/,
  ],
  'a region that is not there': [
    fence('ts clients/tiny.ts region talk', 'x'), '```ts', /no region talk: there are greet/,
  ],
  'a file to quote that is not there': [
    fence('ts clients/huge.ts', 'x'), '```ts', /there is no clients\/huge\.ts/,
  ],
  'a change of nothing': [fence('ts instead', 'x'), '```ts', /instead of what\?/],
  'a link that leads nowhere': ['[a](gone.md)\n', '[a]', /the link gone\.md leads nowhere/],
  'a link in the wrong case': ['[a](readme.md)\n', '[a]', /the link readme\.md leads nowhere/],
  'a link out of the kit': ['[a](../../x.md)\n', '[a]', /leads out of the kit/],
  'a link by a name without a place': ['[a][b]\n', '[a]', /nothing says where this leads/],
  'an anchor that is not there': [
    '# My page\n\n[a](#mypage)\n', '[a]', /no heading makes the anchor #mypage.*my-page/,
  ],
  'an anchor of another page': [
    '[a](README.md#nowhere)\n', '[a]', /no heading makes the anchor #nowhere of lessons\/README/,
  ],
  'a file in backticks that is not there': [
    'See `node servers/gone.ts`.\n', 'See', /there is no servers\/gone\.ts/,
  ],
  'a script that is not there': ['`npm run gone`\n', '`npm', /package\.json has no script gone/],
  'the number of a line': ['`clients/tiny.ts:3`\n', '`clients', /line numbers drift/],
  'a prompt sign': [fence('sh', '$ node scripts/fail.mjs'), '$ node', /a prompt sign \(\$\)/],
  'a pipe': [fence('sh', 'node scripts/fail.mjs | tail'), 'node', /a pipe: run the command alone/],
  'a redirection': [fence('sh', 'node scripts/fail.mjs > x'), 'node', /a redirection: let/],
  'two commands in a line': [fence('sh', 'node a.mjs && node b.mjs'), 'node', /one command a line/],
  'a pattern of names': [fence('sh', 'node scripts/*.mjs'), 'node', /a pattern of file names/],
  'single quotes': [fence('sh', "node -e '1'"), 'node', /a single quote: use double quotes/],
  'a program that is not run here': [fence('sh', 'curl x'), 'curl', /"curl x" is none of: npx tsx/],
  'an exit code other than said': [
    fence('sh', 'node scripts/fail.mjs'), 'node', /ended with exit code 2, not 0\n    it failed/,
  ],
  'a reason that is none': [
    fence('sh not-run: too slow', 'npm ci'), '```sh', /"too slow" is no reason; there are: inst/,
  ],
  'files left in the kit': [
    fence('sh', 'node scripts/litter.mjs'), '```sh', /this leaves litter\.txt in the kit/,
  ],
  'a version in an output': [
    fence('sh', 'node scripts/facts.mjs 1')
      + fence('text', `Node ${process.version}`, '…'), 'Node', /a version, v.*write …/,
  ],
  'a port in an output': [
    fence('sh', 'node scripts/facts.mjs')
      + fence('text', '…', 'listening on http://127.0.0.1:40123', '…'), 'listening',
    /a port, 40123, is not the same everywhere/,
  ],
  'powershell that says something else': [
    fence('sh', 'npx tsx clients/tiny.ts') + fence('powershell not-run', 'npx tsx clients\\x.ts'),
    'npx tsx clients\\x', /no sh fence above says this/,
  ],
  'a message without its version': [fence('jsonl', '{"id":1}'), '{"id"', /jsonrpc must be "2\.0"/],
  'a message that was not said': [
    fence('jsonl said clients/tiny.ts legacy', '{"jsonrpc":"2.0","method":"bye"}'), '{"json',
    /this was not said here; most like it was/,
  ],
  'a story that is not there': [
    fence('jsonl said clients/tiny.ts modern', '{"jsonrpc":"2.0","method":"bye"}'), '```jsonl',
    /there is no clients\/tiny\.ts modern; saved were: legacy/,
  ],
  'a drawing that drifted': [
    fence('mermaid clients/tiny.ts legacy ping', 'sequenceDiagram'), '```\n',
    /this diagram has drifted/,
  ],
  'a drawing of what was not said': [
    fence('mermaid clients/tiny.ts legacy hello', 'sequenceDiagram'), '```mermaid',
    /hello was not said; what was: ping \(1\), pong \(1\)/,
  ],
  'a conversation drawn by hand': [
    fence('mermaid drawn', 'sequenceDiagram'), '```mermaid', /is drawn from a transcript/,
  ],
};

test('each rule, broken once: exit 1, the page, the line, and what is wrong', async (t) => {
  const names = Object.keys(BROKEN);
  const path = (name: string) => `lessons/${name.replaceAll(' ', '-')}.md`;
  const pages = Object.entries(BROKEN).map(([name, [page]]) => [path(name), page]);
  const kit = kitWith(Object.fromEntries(pages));
  kit['lessons/lost.md'] = 'Nobody links here.\n';
  kit['lessons/another-node.md'] = fence(`sh node-${NEXT_NODE}`, 'node scripts/fail.mjs');
  kit['lessons/README.md'] += '[other](another-node.md)\n';
  const { code, stdout, stderr } = await runLessons(writeKit(t, kit));
  assert.equal(code, 1, stderr);
  for (const [name, [page, at, message]] of Object.entries(BROKEN)) {
    await t.test(name, () => {
      const line = `\n${page}`.split(`\n${at}`)[0]?.split('\n').length; // it begins with the text
      const form = `^${path(name)}:(\\d+): ([^]*?)\n${path(name)}: .*findings: 1$`;
      const [, number, words = ''] = new RegExp(form, 'm').exec(stdout) ?? [];
      assert.match(words, message, stdout);
      assert.equal(Number(number), line);
    });
  }
  assert.match(stdout, /^lessons\/lost\.md:1: no link of the map/m);
  assert.match(stdout, /^lessons\/another-node\.md: 1 for another Node, all is well$/m);
  assert.match(stdout, new RegExp(`^lessons: .*findings: ${names.length + 1}$`, 'm'));
});

test('--write: drift is repaired, holes stay, and the prose is left alone', async (t) => {
  const drifted = GOOD_PAGE
    .replace('hello\n…', 'hallo\n…')
    .replace('…\nt…o\nthree\n', '')
    .replace("const GREETING = 'hello';", 'const GREETING = 1;')
    .replace('it failed …', 'it … somewhere')
    .replace('  // …\n', '  // …\n  x();\n')
    .replace('S-->>C: error -32601', 'S-->>C: error -1');
  const root = writeKit(t, kitWith({ 'lessons/GOOD.md': drifted }));
  const { code, stdout } = await runLessons('--write', root);
  assert.equal(code, 0, stdout);
  assert.match(stdout, /6 refreshed, all is well/);
  const text = readFileSync(join(root, 'lessons/GOOD.md'), 'utf8');
  const all = ['$ npx tsx servers/tiny.ts', 'hello', 'one', 'two', 'three'].join('\n');
  const whole = [all, all.replace('npx tsx', 'node'), all].join('\n');
  assert.equal(text, GOOD_PAGE.replace('…\nt…o\nthree\n', `${whole}\n`)
    .replace('it failed …', 'it … here'));
  assert.equal((await runLessons(root)).code, 0);
});

test('--write: what differs from machine to machine becomes a hole', async (t) => {
  const page = fence('sh', 'node scripts/facts.mjs 40999') + fence('text');
  const root = writeKit(t, kitWith({ 'lessons/FACTS.md': page }));
  assert.equal((await runLessons('--write', root)).code, 0);
  const output = ['Node …', 'listening on http://127.0.0.1:40999', '…/scripts/facts.mjs'];
  const text = readFileSync(join(root, 'lessons/FACTS.md'), 'utf8');
  assert.equal(text, page.replace('```text\n', `\`\`\`text\n${output.join('\n')}\n`));
});

test('without lessons/, README.md alone is checked', async (t) => {
  const root = writeKit(t, { 'README.md': '# Kit\n' });
  const { code, stdout } = await runLessons(root);
  assert.equal(code, 0);
  const closing = 'lessons: 1 page, 0 commands in 0 runs, all is well';
  assert.equal(stdout, `README.md: all is well\n${closing}\n`);
});

test('called wrongly: exit 2, a sentence, and how to call it', async (t) => {
  const empty = makeTempFolder(t);
  for (const [args, sentence] of [
    [['--wirte'], /Unknown option '--wirte'/],
    [['a', 'b'], /One folder at most, not 2\./],
    [['gone.md'], /gone\.md is no page\. There are:\n  README\.md/],
    [[join(empty, 'gone')], /There is no README\.md in/],
    [[writeKit(t, { 'README.md': '', 'package.json': '{' })], /package\.json is no JSON/],
  ] as const) {
    const { code, stdout, stderr } = await runLessons(...args);
    assert.equal(code, 2);
    assert.equal(stdout, '');
    assert.match(stderr, sentence);
    assert.match(stderr, /^Usage: npx tsx scripts\/lessons\.ts/m);
  }
});

// ---------------------------------------------------------------------------------------------
// Its parts
// ---------------------------------------------------------------------------------------------

test('a line is as shown: a hole stands for anything, all else for itself', () => {
  for (const [shown, came, expected] of [
    ['a', 'a', true], ['a ', 'a', true], ['a', 'b', false], ['…', '', true], ['a…c', 'ac', true],
    ['a…c', 'abcbc', true], ['a…b…c', 'abc', true], ['a…b…c', 'acb', false],
    ['ab…bc', 'abc', false],
    ['a.…', 'abc', false], ['…b…b…', 'abcb', true], ['…b…b…', 'abc', false], ['…b…b', 'ab', false],
  ] as const) {
    assert.equal(isLineAsShown(shown, came), expected, `${shown} and ${came}`);
  }
});

test('lines are as shown: a hole alone stands for lines, and a difference has its place', () => {
  const came = ['a', 'b', 'a', 'c', 'd'];
  for (const shown of [came, ['…'], ['a', '…'], ['…', 'd'], ['a', '…', 'a', 'c', '…'],
    ['…', 'b', '…'], ['a', 'b', '…', 'a', 'c', 'd'], ['…', 'a', 'c', '…', 'd', '…']]) {
    assert.equal(compare([...shown], came), undefined, shown.join(' '));
  }
  assert.deepEqual(compare(['a', 'x', '…'], came), { shown: 1, came: 1 });
  assert.deepEqual(compare(['…', 'a', 'x', '…'], came), { shown: 2, came: 1 });
  assert.deepEqual(compare(['…', 'c'], came), { shown: 1, came: 4 });
  assert.deepEqual(compare(['a', 'b'], came), { shown: 2, came: 2 });
  assert.deepEqual(compare([...came, 'e'], came), { shown: 5, came: 5 });
  assert.deepEqual(compare(['a', '…', 'a', '…', 'a', '…'], came), { shown: 4, came: 3 });
});

test('what is refreshed fits, and has its holes where they were', () => {
  const line = '--> {"id":1,"method":"ping","params":{"a":1}}';
  const came = ['== one ==', line, 'PASS  x', 'result: 7'];
  for (const [shown, expected] of [
    [[], came],
    [['== one ==', '…', 'result: 5'], ['== one ==', '…', 'result: 7']],
    [['…', '--> {"id":2,"method":"ping",…}', '…'], ['…', '--> {"id":1,"method":"ping",…}', '…']],
    [['== two ==', '…', 'PASS  x', 'PASS  y', 'result: …'],
      ['== one ==', '…', 'PASS  x', 'result: …']],
  ] as const) {
    const fresh = refresh([...shown], came);
    assert.deepEqual(fresh, expected);
    assert.equal(compare(fresh, came), undefined);
  }
});

test('plain commands are split into words', () => {
  assert.deepEqual(parseCommand('npx tsx  "my folder/echo.ts" --x=1'),
    ['npx', 'tsx', 'my folder/echo.ts', '--x=1']);
  assert.deepEqual(parseCommand('node -e "f(\'a\'); g()"'), ['node', '-e', "f('a'); g()"]);
  for (const line of ['PS C:\\> x', '> x', '% x', 'a "b', 'a "$b"', 'A=1 b', 'a ~/b', 'a # b',
    'a \\', 'a %B%', 'a < b', 'a; b', 'a {b}', 'a …', 'a b!', 'a $(b)', 'a `b`', 'a b,c']) {
    assert.equal(typeof parseCommand(line), 'string', line);
  }
});

test('what is not the same everywhere is found, and what is, is not', () => {
  for (const line of ['at 127.0.0.1:8080', 'port 8080', '/home/a/x.ts', 'C:\\a', '10:20:30',
    '2025-01-02T03:04', '1.5 s', 'took 213 ms', 'v20.1.2', 'Node 22.1', '(node:12)',
    'file:///tmp/x']) {
    assert.equal(findVolatile(line).length, 1, line);
  }
  for (const line of ['2025-11-25', '"version":"1.0.0"', 'v2.1 shipped', 'within 5000 ms',
    'Node 20', 'file:///etc/passwd', 'project://atlas/docs', '…/servers/echo.ts',
    'every 300 seconds']) {
    assert.deepEqual(findVolatile(line), [], line);
  }
  assert.deepEqual(findVolatile('http://localhost:3917', 'npx tsx x.ts --port 3917'), []);
});

test('a quotation: the file, a region, a line, a block, a part', () => {
  const text = `// #region a — one
const x = 1;
function f(
  y: number,
): void {
  if (y) {
    g();
  } else {
    h();
  }
}
// #endregion a

const x2 = [
  1,
];
`;
  const lines = text.trimEnd().split('\n');
  assert.deepEqual(select(text, {}), lines);
  assert.deepEqual(select(text, { region: 'a' }), lines.slice(1, 11));
  assert.deepEqual(select(text, { from: 'const x =' }), lines.slice(1, 2));
  assert.deepEqual(select(text, { from: 'function f' }), lines.slice(2, 11));
  assert.deepEqual(select(text, { from: 'if (y)' }), lines.slice(5, 10));
  assert.deepEqual(select(text, { from: 'const x2' }), lines.slice(13, 16));
  assert.deepEqual(select(text, { from: 'const x =', to: '}' }), lines.slice(1, 11));
  assert.deepEqual(select(text, { within: 'function f', from: 'h()' }), lines.slice(8, 9));
  assert.match(String(select(text, { from: 'const' })), /2 lines begin with "const"/);
  assert.match(String(select(text, { from: 'let' })), /no line begins with "let"/);
  assert.match(String(select(text, { from: 'if (y)', to: 'x' })), /indented, begins with "x"/);
});

test('anchors are made as GitHub makes them', () => {
  const { page } = parsePage('x.md', [
    '# `-32602` on everything', '## Ein *schöner* [Link](x.md)!', '## Twice', '## Twice',
    '## snake_case & more', 'Under', '-----', '<a id="own"></a>', '```sh', '# no heading', '```',
  ].join('\n'));
  assert.deepEqual([...findAnchors(page)], [
    '-32602-on-everything', 'ein-schöner-link', 'twice', 'twice-1', 'snake_case--more', 'under',
    'own',
  ]);
});

test('envelopes: what is a message, and what is none', () => {
  for (const line of [
    '{"jsonrpc":"2.0","id":1,"method":"ping"}', '{"jsonrpc":"2.0","method":"x","params":{…}}',
    '{"jsonrpc":"2.0","id":"…","result":{"tools":[{"name":"a",…},…]}}', '{"jsonrpc":"2.0",…}',
    '{"jsonrpc":"2.0","id":…,"result":…}',
    '{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}}',
    '{"jsonrpc":"2.0","id":1,"error":{"code":-32602,…}}',
  ]) assert.equal(checkEnvelope(line), undefined, line);
  for (const [line, problem] of [
    ['{"jsonrpc":"2.0"', /no JSON/], ['[]', /a JSON object/],
    ['{"jsonrpc":"2.0","id":1}', /has a method/],
    ['{"jsonrpc":"1.0","method":"x"}', /must be "2\.0"/],
    ['{"jsonrpc":"2.0","id":null,"method":"x"}', /the id must be/],
    ['{"jsonrpc":"2.0","id":1.5,"method":"x"}', /the id must be/],
    ['{"jsonrpc":"2.0","id":1,"method":1}', /the method must be/],
    ['{"jsonrpc":"2.0","id":1,"method":"x","params":[]}', /params must be/],
    ['{"jsonrpc":"2.0","id":1,"method":"x","result":{}}', /not both/],
    ['{"jsonrpc":"2.0","id":1,"result":{},"error":{}}', /not both/],
    ['{"jsonrpc":"2.0","id":1,"result":1}', /the result must be/],
    ['{"jsonrpc":"2.0","result":{}}', /answers nothing/],
    ['{"jsonrpc":"2.0","id":1,"error":{"code":"a","message":"x"}}', /an error is/],
    ['{"jsonrpc":"2.0","id":1,"method":"x","extra":1}', /no member "extra"/],
  ] as const) assert.match(checkEnvelope(line) ?? 'nothing', problem, line);
});

test('messages that are shown whole can be had, for whoever has the schema', (t) => {
  const page = fence('jsonl', '{"a":1}', '…', '{"b":…}') + fence('jsonl typed', '{"c":1}');
  const root = writeKit(t, { 'README.md': page });
  assert.deepEqual(readMessages(root), [
    { page: 'README.md', line: 2, text: '{"a":1}' },
    { page: 'README.md', line: 7, text: '{"c":1}' },
  ]);
});

test('a drawing: requests, answers, notifications, and nothing that Mermaid obeys', () => {
  const message = (members: object) => JSON.stringify({ jsonrpc: '2.0', ...members });
  const call = { method: 'tools/call', params: { name: 'a;b\nC->>S: "x" #35; %%', _meta: {} } };
  const entries: Entry[] = [
    { from: 'client', line: message({ method: 'notifications/initialized' }) },
    { from: 'server', line: message({ id: 1, method: 'ping' }) },
    { from: 'client', line: message({ id: 1, result: {} }) },
    { from: 'client', line: message({ id: 1, ...call }), expectsRefusal: 'a <b>bad</b> name' },
    { from: 'server', line: message({ id: 1, result: { content: [], isError: true } }) },
    { from: 'client', line: message({ id: '2', ...call, params: { uri: 'x'.repeat(99) } }) },
    { from: 'server', line: message({ id: '2', error: { code: -32602, message: 'No' } }) },
    { from: 'server', line: 'oops' },
  ];
  const head = ['sequenceDiagram', '    participant C as client', '    participant S as server'];
  const second = [
    `    C->>S: tools/call ${'x'.repeat(58)}... (id #34;2#34;)`,
    '    S-->>C: error -32602 (id #34;2#34;): No',
  ];
  assert.deepEqual(draw(entries), [
    ...head,
    '    C-)S: notifications/initialized',
    '    S->>C: ping (id 1)',
    '    C-->>S: result (id 1): empty',
    '    Note over C,S: to be refused: a #60;b#62;bad#60;/b#62; name',
    '    C->>S: tools/call a#59;b#10;C-#62;#62;S: #34;x#34; #35;35#59; #37;#37; + _meta (id 1)',
    '    S-->>C: result, isError (id 1): content, isError',
    ...second,
    '    S-->>C: no JSON',
  ]);
  assert.deepEqual(draw(entries, ['tools/call:2']), [...head, ...second]);
});
