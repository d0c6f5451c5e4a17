/**
 * What the story of clients/files.ts does not ask of servers/files.ts: which folders become roots,
 * lists of many pages, texts cut to the character, large files, what is neither file nor folder,
 * one wording for all refusals, and somebody who moves folders about while the server reads.
 */

import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join, parse, relative, sep } from 'node:path';
import { test, type TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';

import {
  isUnderTsx, KIT, makeTempFolder, tsxArguments, withoutNodeWarnings,
} from '../scripts/testing.ts';

const SERVER = join(KIT, 'servers', 'files.ts');
const REFUSED = 'Not found below the roots';
const BAIT = 'Bait: whoever reads this has crossed the boundary.';
const IS_WINDOWS = process.platform === 'win32';
const NEEDS_LINKS = IS_WINDOWS ? 'Windows asks for a right to make links' : false;
const NEEDS_MODES = IS_WINDOWS ? 'Windows has other permissions'
  : process.getuid?.() === 0 ? 'the superuser reads what nobody may' : false;
const MODERN = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};

// ---------------------------------------------------------------------------------------------
// A folder, and a server that talks
// ---------------------------------------------------------------------------------------------

type Era = 'legacy' | 'modern';
type Reply = { id: number; result?: any; error?: { code: number; message: string; data?: any } };
type Talk = {
  ask: (method: string, params?: object) => Promise<Reply>;
  /** Calls a tool, and gives the first text of its answer, behind "error: " where it failed. */
  call: (name: string, args?: object) => Promise<string>;
  summarize: (path: string) => Promise<string>;
  /** Reads a resource by path, and gives its one content, or the error. */
  read: (path: string) => Promise<any>;
  /** Lists resources: all pages, each as its URIs. */
  listPages: () => Promise<string[][]>;
  /** All that the server has said so far. */
  said: () => string;
  /** Ends the input, and gives how the server ended. */
  end: () => Promise<{ code: number | null; stdout: string; stderr: string }>;
};
type Start = { era?: Era; cwd?: string; env?: Record<string, string>; capabilities?: object };

const ERAS = ['legacy', 'modern'] as const;
const LONGEST = 60_000; // for any one wait; on a machine at rest all of them are short

const running = new Set<ChildProcess>(); // of the test that runs

/** Lays out files in a new folder, which goes when the test and all that it started have ended. */
function makeFolder(t: TestContext, files: Record<string, string | Buffer> = {}): string {
  // Windows keeps a folder while a process is in it; and a short path is one that a socket fits.
  const after = (remove: () => void) => t.after(async () => {
    await endAll();
    remove();
  });
  const folder = makeTempFolder({ after }, 'files-');
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  return folder;
}

async function endAll(): Promise<void> {
  for (const child of running) {
    const closed = once(child, 'close');
    if (child.kill('SIGKILL')) await closed;
  }
}

const uriOf = (...path: string[]): string => pathToFileURL(join(...path)).href;

function run(args: string[], { cwd = KIT, env = {} }: Start): ChildProcess {
  const { NODE_TEST_CONTEXT: _, DATA_ROOT: __, ...ours } = process.env;
  const child = spawn(process.execPath, args, { cwd, env: { ...ours, ...env } });
  running.add(child);
  child.on('close', () => running.delete(child));
  return child;
}

function runServer(args: string[], how: Start): ChildProcess {
  return run([...(isUnderTsx() ? tsxArguments() : []), SERVER, ...args], how);
}

/** Starts the server, and opens a conversation in an era. */
async function start(args: string[], how: Start = {}): Promise<Talk> {
  const { era = 'modern', capabilities = {} } = how;
  const child = runServer(args, how);
  const said = { stdout: '', stderr: '' };
  const open = new Map<number, (reply: Reply) => void>();
  let lastId = 0;
  let line = '';
  child.setMaxListeners(0); // each request that is open listens
  child.stdin?.on('error', () => {}); // it may have ended
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (said.stderr += text));
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    said.stdout += text;
    const pieces = text.split('\n');
    pieces[0] = line + pieces[0];
    line = pieces.pop() ?? '';
    for (const piece of pieces) {
      const reply = JSON.parse(piece) as Reply; // the server asks nothing: all it says are replies
      open.get(reply.id)?.(reply);
    }
  });

  function ask(method: string, params: object = {}): Promise<Reply> {
    const id = (lastId += 1);
    const _meta = era === 'modern' ? { _meta: MODERN } : {};
    const message = { jsonrpc: '2.0', id, method, params: { ...params, ..._meta } };
    child.stdin?.write(`${JSON.stringify(message)}\n`);
    return new Promise((resolve, reject) => {
      const complain = () => reject(new Error(`No answer to ${JSON.stringify(message)}`));
      const deadline = setTimeout(complain, LONGEST).unref();
      child.once('close', complain);
      open.set(id, (reply) => {
        clearTimeout(deadline);
        child.off('close', complain);
        resolve(reply);
      });
    });
  }

  async function call(name: string, args: object = {}): Promise<string> {
    const { result, error } = await ask('tools/call', { name, arguments: args });
    assert.equal(error, undefined);
    return `${result.isError === true ? 'error: ' : ''}${result.content[0].text}`;
  }

  async function read(path: string): Promise<any> {
    const { result, error } = await ask('resources/read', { uri: uriOf(path) });
    return error ?? result.contents[0];
  }

  async function listPages(): Promise<string[][]> {
    const pages: string[][] = [];
    for (let cursor: string | undefined; ;) {
      const { result } = await ask('resources/list', { cursor });
      pages.push(result.resources.map(({ uri }: { uri: string }) => uri));
      cursor = result.nextCursor;
      if (cursor === undefined) return pages;
    }
  }

  async function end() {
    child.stdin?.end();
    const [code] = await once(child, 'close', { signal: AbortSignal.timeout(LONGEST) });
    return { code: code as number | null, ...said, stderr: withoutNodeWarnings(said.stderr) };
  }

  const clientInfo = { name: 'test', version: '1' };
  const hello = { protocolVersion: '2025-11-25', capabilities, clientInfo };
  if (era === 'legacy') await ask('initialize', hello);
  const summarize = (path: string) => call('read_file_summary', { path });
  return { ask, call, summarize, read, listPages, said: () => said.stdout, end };
}

