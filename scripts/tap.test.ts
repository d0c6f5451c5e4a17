/**
 * Tests the tap: that nothing changes for the two sides, whatever they do, and whatever becomes of
 * the log; that the log has what crossed; and that --show and --html make of it what they should.
 * The servers are scripts/tap-fakes.mjs. What the page looks like, nobody sees here.
 */

import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync,
  unlinkSync, writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { DEADLINE_MS, findSurvivors, RUNTIME, startClient } from './client-wire.ts';
import { newReader, reveal } from './tap.ts';
import type { Spoken } from './tap.ts';
import { KIT, makeTempFolder, runNode, withoutNodeWarnings } from './testing.ts';

const TAP = join(KIT, 'scripts', 'tap.ts');
const FAKES = join(KIT, 'scripts', 'tap-fakes.mjs');
const MIB = 1024 * 1024;
const NO_SIGNALS = process.platform === 'win32' && 'Windows has no signals to pass on';

/** What a program did, to the byte. */
type Outcome = { code: number | null; signal: string | null; stdout: Buffer; stderr: string };

/** A program that runs, and whose output is read unless a test says otherwise. */
type Running = {
  child: ChildProcessWithoutNullStreams;
  ended: Promise<Outcome>;
  stdout: () => Buffer;
  until: (text: string) => Promise<void>;
};

/** Starts Node on something; `isRead` false leaves its stdout unread until the test reads it. */
function start(t: TestContext, args: string[], folder: string, isRead = true): Running {
  const { NODE_TEST_CONTEXT: _, FORCE_COLOR: __, ...rest } = process.env;
  const diary = join(folder, 'diary');
  mkdirSync(diary, { recursive: true });
  const env = { ...rest, TAP_DIARY: diary, TAP_TEST: 'passed on' };
  const limits = { timeout: DEADLINE_MS, killSignal: 'SIGKILL' } as const;
  const child = spawn(process.execPath, args, { cwd: folder, env, ...limits });
  writeFileSync(join(diary, `${child.pid}.pid`), '');
  t.after(() => child.kill('SIGKILL'));
  const chunks: Buffer[] = [];
  let stderr = '';
  if (isRead) child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  child.stdin.on('error', () => {}); // it may end before it has read all
  const stdout = () => Buffer.concat(chunks);
  const ended = once(child, 'close').then(([code, signal]) =>
    ({ code, signal, stdout: stdout(), stderr: withoutNodeWarnings(stderr) }));
  const until = (text: string) => waitFor(() => stdout().includes(text));
  return { child, ended, stdout, until };
}

/** Starts a fake behind the tap; the log is `log.jsonl` in the folder, unless another is named. */
function startTapped(
  t: TestContext,
  fake: string[],
  { folder = makeTempFolder(t), log = join(folder, 'log.jsonl'), isRead = true } = {},
) {
  const running = start(t, [...RUNTIME, TAP, log, '--', FAKES, ...fake], folder, isRead);
  return { ...running, folder, log, entries: () => readEntries(log) };
}

type Entry = Record<string, unknown> & { run: string; line?: string; base64?: string };

function readEntries(log: string): Entry[] {
  const lines = readFileSync(log, 'utf8').split('\n');
  assert.equal(lines.pop(), '', 'the log ends with a line feed');
  return lines.map((line) => JSON.parse(line) as Entry);
}

/** Puts the bytes together that one side sent, from the log alone. */
function bytesFrom(entries: Entry[], from: string): Buffer {
  const pieces = entries.filter((one) => one.from === from).flatMap((one) => [
    one.base64 === undefined ? Buffer.from(one.line ?? '') : Buffer.from(one.base64, 'base64'),
    Buffer.from(one.unterminated ? '' : '\n'),
  ]);
  return Buffer.concat(pieces);
}

async function waitFor(holds: () => boolean): Promise<void> {
  const until = Date.now() + DEADLINE_MS;
  while (!holds()) {
    assert.ok(Date.now() < until, `in vain: ${holds}`);
    await sleep(20);
  }
}

async function assertNothingLeft(folder: string): Promise<void> {
  assert.deepEqual(await findSurvivors(join(folder, 'diary')), [], 'processes left behind');
}

/** Numbers that look random and are the same each time. */
function newDice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * sides);
  };
}

// ---------------------------------------------------------------------------------------------
// What the two sides see
// ---------------------------------------------------------------------------------------------

test('random bytes in odd pieces arrive as they were sent, and the log has them', async (t) => {
  const dice = newDice(20260728);
  const { child, ended, entries, folder } = startTapped(t, ['mirror']);
  const sent: Buffer[] = [];
  for (let count = 0; count < 200; count += 1) {
    // Line feeds, carriage returns and broken UTF-8 are frequent among these.
    const values = [10, 13, 0, 0xc3, 0xa9, 0xff, 0x80, 0xef, 0xbb, 0xbf, 0x7b, dice(256)];
    const piece = Buffer.from(Array.from({ length: dice(300) }, () => values[dice(12)] ?? 0));
    sent.push(piece);
    child.stdin.write(piece);
    if (dice(10) === 0) await sleep(1);
  }
  sent.push(Buffer.from('no line feed \u{1f44b}'));
  child.stdin.end(sent.at(-1));
  const { code, signal, stdout, stderr } = await ended;
  const all = Buffer.concat(sent);
  assert.deepEqual({ code, signal, stderr }, { code: 0, signal: null, stderr: '' });
  assert.ok(stdout.equals(all), 'what came back');
  assert.ok(bytesFrom(entries(), 'client').equals(all), 'what the log says the client sent');
  assert.ok(bytesFrom(entries(), 'server').equals(all), 'what the log says the server sent');
  await assertNothingLeft(folder);
});

