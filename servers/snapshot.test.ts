/**
 * What the client's stories do not reach: how the server is called, that no other read than the
 * one of its scenario changes anything, that both eras see the same data, and odd arguments.
 */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';

import { KIT, isUnderTsx, runNode, tsxArguments, withoutNodeWarnings } from '../scripts/testing.ts';

type Reply = {
  id: number;
  result?: { contents?: { uri: string; text: string }[]; ttlMs?: number; messages?: unknown[] };
  error?: { code: number; message: string; data?: unknown };
};

const MODERN = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};
const MANIFEST = 'project://atlas/manifest';
const UNAVAILABLE = 'Snapshot unavailable; reacquire the whole bundle';
const UNCLEAR = 'Supply exactly one revision';

const client = { capabilities: {}, clientInfo: { name: 'test', version: '1' } };
const HELLO = ask('initialize', { protocolVersion: '2025-11-25', ...client });

function ask(method: string, params: object): string {
  return `"method":${JSON.stringify(method)},"params":${JSON.stringify(params)}`;
}

const read = (path: string, more = {}): string =>
  ask('resources/read', { uri: `project://atlas/${path}`, ...more });

/** Starts the server, sends it the requests with ids from 0 on, and gives the replies by id. */
async function converse(scenario: string, requests: string[]): Promise<Reply[]> {
  const lines = requests.map((request, id) => `{"jsonrpc":"2.0","id":${id},${request}}\n`);
  const { code, stdout, stderr } = await start([scenario], lines.join(''));
  assert.equal(withoutNodeWarnings(stderr), '');
  assert.equal(code, 0);
  const replies = stdout.trimEnd().split('\n').map((line) => JSON.parse(line) as Reply);
  return replies.sort((a, b) => a.id - b.id);
}

function start(args: string[], input = '') {
  const file = join(KIT, 'servers', 'snapshot.ts');
  return runNode([...(isUnderTsx() ? tsxArguments() : []), file, ...args], { input });
}

function textOf(reply: Reply | undefined): string | undefined {
  return reply?.result?.contents?.[0]?.text;
}

for (const args of [[], [''], ['Mixed'], ['stale'], ['mixed', 'expired'], ['toString']]) {
  test(`called with ${JSON.stringify(args)}: usage and exit code 2`, async () => {
    const { code, stdout, stderr } = await start(args);
    assert.equal(withoutNodeWarnings(stderr), 'Usage: npx tsx servers/snapshot.ts mixed|expired\n');
    assert.equal(stdout, '');
    assert.equal(code, 2);
  });
}

test('mixed: nothing but latest/requirements changes anything, and that not when refused', async () => {
  const prompt = ask('prompts/get', { name: 'review-snapshot', arguments: { revision: 'r2' } });
  const others = [read('latest/design'), read('r1/requirements'), read('r2/requirements'), prompt];
  const refused = [read('latest/requirements?'), read('latest/requirements', { _meta: 1 })];
  const replies = await converse('mixed', [HELLO, ...others, ...refused, read('manifest')]);
  assert.match(textOf(replies[1]) ?? '', /^D3: availability cache/);
  assert.equal(textOf(replies[3]), 'R2: cancellation visible immediately.\n'); // r2, before its time
  assert.equal(replies[4]?.result?.messages?.length, 3);
  assert.equal(replies[5]?.error?.code, -32002);
  assert.equal(replies[6]?.error?.code, -32602);
  assert.match(textOf(replies[7]) ?? '', /"r1"/);
});

test('expired: r1 is there until the first manifest was read', async () => {
  const requests = [read('r1/design'), read('latest/requirements'), read('latest/design')];
  const replies = await converse('expired', [HELLO, ...requests, read('manifest'), ...requests]);
  assert.match(textOf(replies[1]) ?? '', /^D3: availability cache/);
  assert.match(textOf(replies[2]) ?? '', /300 seconds/);
  assert.match(textOf(replies[3]) ?? '', /300 seconds/);
  assert.equal(textOf(replies[4]), JSON.stringify({
    revision: 'r1',
    uris: ['project://atlas/r1/requirements', 'project://atlas/r1/design'],
  }));
  assert.deepEqual(replies[5]?.error, { code: -32002, message: UNAVAILABLE });
  assert.match(textOf(replies[6]) ?? '', /immediately/);
  assert.match(textOf(replies[7]) ?? '', /immediately/);
});

test('expired: both eras see the same data', async () => {
  const modern = { _meta: MODERN };
  const requests = [read('manifest', modern), HELLO, read('r1/design'), read('r1/design', modern)];
  const replies = await converse('expired', [...requests, read('manifest')]);
  assert.match(textOf(replies[0]) ?? '', /"r1"/);
  assert.deepEqual(replies[2]?.error, { code: -32002, message: UNAVAILABLE });
  const data = { reason: 'snapshot-unavailable', uri: 'project://atlas/r1/design' };
  assert.deepEqual(replies[3]?.error, { code: -32602, message: UNAVAILABLE, data });
  assert.match(textOf(replies[4]) ?? '', /"r2"/);
});

test('read: a uri that is no string is -32602; one of prototypes is not found', async () => {
  const odd = [null, 7, ['project://atlas/manifest'], { uri: MANIFEST }].map((uri) =>
    ask('resources/read', { uri }));
  const none = ['__proto__', 'toString', '', 'latest', 'latest/', 'latest/latest/design', 'gone']
    .map((path) => read(path));
  const replies = await converse('mixed', [HELLO, ask('resources/read', {}), ...odd, ...none]);
  const codes = replies.slice(1).map(({ error }) => error?.code);
  assert.deepEqual(codes, [...Array(5).fill(-32602), ...Array(7).fill(-32002)]);
});

test('prompt: what is not exactly one revision, and what is none', async () => {
  const name = '"name":"review-snapshot"';
  const unclear = [
    name, `${name},"arguments":null`, `${name},"arguments":[]`, `${name},"arguments":"r1"`,
    `${name},"arguments":{"revision":null}`, `${name},"arguments":{"revision":["r1"]}`,
    `${name},"arguments":{"__proto__":{"revision":"r1"}}`,
    `${name},"arguments":{"revision":"r1","__proto__":"r1"}`,
    '"arguments":{"revision":"r1"}', '"name":7,"arguments":{"revision":"r1"}',
    '"name":["review-snapshot"],"arguments":{"revision":"r1"}',
  ];
  const unavailable = ['', 'R1', ' r1', 'r1/', 'r1,r2', 'constructor', '__proto__', '../atlas/r1']
    .map((revision) => `${name},"arguments":{"revision":${JSON.stringify(revision)}}`);
  const requests = [...unclear, ...unavailable]
    .map((params) => `"method":"prompts/get","params":{${params}}`);
  const replies = await converse('mixed', [HELLO, ...requests]);
  const errors = replies.slice(1).map(({ error }) => error);
  assert.deepEqual(errors, [
    ...unclear.map(() => ({ code: -32602, message: UNCLEAR })),
    ...unavailable.map(() => ({ code: -32002, message: UNAVAILABLE })),
  ]);
});