// ---------------------------------------------------------------------------------------------
// Roots: which folders, and whose word counts
// ---------------------------------------------------------------------------------------------

/** Starts a server that is meant to end by itself. */
async function startInVain(args: string[], how: Start = {}) {
  const child = runServer(args, how);
  const said = { stdout: '', stderr: '' };
  child.stdout?.on('data', (bytes) => (said.stdout += bytes));
  child.stderr?.on('data', (bytes) => (said.stderr += bytes));
  const [code] = await once(child, 'close', { signal: AbortSignal.timeout(LONGEST) });
  return { code, stdout: said.stdout, lines: withoutNodeWarnings(said.stderr).trim().split('\n') };
}

const USAGE = /^Usage: npx tsx servers\/files\.ts FOLDER…, or name one in DATA_ROOT\.$/;

test('no usable root: a sentence for each, the usage, exit 2, and nothing on stdout', async (t) => {
  const folder = makeFolder(t, { 'file.txt': 'no folder' });
  const named = [join(folder, 'file.txt'), join(folder, 'missing')];
  for (const [args, how, unusable] of [
    [named, {}, named],
    [[], { env: { DATA_ROOT: named[1] ?? '' } }, named.slice(1)],
    [[], { cwd: folder }, [join(folder, 'data')]],
  ] as [string[], Start, string[]][]) {
    const { code, stdout, lines } = await startInVain(args, how);
    assert.equal(code, 2);
    assert.equal(stdout, '');
    assert.match(lines.pop() ?? '', USAGE);
    assert.deepEqual(lines, unusable.map((path) => `Not a folder that can be read: ${path}`));
  }
});

test('a root that nobody may list is none', { skip: NEEDS_MODES }, async (t) => {
  const folder = makeFolder(t, { 'shut/a.txt': 'a' });
  chmodSync(join(folder, 'shut'), 0o300);
  const { code, lines } = await startInVain([join(folder, 'shut')]);
  chmodSync(join(folder, 'shut'), 0o700);
  assert.equal(code, 2);
  assert.equal(lines[0], `Not a folder that can be read: ${join(folder, 'shut')}`);
});

test('several roots: relative paths start at the first, and no file is listed twice', async (t) => {
  const files = {
    'one/same.txt': 'in one', 'one/deep/inner.txt': 'inner', 'two/same.txt': 'in two',
    'two/only.txt': 'only', 'one.txt': BAIT, 'one-private/bait.txt': BAIT,
  };
  const folder = makeFolder(t, files);
  const roots = ['two', 'one', 'one/deep', 'missing', 'two', 'one/'];
  const talk = await start(roots.map((name) => `${folder}${sep}${name}`));
  assert.equal(await talk.summarize('same.txt'), 'in two');
  assert.equal(await talk.summarize('inner.txt'), `error: ${REFUSED}`); // of the third root
  const absolute = ['one/same.txt', 'one/deep/inner.txt', 'two/only.txt'] as const;
  for (const path of absolute) {
    assert.equal((await talk.read(join(folder, path))).text, files[path]);
    if (!IS_WINDOWS) assert.equal(await talk.summarize(join(folder, path)), files[path]);
  }
  const bait = ['one.txt', 'one-private/bait.txt'].map((path) => join(folder, path));
  for (const path of bait) assert.equal((await talk.read(path)).message, REFUSED);
  const order = ['one/deep/inner.txt', 'one/same.txt', 'two/only.txt', 'two/same.txt'];
  assert.deepEqual(await talk.listPages(), [order.map((path) => uriOf(folder, path))]);
  const { result } = await talk.ask('resources/templates/list');
  const templates = result.resourceTemplates.map((one: { uriTemplate: string }) => one.uriTemplate);
  const expected = ['two', 'one', 'one/deep'].map((name) => `${uriOf(folder, name)}/{+path}`);
  assert.deepEqual(templates, expected);
  const { code, stderr } = await talk.end();
  assert.equal(code, 0);
  assert.equal(stderr, `Not a folder that can be read: ${join(folder, 'missing')}\n`);
});

