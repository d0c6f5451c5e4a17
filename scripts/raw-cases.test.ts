/**
 * Runs the raw cases (scripts/raw-cases.ts) against every stdio server of the kit, over real pipes,
 * and the cases that no table holds: long lines, readers that stall or go away, the end of input,
 * signals. A server that is added to servers/ is found here without a change.
 *
 * Cases that do not disturb one another share a process. A ping after each exchange tells when its
 * replies have come, so that nothing here waits for time to pass, and nothing measures a speed.
 */

import assert from 'node:assert/strict';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { after, test } from 'node:test';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import {
  cancel, conversation, cutAt, cutEverywhere, including, inFlightCases, initialize, isObject,
  legacy, lines, lost, METHODS_LINE, mismatch, modern, namesIn, ok, ping, rawCases, show,
  TEST_METHODS, TOOL_CONTRACTS,
} from './raw-cases.ts';
import type { Bytes, Exchange, Facts, Pattern, RawCase } from './raw-cases.ts';
import {
  goodEnd, keepLine, killRunning, LONG_DEADLINE_MS, peakMemory, pour, startServer, stop,
  withServer, writePieces,
} from './raw-wire.ts';
import type { Message, Server, Wire } from './raw-wire.ts';
import { listServers, makeTempFolder, runLine } from './testing.ts';

/** After so many hangs the rest of a server's cases is not run: each costs a deadline. */
const MAX_HANGS = 4;

// A copied line of these servers says which wire they have; one that speaks HTTP has another.
const isStdio = (file: string): boolean => readFileSync(file, 'utf8').includes('#region stdio');
// Files that are named behind the command are run instead: npx tsx scripts/raw-cases.test.ts FILE
const named = process.argv.slice(2).map((file) => resolve(file));
const servers = named.length > 0 ? named : listServers().filter(isStdio);

test('there are servers to run', () => assert.ok(servers.length > 0));

for (const file of servers) {
  const server: Server = { name: basename(file, '.ts'), file, args: runLine(file) };
  // Three at once, of which one may use two processes: so never more than four.
  test(server.name, { concurrency: 3 }, async (t) => {
    const copy = copyWithTestMethods(server, makeTempFolder(t));
    const facts = await learn(server);
    const groups = Object.entries(rawCases(facts));
    const counts: Counts = { cases: 0, processes: 0 };
    const parts: [string, (t: TestContext) => Promise<void>][] = [
      ['long lines', (t) => longLines(t, server)],
      ['any split of the bytes', () => anySplit(copy, facts)],
      ['raw cases before a session', (t) => shared(t, server, groups, 'bare', counts)],
      ['raw cases in a session', (t) => shared(t, server, groups, 'session', counts)],
      ['raw cases in a process each', (t) => fresh(t, server, groups, counts)],
      ['calls in flight, legacy', (t) =>
        shared(t, copy, Object.entries(inFlightCases(facts, 'legacy')), 'session', counts)],
      ['calls in flight, modern', (t) =>
        shared(t, copy, Object.entries(inFlightCases(facts, 'modern')), 'session', counts)],
      ['readers', (t) => readers(t, server, facts)],
      ['the end', (t) => ends(t, server, copy)],
    ];
    await Promise.all(parts.map(([name, part]) => t.test(name, part)));
    const { cases, processes } = counts;
    t.diagnostic(`${server.name}: ${cases} raw cases in ${processes} processes`);
    // Nothing is left out in silence: what a server does not have, and what is not known of it.
    const idle = groups.filter(([, all]) => all.length === 0).map(([group]) => group);
    if (idle.length > 0) t.diagnostic(`${server.name} has no ${idle.join(', no ')}`);
    const known = Object.keys(TOOL_CONTRACTS);
    const unknown = namesIn(facts, 'tools/list', 'tools').filter((name) => !known.includes(name));
    if (unknown.length > 0) t.diagnostic(`TOOL_CONTRACTS has nothing on ${unknown.join(', ')}`);
    assert.ok(cases > 1000, `only ${cases} raw cases ran against ${server.name}`);
  });
}

