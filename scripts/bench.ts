/**
 * Measures the echo server against what else one could use: the same server on each generation of
 * the official SDK (where scripts/interop is installed), and a floor, scripts/bench-floor.ts, that
 * checks nothing. All are started the same way by the runtime that runs this, take turns, and are
 * compared within one run; a number of one machine says little about another.
 *
 * Run: npm run bench
 *
 *   --rounds N   how often each takes its turn (5)
 *   --json FILE  write all that was measured into this file
 *   --quick      a tenth of the calls: to see that it works, not to know how fast
 *
 * Natively: node scripts/bench.ts, on Node 22.18 and later. Processor time and memory are read
 * from /proc, so they are there on Linux alone; elsewhere the table has `-` for them.
 *
 * SPDX-License-Identifier: MIT
 */

import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const HERE = dirname(fileURLToPath(import.meta.url));
const PEERS = join(HERE, 'interop', 'peers');
const SIZES = [1024, 32 * 1024, 1024 * 1024, 32 * 1024 * 1024]; // characters in a message
const TICKS_PER_SECOND = 100; // of processor time in /proc/PID/stat; Linux has no other number now
const STARTS = 5; // of each contender in a round, since one start takes more or less by chance

type Era = 'legacy' | 'modern';

/** Somebody who takes part: a file, and the eras in which it can be measured. */
type Contender = { name: string; file: string; eras: Era[] };

/** What one turn of one contender gave. Times in ms, processor time in ms, memory in MiB. */
type Turn = {
  start: number;
  oneAtATime: number; // calls a second
  inFlight64: number; // calls a second
  cpuPerCall: number | undefined; // microseconds
  peak: number | undefined;
};

const CONTENDERS: Contender[] = [
  { name: 'floor', file: join(HERE, 'bench-floor.ts'), eras: ['legacy', 'modern'] },
  { name: 'echo', file: join(HERE, '..', 'servers', 'echo.ts'), eras: ['legacy', 'modern'] },
  { name: 'SDK 1.32.2', file: join(PEERS, 'echo-gen1.ts'), eras: ['legacy'] },
  { name: 'SDK 2.4.0', file: join(PEERS, 'echo-gen2.ts'), eras: ['legacy', 'modern'] },
];

// ---------------------------------------------------------------------------------------------
// One server, held at the other end of its pipes
// ---------------------------------------------------------------------------------------------

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** A call of the echo tool as a line, in either era. */
function callLine(era: Era, id: number, text: string): string {
  const call = { name: 'echo', arguments: { text } };
  const params = era === 'modern' ? { ...call, _meta: META } : call;
  return `${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })}\n`;
}

/** What opens a conversation: a handshake, or in the modern era the first call itself. */
function openingLine(era: Era): string {
  if (era === 'modern') return callLine(era, 0, 'hello');
  const clientInfo = { name: 'bench', version: '1.0.0' };
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
  return `${JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params })}\n`;
}

/** Starts a server and waits for its first reply. Fails if it dies, rather than wait for ever. */
async function start(file: string, era: Era) {
  const runtime = process.execArgv.filter((argument) => !argument.startsWith('--inspect'));
  const born = performance.now();
  const child = spawn(process.execPath, [...runtime, file]);
  child.stderr.resume();
  child.stdin.on('error', () => {}); // it died; `died` says so
  const died = once(child, 'exit').then(([code]) => {
    throw new Error(`${file} exited with code ${code} before it had answered`);
  });
  died.catch(() => {}); // it is raced against below; at the end it may well exit
  const replies = (count: number) => Promise.race([awaitLines(child, count), died]);
  child.stdin.write(openingLine(era));
  await replies(1);
  const tookMs = performance.now() - born;
  if (era === 'legacy') {
    child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  }
  return { child, replies, died, tookMs };
}

/** Resolves when so many lines have come on a server's stdout. */
function awaitLines(child: ChildProcessWithoutNullStreams, count: number): Promise<void> {
  return new Promise((resolve) => {
    let missing = count;
    const onData = (chunk: Buffer) => {
      for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) missing -= 1;
      if (missing > 0) return;
      child.stdout.off('data', onData);
      resolve();
    };
    child.stdout.on('data', onData);
  });
}

async function stop(child: ChildProcessWithoutNullStreams): Promise<void> {
  const exited = child.exitCode === null ? once(child, 'exit') : undefined;
  child.stdin.end();
  const timer = setTimeout(() => child.kill('SIGKILL'), 5000);
  await exited;
  clearTimeout(timer);
}