test('the operator names roots in arguments, else in DATA_ROOT, else ./data is one', async (t) => {
  const folder = makeFolder(t, {
    'given/a.txt': 'of the argument', 'named/a.txt': 'of DATA_ROOT', 'data/a.txt': 'of ./data',
    'a.txt': BAIT, // where each server below is started
  });
  const DATA_ROOT = join(folder, 'named');
  for (const [args, env, text] of [
    [['given'], { DATA_ROOT }, 'of the argument'], [[], { DATA_ROOT }, 'of DATA_ROOT'],
    [[], {}, 'of ./data'], [[], { DATA_ROOT: '' }, 'of ./data'],
  ] as [string[], Record<string, string>, string][]) {
    // Who calls the server may have roots too, in MCP's sense. They are not asked for.
    const how = { era: 'legacy', cwd: folder, env, capabilities: { roots: {} } } as const;
    const talk = await start(args, how);
    await talk.ask('ping');
    for (const path of ['a.txt', './a.txt']) assert.equal(await talk.summarize(path), text);
    assert.equal(await talk.summarize('given/a.txt'), `error: ${REFUSED}`);
    assert.equal((await talk.ask('resources/list')).result.resources[0].name, 'a.txt');
    const { code, stdout, stderr } = await talk.end();
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
    assert.doesNotMatch(stdout, /"method"|Bait/);
  }
});

const ODD_NAMES = [
  'two words', '100%25', 'c#', '你好', 'é', 'e\u0301', "it's", '{+path}', '~', '$HOME', '%2f',
  '😀.txt', '\uff5e', '%2e%2e', '..hidden', '-rf', 'a;b&c=d,e', '[x](y)', 'toString',
];
// Windows has no such names.
if (!IS_WINDOWS) {
  ODD_NAMES.push('line\nfeed', '"quoted"', 'tab\t', '\u001b[31m', 'what?', '<a>', 'a:b', 'a..',
    'back\\slash');
}

test('odd names, of a root too: each file is listed, and read as it is listed', async (t) => {
  const root = 'a root, 100% #1 你好 {x}';
  const files = ODD_NAMES.map((name) => [`${root}/${name}`, name]);
  const folder = makeFolder(t, Object.fromEntries(files));
  // A file system for which both spellings of an accent are the same has a file less.
  const there = readdirSync(join(folder, root)).sort();
  const talk = await start([`${join(folder, root)}${sep}`]);
  const { result } = await talk.ask('resources/list');
  const listed = result.resources as { uri: string; name: string }[];
  assert.deepEqual(listed.map(({ name }) => name), there);
  for (const { uri, name } of listed) {
    const content = (await talk.ask('resources/read', { uri })).result.contents[0];
    assert.deepEqual([content.uri, content.text.normalize()], [uri, name.normalize()]);
    assert.equal((await talk.summarize(name)).normalize(), name.normalize());
  }
  const entries = JSON.parse(await talk.call('list_files')) as unknown;
  assert.deepEqual(entries, there.map((name) => ({ name, type: 'file' })));
});

test('a root that is a link stays what it was, wherever the link leads later',
  { skip: NEEDS_LINKS }, async (t) => {
    const folder = makeFolder(t, { 'real/a.txt': 'first', 'outside/a.txt': BAIT });
    const door = join(folder, 'door');
    symlinkSync('real', door);
    const talk = await start([door]);
    assert.equal(await talk.summarize(join(door, 'a.txt')), 'first');
    rmSync(door);
    symlinkSync('outside', door);
    assert.equal(await talk.summarize('a.txt'), 'first');
    assert.equal(await talk.summarize(join(door, 'a.txt')), `error: ${REFUSED}`);
    assert.equal((await talk.read(join(door, 'a.txt'))).message, REFUSED);
    assert.deepEqual(await talk.listPages(), [[uriOf(folder, 'real/a.txt')]]);
    // And a root that has become such a link is one no more.
    renameSync(join(folder, 'real'), join(folder, 'gone'));
    symlinkSync('outside', join(folder, 'real'));
    assert.equal(await talk.summarize('a.txt'), `error: ${REFUSED}`);
    assert.deepEqual(await talk.listPages(), [[]]);
    assert.doesNotMatch(talk.said(), /Bait/);
  });

test('a whole disk can be a root', async (t) => {
  const folder = makeFolder(t, { 'a.txt': 'found from the top' });
  const { root } = parse(folder);
  const talk = await start([root]);
  const path = relative(root, join(folder, 'a.txt')).replaceAll(sep, '/');
  assert.equal(await talk.summarize(path), 'found from the top');
  assert.equal((await talk.read(join(folder, 'a.txt'))).text, 'found from the top');
  assert.match(await talk.call('list_files'), /"type":"folder"/);
});

