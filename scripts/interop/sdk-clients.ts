/**
 * Judge: the official SDKs' clients talk to every server of the kit. The first generation speaks
 * legacy; the second is told which era to speak, or finds out by itself. Each holds the whole
 * conversation of contracts.ts, and its server must end by itself.
 *
 * SPDX-License-Identifier: MIT
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { type ClientOptions, Client as SecondClient } from '@modelcontextprotocol/client';
import { StdioClientTransport as SecondTransport } from '@modelcontextprotocol/client/stdio';
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { z } from 'zod';

import {
  type Contract, type Step, CONTRACTS, mismatchOfError, mismatchOfResult,
} from './contracts.ts';
import {
  type Conversation, type Era, type JsonObject, type Stand, type Verdict,
  freshFolder, INTEROP, isJudged, isObject, mismatch, readRecords, RUNTIME_ARGUMENTS, serverFile,
  show,
} from './judging.ts';

const CLIENT_INFO = { name: 'mcp-by-hand-interop', version: '1.0.0' };
const TIMEOUT = { timeout: 15_000 };
const ANYTHING = z.looseObject({});

/** A client of either SDK, with what this judge asks of it. */
type Peer = {
  connect: () => Promise<void>;
  /** What the SDK says it has agreed on: for the first generation, the version alone. */
  agreed: () => { era: Era; version: unknown };
  capabilities: () => unknown;
  serverInfo: () => unknown;
  /** Asks through the SDK's own function for the method, where it has one that always asks. */
  ask: (method: string, params: JsonObject) => Promise<unknown>;
  close: () => Promise<void>;
  /** What the SDK reported through its error hooks. */
  errors: string[];
};

// The first generation has functions for what the second has too; what differs is the types.
type Client = FirstClient | SecondClient;

/** One way to connect, and what must come of it. */
type Mode = {
  name: string;
  era: Era;
  version: string;
  start: (command: string, args: string[]) => Peer;
};

const MODES: Mode[] = [
  { name: 'sdk-1.32.2', era: 'legacy', version: '2025-11-25', start: startFirst() },
  {
    // No SDK offers the modern version in the handshake, so this judge writes it into the offer:
    // the server must not agree to it.
    name: 'sdk-1.32.2-offers-modern', era: 'legacy', version: '2025-11-25',
    start: startFirst('2026-07-28'),
  },
  {
    name: 'sdk-2.4.0-legacy', era: 'legacy', version: '2025-11-25',
    start: startSecond({ versionNegotiation: { mode: 'legacy' } }),
  },
  {
    name: 'sdk-2.4.0-older', era: 'legacy', version: '2025-06-18',
    start: startSecond({ supportedProtocolVersions: ['2025-06-18'] }),
  },
  {
    name: 'sdk-2.4.0-auto', era: 'modern', version: '2026-07-28',
    start: startSecond({ versionNegotiation: { mode: 'auto' } }),
  },
  {
    name: 'sdk-2.4.0-pinned', era: 'modern', version: '2026-07-28',
    start: startSecond({ versionNegotiation: { mode: { pin: '2026-07-28' } } }),
  },
];

function startFirst(offer?: string) {
  return (command: string, args: string[]): Peer => {
    const client = new FirstClient(CLIENT_INFO);
    const transport = new FirstTransport({ command, args, stderr: 'inherit' });
    let version: unknown;
    // The first generation tells the version to its transport alone.
    Object.assign(transport, { setProtocolVersion: (agreed: string) => { version = agreed; } });
    if (offer !== undefined) rewriteOffer(transport, offer);
    return {
      ...peer(client),
      connect: () => client.connect(transport, TIMEOUT),
      agreed: () => ({ era: 'legacy', version }),
      ask: (method, params) => askFirst(client, method, params),
    };
  };
}

/** Writes another version into the client's `initialize` on its way out. */
function rewriteOffer(transport: FirstTransport, protocolVersion: string): void {
  const send = transport.send.bind(transport);
  transport.send = (message) => {
    if (!('method' in message) || message.method !== 'initialize') return send(message);
    return send({ ...message, params: { ...message.params, protocolVersion } });
  };
}

function startSecond(options: ClientOptions) {
  return (command: string, args: string[]): Peer => {
    const client = new SecondClient(CLIENT_INFO, options);
    const transport = new SecondTransport({ command, args, stderr: 'inherit' });
    return {
      ...peer(client),
      connect: () => client.connect(transport, TIMEOUT),
      agreed: () => ({
        era: client.getProtocolEra() as Era,
        version: client.getNegotiatedProtocolVersion(),
      }),
      ask: (method, params) => askSecond(client, method, params),
    };
  };
}

function peer(client: Client) {
  const errors: string[] = [];
  client.onerror = (error: Error) => errors.push(error.message);
  return {
    errors,
    capabilities: () => client.getServerCapabilities(),
    serverInfo: () => client.getServerVersion(),
    close: () => client.close(),
  };
}

