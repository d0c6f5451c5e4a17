/**
 * Judge: clients/probe.ts on servers that nobody here wrote. What it prints with --json must be
 * what an official SDK's client finds out about the same server: the era, the name, and every entry
 * of every list. Of server-everything it also calls a tool, reads a resource and gets a prompt.
 *
 * What a foreign server writes to stderr is shown by the probe, and never judged.
 *
 * SPDX-License-Identifier: MIT
 */

import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import {
  type Era, type JsonObject, type Pattern, type Stand, type Verdict,
  INTEROP, isObject, KIT, mismatch, run, RUNTIME_ARGUMENTS,
} from './judging.ts';

const TIMEOUT = { timeout: 15_000, cacheMode: 'bypass' } as const;
const INFO = { name: 'mcp-by-hand-interop', version: '1.0.0' };
const LISTS = ['tools', 'resources', 'resourceTemplates', 'prompts'] as const;

/** One thing to do besides the inventory, and what the probe must print of it. */
type Task = { args: string[]; file?: JsonObject; says: RegExp[] };

/** A server, its era, and the number of entries of each list that it is known to have at least. */
type Foreign = {
  name: string;
  era: Era;
  command: (folder: string) => string[];
  least: Partial<Record<(typeof LISTS)[number], number>>;
  tasks?: Task[];
};

const reference = (name: string, file = 'index.js') =>
  join(INTEROP, 'node_modules', '@modelcontextprotocol', `server-${name}`, 'dist', file);
const peer = (name: string) =>
  [process.execPath, ...RUNTIME_ARGUMENTS, join(INTEROP, 'peers', `${name}.ts`)];