// ---------------------------------------------------------------------------------------------
// Lists: pages, their order, and their cursors
// ---------------------------------------------------------------------------------------------

/** Paths in several folders, whose order as mere strings is not that in which one walks. */
function makeMany(count: number): string[] {
  const folders = ['', 'a/', 'a b/', 'a.b/', 'a/b/', 'Z/', '\uff5e/', '😀/', 'a#/', 'a%2f/'];
  return Array.from({ length: count }, (_, index) =>
    `${folders[index % folders.length]}${index}.txt`);
}

test('2,500 files are 3 pages: each file once, in one order, in both eras', async (t) => {
  const files = Object.fromEntries(makeMany(2500).map((path) => [`root/${path}`, '']));
  const folder = makeFolder(t, { ...files, 'outside/bait.txt': BAIT });
  const root = join(folder, 'root');
  if (!NEEDS_LINKS) {
    symlinkSync('..', join(root, 'a', 'up')); // linked folders are not entered, or this circles
    symlinkSync('../../outside/bait.txt', join(root, 'a', 'bait.txt'));
    symlinkSync('../a', join(root, 'Z', 'again'));
  }
  const legacy = await start([root], { era: 'legacy' });
  const talk = await start([root]);
  const pages = await talk.listPages();
  assert.deepEqual(pages.map((page) => page.length), [1000, 1000, 500]);
  const expected = Object.keys(files).map((path) => uriOf(folder, path)).sort();
  assert.deepEqual(pages.flat().sort(), expected);
  assert.deepEqual(await talk.listPages(), pages);
  assert.deepEqual(await legacy.listPages(), pages);

  const { resultType: _, _meta: __, ...first } = (await talk.ask('resources/list')).result;
  const { ttlMs, cacheScope, ...others } = first;
  assert.deepEqual({ ttlMs, cacheScope }, { ttlMs: 0, cacheScope: 'private' });
  assert.deepEqual((await legacy.ask('resources/list')).result, others);
  assert.deepEqual(Object.keys(others.resources[0]), ['uri', 'name']);
  const { nextCursor: cursor } = first;
  const list = async () => (await talk.ask('resources/list', { cursor })).result;
  const second = await list();

  // What is gone since leaves no gap: the file that a page ended with, then its whole folder.
  const last = new URL(pages[0]?.at(-1) ?? '');
  rmSync(last);
  assert.deepEqual(await list(), second);
  const lost = new URL('.', last);
  rmSync(lost, { recursive: true });
  const rest = pages.slice(1).flat().filter((uri) => !uri.startsWith(lost.href));
  const { resources } = await list();
  assert.deepEqual(resources.map(({ uri }: { uri: string }) => uri), rest.slice(0, 1000));
  assert.doesNotMatch(legacy.said() + talk.said(), /bait|again|\/up\//);
});

test('1,000 files are one page and one list, and say no more; one more, and both do', async (t) => {
  const names = Array.from({ length: 1000 }, (_, index) => `full/${index}.txt`);
  const folder = makeFolder(t, Object.fromEntries(names.map((name) => [name, ''])));
  const talk = await start([folder]);
  const call = { name: 'list_files', arguments: { path: 'full' } };
  const list = async () => (await talk.ask('tools/call', call)).result.content as object[];
  const { result } = await talk.ask('resources/list');
  assert.deepEqual([result.resources.length, 'nextCursor' in result], [1000, false]);
  const [whole, ...nothing] = await list() as { text: string }[];
  assert.deepEqual([JSON.parse(whole?.text ?? '').length, nothing], [1000, []]);

  writeFileSync(join(folder, 'full', 'zz.txt'), '');
  const pages = await talk.listPages();
  assert.deepEqual(pages.map((page) => page.length), [1000, 1]);
  assert.deepEqual(pages[1], [uriOf(folder, 'full/zz.txt')]);
  mkdirSync(join(folder, 'full', 'zzz'));
  const text = 'The first 1000 entries; 2 more are left out.';
  assert.deepEqual(await list(), [whole, { type: 'text', text }]);
});

test('no files make one empty page', async (t) => {
  const folder = makeFolder(t);
  mkdirSync(join(folder, 'inner', 'most'), { recursive: true });
  const talk = await start([folder]);
  assert.deepEqual(await talk.listPages(), [[]]);
});

test('a cursor that this server never gave is refused', async (t) => {
  const folder = makeFolder(t, { 'root/a.txt': 'a', 'root-private/bait.txt': BAIT });
  const root = uriOf(folder, 'root');
  const cursors = [
    '', ' ', '0', '1', 'page-2', 'toString', null, 7, true, [], {}, [`${root}/a.txt`],
    uriOf(folder), uriOf(folder, 'root-private/bait.txt'), uriOf(folder, 'root.txt'), 'file:///',
    `${root}/../root-private/bait.txt`, `${root}/%2e%2e/a.txt`, `${root}/%zz`,
    `${root}/a.txt#`, `${root}/a.txt?x`, join(folder, 'root', 'a.txt'), 'https://example.invalid/a',
    root.replace('file://', 'file://files.example.invalid'),
  ];
  for (const era of ERAS) {
    const talk = await start([join(folder, 'root')], { era });
    for (const cursor of cursors) {
      const { error } = await talk.ask('resources/list', { cursor });
      const message = 'Invalid cursor: this server gave no such cursor';
      assert.deepEqual(error, { code: -32602, message }, JSON.stringify(cursor));
    }
    for (const method of ['tools/list', 'resources/templates/list']) {
      for (const cursor of ['', `${root}/a.txt`]) {
        assert.equal((await talk.ask(method, { cursor })).error?.code, -32602);
      }
    }
  }
});

test('a folder that nobody may read is left out', { skip: NEEDS_MODES }, async (t) => {
  const folder = makeFolder(t, { 'a.txt': '', 'shut/b.txt': '', 'z.txt': '' });
  chmodSync(join(folder, 'shut'), 0);
  const talk = await start([folder]);
  const pages = await talk.listPages();
  const refused = await talk.call('list_files', { path: 'shut' });
  chmodSync(join(folder, 'shut'), 0o700);
  assert.deepEqual(pages, [['a.txt', 'z.txt'].map((name) => uriOf(folder, name))]);
  assert.equal(refused, `error: ${REFUSED}`);
});

test('list_files: one level, sorted, and of each entry its kind', async (t) => {
  const folder = makeFolder(t, { 'root/b.txt': '', 'root/B.d/deep.txt': '', 'outside/x': BAIT });
  const root = join(folder, 'root');
  const entries = [{ name: 'B.d', type: 'folder' }, { name: 'b.txt', type: 'file' }];
  if (!NEEDS_LINKS) {
    symlinkSync('../outside', join(root, 'out')); // called the same wherever they lead
    symlinkSync('b.txt', join(root, 'in'));
    symlinkSync('nowhere', join(root, 'none'));
    entries.push(...['in', 'none', 'out'].map((name) => ({ name, type: 'link' })));
  }
  const hasPipe = spawnSync('mkfifo', [join(root, 'pipe')]).status === 0;
  if (hasPipe) entries.push({ name: 'pipe', type: 'other' });
  const talk = await start([root]);
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const path of [undefined, '.', './', '', './/.', ...(IS_WINDOWS ? [] : [root])]) {
    assert.deepEqual(JSON.parse(await talk.call('list_files', { path })), entries);
  }
  assert.deepEqual(await talk.call('list_files', { path: 'B.d/' }),
    '[{"name":"deep.txt","type":"file"}]');
  for (const path of [null, 7, ['B.d'], { path: '.' }, true]) {
    assert.equal(await talk.call('list_files', { path }), 'error: arguments.path must be a string');
    const tool = 'read_file_summary';
    assert.equal(await talk.call(tool, { path }), 'error: arguments.path must be a string');
  }
});