const WITH_AND_WITHOUT: { fake: string[]; input?: string; skip?: string | false }[] = [
  { fake: ['exit', '0'] }, { fake: ['exit', '3'], input: '{"a":1}\r\n\n\ufefflast' },
  { fake: ['exit', '255'] }, { fake: ['early'], input: 'x'.repeat(MIB) }, { fake: ['late'] },
  { fake: ['close-stdout'] }, { fake: ['self', 'a b', '"', '$HOME', '*', ''] },
  ...['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGKILL'].map((signal) =>
    ({ fake: ['killed', signal], skip: NO_SIGNALS })),
];

for (const { fake, input = '', skip = false } of WITH_AND_WITHOUT) {
  test(`the same with the tap as without: ${fake.join(' ')}`, { skip }, async (t) => {
    const folder = makeTempFolder(t);
    const direct = start(t, [FAKES, ...fake], folder);
    direct.child.stdin.end(input);
    const tapped = startTapped(t, fake, { folder });
    tapped.child.stdin.end(input);
    assert.deepEqual(await tapped.ended, await direct.ended);
    const entries = tapped.entries();
    const { code, signal } = await direct.ended;
    const { run: _, atMs: __, ...end } = entries.at(-1) ?? { run: '' };
    assert.deepEqual(end, { event: 'ended', exitCode: code, signal, force: null });
    await assertNothingLeft(folder);
  });
}

test('a server that writes on while nobody reads has to wait; then all arrives', async (t) => {
  const folder = makeTempFolder(t);
  const count = join(folder, 'count.txt');
  const bytes = 65 * MIB; // one line, and more of it than the log keeps
  const options = { folder, isRead: false };
  const { child, ended, entries } = startTapped(t, ['flood', String(bytes), count], options);
  const written = await settle(() => (existsSync(count) ? Number(readFileSync(count, 'utf8')) : 0));
  assert.ok(written < 8 * MIB, `${written} bytes were taken off the server with no reader`);
  let came = 0;
  child.stdout.on('data', (chunk: Buffer) => (came += chunk.length));
  assert.equal((await ended).code, 0);
  assert.equal(came, bytes);
  const line = entries().find(({ from }) => from === 'server');
  assert.deepEqual(
    { kept: line?.line?.length, cutFrom: line?.cutFrom, unterminated: line?.unterminated },
    { kept: 64 * MIB, cutFrom: bytes, unterminated: true });
  await assertNothingLeft(folder);
});

test('a host that writes on while the server reads nothing has to wait', async (t) => {
  const { child, ended, folder } = startTapped(t, ['deaf']);
  let accepted = 0;
  const piece = Buffer.alloc(64 * 1024, '\n');
  const feed = () => child.stdin.write(piece, (error) => {
    accepted += piece.length;
    if (!error && accepted < 64 * MIB) feed();
  });
  feed();
  const taken = await settle(() => accepted);
  assert.ok(taken < 8 * MIB, `${taken} bytes were taken off the host with no reader`);
  child.kill('SIGTERM');
  await ended;
  await assertNothingLeft(folder);
});

/** Waits until a number that grows has stopped growing, and gives it. */
async function settle(measure: () => number): Promise<number> {
  for (let [last, same] = [-1, 0]; ; ) {
    await sleep(50);
    const now = measure();
    same = now > 0 && now === last ? same + 1 : 0;
    last = now;
    if (same === 20) return now;
  }
}

test('each signal is passed on, and does not end the tap', { skip: NO_SIGNALS }, async (t) => {
  const { child, ended, until, stdout, entries, folder } = startTapped(t, ['signals']);
  await until('ready');
  const all = ['SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGTERM'] as const;
  for (const signal of all) {
    child.kill(signal);
    await until(signal);
  }
  assert.equal((await ended).code, 7);
  assert.equal(stdout().toString(), `ready\n${all.join('\n')}\n`);
  const signals = entries().filter(({ event }) => event === 'signal').map(({ signal }) => signal);
  assert.deepEqual(signals, all);
  await assertNothingLeft(folder);
});

test('the end of the server\'s output is passed on while the server lives', async (t) => {
  const { child, ended, entries, folder } = startTapped(t, ['close-stdout']);
  await once(child.stdout, 'end'); // its stdin is still open, so it is still there
  assert.equal(child.exitCode, null);
  child.stdin.end();
  assert.equal((await ended).code, 4);
  assert.ok(entries().some(({ event }) => event === 'server-end'));
  await assertNothingLeft(folder);
});

test('a server that closes its input breaks the host\'s pipe', { skip: NO_SIGNALS }, async (t) => {
  const { child, ended, until, entries, folder } = startTapped(t, ['close-stdin']);
  await until('ready');
  const broken = new Promise((resolve) => child.stdin.on('close', resolve));
  const timer = setInterval(() => child.stdin.write('anybody?\n'), 20);
  await broken;
  clearInterval(timer);
  child.kill('SIGTERM');
  assert.equal((await ended).signal, 'SIGTERM');
  assert.ok(entries().some(({ event }) => event === 'input-refused'));
  await assertNothingLeft(folder);
});

// Node connects its children with sockets, a shell with pipes, which have no half to shut.
const NO_SHELL = !existsSync('/bin/sh') && 'there is no /bin/sh to connect programs with pipes';

test('the same through pipes of a shell', { skip: NO_SHELL }, async (t) => {
  for (const [fake, line] of [
    ['close-stdout', '"$@" | { cat; echo its output has ended >&2; }'],
    ['close-stdin', '{ yes; echo its input is broken >&2; } | "$@"'],
  ] as const) {
    const folder = makeTempFolder(t);
    const log = join(folder, 'log.jsonl');
    const diary = join(folder, 'diary');
    mkdirSync(diary);
    const command = [process.execPath, ...RUNTIME, TAP, log, '--', FAKES, fake];
    const options = { env: { ...process.env, TAP_DIARY: diary }, detached: true } as const;
    const child = spawn('/bin/sh', ['-c', line, 'sh', ...command], options);
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    child.stdout.resume();
    try {
      await waitFor(() => /its (?:output has ended|input is broken)/.test(stderr));
      assert.equal(child.exitCode, null, 'the server is still there');
    } finally {
      process.kill(-Number(child.pid), 'SIGKILL'); // all that the shell has started
    }
    await once(child, 'close');
    await assertNothingLeft(folder);
  }
});

