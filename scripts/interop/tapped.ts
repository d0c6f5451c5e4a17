/**
 * Judge: the tap (scripts/tap.ts) changes nothing. The official SDKs' clients hold each server's
 * whole conversation twice, with the tap in between and without it. Outside, where the client is,
 * both must be the same, line by line in each direction; the tap's log must have these lines and no
 * other; and the page made of it must show each of them.
 *
 * What the clients make of the answers is for sdk-clients.ts to judge: here they only talk.
 *
 * SPDX-License-Identifier: MIT
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { Client as SecondClient } from '@modelcontextprotocol/client';
import { StdioClientTransport as SecondTransport } from '@modelcontextprotocol/client/stdio';
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { z } from 'zod';

import { type Contract, CONTRACTS } from './contracts.ts';
import {
  type Conversation, type Stand, type Verdict,
  freshFolder, INTEROP, isJudged, KIT, readRecords, run, RUNTIME_ARGUMENTS, serverFile, show,
} from './judging.ts';

const CLIENT_INFO = { name: 'mcp-by-hand-tapped', version: '1.0.0' };
const TIMEOUT = { timeout: 15_000 };
const ANYTHING = z.looseObject({});
const TAP = join(KIT, 'scripts', 'tap.ts');

type Message = { method: string; params: Record<string, unknown> };

/** A client that is started, asks, and leaves. */
type Talker = {
  ask: (message: Message) => Promise<unknown>;
  connect: () => Promise<void>;
  close: () => Promise<void>;
};

/** The clients by name; a name begins with the era that is spoken. */
const TALKERS: Record<string, (args: string[]) => Talker> = {
  'legacy-sdk-1.32.2': (args) => {
    const client = new FirstClient(CLIENT_INFO);
    const transport = new FirstTransport({ command: process.execPath, args, stderr: 'inherit' });
    return {
      connect: () => client.connect(transport, TIMEOUT),
      ask: (message) => client.request(message as never, ANYTHING as never, TIMEOUT),
      close: () => client.close(),
    };
  },
  'legacy-sdk-2.4.0': startSecond('legacy'),
  'modern-sdk-2.4.0': startSecond('auto'),
};

function startSecond(mode: 'legacy' | 'auto') {
  return (args: string[]): Talker => {
    const client = new SecondClient(CLIENT_INFO, { versionNegotiation: { mode } });
    const transport = new SecondTransport({ command: process.execPath, args, stderr: 'inherit' });
    return {
      connect: () => client.connect(transport, TIMEOUT),
      // It throws at once what it does not ask in this era, such as ping.
      ask: async (message) => client.request(message, ANYTHING, TIMEOUT),
      close: () => client.close(),
    };
  };
}

/** Holds one conversation, and gives the records of the server processes that it took. */
async function converse(
  talker: string,
  contract: Contract,
  record: string,
  command: string[],
): Promise<Conversation[]> {
  // The recorder is outside, where the client is: between the two there may be the tap.
  const args = [...RUNTIME_ARGUMENTS, join(INTEROP, 'tap.ts'), record, ...command];
  const peer = TALKERS[talker]?.(args);
  await peer?.connect();
  for (const { method, params } of contract.steps()) {
    await peer?.ask({ method, params }).catch(() => {}); // some are meant to be refused
  }
  await peer?.close();
  const records = readRecords(join(record, '..'));
  // In modern the SDK starts two processes, one to probe; which ends first is left to chance.
  return records.filter(({ file }) => file.startsWith(`${record}-`)).sort(byLines);
}

function byLines(a: Conversation, b: Conversation): number {
  return a.crossings.length - b.crossings.length;
}

/** What was said, in the order in which it crossed. */
function linesOf({ crossings }: Conversation): string[] {
  return crossings.map(({ from, line }) => `${from}: ${line}`);
}

type Entry = { run: string; from?: string; event?: string; line?: string; exitCode?: number };