// ---------------------------------------------------------------------------------------------
// Texts: what a summary keeps whole, and what a resource keeps as it is
// ---------------------------------------------------------------------------------------------

const MEBIBYTE = 1024 * 1024;
const FAMILY = '👨‍👩‍👧‍👦';
const ACCENT = 'e\u0301\u0323'; // one letter, two marks
const FLAG = '🇨🇳';

/** A text file, and its first 100 characters. */
const SUMMARIES: Record<string, [content: string | Buffer, summary: string]> = {
  'empty': ['', ''],
  'short': ['no more than this', 'no more than this'],
  'exactly 100': ['x'.repeat(100), 'x'.repeat(100)],
  '101': ['x'.repeat(101), 'x'.repeat(100)],
  'Chinese': ['汉'.repeat(150), '汉'.repeat(100)],
  'families': [FAMILY.repeat(150), FAMILY.repeat(100)],
  'a family at the end': ['x'.repeat(99) + FAMILY + 'y', 'x'.repeat(99) + FAMILY],
  'accents': [ACCENT.repeat(150), ACCENT.repeat(100)],
  'flags': [FLAG.repeat(150), FLAG.repeat(100)],
  'an odd number of halves of flags': ['x'.repeat(99) + FLAG + FLAG, 'x'.repeat(99) + FLAG],
  'skin': ['👍🏽'.repeat(101), '👍🏽'.repeat(100)],
  'CRLF': ['a\r\n'.repeat(60), 'a\r\n'.repeat(50)], // it counts as one
  'BOM': ['\ufeffabc', '\ufeffabc'],
  'U+FFFD': ['\ufffd', '\ufffd'], // a character like any other, where a file has it
  'control characters': ['\u001b[31m\u0007\u009b', '\u001b[31m\u0007\u009b'],
  'cut by the limit': ['x'.repeat(MEBIBYTE - 1) + '汉', 'x'.repeat(100)],
  'cut by the limit, then no text': [
    Buffer.concat([Buffer.from('x'.repeat(MEBIBYTE - 2) + '😀'), Buffer.of(0xff, 0)]),
    'x'.repeat(100)],
};