test('a host that goes away takes the server with it, and is not missed', async (t) => {
  const folder = makeTempFolder(t);
  const fake = ['flood', String(1024 * MIB), join(folder, 'count.txt')];
  const { child, ended, entries } = startTapped(t, fake, { folder, isRead: false });
  await once(child.stdout, 'readable');
  child.stdout.destroy();
  assert.equal((await ended).code, 5, 'the server saw a broken pipe');
  assert.ok(entries().some(({ event }) => event === 'host-gone'));
  await assertNothingLeft(folder);
});

test('a server that heeds nothing is ended by force', { skip: NO_SIGNALS }, async (t) => {
  const { child, ended, until, entries, folder } = startTapped(t, ['stubborn']);
  await until('more');
  child.stdout.destroy();
  assert.equal((await ended).signal, 'SIGKILL');
  assert.equal(entries().at(-1)?.force, 'SIGKILL');
  await assertNothingLeft(folder);
});

test('a process that holds the server\'s pipes does not hold the tap', async (t) => {
  const { child, ended, folder } = startTapped(t, ['orphan']);
  child.stdin.end();
  assert.equal((await once(child, 'exit'))[0], 6);
  // The orphan has the tap's pipes no longer, since it never had them: they are the server's.
  assert.equal((await ended).code, 6);
  const left = await findSurvivors(join(folder, 'diary'));
  assert.equal(left.length, 1, 'the orphan alone, which nobody asked the tap to end');
});

test('nor does one that goes on writing into them', { skip: NO_SIGNALS }, async (t) => {
  await Promise.all(['1', '2'].map(async (descriptor) => {
    const { child, ended, folder } = startTapped(t, ['chatter', descriptor]);
    child.stdin.end();
    const { code, stdout, stderr } = await ended;
    await findSurvivors(join(folder, 'diary')); // it ends what is left
    assert.equal(code, 6);
    assert.match(descriptor === '1' ? stdout.toString() : stderr, /^and\nand\n/);
  }));
});

// ---------------------------------------------------------------------------------------------
// The log
// ---------------------------------------------------------------------------------------------

test('the log: its shape, and nobody else may read it', async (t) => {
  const { child, ended, log, folder, entries } = startTapped(t, ['mirror']);
  const text = '{"jsonrpc":"2.0","id":1,"method":"ping"}\r\n\n\u202e\u009b\nbad: ';
  child.stdin.end(Buffer.concat([Buffer.from(text), Buffer.from([0xff])]));
  await ended;
  const all = entries();
  const { run } = all[0] ?? { run: '' };
  assert.match(run, /^[0-9a-f]{8}$/);
  const { at, pid, ...opening } = all[0] ?? { run: '' };
  const command = [FAKES, 'mirror'];
  assert.deepEqual(opening, { run, event: 'started', atMs: 0, command, folder });
  assert.equal(new Date(String(at)).toISOString(), at);
  assert.equal(typeof pid, 'number');
  const said = all.filter(({ from }) => from === 'client');
  for (const one of all) assert.ok(Number.isInteger(one.atMs) && one.run === run);
  assert.deepEqual(said.map(({ run: _, atMs: __, ...rest }) => rest), [
    { from: 'client', line: '{"jsonrpc":"2.0","id":1,"method":"ping"}\r' },
    { from: 'client', line: '' },
    { from: 'client', line: '\u202e\u009b' },
    { from: 'client', line: 'bad: \ufffd', base64: 'YmFkOiD/', unterminated: true },
  ]);
  assert.deepEqual(Object.keys(said[0] ?? {}), ['run', 'from', 'atMs', 'line']);
  assert.match(readFileSync(log, 'utf8'), /"\\u202e\\u009b"/, 'a terminal could show this log');
  if (process.platform !== 'win32') assert.equal(statSync(log).mode & 0o777, 0o600);
});

test('a second run goes on in the log, also after a line that was cut off', async (t) => {
  const folder = makeTempFolder(t);
  const log = join(folder, 'log.jsonl');
  for (const fake of [['say', 'one'], ['say', 'two']]) {
    const { child, ended } = startTapped(t, fake, { folder });
    child.stdin.end();
    await ended;
    appendFileSync(log, '{"run":"cut o'); // as if a run had died in the middle of a line
  }
  const lines = readFileSync(log, 'utf8').split('\n');
  assert.equal(lines.filter((line) => line === '{"run":"cut o').length, 2);
  const runs = lines.filter((line) => line.includes('"started"'));
  assert.equal(runs.length, 2);
  assert.notEqual(runs[0]?.slice(0, 17), runs[1]?.slice(0, 17), 'each run has its name');
});

const FULL = '/dev/full';
const NO_FIFO = process.platform === 'win32' && 'Windows has no named pipes among its files';

/** Makes a named pipe in a folder. */
function makePipe(folder: string): string {
  const file = join(folder, 'pipe');
  execFileSync('mkfifo', [file]);
  return file;
}

type BadLog = { what: string; reason: RegExp; skip?: string | false; log: (f: string) => string };
const BAD_LOGS: BadLog[] = [
  { what: 'in a folder that is not there', reason: /ENOENT/, log: (f) => join(f, 'no', 'log') },
  { what: 'that is a folder', reason: /EISDIR|EPERM|EACCES/, log: (f) => f },
  { what: 'that is a named pipe', reason: /no ordinary file/, skip: NO_FIFO, log: makePipe },
  {
    what: 'that is a device', reason: /no ordinary file/, log: () => FULL,
    skip: !existsSync(FULL) && `there is no ${FULL} on this system`,
  },
  {
    what: 'that is another file', reason: /is no log of the tap/,
    log: (f) => {
      writeFileSync(join(f, 'precious.txt'), 'precious');
      return join(f, 'precious.txt');
    },
  },
];

