/**
 * Copied alone: each server and client is put into each kind of folder that a reader may have, and
 * must run there. This process's own way of running TypeScript is used: tsx, or Node itself.
 */

import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import test, { type TestContext } from 'node:test';

import {
  KIT, type Outcome, isUnderTsx, listClients, listServers, makeTempFolder, runLine, runNode,
  tsxArguments, withoutNodeWarnings,
} from './testing.ts';

/** A kind of folder: what its package.json says, if it has one. */
type Kind = { name: string; prefix: string; manifest?: object };

const COMMONJS: Kind = {
  name: 'a folder that `npm init -y` made',
  prefix: 'mcp-by-hand-commonjs-',
  manifest: {
    name: 'empty',
    version: '1.0.0',
    description: '',
    main: 'index.js',
    scripts: { test: 'echo "Error: no test specified" && exit 1' },
    keywords: [],
    author: '',
    license: 'ISC',
    type: 'commonjs',
  },
};

const KINDS: Kind[] = [
  { name: 'a folder without package.json', prefix: 'mcp-by-hand-' },
  { name: 'a folder of ES modules', prefix: 'mcp-by-hand-', manifest: { type: 'module' } },
  { name: 'a path with a space', prefix: 'mcp by hand ' },
  COMMONJS,
];

// `server/discover` as a modern client sends it, and the `ping` of a legacy one.
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};
const REQUESTS = [
  { jsonrpc: '2.0', id: 1, method: 'server/discover', params: { _meta: META } },
  { jsonrpc: '2.0', id: 'two', method: 'ping' },
];

/** Makes a folder of one kind with copies in it, by the names that they get there. */
function makeFolder(t: TestContext, kind: Kind, copies: Record<string, string>): string {
  const folder = makeTempFolder(t, kind.prefix);
  for (const [name, file] of Object.entries(copies)) copyFileSync(file, join(folder, name));
  if (kind.manifest !== undefined) {
    writeFileSync(join(folder, 'package.json'), `${JSON.stringify(kind.manifest, null, 2)}\n`);
  }
  return folder;
}

/** Runs a file in a folder, as a reader does who has changed into it. */
function runIn(folder: string, args: string[], input = ''): Promise<Outcome> {
  return runNode([...(isUnderTsx() ? tsxArguments() : []), ...args], { cwd: folder, input });
}

/** Does Node refuse `import` in this kind of folder? With tsx it is never refused. */
function isRefused(kind: Kind): boolean {
  return kind === COMMONJS && !isUnderTsx();
}

function checkRefusal({ code, stderr }: Outcome): void {
  // Node's own words, which readers will search for.
  assert.match(stderr, /Cannot use import statement outside a module/);
  assert.notEqual(code, 0);
}

/** Is it one of the kit's own folders, as a server's `Run:` line may name one? */
function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

async function checkServer(t: TestContext, kind: Kind, file: string): Promise<void> {
  const name = basename(file);
  const folder = makeFolder(t, kind, { [name]: file });
  const input = REQUESTS.map((request) => `${JSON.stringify(request)}\n`).join('');
  const args = runLine(file);
  for (const argument of args) if (isFolder(join(KIT, argument))) mkdirSync(join(folder, argument));
  const outcome = await runIn(folder, [name, ...args], input);
  if (isRefused(kind)) return checkRefusal(outcome);

  assert.equal(withoutNodeWarnings(outcome.stderr), '');
  const replies = outcome.stdout.trimEnd().split('\n').map((line) => JSON.parse(line));
  const [discovery, pong] = REQUESTS.map(({ id }) => replies.find((reply) => reply.id === id));
  assert.deepEqual(discovery?.result?.supportedVersions, ['2026-07-28'], outcome.stdout);
  assert.deepEqual(pong, { jsonrpc: '2.0', id: 'two', result: {} });
  assert.equal(replies.length, 2);
  assert.equal(outcome.code, 0);
}

async function checkClient(t: TestContext, kind: Kind, file: string): Promise<void> {
  const name = basename(file);
  // Its server has its name; a client that has no server of its own talks to echo.
  const servers = new Map(listServers().map((server) => [basename(server), server]));
  const server = servers.get(name) ?? servers.get('echo.ts');
  assert.ok(server !== undefined, `there is no server for ${name}`);
  const folder = makeFolder(t, kind, { [name]: file, 'server.ts': server });
  const outcome = await runIn(folder, [name, 'server.ts']);
  if (isRefused(kind)) return checkRefusal(outcome);

  assert.equal(withoutNodeWarnings(outcome.stderr), '');
  assert.match(outcome.stdout, /\nresult: \d+ checks passed\n$/);
  assert.equal(outcome.code, 0);
}

async function checkClientWithoutServer(t: TestContext, kind: Kind, file: string): Promise<void> {
  const name = basename(file);
  const folder = makeFolder(t, kind, { [name]: file });
  const before = readdirSync(folder);
  const outcome = await runIn(folder, [name]);
  if (isRefused(kind)) return checkRefusal(outcome);

  assert.match(withoutNodeWarnings(outcome.stderr), /^.*\bpass\b.*\bserver\b.*\n/);
  assert.equal(outcome.stdout, '');
  assert.equal(outcome.code, 2);
  assert.deepEqual(readdirSync(folder), before); // nothing is left behind
}

for (const kind of KINDS) {
  const way = isUnderTsx() ? 'with tsx' : 'with Node alone';
  const where = `in ${kind.name}, ${way}${isRefused(kind) ? ', is refused' : ''}`;
  for (const file of listServers()) {
    test(`servers/${basename(file)} ${where}`, (t) => checkServer(t, kind, file));
  }
  for (const file of listClients()) {
    const name = `clients/${basename(file)}`;
    test(`${name} with its server ${where}`, (t) => checkClient(t, kind, file));
    test(`${name} without a server ${where}`, (t) => checkClientWithoutServer(t, kind, file));
  }
}