after(() => assert.equal(killRunning(), 0, 'servers that were still running'));

// ---------------------------------------------------------------------------------------------
// The table's cases
// ---------------------------------------------------------------------------------------------

type Counts = { cases: number; processes: number };
type Groups = [string, RawCase[]][];

/** Asks a server what it has, as a legacy client would. */
function learn(server: Server): Promise<Facts> {
  return withServer(server, async (wire) => {
    const facts: Facts = { serverInfo: {}, capabilities: {}, lists: {} };
    const ask = async (id: number, text: string): Promise<Message | undefined> => {
      wire.write(lines(text));
      await wire.until(`the reply ${id}`, () => wire.messages.length === id, LONG_DEADLINE_MS);
      const { result } = wire.messages[id - 1] ?? {};
      return isObject(result) ? result : undefined;
    };
    const { serverInfo, capabilities } = await ask(1, initialize(1)) ?? {};
    assert.ok(isObject(serverInfo) && isObject(capabilities), 'initialize gave no server');
    Object.assign(facts, { serverInfo, capabilities });
    const methods = ['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list'];
    for (const [index, method] of methods.entries()) {
      const list = await ask(index + 2, legacy(index + 2, method));
      if (list !== undefined) facts.lists[method] = list;
    }
    return facts;
  }, { label: 'what it has' });
}

/** Runs, in one process, all cases that a state is right for; a test for each group. */
async function shared(
  t: TestContext,
  server: Server,
  groups: Groups,
  state: 'bare' | 'session',
  counts: Counts,
): Promise<void> {
  let wire: Wire | undefined;
  const hello: Exchange = {
    writes: [lines(initialize('hello'))],
    replies: [including({ id: 'hello', result: including({}) })],
  };
  const run = async (one: RawCase): Promise<string | undefined> => {
    if (wire === undefined) {
      counts.processes += 1;
      wire = startServer(server);
      const wrong = await exchange(wire, state === 'session' ? hello : NOTHING);
      if (wrong !== undefined) throw wire.trouble(wrong);
    }
    return runCase(wire, one);
  };
  // A hang, or a dead server: the next case gets another process.
  const giveUp = async (): Promise<void> => {
    if (wire) await stop(wire);
    wire = undefined;
  };
  const isRight = (one: RawCase): boolean => one.state === state || one.state === 'any';
  await runGroups(t, groups, counts, { isRight, run, giveUp, atOnce: 1 });
  if (wire === undefined) return;
  const expectsNoise = groups.some(([, cases]) => cases.some(({ stderr }) => stderr));
  await endShared(wire, expectsNoise);
}

/** Ends the input of a server that has been through many cases: it has to end well even so. */
async function endShared(wire: Wire, expectsNoise: boolean): Promise<void> {
  wire.label = 'the end after all cases';
  wire.child.stdin.end();
  try {
    await wire.until('its end', () => wire.exit !== undefined, LONG_DEADLINE_MS);
    assert.deepEqual(wire.exit, { code: 0, signal: null }, wire.trouble('it ended').message);
    if (!expectsNoise) await goodEnd(wire);
  } finally {
    await stop(wire);
  }
}

/** Runs each case that needs one in a process of its own, which then has to end well. */
async function fresh(
  t: TestContext,
  server: Server,
  groups: Groups,
  counts: Counts,
): Promise<void> {
  const isRight = ({ state }: RawCase): boolean => state === 'fresh';
  const run = (one: RawCase): Promise<string | undefined> => {
    counts.processes += 1;
    return withServer(server, (wire) => runFresh(wire, one));
  };
  const giveUp = async (): Promise<void> => {}; // its process is gone already
  await runGroups(t, groups, counts, { isRight, run, giveUp, atOnce: 2 });
}

/** Which cases to run, how, what to do after a hang, and how many at once. */
type Plan = {
  isRight: (one: RawCase) => boolean;
  run: (one: RawCase) => Promise<string | undefined>;
  giveUp: () => Promise<void>;
  atOnce: number;
};