/** Follows the pages of a list to the last; the second generation does so by itself. */
async function allPages(
  key: string,
  page: (params: { cursor?: string }) => Promise<JsonObject>,
): Promise<JsonObject> {
  const items: unknown[] = [];
  let result = await page({});
  for (let pages = 1; ; pages += 1) {
    items.push(...(result[key] as unknown[]));
    if (result.nextCursor === undefined) return { ...result, [key]: items };
    if (pages === 100) throw new Error(`${key}: 100 pages, and no end`);
    result = await page({ cursor: result.nextCursor as string });
  }
}

function askFirst(client: FirstClient, method: string, params: JsonObject): Promise<unknown> {
  const isWhole = Object.keys(params).length === 0; // with a cursor, one page is asked for
  const supports = client.getServerCapabilities() ?? {};
  switch (method) {
    case 'ping': return client.ping(TIMEOUT);
    case 'tools/call': return client.callTool(params as never, undefined, TIMEOUT);
    case 'resources/read': return client.readResource(params as never, TIMEOUT);
    case 'prompts/get': return client.getPrompt(params as never, TIMEOUT);
    case 'tools/list':
      if (isWhole && supports.tools) return allPages('tools', (p) => client.listTools(p, TIMEOUT));
      break;
    case 'prompts/list':
      if (isWhole && supports.prompts) {
        return allPages('prompts', (p) => client.listPrompts(p, TIMEOUT));
      }
      break;
    case 'resources/list':
      if (isWhole && supports.resources) {
        return allPages('resources', (p) => client.listResources(p, TIMEOUT));
      }
      break;
    case 'resources/templates/list':
      if (isWhole && supports.resources) {
        const page = (p: { cursor?: string }) => client.listResourceTemplates(p, TIMEOUT);
        return allPages('resourceTemplates', page);
      }
  }
  return client.request({ method, params } as never, ANYTHING as never, TIMEOUT);
}

function askSecond(client: SecondClient, method: string, params: JsonObject): Promise<unknown> {
  // Without this the SDK answers from its cache where the server's hints allow it.
  const options = { ...TIMEOUT, cacheMode: 'bypass' } as const;
  const list = Object.keys(params).length === 0 ? undefined : params;
  const supports = client.getServerCapabilities() ?? {};
  switch (method) {
    case 'ping':
      if (client.getProtocolEra() === 'legacy') return client.ping(TIMEOUT);
      break;
    case 'tools/call': return client.callTool(params as never, TIMEOUT);
    case 'resources/read': return client.readResource(params as never, options);
    case 'prompts/get': return client.getPrompt(params as never, TIMEOUT);
    // Where the capability is missing, these functions give an empty list and ask nobody.
    case 'tools/list':
      if (supports.tools) return client.listTools(list, options);
      break;
    case 'prompts/list':
      if (supports.prompts) return client.listPrompts(list, options);
      break;
    case 'resources/list':
      if (supports.resources) return client.listResources(list, options);
      break;
    case 'resources/templates/list':
      if (supports.resources) return client.listResourceTemplates(list, options);
  }
  return client.request({ method, params }, ANYTHING, TIMEOUT);
}

// ---------------------------------------------------------------------------------------------
// One conversation
// ---------------------------------------------------------------------------------------------

/** Holds the conversation of one contract in one mode, and judges what the SDK made of it. */
async function converse(
  stand: Stand,
  verdict: Verdict,
  folder: string,
  contract: Contract,
  mode: Mode,
): Promise<void> {
  const name = `${mode.name}/${contract.name}`;
  const record = join(folder, `${mode.era}-${mode.name}-${contract.name}`);
  const program = [serverFile(stand, contract.server), ...contract.args];
  const tap = [...RUNTIME_ARGUMENTS, join(INTEROP, 'tap.ts'), record, ...program];
  const peer = mode.start(process.execPath, tap);
  const refusals: Refusal[] = [];
  const spoken = listenToConsole();
  try {
    await peer.connect();
    const { era, version } = mode;
    verdict.check(`${name}: agreed`, mismatch({ era, version }, peer.agreed()));
    const { capabilities, serverInfo } = contract;
    verdict.check(`${name}: capabilities`, mismatch(capabilities, peer.capabilities()));
    verdict.check(`${name}: serverInfo`, mismatch(serverInfo, peer.serverInfo()));
    const versionStep = era === 'modern' ? [strangeVersion(contract)] : [];
    for (const step of [...contract.steps(), ...versionStep]) {
      verdict.check(`${name}: ${step.label}`, await ask(peer, step, mode.era, refusals));
    }
  } catch (error) {
    verdict.check(`${name}: the conversation`, String(error));
  } finally {
    await peer.close();
    spoken.stop();
  }
  verdict.check(`${name}: no error reported`, peer.errors[0]);
  verdict.check(`${name}: nothing logged`, spoken.lines[0]);
  judgeRecords(verdict, name, record, refusals, mode);
}