for (const { what, reason, skip = false, log } of BAD_LOGS) {
  test(`the conversation goes on without a log ${what}`, { skip }, async (t) => {
    const folder = makeTempFolder(t);
    const { child, ended } = startTapped(t, ['mirror'], { folder, log: log(folder) });
    child.stdin.end('hello\nworld\n');
    const { code, stdout, stderr } = await ended;
    assert.deepEqual([code, stdout.toString()], [0, 'hello\nworld\n']);
    assert.match(stderr, /^tap: no log from here on, .+ The conversation goes on\.\n$/);
    assert.match(stderr, reason);
    assert.equal(stderr.split('\n').length, 2, 'one sentence');
    const precious = join(folder, 'precious.txt');
    if (existsSync(precious)) assert.equal(readFileSync(precious, 'utf8'), 'precious');
  });
}

// Each line of a shell runs the tap with a mirror behind it.
const IN_A_SHELL = [
  { what: 'would get into it', line: 'echo hello | "$@" | cat', log: () => '/dev/stdout' },
  {
    what: 'would get into it, in a file', log: () => '/dev/stdout',
    line: 'echo hello | "$@" > said.txt; cat said.txt; rm said.txt',
  },
  {
    what: 'has no more room', line: 'ulimit -f 1; echo hello | "$@"', // 512 or 1,024 bytes
    log: (folder: string) => join(folder, 'log.jsonl'),
    words: 'hello '.repeat(400),
  },
];

for (const { what, line, log, words = 'hello' } of IN_A_SHELL) {
  test(`the conversation goes on when the log ${what}`, { skip: NO_SHELL }, async (t) => {
    const folder = makeTempFolder(t);
    const diary = join(folder, 'diary');
    mkdirSync(diary);
    const command = [process.execPath, ...RUNTIME, TAP, log(folder), '--', FAKES, 'mirror'];
    const script = line.replace('hello', words);
    // What tsx keeps in the temp folder must not be cut off by this limit, either.
    const env = { ...process.env, TAP_DIARY: diary, TMPDIR: folder };
    const options = { env, encoding: 'utf8', timeout: DEADLINE_MS } as const;
    const { stdout, stderr } = spawnSync('/bin/sh', ['-c', script, 'sh', ...command], options);
    assert.equal(stdout.trim(), words.trim());
    assert.match(withoutNodeWarnings(stderr), /^tap: no log from here on, .+ The con.+ on\.\n$/);
    await assertNothingLeft(folder);
  });
}

const NO_UNLINK = process.platform === 'win32' && 'Windows removes no file that is open';

test('the conversation goes on when the log is removed', { skip: NO_UNLINK }, async (t) => {
  const { child, ended, until, log } = startTapped(t, ['mirror']);
  child.stdin.write('before\n');
  await until('before');
  unlinkSync(log);
  child.stdin.end('after\n');
  const { code, stdout, stderr } = await ended;
  assert.deepEqual([code, stdout.toString()], [0, 'before\nafter\n']);
  assert.match(stderr, /^tap: no log from here on, .+ \(it was removed\)\. .+\n$/);
  assert.ok(!existsSync(log));
});

// ---------------------------------------------------------------------------------------------
// --show
// ---------------------------------------------------------------------------------------------

/** Reads messages as one run would have them, 10 ms apart. */
function readAll(said: [from: Spoken['from'], message: unknown][]) {
  const reader = newReader();
  const readings = said.map(([from, message], index) => reader.read({
    run: 'a', from, atMs: 10 * index,
    line: typeof message === 'string' ? message : JSON.stringify(message),
  }));
  return { ...reader, notes: readings.map(({ notes }) => notes.join('; ')), readings };
}

const ask = (id: unknown, method = 'tools/call') => ({ jsonrpc: '2.0', id, method });
const result = (id: unknown, members = {}) => ({ jsonrpc: '2.0', id, result: members });
const cancel = (requestId: unknown) =>
  ({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } });

test('answers are paired by the value and the type of the id', () => {
  const { notes, open } = readAll([
    ['client', ask(1)], ['client', ask('1', 'ping')], ['server', result('1')],
    ['server', result(1)], ['server', result(1)], ['client', ask(1, 'tools/list')],
    ['server', result(1)],
    ['server', result(true)],
  ]);
  assert.deepEqual(notes, [
    '', '', 'answers ping "1" after 10 ms', 'answers tools/call 1 after 30 ms',
    'answers nothing that is open: the id 1', '', 'answers tools/list 1 after 10 ms',
    'answers nothing that is open: the id true',
  ]);
  assert.deepEqual(open, []);
});

test('both sides may ask, each with ids of its own', () => {
  const { notes, open } = readAll([
    ['client', ask(1)], ['server', ask(1, 'ping')], ['client', result(1)], ['server', ask(2, 'x')],
    ['server', result(1)],
  ]);
  assert.deepEqual(notes,
    ['', '', 'answers ping 1 after 10 ms', '', 'answers tools/call 1 after 40 ms']);
  assert.deepEqual(open.map(({ from, id }) => [from, id]), [['server', 2]]);
});

test('an id that is in use already makes pairing a guess, and it is said', () => {
  const { notes } = readAll([['client', ask(1)], ['client', ask(1)]]);
  assert.deepEqual(notes, ['', 'the id 1 is in use: answers are paired by a guess']);
});