const NO_TEXTS: Record<string, Buffer> = {
  'a NUL': Buffer.from('a\0b'), // the name alone is a device's on Windows
  'NUL at the end': Buffer.from('a'.repeat(200) + '\0'),
  'UTF-16': Buffer.from('\ufeffabc', 'utf16le'),
  'Latin-1': Buffer.from('déjà vu', 'latin1'),
  'half a character': Buffer.from('汉').subarray(0, 2),
  'half a character, after 100': Buffer.concat([Buffer.alloc(200, 'x'), Buffer.of(0xe6, 0xb1)]),
  'overlong': Buffer.of(0xc0, 0xaf),
  'a lone surrogate': Buffer.of(0xed, 0xa0, 0x80),
  'the last byte before the limit': Buffer.concat(
    [Buffer.alloc(MEBIBYTE - 1, 'x'), Buffer.of(0xff), Buffer.alloc(10, 'x')]),
};

test('summaries: 100 characters as a reader counts them, and no text is an error', async (t) => {
  const texts = Object.entries(SUMMARIES).map(([name, [content]]) => [name, content]);
  const talk = await start([makeFolder(t, { ...Object.fromEntries(texts), ...NO_TEXTS })]);
  for (const [name, [, summary]] of Object.entries(SUMMARIES)) {
    assert.equal(await talk.summarize(name), summary, name);
  }
  for (const name of Object.keys(NO_TEXTS)) {
    assert.equal(await talk.summarize(name), 'error: Not a text file', name);
  }
});

test('resources: text to the byte, else a blob, and a type by the name', async (t) => {
  const [text, bytes] = ['\ufeffone\r\ntwo\n\ttab 汉😀 ', Buffer.of(0xff, 0xfe, 0, 1)];
  const types: Record<string, [content: string | Buffer, type: string]> = {
    'a.txt': [text, 'text/plain'], 'a': [text, 'text/plain'], 'empty': ['', 'text/plain'],
    'a.md': [text, 'text/markdown'], 'a.csv': [text, 'text/csv'], 'a.html': [text, 'text/html'],
    'a.json': [text, 'application/json'], 'B.JSON': [text, 'application/json'],
    'a.png': [bytes, 'image/png'], 'a.jpg': [bytes, 'image/jpeg'],
    'a.bin': [bytes, 'application/octet-stream'], 'b.txt': [bytes, 'application/octet-stream'],
    'a.constructor': [text, 'text/plain'], '.json': [text, 'text/plain'],
  };
  const contents = Object.entries(types).map(([name, [content]]) => [name, content]);
  const folder = makeFolder(t, Object.fromEntries(contents));
  for (const era of ERAS) {
    const talk = await start([folder], { era });
    for (const [name, [content, mimeType]] of Object.entries(types)) {
      const uri = uriOf(folder, name);
      const { contents: [came, ...more], ...others } = (
        await talk.ask('resources/read', { uri })).result;
      const body = typeof content === 'string'
        ? { text: content } : { blob: content.toString('base64') };
      assert.deepEqual([came, more], [{ uri, mimeType, ...body }, []]);
      assert.equal(others.ttlMs, era === 'modern' ? 0 : undefined);
      assert.equal(others.cacheScope, era === 'modern' ? 'private' : undefined);
    }
    for (const uri of [undefined, null, 7, ['a.txt'], {}]) {
      const error = { code: -32602, message: 'params.uri must be a string' };
      assert.deepEqual((await talk.ask('resources/read', { uri })).error, error);
    }
  }
});

test('a resource of 16 MiB is read whole; a byte more, and it is refused', async (t) => {
  const folder = makeFolder(t, { 'small.txt': 'small', 'full': '', 'over': '', 'vast': '' });
  truncateSync(join(folder, 'full'), 16 * MEBIBYTE);
  truncateSync(join(folder, 'over'), 16 * MEBIBYTE + 1);
  // More than anybody should take into memory; Windows would really fill the disk.
  truncateSync(join(folder, 'vast'), IS_WINDOWS ? 100 * MEBIBYTE : 2 ** 36);
  const talk = await start([folder]);
  const full = await talk.read(join(folder, 'full'));
  assert.equal(Buffer.from(full.blob, 'base64').equals(Buffer.alloc(16 * MEBIBYTE)), true);
  for (const name of ['over', 'vast']) {
    const error = { code: -32603, message: 'The file has more than 16777216 bytes' };
    assert.deepEqual(await talk.read(join(folder, name)), error);
  }
  assert.equal(await talk.summarize('small.txt'), 'small');
});

// ---------------------------------------------------------------------------------------------
// The boundary
// ---------------------------------------------------------------------------------------------