/** Makes a test of each group, and fails it with the first sentences of what went wrong. */
async function runGroups(
  t: TestContext,
  groups: Groups,
  counts: Counts,
  { isRight, run, giveUp, atOnce }: Plan,
): Promise<void> {
  let hangs = 0;
  for (const [group, all] of groups) {
    const cases = all.filter(isRight);
    if (cases.length === 0) continue;
    await t.test(`${group} (${cases.length})`, async () => {
      const failures: string[] = [];
      const queue = [...cases];
      const work = async (): Promise<void> => {
        for (let one = queue.shift(); one; one = queue.shift()) {
          if (hangs >= MAX_HANGS) {
            failures.push(`"${one.name}" was not run, after ${hangs} hangs or early ends`);
            continue;
          }
          counts.cases += 1;
          try {
            const wrong = await run(one);
            if (wrong !== undefined) failures.push(wrong);
          } catch (error) {
            failures.push(error instanceof Error ? error.message : String(error));
            hangs += 1;
            await giveUp();
          }
        }
      };
      await Promise.all(Array.from({ length: atOnce }, work));
      report(failures);
    });
  }
}

function report(failures: string[]): void {
  if (failures.length === 0) return;
  const more = failures.length > 8 ? `\n… and ${failures.length - 8} more` : '';
  assert.fail(`${failures.length} cases failed\n${failures.slice(0, 8).join('\n')}${more}`);
}

const NOTHING: Exchange = { writes: [], replies: [] };
let fences = 0;

/** Runs one case on a running server; gives undefined, or what was wrong. */
async function runCase(wire: Wire, one: RawCase): Promise<string | undefined> {
  wire.label = `case "${one.name}"`;
  const before = wire.stderr().length;
  for (const [index, step] of one.exchanges.entries()) {
    const wrong = await exchange(wire, step);
    if (wrong !== undefined) return wire.trouble(`step ${index + 1}: ${wrong}`).message;
  }
  const said = (): string => wire.stderr().slice(before);
  if (one.stderr === undefined) {
    return said() === '' ? undefined : wire.trouble('stderr should be silent').message;
  }
  const { stderr } = one;
  await wire.until(`${stderr} on stderr`, () => stderr.test(said()));
  return undefined;
}

/** Writes, then a ping as a fence, and looks at all that comes until both are answered. */
async function exchange(wire: Wire, { writes, replies }: Exchange): Promise<string | undefined> {
  const id = `fence ${fences += 1}`;
  const seen = wire.messages.length;
  const bytes = Buffer.from((writes.at(-1) ?? '\n') as string);
  const feed = bytes.at(-1) === 10 ? '' : '\n';
  await writePieces(wire, writes);
  wire.write(`${feed}${ping(JSON.stringify(id))}\n`);
  const expected = [...replies, ok(id)];
  const arrived = (): boolean => wire.messages.length >= seen + expected.length
    && wire.messages.slice(seen).some((message) => message.id === id);
  await wire.until(`${replies.length} replies, and the one to a ping after them`, arrived,
    seen === 0 ? LONG_DEADLINE_MS : undefined);
  return wire.complaints.shift() ?? compare(wire.messages.slice(seen), expected);
}

/** Runs one case on a new server; gives undefined, or what was wrong. */
async function runFresh(wire: Wire, one: RawCase): Promise<string | undefined> {
  wire.label = `case "${one.name}"`;
  const writes = one.exchanges.flatMap((step) => step.writes);
  const replies = one.exchanges.flatMap((step) => step.replies);
  await writePieces(wire, writes);
  if (one.endsInput) wire.child.stdin.end();
  else wire.child.stdin.end('\n');
  await goodEnd(wire);
  const wrong = compare(wire.messages, replies);
  return wrong === undefined ? undefined : wire.trouble(wrong).message;
}