/** Reads the tap's log as its opening comment describes it, run by run. */
function readLog(log: string): Entry[][] {
  const runs = new Map<string, Entry[]>();
  for (const line of readFileSync(log, 'utf8').trimEnd().split('\n')) {
    const entry = JSON.parse(line) as Entry;
    runs.set(entry.run, [...(runs.get(entry.run) ?? []), entry]);
  }
  return [...runs.values()];
}

/** The messages of a page as a reader has them: what cannot be seen stands as \u and digits. */
function exactLines(page: string): string[] {
  const entities: Record<string, string> =
    { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'", '&amp;': '&' };
  return [...page.matchAll(/<pre class="exact">([^<]*)<\/pre>/g)].map(([, text = '']) =>
    text.replace(/&(?:lt|gt|quot|#39|amp);/g, (entity) => entities[entity] ?? ''));
}

/** Compares two lists of lines, and says where they differ first. */
function difference(came: string[], expected: string[]): string | undefined {
  const length = Math.max(came.length, expected.length);
  for (let index = 0; index < length; index += 1) {
    if (came[index] === expected[index]) continue;
    return `line ${index + 1} is ${show(came[index])}, not ${show(expected[index])}`;
  }
  return undefined;
}

/** Holds one conversation with and without the tap, and compares all that there is of it. */
async function compare(
  stand: Stand,
  verdict: Verdict,
  folder: string,
  talker: string,
  contract: Contract,
): Promise<void> {
  const name = `${talker}/${contract.name}`;
  const record = join(folder, `${talker}-${contract.name}`);
  const log = `${record}.log.jsonl`;
  const server = [serverFile(stand, contract.server), ...contract.args];
  const direct = await converse(talker, contract, `${record}-direct`, server);
  const tapped = await converse(talker, contract, `${record}-tapped`, [TAP, log, '--', ...server]);
  verdict.that(`${name}: as many processes`, direct.length === tapped.length, tapped.length);
  const runs = readLog(log).sort((a, b) => a.length - b.length);
  verdict.that(`${name}: a run in the log for each`, runs.length === tapped.length, runs.length);
  for (const [index, one] of direct.entries()) {
    const through = tapped[index];
    if (through === undefined) continue;
    const lines = linesOf(through);
    verdict.check(`${name}: the same with the tap`, difference(lines, linesOf(one)));
    const { exitCode, signal, stderrBytes } = through.ending;
    const isSame = exitCode === one.ending.exitCode && signal === one.ending.signal;
    verdict.that(`${name}: the same end`, isSame && stderrBytes === 0, through.ending);
    const said = (runs[index] ?? []).filter(({ from }) => from !== undefined);
    const logged = said.map(({ from, line }) => `${from}: ${line}`);
    verdict.check(`${name}: the log has what crossed`, difference(logged, lines));
  }
  const page = `${record}.html`;
  const made = await run(process.execPath, [...RUNTIME_ARGUMENTS, TAP, '--html', page, log]);
  verdict.that(`${name}: a page`, made.code === 0, made.stderr);
  if (made.code !== 0) return;
  // In the page the runs have the order in which they began, as in the log.
  const expected = readLog(log).flat().filter(({ line }) => line !== undefined)
    .map(({ line = '' }) => line.replace(/[\u2028\u2029]/g, (odd) =>
      `\\u${odd.charCodeAt(0).toString(16)}`));
  const shown = exactLines(readFileSync(page, 'utf8'));
  verdict.check(`${name}: the page shows it whole`, difference(shown, expected));
}

export async function judge(stand: Stand, verdict: Verdict): Promise<void> {
  // Beside the other records, not among them: the schemas have judged these messages there.
  const folder = freshFolder({ ...stand, records: join(stand.records, '..') }, 'tapped');
  const contracts = CONTRACTS.filter(({ server }) => isJudged(stand, server));
  for (const talker of Object.keys(TALKERS)) {
    for (const contract of contracts) await compare(stand, verdict, folder, talker, contract);
  }
  verdict.counted = `${Object.keys(TALKERS).length * contracts.length} conversations, each twice`;
}