test('what is cancelled is told from what is open, and a late answer from both', () => {
  const { notes, open } = readAll([
    ['client', ask(1)], ['client', ask(2)], ['client', cancel(1)], ['client', cancel(9)],
    ['client', cancel('2')], ['server', result(1)], ['client', cancel(2)],
    ['server', cancel(2)], ['client', ask('s', 'subscriptions/listen')], ['server', cancel('s')],
  ]);
  assert.deepEqual(notes, [
    '', '', 'cancels tools/call 1', 'cancels nothing that is open: the id 9',
    'cancels nothing that is open: the id "2"',
    'answers tools/call 1 after 50 ms, although it was cancelled', 'cancels tools/call 2',
    // A server may cancel a subscription of the client's, and nothing else of the client's.
    'cancels nothing that is open: the id 2', '', 'cancels subscriptions/listen s',
  ]);
  assert.deepEqual(open.map(({ id, isCancelled }) => [id, isCancelled]), [[2, true], ['s', true]]);
});

test('errors, notifications and lines that are no message are called what they are', () => {
  const error = (id: unknown, message: unknown) =>
    ({ jsonrpc: '2.0', id, error: { code: -32601, message } });
  const { notes, readings } = readAll([
    ['client', ask(1)], ['server', error(1, 'no\u202e')], ['server', error(undefined, { a: 1 })],
    ['client', ask(2)], ['server', result(2, { isError: true })],
    ['server', { jsonrpc: '2.0', method: 'notifications/progress' }], ['client', [ask(3), ask(4)]],
    ['server', 'Listening on 8080'], ['server', ' '], ['server', {}], ['server', '12'],
    ['stderr', 'a warning'], ['client', ask(5)],
    ['server', result(5, { resultType: 'input_required' })],
  ]);
  assert.deepEqual(notes, [
    '', 'ERROR -32601: no\u202e; answers tools/call 1 after 10 ms',
    'ERROR -32601: {"a":1}; answers nothing that is open: no id', '',
    'ERROR: the tool failed (isError); answers tools/call 2 after 10 ms',
    'notification notifications/progress', 'a batch of 2, left unpaired',
    'ERROR: this is not JSON', 'a blank line', 'ERROR: JSON, but no message of JSON-RPC',
    'ERROR: JSON, but no message of JSON-RPC', '', '',
    'input_required: the server asks back; answers tools/call 5 after 10 ms',
  ]);
  const errors = readings.filter(({ isError }) => isError).map(({ number }) => number);
  assert.deepEqual(errors, [2, 3, 5, 8, 10, 11]);
});

test('no message, however hostile, stops the reader', () => {
  const deep = `{"jsonrpc":"2.0","id":${'['.repeat(20_000)}${']'.repeat(20_000)},"method":"x"}`;
  const { notes } = readAll([
    ['client', deep],
    ['server', { id: 1, error: { code: { toString: 1 }, message: { valueOf: 1 } } }],
    ['client', { method: 'notifications/cancelled', params: null }],
    ['client', { id: { toJSON: 1 }, method: '__proto__', params: 'x' }],
    ['server', '{"__proto__":1,"result":{"isError":{}}}'],
  ]);
  assert.match(notes[1] ?? '', /^ERROR \{"toString":1\}: \{"valueOf":1\}; answers nothing/);
});

/** Writes a log by hand: two runs that overlap, and what is odd in either. */
function writeLog(folder: string): string {
  const entry = (run: string, rest: object) => `${JSON.stringify({ run, ...rest })}\n`;
  const line = (run: string, from: string, atMs: number, said: unknown) =>
    entry(run, { from, atMs, line: typeof said === 'string' ? said : JSON.stringify(said) });
  const at = '2026-07-28T09:00:00.000Z';
  const log = join(folder, 'made by hand.jsonl');
  writeFileSync(log, [
    entry('a', { event: 'started', atMs: 0, at, command: ['node', 'one two\u001b.js'], folder }),
    line('a', 'client', 5, ask(1)),
    entry('b', { event: 'started', atMs: 0, at, command: ['python3', 'b.py'], folder }),
    line('b', 'client', 1, ask(1, 'ping')),
    line('a', 'server', 17, { ...result(1), text: '\u001b[31m\u202e caf\u00e9' }),
    'damaged\u001b\n',
    line('a', 'stderr', 18, 'a \u0007 word'),
    line('a', 'client', 20, ask(2)),
    line('a', 'client', 30, ask(3)),
    line('a', 'client', 40, cancel(3)),
    entry('a', { event: 'client-end', atMs: 50 }),
    entry('a', { event: 'ended', atMs: 60, exitCode: 1, signal: null, force: null }),
    '{"run":"b","from":"serv',
  ].join(''));
  return log;
}

const tap = (...args: string[]) => runNode([...RUNTIME, TAP, ...args]);

test('--show prints each run as the clients do, and what became of each request', async (t) => {
  const { code, stdout, stderr } = await tap('--show', writeLog(makeTempFolder(t)));
  assert.equal(withoutNodeWarnings(stderr), '');
  const sum = 'errors: 0, notifications: 1, without an answer: 2, lines on stderr: 1';
  assert.equal(stdout, `== run a, 2026-07-28T09:00:00.000Z ==
$ node one two\\u001b.js

--> {"jsonrpc":"2.0","id":1,"method":"tools/call"}
== run b, 2026-07-28T09:00:00.000Z ==
$ python3 b.py

--> {"jsonrpc":"2.0","id":1,"method":"ping"}
== run a, continued ==
<-- {"jsonrpc":"2.0","id":1,"result":{},"text":"\\u001b[31m\\u202e caf\u00e9"}
      answers tools/call 1 after 12 ms
LOG line 6 is damaged and left out (it is no entry of a log): damaged\\u001b
    | a \\u0007 word
--> {"jsonrpc":"2.0","id":2,"method":"tools/call"}
--> {"jsonrpc":"2.0","id":3,"method":"tools/call"}
--> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}
      cancels tools/call 3
      (at 50 ms) the client has no more to say: the end of its input is passed on to the server

ended: exit code 1, 60 ms after the start
      still open: tools/call 2, asked by the client at 20 ms
      cancelled, and not answered: tools/call 3, asked by the client at 30 ms
summary: requests: 3, answers: 1, ${sum}

LOG line 13 is damaged and left out (its end is missing): {"run":"b","from":"serv

not ended, or its end is missing: run b
      still open: ping 1, asked by the client at 1 ms
summary: requests: 1, answers: 0, errors: 0, notifications: 0, without an answer: 1

damaged lines in the log: 2
`);
  assert.equal(code, 1);
});