/** Pairs messages with patterns, whatever the order; gives undefined, or what does not fit. */
function compare(messages: readonly Message[], patterns: readonly Pattern[]): string | undefined {
  const open = [...patterns];
  for (const message of messages) {
    const index = open.findIndex((pattern) => mismatch(pattern, message) === undefined);
    if (index >= 0) {
      open.splice(index, 1);
      continue;
    }
    // The likeliest pattern is the one with the same id.
    const near = open.find((pattern) => isObject(pattern) && pattern.id === message.id) ?? open[0];
    if (near === undefined) return `came, and should not: ${show(message)}`;
    const wrong = mismatch(near, message);
    return `came: ${show(message)}\n  wanted: ${show(near)}\n  the message ${wrong}`;
  }
  return open[0] === undefined ? undefined : `did not come: ${show(open[0])}`;
}

// ---------------------------------------------------------------------------------------------
// The cases that no table holds
// ---------------------------------------------------------------------------------------------

const MB = 1024 * 1024;
const LINE_LIMIT = 64 * MB; // characters
const SPACES = Buffer.alloc(MB, ' ');

/** Copies a server into a folder, with methods that tests can hold, release and make fail. */
function copyWithTestMethods(server: Server, folder: string): Server {
  const text = readFileSync(server.file, 'utf8');
  const parts = text.split(METHODS_LINE);
  assert.equal(parts.length, 2, `${server.file} must have this line once: ${METHODS_LINE}`);
  const file = join(folder, basename(server.file));
  writeFileSync(file, parts.join(METHODS_LINE + TEST_METHODS));
  return { ...server, name: `a copy of ${server.name}`, file };
}

/** Starts a server and waits until it answers, so that what follows meets it awake. */
async function withReady<T>(
  server: Server,
  label: string,
  use: (wire: Wire) => Promise<T>,
): Promise<T> {
  return withServer(server, async (wire) => {
    wire.write(`${ping('"ready"')}\n`);
    await wire.until('the first reply', () => wire.messages.length === 1, LONG_DEADLINE_MS);
    assert.deepEqual(wire.messages.shift(), ok('ready'));
    return use(wire);
  }, { label });
}

/** Fails unless exactly these messages came, in any order. */
function check(wire: Wire, ...patterns: Pattern[]): void {
  const wrong = wire.complaints[0] ?? compare(wire.messages, patterns);
  if (wrong !== undefined) throw wire.trouble(wrong);
}

/** Gives the same numbers each time, from 0 up to 1, so that a failure can be seen again. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0; // the constants of Numerical Recipes
    return state / 2 ** 32;
  };
}

async function anySplit(copy: Server, facts: Facts): Promise<void> {
  const bytes = conversation(facts);
  const say = (name: string, pieces: readonly Bytes[]): Promise<string[]> =>
    withReady(copy, `a conversation, ${name}`, async (wire) => {
      wire.lines.length = 0;
      await writePieces(wire, pieces);
      wire.child.stdin.end();
      await goodEnd(wire);
      return wire.lines.sort(); // since replies may come in any order
    });
  const whole = await say('in one write', [bytes]);
  assert.ok(whole.length > 25, `only ${whole.length} messages came back`);
  assert.deepEqual(await say('a byte a write', cutEverywhere(bytes)), whole, 'a byte a write');
  for (let seed = 1; seed <= 6; seed += 1) {
    const random = seeded(seed);
    const cuts: number[] = [];
    const longest = 4 ** seed; // from almost bytes to almost the whole
    for (let at = 0; at < bytes.length; at += 1 + Math.floor(random() * longest)) {
      if (at > 0) cuts.push(at);
    }
    const name = `cut at random, seed ${seed}`;
    assert.deepEqual(await say(name, cutAt(bytes, ...cuts)), whole, name);
  }
}

/** Pours a ping that is filled up with white space to a number of characters, without its end. */
async function pourPing(wire: Wire, id: number, characters: number): Promise<void> {
  const text = ping(`${id}`);
  const blank = characters - text.length;
  await pour(wire, [text, ...Array<Buffer>(Math.floor(blank / MB)).fill(SPACES)]);
  wire.write(SPACES.subarray(0, blank % MB));
}