/** Puts something of each strange kind below a folder; gives the names of what could be made. */
async function makeStrange(t: TestContext, root: string): Promise<string[]> {
  const links = { device: '/dev/zero', tty: '/dev/tty', self: 'self', out: '../outside/bait.txt',
    folder: '../outside', gone: '../outside/not-there', proc: '/proc/self/root', fd: '/dev/fd/0' };
  if (!NEEDS_LINKS) {
    for (const [name, target] of Object.entries(links)) symlinkSync(target, join(root, name));
  }
  spawnSync('mkfifo', [join(root, 'pipe')]);
  if (!IS_WINDOWS) {
    const socket = createServer().listen(join(root, 'socket'));
    await once(socket, 'listening');
    t.after(() => socket.close());
  }
  return [...Object.keys(links), 'pipe', 'socket'].filter((name) =>
    readdirSync(root).includes(name));
}

test('all that is refused gets the same answer, and no word of Node\'s crosses', async (t) => {
  const files = { 'root/a.txt': 'a', 'root/b/c.txt': 'c', 'outside/bait.txt': BAIT };
  const folder = makeFolder(t, { ...files, 'root-private/bait.txt': BAIT });
  const root = join(folder, 'root');
  const strange = await makeStrange(t, root);
  const outside = ['outside/bait.txt', 'outside/not-there', 'outside', 'root-private/bait.txt'];
  const paths = [
    ...strange, ...outside.map((path) => join(folder, path)), 'not-there', 'a.txt/more',
    // Up, in all spellings
    '..', '../root/a.txt', 'b/../a.txt', '../outside/bait.txt', '..\\..', '%2e%2e/outside',
    '\uff0e.', '\uff0e\uff0e/outside/bait.txt', '..\u2215outside', '\\',
    // What a system has of its own
    '/', '/etc/passwd', '/proc/self/mem', '/dev/fd/0', '/proc/self/root/etc/passwd',
    'folder/bait.txt', 'A.txt:stream', 'CON', '~', '~root', '$HOME', '*', 'a.*', '-',
    // Almost a name, and none at all
    'a.txt\n', 'a.txt ', ' a.txt', 'file:a.txt', uriOf(root, 'a.txt'), 'toString', '__proto__',
    'x\0', '\0', 'a.txt\0/../../outside/bait.txt', '\ud800',
    // Long and deep
    'x'.repeat(256), 'x'.repeat(100_000), 'b/'.repeat(3000), '/b'.repeat(100_000),
  ];
  const noFiles = ['b', 'b/', '.', './/.', root]; // and these are no files
  const noFolders = ['a.txt', 'a.txt/.', 'b/c.txt'];
  for (const era of ERAS) {
    const talk = await start([root], { era });
    for (const [name, list] of [
      ['read_file_summary', [...paths, ...noFiles, '']], ['list_files', [...paths, ...noFolders]],
    ] as const) {
      for (const path of list) {
        const { result } = await talk.ask('tools/call', { name, arguments: { path } });
        const { content, isError } = result;
        const expected = { content: [{ type: 'text', text: REFUSED }], isError: true };
        assert.deepEqual({ content, isError }, expected, `${name}: ${JSON.stringify(path)}`);
      }
    }
    const fileUri = uriOf(root, 'a.txt');
    const uris = [
      ...paths, ...[...paths, ...noFiles].map((path) => uriOf(root, path)),
      ...outside.map((path) => uriOf(folder, path)), 'file:///etc/passwd', 'file:///proc/self/mem',
      `${uriOf(root)}/\ud800`, `${uriOf(root)}/%ff`, `${uriOf(root)}/%c0%ae%c0%ae/outside/bait.txt`,
      `${fileUri}%2500`, `${uriOf(root)}/%u002e%u002e/outside`, `${uriOf(root)}/..;/outside`,
      // What `new URL` would mend into the URI of a file that is there
      `${uriOf(root)}\\a.txt`, `${uriOf(root)}/a\t.txt`, `${uriOf(root)}/a.\r\ntxt`, `\0${fileUri}`,
      `${uriOf(root)}/b/../a.txt`, `${uriOf(root)}/b/%2E%2e/a.txt`, `${uriOf(root)}/b/.\t./a.txt`,
      'file:..', 'file:../a', 'file://', 'file:///%', 'file://:80/a', 'file://[::1]/a',
      'data:text/plain,a', `url:${fileUri}`, `view-source:${fileUri}`, `blob:${fileUri}`,
      fileUri.replace('file://', 'file://user:word@'), fileUri.replace('file://', 'file://./'),
    ].filter((uri) => uri !== fileUri); // which "b/../a.txt" becomes, when a URI is made of it
    for (const uri of uris) {
      const { error } = await talk.ask('resources/read', { uri });
      const data = era === 'modern' ? { data: { uri } } : {};
      const code = era === 'modern' ? -32602 : -32002;
      assert.deepEqual(error, { code, message: REFUSED, ...data }, JSON.stringify(uri));
    }
    assert.equal(await talk.summarize('a.txt'), 'a'); // it is still there, and well
    const { code, stdout, stderr } = await talk.end();
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
    const results = stdout.replace(/"data":\{"uri":"(?:[^"\\]|\\.)*"\}/g, '');
    assert.doesNotMatch(results, /Bait|\bE[A-Z]{3,}\b|errno|syscall|node:|no such file|Internal/);
    assert.equal(results.includes(folder), false);
  }
});