/** Lines in a log that the tap did not write: a member of each is of another kind. */
const FOREIGN = [
  { event: 'started', at: 5 }, { event: 'started', command: { toString: 1 } },
  { event: 'started', command: [{ toString: 1 }] }, { event: 'ended', exitCode: { toString: 1 } },
  { event: 'signal', signal: { toString: 1 } }, { event: 'ended', force: [] },
  { from: 'client', line: 'x', cutFrom: 'y' },
];

test('lines of a log that somebody else wrote are damaged, and the rest is shown', async (t) => {
  const folder = makeTempFolder(t);
  const log = join(folder, 'foreign.jsonl');
  const line = (from: string, words: string) => ({ from, line: words });
  const hidden = 'a\u{e0100}b\u034fc\u3164d\ufe0fe\u2800f';
  const entries = [
    { event: 'started', at: 'then', command: ['node'], folder }, ...FOREIGN,
    { event: 'constructor' }, { event: '__proto__' }, line('server', hidden),
    { event: 'ended', exitCode: 0, signal: null, force: null },
  ];
  const texts = entries.map((one) => JSON.stringify({ run: 'a', atMs: 3, ...one }));
  writeFileSync(log, `${texts.join('\n')}\n`);
  const shown = await tap('--show', log);
  assert.deepEqual([shown.code, withoutNodeWarnings(shown.stderr)], [1, '']);
  const damage = /^LOG line (\d+) is damaged and left out \(it is no entry of a log\): /gm;
  const numbers = FOREIGN.map((_, index) => String(index + 2));
  assert.deepEqual([...shown.stdout.matchAll(damage)].map(([, number]) => number), numbers);
  assert.equal(shown.stdout.replace(/^LOG line .*\n/gm, ''), `== run a, then ==
$ node

      (at 3 ms) constructor
      (at 3 ms) __proto__
<-- a\\udb40\\udd00b\\u034fc\\u3164d\\ufe0fe\\u2800f
      ERROR: this is not JSON

ended: exit code 0, 3 ms after the start
summary: requests: 0, answers: 0, errors: 1, notifications: 0, without an answer: 0, other lines: 1

damaged lines in the log: ${FOREIGN.length}
`);
  const page = join(folder, 'page.html');
  const { code, stdout, stderr } = await tap('--html', page, log);
  assert.deepEqual([code, withoutNodeWarnings(stderr)], [1, '']);
  assert.deepEqual([...stdout.matchAll(/^LOG line (\d+) /gm)].map(([, found]) => found), numbers);
  const html = readFileSync(page, 'utf8');
  for (const event of ['constructor', '__proto__']) assert.ok(html.includes(`<p>${event}</p>`));
  assert.deepEqual(exactLines(html), [reveal(hidden)]);
});

test('what is no file is not waited for, and not shown', { skip: NO_FIFO }, async (t) => {
  const folder = makeTempFolder(t);
  for (const log of [makePipe(folder), folder]) {
    for (const args of [['--show', log], ['--html', join(folder, 'page.html'), log]]) {
      const { code, stdout, stderr } = await tap(...args);
      assert.deepEqual([code, stdout], [2, '']);
      assert.ok(withoutNodeWarnings(stderr).startsWith(`${log} is no file: name a log.\n\nUsage`));
    }
  }
  assert.deepEqual(readdirSync(folder), ['pipe']);
});

test('--follow waits for a log, for more, and for another one in its place', async (t) => {
  const folder = makeTempFolder(t);
  const log = join(folder, 'later.jsonl');
  const shown = startClient(t, [TAP, '--show', log, '--follow']);
  await shown.until(/is not there yet: waiting for it\.\n/);
  const { child, ended } = startTapped(t, ['mirror'], { folder, log });
  child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
  await shown.until(/--> \{"jsonrpc":"2.0","id":1,"method":"ping"\}\n/);
  child.stdin.end();
  await ended;
  await shown.until(/\nended: exit code 0, [^]*without an answer: \d/);
  // A line that is not yet whole is waited for.
  const line = '{"run":"x","from":"client","atMs":1,"line":"in two parts"}\n';
  appendFileSync(log, line.slice(0, 30));
  await sleep(300);
  assert.doesNotMatch(shown.stdout(), /damaged|in two/);
  appendFileSync(log, line.slice(30));
  await shown.until(/--> in two parts\n/);
  // Another file takes its place: one that is longer, then one that is shorter.
  const another = '{"run":"y","from":"client","atMs":1,"line":"another log"}\n';
  writeFileSync(`${log}.new`, another.repeat(100));
  renameSync(`${log}.new`, log);
  await shown.until(/was begun anew\.\n== run y, [^]*--> another log\n/);
  writeFileSync(log, another.replace('another', 'a shorter'));
  await shown.until(/was begun anew\.\n--> a shorter log\n/);
  if (NO_SIGNALS) {
    t.diagnostic(`the end of --follow is not tried: ${NO_SIGNALS}`);
    return;
  }
  shown.child.kill('SIGINT');
  const { code, stdout } = await shown.ended();
  assert.equal(code, 0);
  assert.match(stdout, /not ended, or its end is missing: run y\nsummary: /);
});