const SERVERS: Foreign[] = [
  {
    name: 'server-everything 2026.8.31', era: 'legacy',
    command: () => [process.execPath, reference('everything'), 'stdio'],
    least: { tools: 10, resources: 5, resourceTemplates: 2, prompts: 3 },
    tasks: [
      {
        args: ['--call', 'get-sum'], file: { a: 2, b: 40 }, says: [/^ {6}.*\b42\b/m],
      },
      {
        args: ['--call', 'get-tiny-image'],
        says: [/^ {2}text:$/m, /^ {2}image: image\/png, \d+ bytes$/m],
      },
      {
        args: ['--call', 'get-resource-links'],
        says: [/^ {2}resource link demo:\/\/resource\/dynamic\/.+$/m],
      },
      {
        args: ['--call', 'get-structured-content'], file: { location: 'Chicago' },
        says: [/^ {2}structured content:\n {6}\{$/m],
      },
      {
        args: ['--read', 'demo://resource/static/document/features.md'],
        says: [/^ {2}demo:\S+features\.md: text\/markdown, text\n {6}\S/m],
      },
      {
        args: ['--read', 'demo://resource/dynamic/blob/1'],
        says: [/^ {2}demo:\S+: \S+, \d+ bytes$/m],
      },
      {
        args: ['--prompt', 'args-prompt'], file: { city: 'Oslo' },
        says: [/^ {2}user:\n {2}text:\n {6}.*Oslo/m],
      },
      {
        args: ['--prompt', 'resource-prompt'], file: { resourceType: 'Text', resourceId: '1' },
        says: [/^ {2}embedded resource demo:\S+: text\/plain, text$/m],
      },
    ],
  },
  {
    name: 'server-filesystem 2026.8.31', era: 'legacy',
    command: (folder) => [process.execPath, reference('filesystem'), folder],
    least: { tools: 10 },
  },
  {
    name: 'server-memory 2026.8.31', era: 'legacy',
    command: () => [process.execPath, reference('memory')], least: { tools: 9 },
  },
  {
    name: 'server-sequential-thinking 2026.8.31', era: 'legacy',
    command: () => [process.execPath, reference('sequential-thinking')], least: { tools: 1 },
  },
  {
    name: 'notes with SDK 2.4.0', era: 'modern', command: () => peer('notes-gen2'),
    least: { tools: 1, resources: 1 },
    tasks: [
      { args: ['--read', 'notes://all'], says: [/^ {2}notes:\/\/all: application\/json, text$/m] },
    ],
  },
  {
    name: 'echo with SDK 2.4.0', era: 'modern', command: () => peer('echo-gen2'),
    least: { tools: 1 },
    tasks: [{ args: ['--call', 'echo'], file: { text: 'hi' }, says: [/^ {6}echo: hi$/m] }],
  },
  {
    name: 'echo with SDK 1.32.2', era: 'legacy', command: () => peer('echo-gen1'),
    least: { tools: 1 },
  },
];

/** What the SDK's client finds out about a server; it decides the era by itself, too. */
async function askSdk([command = '', ...args]: string[]): Promise<JsonObject> {
  const client = new Client(INFO, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new StdioClientTransport({ command, args, stderr: 'ignore' }), TIMEOUT);
  try {
    const { tools, resources, prompts } = client.getServerCapabilities() ?? {};
    return {
      era: client.getProtocolEra(),
      spoken: client.getNegotiatedProtocolVersion(),
      serverInfo: client.getServerVersion(),
      capabilities: client.getServerCapabilities(),
      instructions: client.getInstructions() ?? null,
      tools: tools ? (await client.listTools(undefined, TIMEOUT)).tools : [],
      resources: resources ? (await client.listResources(undefined, TIMEOUT)).resources : [],
      resourceTemplates: resources
        ? (await client.listResourceTemplates(undefined, TIMEOUT)).resourceTemplates : [],
      prompts: prompts ? (await client.listPrompts(undefined, TIMEOUT)).prompts : [],
    };
  } finally {
    await client.close();
  }
}

/** Runs the probe on a server, as a learner does. */
function probe(args: string[], command: string[]) {
  const script = join(KIT, 'clients', 'probe.ts');
  return run(process.execPath, [...RUNTIME_ARGUMENTS, script, ...args, '--', ...command]);
}

/** Compares the inventory of one server with what the SDK lists. */
async function compare(verdict: Verdict, server: Foreign, command: string[]): Promise<void> {
  const { name, era, least } = server;
  const { code, stdout, stderr } = await probe(['--json'], command);
  const account: unknown = code === 2 ? undefined : JSON.parse(stdout);
  if (!verdict.that(`${name}: the probe`, isObject(account), stderr) || !isObject(account)) return;
  verdict.that(`${name}: ${era}`, account.era === era, account.reason);
  verdict.check(`${name}: no finding`, mismatch([], account.findings));
  verdict.that(`${name}: exit code 0`, code === 0, code);
  const sdk = await askSdk(command);
  const versions = isObject(account.versions) ? account.versions : {};
  verdict.check(`${name}: the era, as the SDK says`, mismatch(sdk.era as Pattern, account.era));
  verdict.check(`${name}: version`, mismatch(sdk.spoken as Pattern, versions.spoken));
  for (const member of ['serverInfo', 'capabilities', 'instructions', ...LISTS]) {
    const [ours, theirs] = [account[member], sdk[member]].map(sortEntries);
    verdict.check(`${name}: ${member}`, mismatch(theirs as Pattern, ours));
  }
  for (const [member, count] of Object.entries(least)) {
    const { length = 0 } = account[member] as unknown[];
    verdict.that(`${name}: ${count} ${member} or more`, length >= count, length);
  }
}

/** A list by the names of its entries: that it comes in one order is asked of nobody. */
function sortEntries(value: unknown): unknown {
  const key = (one: unknown) => JSON.stringify(one);
  return Array.isArray(value) ? value.toSorted((a, b) => (key(a) < key(b) ? -1 : 1)) : value;
}

export async function judge(_stand: Stand, verdict: Verdict): Promise<void> {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'mcp by hand '));
  let tasks = 0;
  try {
    for (const server of SERVERS) {
      const command = server.command(folder);
      await compare(verdict, server, command);
      for (const { args, file, says } of server.tasks ?? []) {
        const path = join(folder, 'arguments.json');
        if (file !== undefined) writeFileSync(path, JSON.stringify(file));
        const given = file === undefined ? [] : ['--args', path];
        const { code, stdout, stderr } = await probe(['--quiet', ...args, ...given], command);
        const label = `${server.name}: ${args.join(' ')}`;
        verdict.that(`${label}: exit code 0`, code === 0, stdout.slice(-400) + stderr);
        for (const pattern of says) {
          verdict.that(`${label}: ${pattern}`, pattern.test(stdout), stdout.slice(-400));
        }
        tasks += 1;
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
  verdict.counted = `${SERVERS.length} servers, ${tasks} calls, reads and prompts`;
}