/** Makes calls with at most `window` of them unanswered; gives the calls a second. */
async function callsPerSecond(
  { child, died }: Awaited<ReturnType<typeof start>>, era: Era, calls: number, window: number,
): Promise<number> {
  // Bytes are made before the clock starts, and looked at once: what is measured is the server.
  const lines = Array.from({ length: calls }, (_, index) =>
    Buffer.from(callLine(era, index + 1, 'hello')));
  const ends: number[] = [];
  let size = 0;
  for (const line of lines) ends.push((size += line.length));
  const bytes = Buffer.concat(lines);
  const began = performance.now();
  let sent = 0;
  let answered = 0;
  const all = new Promise<void>((resolve) => {
    const send = () => {
      const until = Math.min(answered + window, calls);
      if (until > sent) child.stdin.write(bytes.subarray(ends[sent - 1] ?? 0, ends[until - 1]));
      sent = Math.max(sent, until);
    };
    child.stdout.on('data', function onData(chunk: Buffer) {
      for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) answered += 1;
      send();
      if (answered < calls) return;
      child.stdout.off('data', onData);
      resolve();
    });
    send();
  });
  await Promise.race([all, died]);
  return calls / ((performance.now() - began) / 1000);
}

// ---------------------------------------------------------------------------------------------
// What the system says of a process (Linux alone)
// ---------------------------------------------------------------------------------------------

/** Processor time so far, in ms; undefined where there is no /proc. */
function cpuMs(pid: number): number | undefined {
  if (!existsSync(`/proc/${pid}/stat`)) return undefined;
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /, '').split(' ');
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_PER_SECOND;
}

/** A line of /proc/PID/status in MiB: VmHWM is the peak, VmRSS the memory now. */
function memoryMiB(pid: number, name: 'VmHWM' | 'VmRSS'): number | undefined {
  if (!existsSync(`/proc/${pid}/status`)) return undefined;
  const found = new RegExp(`^${name}:\\s*(\\d+) kB`, 'm')
    .exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return found ? Number(found[1]) / 1024 : undefined;
}

// ---------------------------------------------------------------------------------------------
// The measurements
// ---------------------------------------------------------------------------------------------

async function takeTurn({ file }: Contender, era: Era, scale: number): Promise<Turn> {
  const starts: number[] = [];
  for (let count = 1; count < STARTS; count += 1) {
    const server = await start(file, era);
    starts.push(server.tookMs);
    await stop(server.child);
  }
  const server = await start(file, era);
  starts.push(server.tookMs);
  const pid = Number(server.child.pid);
  await callsPerSecond(server, era, 5_000 * scale, 64); // warm up: compilers need a while
  const oneAtATime = await callsPerSecond(server, era, 10_000 * scale, 1);
  const calls = 100_000 * scale;
  const before = cpuMs(pid);
  const inFlight64 = await callsPerSecond(server, era, calls, 64);
  const after = cpuMs(pid);
  const cpuPerCall =
    before === undefined || after === undefined ? undefined : ((after - before) * 1000) / calls;
  const peak = memoryMiB(pid, 'VmHWM');
  await stop(server.child);
  return { start: median(starts), oneAtATime, inFlight64, cpuPerCall, peak };
}

/**
 * Times one echo of each size in ms, best of three, in a fresh process for each size. A size that a
 * server does not survive, or that takes it longer than a minute, is undefined.
 */
async function measureSizes({ file }: Contender, era: Era): Promise<(number | undefined)[]> {
  const times: (number | undefined)[] = [];
  for (const size of SIZES) {
    const server = await start(file, era);
    let best: number | undefined;
    for (let count = 1; count <= 3; count += 1) {
      const line = callLine(era, count, 'x'.repeat(size));
      const began = performance.now();
      const reply = server.replies(1).then(() => performance.now() - began, () => undefined);
      server.child.stdin.write(line);
      const took = await Promise.race([reply, sleep(60_000, undefined, { ref: false })]);
      if (took === undefined) break;
      best = Math.min(best ?? Infinity, took);
    }
    times.push(best);
    await stop(server.child);
  }
  return times;
}

/** The memory of a server in MiB after a tenth of many calls, and after all of them. */
async function measureGrowth({ file }: Contender, era: Era, calls: number) {
  const server = await start(file, era);
  const pid = Number(server.child.pid);
  const share = calls / 10;
  await callsPerSecond(server, era, share, 64);
  const early = memoryMiB(pid, 'VmRSS');
  for (let count = 1; count < 10; count += 1) await callsPerSecond(server, era, share, 64);
  const late = memoryMiB(pid, 'VmRSS');
  await stop(server.child);
  return { calls, early, late };
}

function median(values: number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? NaN;
}

// ---------------------------------------------------------------------------------------------
// The report
// ---------------------------------------------------------------------------------------------