/**
 * Moves things about below a root until its input ends, as fast as it can. "x" is now a folder, now
 * a link to a folder outside; "f" is a file, a link to one outside, and a FIFO where there is one.
 * Plain JavaScript, for it runs by itself.
 */
const FLIPPER = `
  const { existsSync, linkSync, renameSync, symlinkSync } = require('node:fs');
  let flips = 0;
  process.stdin.on('end', () => { console.log(flips); process.exit(); }).resume();
  const pause = (turns) => { for (let turn = 0; turn < turns * 100; turn += 1) Math.random(); };
  const hasPipe = existsSync('pipe');
  (function flip() {
    for (let round = 0; round < 100; round += 1) {
      renameSync('x', 'real'); renameSync('link', 'x');
      pause(round % 7);
      renameSync('x', 'link'); renameSync('real', 'x');
      pause(round % 5);
      symlinkSync('../out/a.txt', 'next'); renameSync('next', 'f');
      pause(round % 3);
      linkSync('good.txt', 'next'); renameSync('next', 'f');
      pause(round % 3);
      if (hasPipe) { linkSync('pipe', 'next'); renameSync('next', 'f'); pause(1); }
      linkSync('good.txt', 'next'); renameSync('next', 'f');
      flips += 1;
    }
    setImmediate(flip);
  })();
`;

test('while folders and files become links and back, no byte of the bait is read',
  { skip: NEEDS_LINKS }, async (t) => {
    const folder = makeFolder(t, {
      'root/x/a.txt': 'inside', 'root/f': 'inside', 'root/good.txt': 'inside',
      'out/a.txt': BAIT, 'out/bait.txt': BAIT,
    });
    const root = join(folder, 'root');
    symlinkSync('../out', join(root, 'link'));
    spawnSync('mkfifo', [join(root, 'pipe')]);
    const talk = await start([root]);
    const flipper = run(['-e', FLIPPER], { cwd: root });
    let flips = '';
    flipper.stdout?.on('data', (bytes) => (flips += bytes));
    const summary = (path: string) => ({ name: 'read_file_summary', arguments: { path } });
    for (let round = 0; round < 80; round += 1) {
      await Promise.all(Array.from({ length: 16 }, () => [
        talk.ask('tools/call', summary('x/a.txt')),
        talk.ask('tools/call', summary('f')),
        talk.ask('resources/read', { uri: uriOf(root, 'x/a.txt') }),
        talk.ask('resources/read', { uri: uriOf(root, 'f') }),
        talk.ask('tools/call', { name: 'list_files', arguments: { path: 'x' } }),
      ]).flat());
      await talk.ask('resources/list');
    }
    const closed = once(flipper, 'close', { signal: AbortSignal.timeout(LONGEST) });
    flipper.stdin?.end();
    await closed;
    const { code, stdout, stderr } = await talk.end();
    const leaks = stdout.split('\n').filter((line) => /Bait|bait\.txt|-32603/.test(line));
    assert.deepEqual(leaks.slice(0, 3), []);
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
    assert.ok(Number(flips) > 0, 'nothing was moved');
  });

test('who waits to write into a FIFO waits on: a refusal does nothing to it',
  { skip: IS_WINDOWS ? 'Windows has no FIFOs in folders' : false }, async (t) => {
    const folder = makeFolder(t, { 'a.txt': 'a' });
    assert.equal(spawnSync('mkfifo', [join(folder, 'pipe')]).status, 0);
    const writer = run(['-e', `console.log(1); fs.writeFileSync('pipe', 'kept')`], { cwd: folder });
    await once(writer.stdout as NodeJS.ReadableStream, 'data');
    const talk = await start([folder]);
    for (let round = 0; round < 100; round += 1) await talk.summarize('pipe');
    assert.equal((await talk.read(join(folder, 'pipe'))).message, REFUSED);
    assert.deepEqual(await talk.listPages(), [[uriOf(folder, 'a.txt')]]);
    const reader = spawnSync('cat', ['pipe'], { cwd: folder, timeout: LONGEST, encoding: 'utf8' });
    assert.equal(reader.stdout, 'kept');
  });

test('a name that is no UTF-8 is not listed as a resource: nobody could read it',
  { skip: process.platform === 'linux' ? false : 'here each name is UTF-8' }, async (t) => {
    const folder = makeFolder(t, { 'a.txt': 'a', '\ufffd.txt': 'a name like any other' });
    for (const byte of [0xfe, 0xff]) {
      writeFileSync(Buffer.concat([Buffer.from(join(folder, 'b')), Buffer.of(byte)]), BAIT);
    }
    const talk = await start([folder]);
    assert.deepEqual(await talk.listPages(), [['a.txt', '\ufffd.txt'].map((n) => uriOf(folder, n))]);
  });
