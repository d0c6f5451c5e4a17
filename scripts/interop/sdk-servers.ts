/**
 * Judge: our echo and notes clients hold their whole conversation with servers that the official
 * SDKs make (peers/). A check of ours that such a server does not meet must stand in the list
 * below, with its reason; anything else is a bug of ours, and so is an entry that no longer occurs.
 *
 * SPDX-License-Identifier: MIT
 */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import {
  type Era, type JsonObject, type Stand, type Verdict,
  freshFolder, INTEROP, isObject, KIT, mismatch, run, RUNTIME_ARGUMENTS,
} from './judging.ts';

/**
 * Why a check of ours fails with a peer:
 * - `stricter`: the page leaves this open; our contract does not
 * - `other`: our contract is other than the page, on purpose, and the peer follows the page
 * - `departs`: the peer departs from the page
 */
type Kind = 'stricter' | 'other' | 'departs';

/** A check that fails: its label, what came instead, and why that is no bug of ours. */
type Difference = { label: string; came: RegExp; kind: Kind; why: string };

/** One story of one client with one peer. */
type Conversation = { client: string; peer: string; era: Era; differences: Difference[] };

const NOTHING = /^nothing$/; // a result came where an error is expected: so there is no code

const OWN_WORDS = 'the page fixes no wording; ours is the contract';

/** 2025-11-25/server/tools, "Error Handling": a bad argument is reported with `isError`. */
function badArgument(what: string, contract: string): Difference[] {
  const why = 'echo and notes keep the -32602 of 2025-06-18; 2025-11-25 has a result with isError';
  return [
    { label: `${what}: -32602 (contract of ${contract})`, came: NOTHING, kind: 'other', why },
    { label: `${what}: the message (contract of ${contract})`, came: NOTHING, kind: 'other', why },
  ];
}

const badArgumentText = (label: string): Difference =>
  ({ label, came: /^Input validation error: /, kind: 'stricter', why: OWN_WORDS });

// 2025-11-25/server/tools, "Error Handling", on protocol errors: "Unknown tools".
const UNKNOWN_TOOL_IN_RESULT: Difference = {
  label: 'unknown tool: -32602',
  came: NOTHING,
  kind: 'departs',
  why: '@modelcontextprotocol/sdk 1.32.2 answers an unknown tool with a result, isError',
};

/**
 * 2026-07-28/basic/versioning, on a version that a server does not implement: it "MUST respond with
 * an UnsupportedProtocolVersionError".
 */
function noVersionCheck(): Difference[] {
  const why = '@modelcontextprotocol/server 2.4.0 looks at the version of the first message alone';
  const data = ['data.requested', 'data.supported has a version we speak'];
  return ['unknown version: -32022', ...data].map((label) =>
    ({ label, came: NOTHING, kind: 'departs', why }));
}

const TEMPLATES_OFFERED: Difference = {
  label: 'no templates: -32601 (contract of notes)',
  came: NOTHING,
  kind: 'stricter',
  why: 'a server with resources may have templates; the SDKs answer with an empty list',
};

const unknownResource = (came: RegExp): Difference =>
  ({ label: 'unknown resource: the message', came, kind: 'stricter', why: OWN_WORDS });

const CONVERSATIONS: Conversation[] = [
  {
    client: 'echo', peer: 'echo-gen1', era: 'legacy',
    differences: [UNKNOWN_TOOL_IN_RESULT, ...badArgument('bad argument', 'echo')],
  },
  {
    client: 'echo', peer: 'echo-gen2', era: 'legacy',
    differences: badArgument('bad argument', 'echo'),
  },
  {
    client: 'echo', peer: 'echo-gen2', era: 'modern',
    differences: [
      ...noVersionCheck(),
      badArgumentText('bad argument: the text (contract of echo)'),
    ],
  },
  {
    client: 'notes', peer: 'notes-gen1', era: 'legacy',
    differences: [
      ...badArgument('bad tag', 'notes'), TEMPLATES_OFFERED,
      unknownResource(/^MCP error -32602: Resource notes:\/\/none not found$/),
    ],
  },
  {
    client: 'notes', peer: 'notes-gen2', era: 'legacy',
    differences: [
      ...badArgument('bad tag', 'notes'), TEMPLATES_OFFERED,
      unknownResource(/^Resource not found: notes:\/\/none$/),
    ],
  },
  {
    client: 'notes', peer: 'notes-gen2', era: 'modern',
    differences: [
      ...noVersionCheck(),
      badArgumentText('bad tag: the text (contract of notes)'),
    ],
  },
];

/** A check that failed, as the client printed it. */
type Failed = { label: string; came: string };

/** Finds the failed checks in what a client printed. */
export function failedChecks(stdout: string): Failed[] {
  const found = stdout.matchAll(/^FAIL {2}(.*)\n {6}expected: .*\n {6}came: +(.*)$/gm);
  return [...found].map(([, label = '', came = '']) => ({ label, came }));
}

/** Holds one conversation, and compares what failed with the list. */
async function converse(
  verdict: Verdict,
  folder: string,
  { client, peer, era, differences }: Conversation,
): Promise<void> {
  const name = `${client} with ${peer}, ${era}`;
  const save = join(folder, `${client}-with-${peer}`);
  const args = [join(KIT, 'clients', `${client}.ts`), '--era', era, '--save', save];
  const server = join(INTEROP, 'peers', `${peer}.ts`);
  const outcome = await run(process.execPath, [...RUNTIME_ARGUMENTS, ...args, '--', server]);

  verdict.that(`${name}: exit code 1`, outcome.code === (differences.length > 0 ? 1 : 0), outcome);
  const failed = failedChecks(outcome.stdout);
  const results = readResults(join(save, 'results.json'));
  verdict.check(`${name}: each failure is read`, mismatch(failed.length, results.failed));
  verdict.checks += Number(results.passed); // what our client found right about the peer

  for (const { label, came } of failed) {
    const entry = differences.find((one) => one.label === label && one.came.test(came));
    verdict.that(`${name}: a difference that is not in the list: ${label}`, !!entry, came);
  }
  for (const { label, came, kind } of differences) {
    const occurs = failed.some((one) => one.label === label && came.test(one.came));
    const problem = occurs ? undefined : `no longer occurs: take it out of the list (${kind})`;
    verdict.check(`${name}: ${label}`, problem);
  }
}

function readResults(file: string): JsonObject {
  const results: unknown = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
  return isObject(results) ? results : { failed: 'no results.json', passed: 0 };
}

export async function judge(stand: Stand, verdict: Verdict): Promise<void> {
  const folder = freshFolder(stand, 'sdk-servers');
  for (const conversation of CONVERSATIONS) await converse(verdict, folder, conversation);
  const all = CONVERSATIONS.flatMap(({ differences }) => differences);
  const count = (kind: Kind) => all.filter((one) => one.kind === kind).length;
  verdict.counted = `${CONVERSATIONS.length} conversations; differences: ` +
    `${count('stricter')} our contract stricter than the page, ` +
    `${count('other')} other than the page, ${count('departs')} the peer departs from it`;
  for (const why of new Set(all.map((one) => `${one.kind}: ${one.why}`))) verdict.notes.push(why);
}