test('a reader of --show that goes away is no crash', async (t) => {
  const folder = makeTempFolder(t);
  const log = join(folder, 'long.jsonl');
  const line = '{"run":"a","from":"client","atMs":1,"line":"again and again"}\n';
  writeFileSync(log, line.repeat(50_000));
  const { child, ended } = start(t, [...RUNTIME, TAP, '--show', log], folder, false);
  await once(child.stdout, 'readable');
  child.stdout.destroy();
  const { code, stderr } = await ended;
  assert.deepEqual({ code, stderr }, { code: 2, stderr: '' });
});

// ---------------------------------------------------------------------------------------------
// --html
// ---------------------------------------------------------------------------------------------

const EVIL = '</pre></script><script>document.title="x"</script><img src=x onerror="x()">' +
  '<style>*{}</style>]]>--><!-- "\'&amp;&lt; \u202e\u2028\u200b\u0007\u001b\u009b\ud800' +
  '\u{e0041}\u{e0100}\u034f\u3164\ufe0f\u2800 <a href="javascript:x()">';

/** A log whose every text is of one kind. */
function writeLogOf(folder: string, words: string): string {
  const log = join(folder, 'of one kind.jsonl');
  const at = '2026-07-28T09:00:00.000Z';
  const info = { name: words, version: words };
  const params = { _meta: {}, clientInfo: info, name: words, uri: words };
  const messages: [Spoken['from'], unknown][] = [
    ['client', { jsonrpc: '2.0', id: words, method: words, params }],
    ['server', { jsonrpc: '2.0', id: words, result: { serverInfo: info, [words]: words } }],
    ['client', { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: words } }],
    ['server', { jsonrpc: '2.0', id: 2, error: { code: words, message: words, data: words } }],
    ['server', { jsonrpc: '2.0', method: words }], ['server', `not JSON: ${words}`],
    ['stderr', words], ['client', [words]], ['client', { jsonrpc: '2.0', id: 3, method: words }],
  ];
  const entries = [
    { event: 'started', atMs: 0, at: words, command: ['node', words], folder: words },
    ...messages.map(([from, message], index) => ({
      from, atMs: index, line: typeof message === 'string' ? message : JSON.stringify(message),
    })),
    { event: words, atMs: 20, signal: words },
    { event: 'ended', atMs: 30, exitCode: null, signal: words, force: words },
    { event: 'started', atMs: 0, at, command: words, folder },
  ];
  writeFileSync(log, entries.map((one) => `${JSON.stringify({ run: words, ...one })}\n`).join(''));
  return log;
}

const TAG = /<[/!]?[a-z][^>]*>/gi;