async function longLines(t: TestContext, server: Server): Promise<void> {
  await t.test('20 MB in small pieces', () =>
    withReady(server, 'a line of 20 MB in small pieces', async (wire) => {
      const piece = Buffer.alloc(4096, 'x');
      wire.write('{"jsonrpc":"2.0","id":1,"method":"ping","params":{"text":"');
      await writePieces(wire, Array<Buffer>(20 * MB / piece.length).fill(piece));
      wire.write('"}}\n');
      await wire.until('the reply', () => wire.messages.length === 1); // the ordinary deadline
      check(wire, ok(1));
      wire.child.stdin.end();
      await goodEnd(wire);
    }));

  await t.test('a line of exactly the limit', () =>
    withReady(server, 'a line of the most characters that are allowed', async (wire) => {
      await pourPing(wire, 1, LINE_LIMIT);
      wire.write(`\n${ping('2')}\n`);
      await wire.until('two replies', () => wire.messages.length === 2);
      check(wire, ok(1), ok(2));
      wire.child.stdin.end();
      await goodEnd(wire);
    }));

  await t.test('an endless line', (t) =>
    withReady(server, 'an endless line', async (wire) => {
      await pourPing(wire, 1, LINE_LIMIT);
      await sleep(50);
      check(wire); // not yet
      wire.write(' ');
      await wire.until('an error as soon as the limit is passed', () => wire.messages.length === 1);
      check(wire, lost(-32600));
      // What comes after is dropped, not kept: it is far more than the memory that is allowed.
      await pour(wire, Array<Buffer>(350).fill(SPACES));
      const memory = peakMemory(wire);
      if (memory === undefined) t.diagnostic('memory not looked at: there is no /proc here');
      else assert.ok(memory < 400, `${server.name} took ${Math.round(memory)} MB for a line`);
      wire.write(`${ping('2')}\n${ping('3')}\n`); // 2 still belongs to that line
      await wire.until('a reply after it', () => wire.messages.length === 2);
      check(wire, lost(-32600), ok(3));
      // The same once more, with the line feed in the write that passes the limit.
      await pourPing(wire, 4, LINE_LIMIT);
      wire.write(` \n${ping('5')}\n`);
      await wire.until('two more', () => wire.messages.length === 4);
      check(wire, lost(-32600), ok(3), lost(-32600), ok(5));
      wire.child.stdin.end();
      await goodEnd(wire);
    }));

  await t.test('an endless line that ends with the input', () =>
    withReady(server, 'an endless line that ends with the input', async (wire) => {
      await pourPing(wire, 1, LINE_LIMIT + 1);
      wire.child.stdin.end();
      await goodEnd(wire);
      check(wire, lost(-32600));
    }));
}