/** Speaks a version that nobody speaks: the SDK lets its caller overrule its own `_meta`. */
function strangeVersion({ steps }: Contract): Step {
  const method = steps()[0]?.method ?? ''; // a list
  const requested = '1999-01-01';
  const params = { _meta: { 'io.modelcontextprotocol/protocolVersion': requested } };
  const data = { supported: ['2026-07-28'], requested };
  const modern = { code: -32022, message: 'Unsupported protocol version', data };
  return { label: 'an unknown version', method, params, legacy: modern, modern, inspector: false };
}

/** A request that was meant to be refused: what was asked, and why it is refused. */
type Refusal = { method: string; params: JsonObject; reason: string };

// The second generation knows that this is gone, and does not ask: there is nothing to refuse.
const NOT_ASKED = 'METHOD_NOT_SUPPORTED_BY_PROTOCOL_VERSION';

/** Asks one thing, and says what is wrong with the answer. */
async function ask(
  peer: Peer,
  step: Step,
  era: Era,
  refusals: Refusal[],
): Promise<string | undefined> {
  const expected = step[era];
  const { method, params, label } = step;
  const isAsked = !(era === 'modern' && method === 'ping');
  if ('code' in expected && isAsked) refusals.push({ method, params, reason: label });
  try {
    return mismatchOfResult(expected, await peer.ask(method, params));
  } catch (thrown) {
    // The first generation puts the code into the message, before the server's words.
    const { code, message, data } = thrown as Error & { code?: unknown; data?: unknown };
    if (!isAsked) return code === NOT_ASKED ? undefined : `the SDK sent ${method}: ${message}`;
    const words = message.replace(/^MCP error -?\d+: /, '');
    return mismatchOfError(expected, { code, message: words, ...(data ? { data } : {}) }, era);
  }
}

/** Notes what is written through the console while an SDK is at work: it may complain there. */
function listenToConsole() {
  const { warn, error } = console;
  const lines: string[] = [];
  const note = (...words: unknown[]) => void lines.push(words.map(show).join(' '));
  Object.assign(console, { warn: note, error: note });
  return { lines, stop: () => void Object.assign(console, { warn, error }) };
}

/** Judges how the server processes ended, and marks what was sent to be refused. */
function judgeRecords(
  verdict: Verdict,
  name: string,
  record: string,
  refusals: Refusal[],
  mode: Mode,
): void {
  const all = readRecords(join(record, '..'));
  const records = all.filter(({ file }) => file.startsWith(`${record}-`));
  const isProbe = ({ crossings }: Conversation) =>
    crossings.every(({ from, line }) => from === 'server' || line.includes('"server/discover"'));
  // In modern the SDK starts the server twice: a probe, which asks for `server/discover` alone and
  // is ended with SIGTERM at once, and then the process that it stays with.
  const probes = mode.era === 'modern' ? records.filter(isProbe) : [];
  const processes = mode.era === 'modern' ? 2 : 1;
  verdict.that(`${name}: ${processes} processes`, records.length === processes, records.length);
  for (const one of records) {
    const { exitCode, signal, strayStdoutBytes, stderrBytes, wasTerminated } = one.ending;
    verdict.that(`${name}: exit code 0`, exitCode === 0 && signal === null, exitCode ?? signal);
    verdict.that(`${name}: nothing stray`, strayStdoutBytes + stderrBytes === 0, one.ending);
    if (!probes.includes(one)) verdict.that(`${name}: no force`, !wasTerminated, 'SIGTERM');
    if (!probes.includes(one)) markRefusals(verdict, name, one, refusals);
  }
}

/** Writes into a record which requests were meant to be refused, in the order they were sent. */
function markRefusals(
  verdict: Verdict,
  name: string,
  { file, crossings }: Conversation,
  refusals: Refusal[],
): void {
  const waiting = [...refusals];
  for (const crossing of crossings) {
    if (crossing.from !== 'client') continue;
    const message = JSON.parse(crossing.line) as JsonObject;
    const next = waiting[0];
    if (next?.method !== message.method || !isAbout(next?.params, message.params)) continue;
    crossing.expectsRefusal = next?.reason ?? null;
    waiting.shift();
  }
  const missing = waiting.map(({ reason }) => reason);
  verdict.that(`${name}: all refusals crossed the wire`, missing.length === 0, missing);
  writeFileSync(file, JSON.stringify(crossings, null, 2));
}

/** Are these the params that were asked for? The SDK adds `_meta`. */
function isAbout(asked: JsonObject | undefined, sent: unknown): boolean {
  const { _meta: _, ...rest } = asked ?? {};
  const { _meta: __, ...params } = isObject(sent) ? sent : {};
  return JSON.stringify(params) === JSON.stringify(rest);
}

export async function judge(stand: Stand, verdict: Verdict): Promise<void> {
  const folder = freshFolder(stand, 'sdk-clients');
  // One after the other: what an SDK logs can then be laid at the right door.
  const contracts = CONTRACTS.filter(({ server }) => isJudged(stand, server));
  for (const mode of MODES) {
    for (const contract of contracts) await converse(stand, verdict, folder, contract, mode);
  }
  verdict.counted = `${MODES.length * contracts.length} conversations`;
}