function readText(html: string): string {
  const entities: Record<string, string> =
    { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'", '&amp;': '&' };
  return html.replace(/&(?:lt|gt|quot|#39|amp);/g, (entity) => entities[entity] ?? '');
}

/** Gives the lines that a page shows as exact ones. */
function exactLines(page: string): string[] {
  const found = page.matchAll(/<pre class="exact">([^<]*)<\/pre>/g);
  return [...found].map(([, text = '']) => readText(text));
}

test('a page of hostile words has the very tags of a page of harmless ones', async (t) => {
  const folder = makeTempFolder(t);
  const page = join(folder, 'page.html');
  const tags: string[][] = [];
  for (const words of ['harmless', EVIL]) {
    const log = writeLogOf(folder, words);
    const { code, stderr } = await tap('--html', page, log);
    assert.deepEqual([code, withoutNodeWarnings(stderr)], [0, '']);
    const html = readFileSync(page, 'utf8');
    tags.push(html.match(TAG) ?? []);
    const odd = /[\0-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2800\ud800-\udfff\p{DI}]/u;
    assert.doesNotMatch(html, odd, 'all that cannot be seen is shown');
    const said = readEntries(log).filter(({ from }) => from === 'client' || from === 'server');
    assert.deepEqual(exactLines(html), said.map(({ line }) => reveal(line ?? '')));
  }
  assert.deepEqual(tags[1], tags[0]);
});

test('a page needs nothing from elsewhere, and allows nothing', async (t) => {
  const folder = makeTempFolder(t);
  const page = join(folder, 'page.html');
  await tap('--html', page, writeLog(folder));
  const html = readFileSync(page, 'utf8');
  assert.match(html, /^<!doctype html>\n<!-- .+ -->\n<html lang="en">\n<head>\n<meta charset=/);
  const policy = /http-equiv="Content-Security-Policy" content="([^"]+)"/.exec(html)?.[1] ?? '';
  const hashOf = (tag: string) => {
    const [, content = ''] = new RegExp(`<${tag}>([^]*?)</${tag}>`).exec(html) ?? [];
    return `'sha256-${createHash('sha256').update(content).digest('base64')}'`;
  };
  assert.deepEqual(policy.split('; '), [
    "default-src 'none'", `style-src ${hashOf('style')}`, `script-src ${hashOf('script')}`,
    "base-uri 'none'", "form-action 'none'",
  ]);
  assert.doesNotMatch(html, /\b(?:src|srcset|action|style|on\w+)\s*=\s*"|url\(|@import|https?:/i);
  for (const [, target = ''] of html.matchAll(/ href="([^"]*)"/g)) {
    assert.match(target, /^#/);
    assert.ok(html.includes(` id="${target.slice(1)}"`), `${target} is there`);
  }
  const ids = [...html.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
  assert.deepEqual(ids, [...new Set(ids)]);
  assert.equal(html.match(/<h1>/g)?.length, 1);
  assert.equal(html.match(/<main /g)?.length, 1);
  assert.equal(html.match(/<section aria-labelledby="run-\d">/g)?.length, 2);
  assert.match(html, /@media print/);
  assert.match(html, /prefers-color-scheme: dark/);
});

test('a page has 2,000 messages, and of one that is a megabyte long the start', async (t) => {
  const folder = makeTempFolder(t);
  const log = join(folder, 'many.jsonl');
  const lines = Array.from({ length: 2000 }, (_, index) => index % 2 === 0
    ? { from: 'client', line: JSON.stringify(ask(index)) }
    : { from: 'server', line: JSON.stringify(result(index - 1)) });
  const long = { from: 'client', line: JSON.stringify(ask('x'.repeat(MIB))) };
  const entries = [...lines, long].map((one) => JSON.stringify({ run: 'a', atMs: 1, ...one }));
  writeFileSync(log, `${entries.join('\n')}\n`);
  const page = join(folder, 'page.html');
  const { code, stdout } = await tap('--html', page, log);
  assert.deepEqual([code, stdout], [0, `${page}: runs: 1, lines: 2001\n`]);
  const html = readFileSync(page, 'utf8');
  const shown = exactLines(html);
  assert.deepEqual(shown.slice(0, 2000), lines.map(({ line }) => line));
  assert.equal(shown[2000], long.line.slice(0, 100_000));
  assert.match(html, /the first 100000 of its \d+ characters/);
  assert.ok(html.length < 4 * MIB, `${html.length} characters`);
});

test('a page replaces a page, and no other file; a damaged line is told', async (t) => {
  const folder = makeTempFolder(t);
  const log = writeLog(folder);
  const page = join(folder, 'page.html');
  const first = await tap('--html', page, log);
  assert.equal(first.code, 1);
  assert.match(first.stdout, /LOG line 6 is damaged and left out\.\nLOG line 13 is damaged/);
  assert.match(readFileSync(page, 'utf8'), /Damaged lines of the log, left out:<\/strong> 6, 13\./);
  if (process.platform !== 'win32') assert.equal(statSync(page).mode & 0o777, 0o600);
  assert.equal((await tap('--html', page, log)).code, 1);
  const before = readFileSync(log, 'utf8');
  for (const other of [log, folder]) {
    const { code, stderr } = await tap('--html', other, log);
    assert.equal(code, 2);
    assert.match(stderr, /is there already, and is no page of the tap: choose another name\./);
  }
  assert.equal(readFileSync(log, 'utf8'), before);
  const lost = await tap('--html', join(folder, 'no', 'page.html'), log);
  assert.equal(lost.code, 2);
  assert.match(lost.stderr, /^ENOENT: .+\n\nUsage: /);
  assert.deepEqual(readdirSync(folder).sort(), ['made by hand.jsonl', 'page.html']);
});

test('a page is written under another name first, but not over a file', { skip: NO_SHELL }, (t) => {
  const folder = makeTempFolder(t);
  const page = join(folder, 'page.html');
  const command = [process.execPath, ...RUNTIME, TAP, '--html', page, writeLog(folder)];
  const line = 'echo precious > "$0.$$.tmp"; exec "$@"'; // exec keeps the id of the process
  const { status, stderr } = spawnSync('/bin/sh', ['-c', line, page, ...command], {
    encoding: 'utf8', timeout: DEADLINE_MS,
  });
  assert.equal(status, 2);
  assert.match(withoutNodeWarnings(stderr), /^EEXIST: .+\n\nUsage: /);
  const [draft = '', ...others] = readdirSync(folder).filter((name) => name.startsWith('page'));
  assert.deepEqual(others, [], 'no page');
  assert.equal(readFileSync(join(folder, draft), 'utf8'), 'precious\n');
});

// ---------------------------------------------------------------------------------------------
// Wrong calls
// ---------------------------------------------------------------------------------------------

const WRONG: [args: string[], sentence: RegExp][] = [
  [[], /^Name one LOG\.jsonl\./],
  [['log'], /^After LOG\.jsonl come -- and the COMMAND/],
  [['log', '--'], /^After LOG\.jsonl come -- and the COMMAND/],
  [['a', 'b', '--', 'node'], /^Name one LOG\.jsonl\./],
  [['log', '--', 'no-such-command'], /^Cannot start "no-such-command" \(.*ENOENT\): is it inst/],
  [['log', '--', 'no-such-server.ts'], /^There is no file no-such-server\.ts: pass/],
  [['--show'], /^Option '--show <value>' argument missing/],
  [['--show', 'no-such-log'], /^There is no file no-such-log\./],
  [['--show', 'package.json', 'b'], /^--show takes one LOG\.jsonl\./],
  [['--show', 'package.json', '--', 'node'], /^A COMMAND goes with neither/],
  [['--show', 'a', '--html', 'b'], /^--show or --html, not both\./],
  [['--follow', 'a', '--', 'node'], /^--follow goes with --show\./],
  [['--html', 'page.html'], /^Name one LOG\.jsonl\./],
  [['--html', 'page.html', 'no-such-log'], /^There is no file no-such-log\./],
  [['--html', '', 'package.json'], /^--html takes the PAGE\.html/],
  [['--loud'], /^Unknown option '--loud'/],
];

for (const [args, sentence] of WRONG) {
  test(`called wrongly: ${args.join(' ') || '(nothing)'}`, async (t) => {
    const folder = makeTempFolder(t);
    writeFileSync(join(folder, 'package.json'), '{}\n');
    const { code, stdout, stderr } = await runNode([...RUNTIME, TAP, ...args], { cwd: folder });
    const said = withoutNodeWarnings(stderr);
    assert.match(said, sentence);
    assert.match(said, /^.+\n\nUsage: npx tsx scripts\/tap\.ts [^]*PAGE\.html LOG\.jsonl .*\n$/);
    assert.deepEqual([code, stdout], [2, '']);
    assert.deepEqual(readdirSync(folder), ['package.json'], 'nothing is left behind');
  });
}

test('--help says how it is called', async () => {
  const { code, stdout, stderr } = await tap('--help');
  assert.deepEqual([code, withoutNodeWarnings(stderr)], [0, '']);
  assert.match(stdout, /^Writes down .+\n\nUsage: /);
});