async function readers(t: TestContext, server: Server, facts: Facts): Promise<void> {
  const list = Object.keys(facts.lists)[0] ?? 'server/discover';

  await t.test('200 calls at once', () =>
    withReady(server, '200 calls at once', async (wire) => {
      const ids = Array.from({ length: 200 }, (_, id) => id);
      wire.write(lines(...ids.map((id) => id % 2 ? modern(id, list) : ping(`${id}`))));
      await wire.until('200 replies', () => wire.messages.length === 200);
      check(wire, ...ids.map((id): Pattern => id % 2
        ? { jsonrpc: '2.0', id, result: (result) => isObject(result) ? undefined : 'no result' }
        : ok(id)));
      wire.child.stdin.end();
      await goodEnd(wire);
    }));

  await t.test('a reader that is gone', () =>
    withReady(server, 'a reader that is gone', async (wire) => {
      wire.child.stdout.destroy();
      await sleep(20);
      // Its input stays open: it has to notice by writing.
      for (let id = 1; id <= 100 && !wire.exit; id += 1) {
        wire.write(`${ping(`${id}`)}\n`);
        await sleep(5);
      }
      await goodEnd(wire);
    }));

  await t.test('a reader that is gone, with much unwritten', () =>
    withReady(server, 'a reader that goes away while the pipe is full', async (wire) => {
      await stall(wire);
      wire.child.stdout.destroy();
      await goodEnd(wire);
    }));

  await t.test('a reader that stalls, and comes back', (t) =>
    withReady(server, 'a reader that stalls', async (wire) => {
      const count = await stall(wire);
      const memory = peakMemory(wire);
      if (memory === undefined) t.diagnostic('memory not looked at: there is no /proc here');
      else assert.ok(memory < 300, `${server.name} took ${Math.round(memory)} MB for its replies`);
      wire.child.stdout.resume();
      await wire.until(`${count} replies`, () => wire.messages.length >= count, LONG_DEADLINE_MS);
      wire.child.stdin.end();
      await goodEnd(wire);
      const ids = new Set(wire.messages.map(({ id }) => String(id).trimEnd()));
      assert.equal(wire.messages.length, count, 'a reply for each call, and no other');
      assert.equal(ids.size, count, 'each id once');
    }));

  await t.test('a reader that stalls until after the end of input', () =>
    withReady(server, 'a reader that stalls until after the end of input', async (wire) => {
      wire.child.stdout.pause();
      const ids = Array.from({ length: 100 }, (_, id) => `${id} `.padEnd(10_000));
      wire.child.stdin.end(ids.map((id) => ping(JSON.stringify(id))).join('\n'));
      await sleep(3_000); // longer than the grace that calls in flight have
      if (wire.exit) throw wire.trouble('it ended over replies that nobody had read');
      wire.child.stdout.resume();
      await goodEnd(wire);
      check(wire, ...ids.map((id) => ok(id)));
    }));

  await t.test('files for pipes', (t) => {
    const folder = makeTempFolder(t);
    const [input, output] = [join(folder, 'in'), join(folder, 'out')];
    const ids = Array.from({ length: 2_000 }, (_, id) => id);
    writeFileSync(input, lines(...ids.map((id) => ping(`${id}`))) + ping('"last"'));
    const [stdin, stdout] = [openSync(input, 'r'), openSync(output, 'w')];
    return withServer(server, async (wire) => {
      await goodEnd(wire);
      const text = readFileSync(output);
      assert.equal(text.at(-1), 10, 'the last line needs its line feed');
      for (const line of text.toString('latin1').trimEnd().split('\n')) {
        keepLine(wire, Buffer.from(line));
      }
      check(wire, ...ids.map((id) => ok(id)), ok('last'));
    }, { label: 'files for pipes', stdin, stdout }).finally(() => {
      closeSync(stdin);
      closeSync(stdout);
    });
  });
}

/**
 * Writes up to 5,000 calls while nobody reads a reply, and waits until the server takes no more;
 * the rest follows by itself as soon as it does. Gives how many there are.
 */
async function stall(wire: Wire): Promise<number> {
  const count = 5_000;
  let taken = 0;
  // One by one, since Node tells of many waiting writes only when the last of them is taken.
  const writeNext = (error?: Error | null): void => {
    if (error || taken === count) return;
    // A reply has its call's id, and 40 MB of them fit into no pipe.
    const line = `${ping(JSON.stringify(String(taken).padEnd(8_000)))}\n`;
    wire.child.stdin.write(line, (error) => {
      taken += 1;
      writeNext(error);
    });
  };
  wire.child.stdout.pause();
  writeNext();
  for (let [before, still] = [0, 0]; still < 5; before = taken) {
    await sleep(100);
    still = taken === before ? still + 1 : 0;
  }
  if (wire.exit) throw wire.trouble('it should wait for its reader');
  if (taken > count / 2) {
    throw wire.trouble(`it took ${taken} of ${count} calls while nobody read its replies`);
  }
  return count;
}

// On Windows there is no SIGTERM to catch: `kill` ends a process there without a word to it.
const hasSignals = process.platform !== 'win32';