/** What the table has: how to read it from a turn, and whether more of it is better. */
const COLUMNS: { title: string; isRate: boolean; of: (turn: Turn) => number | undefined }[] = [
  { title: 'start ms', isRate: false, of: (turn) => turn.start },
  { title: '1 at a time/s', isRate: true, of: (turn) => turn.oneAtATime },
  { title: '64 in flight/s', isRate: true, of: (turn) => turn.inFlight64 },
  { title: 'cpu us/call', isRate: false, of: (turn) => turn.cpuPerCall },
  { title: 'peak MiB', isRate: false, of: (turn) => turn.peak },
];

/** One figure of one contender: the median and the best of all rounds. */
type Figure = { median: number; best: number } | undefined;

function figure(turns: Turn[], { of, isRate }: (typeof COLUMNS)[number]): Figure {
  const values = turns.map(of).filter((value) => value !== undefined);
  if (values.length === 0) return undefined;
  return { median: median(values), best: isRate ? Math.max(...values) : Math.min(...values) };
}

function row(cells: string[]): string {
  return cells.map((cell, index) => (index === 0 ? cell.padEnd(22) : cell.padStart(16))).join('');
}

/** Prints medians, then the echo server's share of each other contender, by the best rounds. */
function printTable(era: Era, turns: Map<string, Turn[]>): void {
  console.log(`\n${row([`${era}, medians`, ...COLUMNS.map(({ title }) => title)])}`);
  for (const [name, own] of turns) {
    const cells = COLUMNS.map((column) => figure(own, column)?.median);
    console.log(row([name, ...cells.map((cell) => cell?.toFixed(cell > 1000 ? 0 : 1) ?? '-')]));
  }
  const ours = turns.get('echo') ?? [];
  for (const [name, own] of turns) {
    if (name === 'echo') continue;
    const cells = COLUMNS.map((column) => {
      const [mine, theirs] = [figure(ours, column), figure(own, column)];
      return mine && theirs ? `${(mine.best / theirs.best).toFixed(2)} x` : '-';
    });
    console.log(row([`echo / ${name}, best`, ...cells]));
  }
}

/** Reads the call; ends this program with code 2 where it makes no sense. */
function readOptions() {
  try {
    const options = {
      rounds: { type: 'string', default: '5' },
      json: { type: 'string' },
      quick: { type: 'boolean', default: false },
    } as const;
    const { rounds, json, quick } = parseArgs({ options }).values;
    if (!/^[1-9]\d?$/.test(rounds)) throw new Error(`--rounds ${rounds}: a number from 1 to 99.`);
    return { rounds: Number(rounds), json, scale: quick ? 0.1 : 1 };
  } catch (error) {
    console.error((error as Error).message);
    console.error('Usage: npm run bench -- [--rounds N] [--json FILE] [--quick]');
    process.exit(2);
  }
}

async function main(): Promise<void> {
  process.stdout.on('error', () => process.exit(2)); // nobody reads this any more
  const { rounds, json, scale } = readOptions();
  const isInstalled = existsSync(join(HERE, 'interop', 'node_modules'));
  const contenders = CONTENDERS.filter(({ file }) => isInstalled || !file.startsWith(PEERS));
  const runtime = process.execArgv.some((argument) => argument.includes('tsx')) ? ' with tsx' : '';
  console.log(`Node ${process.versions.node}${runtime}; ${rounds} rounds, taken in turns`);
  if (!isInstalled) console.log('The SDKs are not installed: npm run interop does that.');

  const report: Record<string, unknown> = { node: process.versions.node, runtime, rounds };
  for (const era of ['legacy', 'modern'] as const) {
    const present = contenders.filter(({ eras }) => eras.includes(era));
    const turns = new Map<string, Turn[]>(present.map(({ name }) => [name, []]));
    for (let round = 0; round < rounds; round += 1) {
      for (const contender of present) {
        turns.get(contender.name)?.push(await takeTurn(contender, era, scale));
      }
    }
    printTable(era, turns);

    const titles = ['1 KiB', '32 KiB', '1 MiB', '32 MiB'].map((size) => `${size}, ms`);
    console.log(`\n${row([`${era}, one message of`, ...titles])}`);
    const sizes: Record<string, (number | undefined)[]> = {};
    for (const contender of present) {
      const times = await measureSizes(contender, era);
      sizes[contender.name] = times;
      console.log(row([contender.name, ...times.map((ms) => ms?.toFixed(2) ?? 'failed')]));
    }
    report[era] = { turns: Object.fromEntries(turns), sizes };
  }
  const echo = CONTENDERS[1] as Contender;
  const growth = await measureGrowth(echo, 'modern', 1_000_000 * scale);
  report.growth = growth;
  const [early, late] = [growth.early, growth.late].map((value) => value?.toFixed(1) ?? '-');
  console.log(`\nMemory of echo after ${growth.calls / 10} calls: ${early} MiB; ` +
    `after ${growth.calls} calls: ${late} MiB.`);
  if (json !== undefined) writeFileSync(json, `${JSON.stringify(report, null, 2)}\n`);
}

void main();