async function ends(t: TestContext, server: Server, copy: Server): Promise<void> {
  const skip = hasSignals ? false : 'no SIGTERM on Windows';

  for (const feed of ['\n', '']) {
    const name = `the end of input right after a large call with${feed ? '' : 'out'} a line feed`;
    await t.test(name, () => withReady(server, name, async (wire) => {
      // A reply has its call's id, so this one is far more than a pipe holds.
      const id = 'é'.repeat(4 * MB);
      wire.child.stdin.end(`${ping('1')}\n${ping(JSON.stringify(id))}${feed}`);
      await goodEnd(wire);
      check(wire, ok(1), ok(id));
    }));
  }

  await t.test('the end of input during a call', () =>
    withReady(copy, 'the end of input during a call', async (wire) => {
      const call = modern(1, 'test/sleep', { ms: 700, size: 4 * MB });
      wire.child.stdin.end(lines(call, ping('2')));
      await goodEnd(wire);
      assert.deepEqual(wire.messages.map(({ id }) => id), [2, 1]);
      const { result } = wire.messages[1] ?? {};
      assert.equal(isObject(result) && String(result.slept).length, 4 * MB);
    }));

  await t.test('the end of input during a call that never ends', () =>
    withReady(copy, 'the end of input during a call that never ends', async (wire) => {
      const call = modern(1, 'test/hold', { key: 'a', tell: 'x' });
      wire.child.stdin.end(lines(call, modern(2, 'test/sleep', { ms: 500 }), ping('3')));
      await wire.until('its end', () => wire.exit !== undefined, LONG_DEADLINE_MS);
      assert.deepEqual(wire.exit, { code: 0, signal: null }, wire.trouble('its end').message);
      assert.deepEqual(wire.messages.map(({ id }) => id), [3, 2], 'replies to all but call 1');
      assert.deepEqual(wire.complaints, []);
      assert.match(wire.stderr(), /^aborted: x\s*$/, 'its signal should abort');
    }));

  await t.test('the end of input after a cancelled call', () =>
    withReady(copy, 'the end of input after a cancelled call', async (wire) => {
      wire.child.stdin.end(lines(modern(1, 'test/hold', { key: 'a' }), cancel(1), ping('2')));
      await goodEnd(wire);
      check(wire, ok(2));
    }));

  await t.test('errors while nobody reads stderr', () =>
    withReady(copy, 'errors while nobody reads stderr', async (wire) => {
      wire.child.stderr.destroy();
      // One after the other: it is the second write to a broken pipe that used to end the server.
      for (const id of [1, 2, 3]) {
        wire.write(lines(modern(id, 'test/throw', {})));
        await wire.until('a reply', () => wire.messages.length === id);
        await sleep(20);
      }
      wire.child.stdin.end();
      await goodEnd(wire);
      assert.deepEqual(wire.messages.map(({ id }) => id), [1, 2, 3]);
    }));

  await t.test('SIGTERM while it waits', { skip }, () =>
    withReady(server, 'SIGTERM while it waits', async (wire) => {
      wire.child.kill('SIGTERM');
      await goodEnd(wire);
      check(wire);
    }));

  await t.test('SIGTERM during a call', { skip }, () =>
    withReady(copy, 'SIGTERM during a call', async (wire) => {
      wire.write(lines(modern(1, 'test/hold', { key: 'a' }), ping('2')));
      await wire.until('a reply', () => wire.messages.length === 1);
      wire.child.kill('SIGTERM');
      await goodEnd(wire);
      check(wire, ok(2));
    }));

  await t.test('SIGTERM while nobody reads', { skip }, () =>
    withReady(server, 'SIGTERM while nobody reads', async (wire) => {
      await stall(wire);
      wire.child.kill('SIGTERM');
      await wire.until('its exit', () => wire.child.exitCode !== null, LONG_DEADLINE_MS);
      wire.child.stdout.resume(); // what is in the pipe has to be read before that closes
      await wire.until('its end', () => wire.exit !== undefined, LONG_DEADLINE_MS);
      assert.deepEqual(wire.exit, { code: 0, signal: null }, wire.trouble('its end').message);
      assert.equal(wire.stderr(), '');
    }));
}
