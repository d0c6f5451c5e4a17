/**
 * Tests of the probe: the decision of the era, the lists, what is asked for, how all is shown, how
 * the probe is called. The servers are scripts/probe-fakes.mjs, each right but for what its name
 * says, and the kit's own. The probe is compiled once: Node starts that in a quarter of the time.
 */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import test, { after } from 'node:test';
import type { TestContext } from 'node:test';

import { compile, findSurvivors, RUNTIME, startClient } from '../scripts/client-wire.ts';
// @ts-expect-error: plain JavaScript, which has no types
import { BAD_ENTRIES as BAD, HOSTILE as EVIL, SCENARIOS as ALL } from '../scripts/probe-fakes.mjs';
import {
  KIT, listServers, makeTempFolder, runLine, runNode, withoutNodeWarnings,
} from '../scripts/testing.ts';
import type { Outcome } from '../scripts/testing.ts';

const SOURCE = join(KIT, 'clients', 'probe.ts');
const FAKES = join(KIT, 'scripts', 'probe-fakes.mjs');
const [BAD_ENTRIES, HOSTILE] = [BAD as Record<string, unknown[]>, EVIL as string];
const NO_SIGNALS = process.platform === 'win32' && 'there are no signals on Windows';

const folder = makeTempFolder({ after });
const compiled = compile([SOURCE], folder);

/** One visit: how it ended, the labels of its FAIL lines, and what each server process heard. */
type Visit = Outcome & { fails: string[]; heard: string[][]; diary: string };

/** Runs the probe on a fake server, and looks at what must hold of each visit. */
async function visit(t: TestContext, scenario: string, args: string[] = []): Promise<Visit> {
  await compiled;
  const diary = makeTempFolder(t);
  const command = [process.execPath, FAKES, diary, scenario];
  const outcome = await runNode([join(folder, 'probe.js'), ...args, '--', ...command]);
  assert.deepEqual(await findSurvivors(diary), [], 'no process is left');
  const fails = [...outcome.stdout.matchAll(/^FAIL {2}(.*)$/gm)].map(([, label = '']) => label);
  const heard = readdirSync(diary)
    .map((file) => readFileSync(join(diary, file), 'utf8').split('\n').slice(0, -1));
  if (!args.includes('--json')) assert.deepEqual(lookAt(outcome, fails), [], outcome.stdout);
  return { ...outcome, fails, heard, diary };
}

// What no terminal may get: what steers it, and what nobody sees.
const STRANGE = /[^\P{C}\n]|[\u2028\u2029\u2800]|\p{DI}/u;

// Each line that may stand at the left edge, or is indented; what a server says is never alone.
const LINES = new RegExp([
  '== probe: what is this server\\? ==', '\\$ .+', '\\d+\\. .+', '--> .+', '<-- .+', 'FAIL {2}.*',
  ' {4}\\| .*', ' {2,}\\S.*', 'FAIL', 'result: .*', '(?:This server is|Taken for) .*',
  'It .*', 'Both know .*',
  'The probe ended it: .*',
  'The tool says .*', '(?:tools|resources|resource templates|prompts): \\d+',
  '(?:content|contents|messages): none',
].map((line) => `^${line}$`).join('|') + '|^$');

/** Looks at what must hold of all that the probe prints; gives what does not. */
function lookAt({ stdout, stderr, code }: Outcome, fails: string[]): string[] {
  const complaints: string[] = [];
  const lines = stdout.split('\n');
  if (withoutNodeWarnings(stderr) !== '') complaints.push(`stderr: ${stderr}`);
  const said = /\nresult: (?:(\d+) of \d+ checks failed|\d+ checks passed)\n$/.exec(stdout);
  const failed = Number(said?.[1] ?? 0);
  // Of a thousand findings more, only the count is told.
  const isCounted = fails.length > 1000 ? failed > 1000 : failed === fails.length;
  const isBare = lines.filter((line) => line === 'FAIL').length; // a label that needs a line
  if (said === null || !(isCounted || failed === fails.length + isBare)) complaints.push('count');
  if (code !== (failed > 0 ? 1 : 0)) complaints.push(`exit code ${code}`);
  if (STRANGE.test(stdout)) complaints.push('a strange character');
  if (lines.filter((line) => line.startsWith('result: ')).length !== 1) complaints.push('results');
  complaints.push(...lines.filter((line) => !LINES.test(line)).map((line) => `odd: ${line}`));
  // The decision is a sentence of the probe's alone: a terminal may break it.
  const own = lines.filter((line) => !/^(?:-->|<--|\$) /.test(line));
  complaints.push(...own.filter((line) => line.length > 100).map((line) => `too long: ${line}`));
  return complaints;
}

/** What a fake heard, by method; an answer of the probe's stands in brackets. */
function methods(heard: string[][]): string[] {
  const nameOf = (line: string) => {
    const { method, error, result } = JSON.parse(line);
    return method ?? `[${error?.code ?? JSON.stringify(result)}]`;
  };
  return heard.map((lines) => lines.map(nameOf).join(' ')).sort();
}

type Case = {
  args?: string[];
  fails?: (string | RegExp)[];
  says?: RegExp[];
  heard?: string[];
};

/** Holds the cases of a table against the fakes that have their names. */
function table(title: string, cases: Record<string, Case>): void {
  test(title, { concurrency: 3 }, async (t) => {
    await Promise.all(Object.entries(cases).map(([name, expected]) => t.test(name, async (t) => {
      // A name may add, after a colon, what is done with its scenario.
      const scenario = name.replace(/:.*/, '');
      const { args = [], fails = [], says = [], heard } = expected;
      const came = await visit(t, scenario, args);
      const context = came.stdout;
      assert.equal(came.fails.length, fails.length, context);
      for (const [index, label] of fails.entries()) {
        if (typeof label === 'string') assert.equal(came.fails[index], label, context);
        else assert.match(came.fails[index] ?? '', label, context);
      }
      for (const pattern of says) assert.match(context, pattern);
      if (heard) assert.deepEqual(methods(came.heard), heard, context);
    })));
  });
}

const LISTS = 'tools/list resources/list resources/templates/list prompts/list';
const MODERN = `server/discover ${LISTS}`;
const SESSION = `initialize notifications/initialized ${LISTS}`;
const LEGACY = `server/discover ${SESSION}`;
const QUICK = ['--probe-timeout', '300'];

const line = (text: string) => new RegExp(`^${text}$`, 'm');
const isModern =
  line('This server is modern: it answered server/discover with its supportedVersions\\.');
const wrapped = (text: string) => line(text.replaceAll(' ', '\\s+'));
const isDamaged = wrapped('This server is modern: it answered server/discover with its ' +
  'supportedVersions, though that answer is not sound\\.');
const isDamagedRefusal = wrapped('This server is modern: it refused server/discover with -32022, ' +
  'UnsupportedProtocolVersion, though that answer is not sound\\.');
const isUnsound =
  line('Taken for legacy: its answer to server/discover is no sound response\\.');
const refused = (code: number) =>
  line(`This server is legacy: it refused server/discover with ${code}, no modern error\\.`);
const unanswered =
  line('Taken for legacy: it did not answer server/discover: nothing within 300 ms\\.');
const isLate = (method: string) =>
  line(` {6}\\(it answers ${method} after its deadline, and is ignored[^)]*\\)`);

// ---------------------------------------------------------------------------------------------
// The era
// ---------------------------------------------------------------------------------------------

table('the era', {
  'modern': { says: [isModern, /^ {2}version: 2026-07-28$/m], heard: [MODERN] },
  'both': { says: [isModern], heard: [MODERN] },
  'legacy': { says: [refused(-32601), /^ {2}version: 2025-11-25$/m], heard: [LEGACY] },
  'several versions': {
    says: [/version: 2026-07-28; also 2099-01-01, 2025-11-25$/m], heard: [MODERN],
  },
  'another modern version': {
    says: [isModern, /expected: one of 2026-07-28\n +came: +\["2099-01-01"\]/],
    fails: ['a version that both speak'], heard: ['server/discover'],
  },
  'no version at all': { fails: ['a version that both speak'], heard: ['server/discover'] },
  'only a legacy version': {
    says: [isModern, /one of 2026-07-28 \(.*--era legacy may help\)\n +came: +\["2025-11-25"\]/],
    fails: ['a version that both speak'], heard: ['server/discover'],
  },
  'versions that are no strings': {
    says: [isModern], fails: ['a version that both speak'], heard: ['server/discover'],
  },
  'unsupported, then supported': {
    says: [/^This server is modern: .*-32022, UnsupportedProtocolVersion\.$/m,
      /^Both know 2026-07-28: it is asked again\.$/m, /^ {2}good$/m],
    heard: [`server/discover ${MODERN}`],
  },
  'unsupported for ever': {
    says: [/came: +error -32022 \(UnsupportedProtocolVersion\): Old/],
    fails: ['server/discover'], heard: ['server/discover server/discover'],
  },
  'unsupported, another': {
    says: [/--era legacy may help\)\n +came: +\["2099-01-01","2025-11-25"\]/],
    fails: ['a version that both speak'], heard: ['server/discover'],
  },
  'unsupported, no data': {
    says: [/^This server is modern/m, /an array of versions\n +came: +nothing/],
    fails: ['data.supported'], heard: ['server/discover'],
  },
  'unsupported, a text for a list': { fails: ['data.supported'], heard: ['server/discover'] },
  'header mismatch': {
    says: [/^This server is modern: .*-32020, HeaderMismatch\.$/m, /came: +error -32020 \(Header/],
    fails: ['server/discover'], heard: ['server/discover'],
  },
  'missing capability': {
    says: [/^This server is modern/m, /\(MissingRequiredClientCapability\): Poor,/, /"elicitation/],
    fails: ['server/discover'], heard: ['server/discover'],
  },
  ...Object.fromEntries([-32601, -32602, -32600, -32000, -32002, -32050, 1].map((code) =>
    [`refused with ${code}`, { says: [refused(code)], heard: [LEGACY] }])),
  'an empty result': { says: [/is legacy: .* lists no supportedVersions\.$/m], heard: [LEGACY] },
  'a text for versions': { says: [/lists no supportedVersions\.$/m], heard: [LEGACY] },
  'silence on the probe': { args: QUICK, says: [unanswered], heard: [LEGACY] },
  'death on the probe': {
    says: [/for legacy: it did not answer server\/discover: it ended with the code 3\.$/m,
      /^It is started once more, and greeted with initialize at once\.$/m],
    heard: [SESSION, 'server/discover'],
  },
  'a refusal, then death': {
    says: [refused(-32600), /^The probe ended it: it is started once more, and greeted with init/m],
    heard: [SESSION, 'server/discover'],
  },
  // Once more, and not for ever.
  'a refusal, then death, on everything': {
    says: [/came: +it ended with the code 4$/m], fails: ['initialize'],
    heard: ['initialize', 'server/discover'],
  },
  'stdout closed on the probe': {
    says: [/server\/discover: it closed its output\.$/m], heard: [SESSION, 'server/discover'],
  },
  'death on everything': {
    says: [/came: +it ended with the code 4$/m], fails: ['initialize'],
    heard: ['initialize', 'server/discover'],
  },
  'death on everything, with last words': {
    says: [/^ {4}\| no configuration$/m,
      /with the code 4; its last words on stderr: no configuration$/m],
    fails: ['initialize'],
  },
  'a late answer before the handshake': {
    args: QUICK, says: [unanswered, isLate('server/discover')], heard: [LEGACY],
  },
  'a late answer after the handshake': {
    args: QUICK, says: [unanswered, isLate('server/discover')], heard: [LEGACY],
  },
  'garbage, then silence': {
    args: QUICK, says: [unanswered, /one line of JSON\n +came: +hello, I am a server$/m],
    fails: ['a message'], heard: [LEGACY],
  },
  'garbage, then an answer': {
    says: [isModern, /came: +\[1,$/m, /came: +hello$/m], fails: ['a message', 'a message'],
    heard: [MODERN],
  },
  'a banner': { says: [refused(-32601)], fails: ['a message'], heard: [LEGACY] },
  'a wrong id': { args: QUICK, says: [/the id \d$/m], fails: ['a message'], heard: [LEGACY] },
  'a string id': { args: QUICK, fails: ['a message'], heard: [LEGACY] },
  // What only a modern server says makes it one, whatever else is wrong with the answer.
  'result and error': {
    says: [isDamaged, /expected: one of result and error$/m],
    fails: ['a message'], heard: ['server/discover'],
  },
  'jsonrpc 1.0': {
    says: [isDamaged, /expected: jsonrpc "2.0"$/m],
    fails: ['a message'], heard: ['server/discover'],
  },
  'a result beside a null': {
    says: [isDamaged], fails: ['a message'], heard: ['server/discover'],
  },
  'unsupported, a message that is no text': {
    says: [isDamagedRefusal], fails: ['a message'], heard: ['server/discover'],
  },
  'unsupported, no message': {
    says: [isDamagedRefusal], fails: ['a message'], heard: ['server/discover'],
  },
  'a broken code': { says: [isUnsound], fails: ['a message'], heard: [LEGACY] },
  'an error without a code': { says: [isUnsound], fails: ['a message'], heard: [LEGACY] },
  'a result that is an array': { fails: ['a message'], heard: [LEGACY] },
  'deep nesting': { args: QUICK, fails: ['a message'], heard: [LEGACY] },
  'a second answer': { says: [isModern], fails: ['a message'], heard: [MODERN] },
  'notifications at any time': { says: [isModern], heard: [MODERN] },
  'a last line without an end': {
    says: [/a newline at its end\n +came: +bye$/m], fails: ['a message'], heard: [MODERN],
  },
  'both: --era legacy': {
    args: ['--era', 'legacy'], says: [/^This server is legacy: --era legacy says so\.$/m],
    heard: [SESSION],
  },
  'both: --era modern': {
    args: ['--era', 'modern'], says: [/--era modern says so/], heard: [MODERN],
  },
  'legacy: --era modern': {
    args: ['--era', 'modern'], says: [/came: +error -32601: Method not found$/m],
    fails: ['server/discover'], heard: ['server/discover'],
  },
  'modern: --era legacy': {
    args: ['--era', 'legacy'], fails: ['initialize'], heard: ['initialize'],
  },
  'death on the probe: --era modern': {
    args: ['--era', 'modern'], fails: ['server/discover'], heard: ['server/discover'],
  },
  'an empty result: --era modern': {
    args: ['--era', 'modern'], fails: ['server/discover: resultType', 'supportedVersions'],
  },
});

test('death by a signal on the probe', { skip: NO_SIGNALS }, async (t) => {
  const { stdout, heard } = await visit(t, 'death by a signal on the probe');
  assert.match(stdout, /server\/discover: it was ended by SIGKILL\.$/m);
  assert.deepEqual(methods(heard), [SESSION, 'server/discover']);
});

test('death on the probe, though what the server started holds its pipes', async () => {
  await compiled;
  const child = `['-e', 'setTimeout(() => {}, 30_000)'], { stdio: 'inherit' }`;
  const server = `require('node:child_process').spawn(process.execPath, ${child});
    setTimeout(() => process.exit(3), 300);`;
  const { stdout, code } = await runNode([
    join(folder, 'probe.js'), '--probe-timeout', '30000', '--', process.execPath, '-e', server,
  ]);
  assert.match(stdout, /^Taken for legacy: .*: it ended with the code 3\.$/m);
  assert.match(stdout, /^It is started once more, and greeted with initialize at once\.$/m);
  assert.equal(code, 1);
});

test('answers that come when the input ends: a hint at the flush', async () => {
  await compiled;
  const server = `let text = '';
    process.stdin.on('data', (piece) => (text += piece)).on('end', () => {
      for (const line of text.trim().split('\\n')) {
        console.log(JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(line).id, result: {} }));
      }
    });`;
  const { stdout, code } = await runNode([
    join(folder, 'probe.js'), ...QUICK, '--timeout', '300', '--', process.execPath, '-e', server,
  ]);
  assert.match(stdout, /\(it answers initialize after its deadline, .*flushed\s+after\s+each/s);
  assert.equal(code, 1);
});

test('a file that is no program: what to put in front', { skip: NO_SIGNALS }, async (t) => {
  await compiled;
  const file = join(makeTempFolder(t), 'server.py');
  writeFileSync(file, 'print(1)\n');
  const { stderr, code } = await runNode([join(folder, 'probe.js'), file]);
  assert.match(stderr, /server\.py" is no program \(.*EACCES\)\. Put what runs it in front: -- /);
  assert.equal(code, 2);
});

test('the probe is modern, and so is each request after it', async (t) => {
  const { heard } = await visit(t, 'modern');
  for (const line of heard[0] ?? []) {
    const { jsonrpc, params } = JSON.parse(line);
    assert.equal(jsonrpc, '2.0');
    assert.deepEqual(params._meta, {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'mcp-by-hand-probe', version: '1.0.0' },
      'io.modelcontextprotocol/clientCapabilities': {},
    });
  }
});

test('after a handshake nothing is modern', async (t) => {
  const { heard } = await visit(t, 'legacy');
  const [, initialize, ...rest] = (heard[0] ?? []).map((line) => JSON.parse(line));
  assert.deepEqual(initialize.params, {
    protocolVersion: '2025-11-25', capabilities: {},
    clientInfo: { name: 'mcp-by-hand-probe', version: '1.0.0' },
  });
  assert.equal(rest[0].id, undefined); // notifications/initialized
  for (const { params = {} } of rest) assert.deepEqual(params, {});
});

table('requests of the server\'s own', {
  'legacy, asks': {
    heard: ['server/discover [{}] initialize notifications/initialized tools/list [{}] [-32601] ' +
      'resources/list resources/templates/list prompts/list'],
  },
  'modern, asks': {
    says: [/no request from a modern server/], fails: ['a message'], heard: [MODERN],
  },
});

table('what a server says of itself', {
  'modern: everything': {
    says: [/^ {2}server: fake 1\.2\.3\n {2}title: "A fake"\n {2}version: 2026-07-28\n {2}capa/m,
      /^ {2}capabilities: tools, resources, prompts\n {2}instructions:\n {6}Be kind\.$/m],
  },
  'an old legacy version': { says: [/^ {2}version: 2024-11-05$/m], heard: [LEGACY] },
  'an unknown legacy version': {
    says: [/expected: one of 2025-11-25, .*\n +came: +1999$/m],
    fails: ['a version that both speak'], heard: ['server/discover initialize'],
  },
  'a modern version in the handshake': {
    fails: ['a version that both speak'], heard: ['server/discover initialize'],
  },
  'no version in the handshake': { fails: ['a version that both speak'] },
  'a refused handshake': { says: [/error -32603: Broken$/m], fails: ['initialize'] },
  'a silent handshake': {
    args: ['--timeout', '400'], says: [/came: +nothing within 1200 ms$/m], fails: ['initialize'],
    heard: ['server/discover initialize'], // and no cancellation
  },
  'nobody': { says: [/^ {2}server: it does not say$/m], heard: [MODERN] },
  'half a name': { says: [/version to be a string/], fails: ['serverInfo'], heard: [MODERN] },
  'no serverInfo in legacy': { fails: ['serverInfo'], heard: [LEGACY] },
  'capabilities in a list': { fails: ['capabilities'], heard: ['server/discover'] },
  'a capability that is true': {
    fails: ['capabilities.tools'], heard: ['server/discover prompts/list'],
  },
  'instructions in a number': { fails: ['instructions'], heard: [MODERN] },
  'no capability': { says: [/capabilities: none$/m], heard: ['server/discover'] },
  'no resultType': { says: [/^tools: 1$/m], fails: ['tools/list: resultType'] },
  'an unknown resultType': { says: [/^tools: 0$/m], fails: ['tools/list: resultType'] },
  'a list that wants input': { says: [/^tools: 0$/m], fails: ['tools/list: resultType'] },
  'an unknown resultType on the probe': {
    fails: ['server/discover: resultType'], heard: ['server/discover'],
  },
  'no cache hints': { says: [/^tools: 1$/m], fails: ['tools/list: cache hints'] },
  'half a millisecond': {
    says: [/expected: a whole ttlMs of 0 or more/], fails: ['tools/list: cache hints'],
  },
  'odd cache hints': { says: [/"ttlMs":-1/], fails: ['tools/list: cache hints'] },
});

// ---------------------------------------------------------------------------------------------
// The lists
// ---------------------------------------------------------------------------------------------

const LAST_THREE = 'resources/list resources/templates/list prompts/list';

table('pages', {
  'three pages, one with an empty cursor': {
    says: [/^tools: 3$/m, /^ {2}one$[^]*^ {2}two$[^]*^ {2}three$/m,
      /^--> .*"params":\{"cursor":"",/m, /^--> .*"params":\{"cursor":"b",/m],
    heard: ['server/discover tools/list tools/list tools/list'],
  },
  'a null cursor': {
    says: [/^tools: 1$/m, /came: +null$/m], fails: ['tools/list, page 1: nextCursor'],
  },
  'a cursor in a number': { says: [/^tools: 1$/m], fails: ['tools/list, page 1: nextCursor'] },
  'the same cursor again': {
    says: [/^tools: 2$/m, /none that came before\n +came: +a$/m],
    fails: ['tools/list, page 2: a new cursor'],
    heard: ['server/discover tools/list tools/list'],
  },
  'cursors in a circle': { says: [/^tools: 3$/m], fails: ['tools/list, page 3: a new cursor'] },
  'ever new cursors': {
    args: ['--quiet'], says: [/^tools: 1000$/m, /1000 tools in 1000 pages, and no end$/m],
    fails: ['tools/list, page 1000: an end'],
  },
  'ever more entries': {
    args: ['--quiet'], says: [/^tools: 120000$/m, /120000 tools in 2 pages, and no end$/m],
    fails: ['tools/list, page 2: an end'],
  },
  'ever larger pages': {
    args: ['--quiet'], says: [/^tools: 2$/m], fails: ['tools/list, page 2: an end'],
  },
  'tools in an object': { says: [/^tools: 0$/m], fails: ['tools/list, page 1: tools'] },
  'no tools member': { says: [/^tools: 0$/m], fails: ['tools/list, page 1: tools'] },
  'an error on the second page': {
    says: [/^tools: 1$/m, /error -32602: Invalid cursor/, /^prompts: 1$/m],
    fails: ['tools/list, page 2'], heard: [`server/discover tools/list tools/list ${LAST_THREE}`],
  },
  'an error to each list': {
    says: [/error -32603: Broken prompts\/list/],
    fails: LISTS.split(' ').map((method) => `${method}, page 1`), heard: [MODERN],
  },
  // A server with resources need not have templates; the other three were promised.
  'no such methods': {
    says: [/^It does not know this method \(-32601\): it has no templates\.$/m],
    fails: ['tools/list, page 1', 'resources/list, page 1', 'prompts/list, page 1'],
    heard: [MODERN],
  },
  'silence on one list': {
    args: ['--timeout', '2500'], says: [/came: +nothing within 2500 ms$/m, /^prompts: 1$/m],
    fails: ['tools/list, page 1'],
    heard: [`server/discover tools/list notifications/cancelled ${LAST_THREE}`],
  },
  'a late list': {
    args: ['--timeout', '2500'], says: [isLate('tools/list')],
    fails: ['tools/list, page 1'],
  },
  'death on one list': {
    says: [/came: +it ended with the code 5$/m], fails: ['tools/list, page 1'],
    heard: ['server/discover tools/list'],
  },
  'an endless line': {
    says: [/a line of 64 Mi characters at most/, /came: +it closed its output$/m],
    fails: ['a message', 'tools/list, page 1'],
  },
  // Two templates may be alike.
  'twins': {
    says: [/^resource templates: 2$/m],
    fails: [/tools\[1\]: a name of its own$/, /resources\[1\]: a uri of its own$/,
      /prompts\[1\]: a name of its own$/],
  },
  'twins on two pages': { fails: ['tools/list, page 2: tools[0]: a name of its own'] },
  'many kinds of arguments': {
    says: [/^ {4}a: string, required - The first\.$/m, /^ {4}b: "x" or 1$/m, /^ {4}c: 5$/m,
      /^ {4}d: array of string or null$/m, /^ {4}e: anything$/m, /^ {4}f: anything$/m,
      /^ {4}g: string or number$/m, /^ {4}h: #\/\$defs\/h, required$/m,
      /^ {4}"two words": boolean$/m, /^ {4}i: integer$/m, /^ {4}toString: anything$/m],
  },
  'odd schemas': { says: [/^tools: 3$/m] },
  'modern: shown': {
    says: [/^tools: 1\n\n {2}good\n {6}A good tool\.$/m, /^resources: 1\n {2}x:\/\/good \(good\)$/m,
      /^resource templates: 1\n {2}x:\/\/\{id\} \(good\)$/m,
      /^prompts: 1\n\n {2}good\n {4}topic: string, required$/m],
  },
});

test('malformed entries are named, one by one, and skipped', async (t) => {
  const { fails, stdout } = await visit(t, 'bad entries', ['--quiet']);
  const expected = Object.entries(BAD_ENTRIES).flatMap(([member, entries]) =>
    entries.map((_, index) => `${member}[${index}]`));
  assert.deepEqual(fails.map((label) => label.replace(/^.*, page 1: /, '')), expected);
  for (const title of ['tools', 'resources', 'resource templates', 'prompts']) {
    assert.match(stdout, new RegExp(`^${title}: 1\n\n? {2}(?:good|x://)`, 'm'));
  }
  const reason = (label: string) => stdout
    .split(`: ${label}\n      expected: `)[1]?.split('\n')[0];
  assert.equal(reason('tools[0]'), 'an object');
  assert.equal(reason('tools[5]'), 'name to be a string');
  assert.equal(reason('tools[6]'), 'inputSchema to be an object');
  assert.equal(reason('tools[9]'), 'inputSchema.type to be "object"');
  assert.equal(reason('tools[10]'), 'description to be a string');
  assert.equal(reason('resources[1]'), 'uri to be a string');
  assert.equal(reason('resources[5]'), 'size to be a number');
  assert.equal(reason('resourceTemplates[1]'), 'uriTemplate to be a string');
  assert.equal(reason('prompts[2]'), 'arguments to be an array');
  assert.equal(reason('prompts[4]'), 'arguments[1]: name to be a string');
});

test('a million findings are counted, and a thousand shown', async (t) => {
  const { fails, stdout } = await visit(t, 'a million bad entries', ['--quiet']);
  assert.equal(fails.length, 1001);
  assert.match(stdout, /\(whatever else is wrong is counted, not shown\)\ntools: 0\n/);
  assert.match(stdout, /\nresult: 1000000 of \d+ checks failed\n$/);
});

// ---------------------------------------------------------------------------------------------
// Calls, reads, prompts
// ---------------------------------------------------------------------------------------------

const CALL = ['--call', 'good'];
const READ = ['--read', 'x://good'];
const PROMPT = ['--prompt', 'good'];
const KINDS = [
  /^ {2}text:\n {6}some words\n {6}on two lines$/m, /^ {2}image: image\/png, 4 bytes$/m,
  /^ {2}audio: audio\/wav, 4 bytes$/m,
  /^ {2}embedded resource x:\/\/text: text\/plain, text\n {6}inner words$/m,
  /^ {2}embedded resource x:\/\/blob: no MIME type, 4 bytes$/m,
  /^ {2}resource link x:\/\/link \("a link"\)$/m,
];

table('calls, reads, prompts', {
  'every content': {
    args: [...CALL, '--quiet'],
    says: [...KINDS, /^4\. Call the tool good$/m,
      /^ {2}structured content:\n {6}\{\n {8}"sum": \[\n {10}1,/m, /^(?![^]*Zm91cg)/],
  },
  'bad content': {
    args: [...CALL, '--quiet'],
    says: [/expected: the type text, image, audio, resource, resource_link$/m,
      /^ {2}text:\n {6}the end$/m],
    fails: [...Array(8).keys()].map((index) => `content[${index}]`)
      .concat('content[8]: base64', 'content[9]: base64', 'content[10]', 'content[11]',
        'content[12]', 'content[13]: text or blob', 'content[14]'),
  },
  // What a tool has to say of its failure is no fault of the server's.
  'a failed tool': {
    args: CALL, says: [/^The tool says that it failed \(isError\)\.\n {2}text:\n {6}out of eggs$/m],
  },
  'isError in a text': { args: CALL, says: [/isError to be a boolean/], fails: ['content'] },
  'no content': { args: CALL, says: [/content to be an array/], fails: ['content'] },
  'empty content': { args: CALL, says: [/^content: none$/m] },
  'an echo of what came': { args: CALL, says: [/^ {6}good \{\}$/m] },
  'wants input': {
    args: CALL, says: [/^It wants more input before it goes on \(input_required\), and this/m],
  },
  'wants input unasked': { args: CALL, fails: ['Call the tool good'] },
  'a strange result': { args: CALL, fails: ['tools/call: resultType'] },
  'an unknown tool': {
    args: CALL, says: [/came: +error -32602: Unknown tool: x$/m], fails: ['tools/call'],
  },
  'a silent tool': {
    args: [...CALL, '--timeout', '2500'], says: [/nothing within 2500 ms/], fails: ['tools/call'],
    heard: ['server/discover tools/list tools/call notifications/cancelled'],
  },
  'no capability: call': {
    args: CALL, says: [/the capability tools/], fails: ['Call the tool good'],
    heard: ['server/discover'],
  },
  'no capability: read': { args: READ, fails: ['Read the resource x://good'] },
  'no capability: prompt': { args: PROMPT, fails: ['Get the prompt good'] },
  'a resource': {
    args: READ,
    says: [/^ {2}x:\/\/good: text\/plain, text\n {6}All of it\.$/m,
      /^ {2}x:\/\/good: no MIME type, 4 bytes$/m],
  },
  'bad contents': {
    args: READ, fails: ['contents[0]', 'contents[1]', 'contents[2]', 'contents[3]: base64'],
  },
  'contents in an object': { args: READ, fails: ['contents'] },
  'modern, not found': {
    args: READ,
    says: [/came: +resource not found \(error -32602: Resource not found, data: .+\)$/m],
    fails: ['resources/read'],
  },
  'modern, not found with -32002': {
    args: READ, fails: ['resources/read'],
    says: [/resource not found \(error -32002: Gone; the modern era says -32602 for it\)$/m],
  },
  'legacy, not found': {
    args: READ, says: [/came: +resource not found \(error -32002: Resource not found\)$/m],
    fails: ['resources/read'],
  },
  'legacy, not found with -32602': {
    args: READ, fails: ['resources/read'],
    says: [/resource not found \(error -32602: Gone; the legacy era says -32002 for it\)$/m],
  },
  'a broken read': {
    args: READ, says: [/came: +error -32603: Internal error$/m], fails: ['resources/read'],
  },
  'a prompt': {
    args: [...PROMPT, '--quiet'],
    says: [...KINDS, /^ {6}What is asked\.\n {2}user:\n {2}text:\n {6}good \{\}\n {2}assistant:$/m],
  },
  'bad messages': {
    args: PROMPT,
    fails: ['messages[0].role', 'messages[1].role', 'messages[1].content', 'messages[2].content'],
  },
});

/** Writes a file of arguments into a folder, and gives its name. */
function writeArguments(t: TestContext, content: string): string {
  const file = join(makeTempFolder(t), 'my arguments.json');
  writeFileSync(file, content);
  return file;
}

test('--args reads what is sent, a byte order mark aside', async (t) => {
  const given = '{"n":1,"text":"\u4f60"}';
  const file = writeArguments(t, `\ufeff${given}\n`);
  const { stdout, heard } = await visit(t, 'an echo of what came', [...CALL, '--args', file]);
  assert.ok(stdout.includes(`      good ${given}\n`));
  const { name, arguments: args } = JSON.parse(heard[0]?.at(-1) ?? '').params;
  assert.deepEqual({ name, args }, { name: 'good', args: JSON.parse(given) });
  const texts = writeArguments(t, '{"topic":"eggs"}');
  const prompt = await visit(t, 'a prompt', [...PROMPT, '--args', texts]);
  assert.match(prompt.stdout, /^ {6}good \{"topic":"eggs"\}$/m);
});

// ---------------------------------------------------------------------------------------------
// Text that is meant to deceive
// ---------------------------------------------------------------------------------------------

// `visit` looks at every line of what is printed: strange characters, lines at the left edge.
for (const [name, args] of Object.entries({ call: CALL, read: READ, prompt: PROMPT })) {
  for (const flags of [[], ['--quiet']]) {
    test(`hostile text everywhere: ${name} ${flags}`, async (t) => {
      const { stdout, code } = await visit(t, 'hostile', [...args, ...flags]);
      assert.equal(code, 1);
      assert.match(stdout, /\\u001b\[2J/);
      assert.match(stdout, /\\u202e/);
      assert.match(stdout, /\\udb40\\udd00\\u034f\\u3164\\ufe0f\\u2800/); // these nobody would see
      assert.match(stdout, /^ {6}PASS {2}all is well$/m); // deeper than what is the probe's own
    });
  }
}

test('a terminal gets colours of the probe\'s own, and nothing of the server\'s', async (t) => {
  await compiled;
  const diary = makeTempFolder(t);
  // stdout is a pipe here; this is all that the probe looks at.
  const terminal = ['--import', 'data:text/javascript,process.stdout.isTTY=true'];
  const { NO_COLOR: before } = process.env;
  t.after(() => before === undefined ? delete process.env.NO_COLOR : process.env.NO_COLOR = before);
  const command = [process.execPath, FAKES, diary, 'hostile'];
  const see = () => runNode([...terminal, join(folder, 'probe.js'), ...CALL, '--', ...command]);
  delete process.env.NO_COLOR;
  const { stdout } = await see();
  assert.match(stdout, /^\u001b\[1m1\. Send/m);
  assert.match(stdout, /^\u001b\[31mFAIL {2}a message\u001b\[0m$/m);
  const bare = stdout.replace(/\u001b\[(?:0|1|31)m/g, '');
  assert.doesNotMatch(bare, STRANGE);
  // The terminal would break a long message, and go on where the probe's own lines begin.
  const lines = bare.split('\n').filter((line) => !line.startsWith('$ '));
  assert.deepEqual(lines.filter((line) => line.length > 100 || !LINES.test(line)), []);
  assert.match(bare, /^<-- .+\n(?: {4}.+\n)+/m);
  assert.match(bare, /^--> .+\n(?: {4}.+\n)+/m);
  process.env.NO_COLOR = '1';
  assert.equal((await see()).stdout, bare);
});

test('hostile text in what decides', async (t) => {
  for (const scenario of ['hostile versions', 'hostile refusal', 'hostile legacy version']) {
    const { fails } = await visit(t, scenario);
    assert.equal(fails.length, 1, scenario);
  }
});

test('--json is safe to print, and still says all', async (t) => {
  const { stdout, stderr, code } = await visit(t, 'hostile', [...CALL, '--json']);
  assert.equal(code, 1);
  assert.doesNotMatch(stdout, STRANGE);
  assert.doesNotMatch(stderr, STRANGE);
  const account = JSON.parse(stdout);
  assert.equal(account.serverInfo.name, HOSTILE);
  assert.equal(account.prompts[0].description, HOSTILE);
  assert.equal(account.result.content[0].text, HOSTILE);
});

test('values with a toString of their own are shown as JSON', async (t) => {
  const odd = '{"toString":1,"valueOf":1}';
  const call = await visit(t, 'a toString of their own', [...CALL, '--quiet']);
  assert.deepEqual(call.fails, ['serverInfo', 'content[0]']);
  for (const shown of [
    `version: 2026-07-28; also "{\\"toString`, `  a: ${odd}\n`, `  b: string or ${odd}\n`,
    '  c: array of anything\n', `  d: ${odd} - ${odd}\n`, `  e: ${odd}\n`,
    '      the end\n',
  ]) assert.ok(call.stdout.includes(shown), `${shown}: ${call.stdout}`);
  const prompt = await visit(t, 'a toString of their own', [...PROMPT, '--quiet']);
  assert.deepEqual(prompt.fails, ['serverInfo', 'messages[0].role', 'messages[0].content']);
  const legacy = await visit(t, 'a legacy version with a toString');
  assert.deepEqual(legacy.fails, ['a version that both speak']);
});

// Spread out with two blanks a level, either would be longer than a string may be.
test('--json has all of what is deep and many', async (t) => {
  const { stdout, stderr, code } = await visit(t, 'deep and many', [...CALL, '--json']);
  assert.deepEqual({ stderr, code }, { stderr: '', code: 0 });
  const { tools, result } = JSON.parse(stdout);
  const depth = `${'{"a":'.repeat(480)}1${'}'.repeat(480)}`;
  assert.equal(tools.length, 1500);
  assert.equal(JSON.stringify(tools[1499].inputSchema.x), depth);
  assert.equal(result.structuredContent.all.length, 1500);
  assert.equal(JSON.stringify(result.structuredContent.all[1499]), depth);
});

test('a line on stderr is cut, however long, and the last needs no end', async (t) => {
  const { stdout } = await visit(t, 'a long line on stderr', ['--quiet']);
  const words = [...stdout.matchAll(/^ {4}\| (.*)$/gm)].map(([, text]) => text).join('\n');
  assert.match(words, /^(?:x+\n)+x+\.\.\.\nthe next\nits last words$/);
  assert.ok(words.length < 3000, `${words.length} characters`);
});

test('what is too long for a terminal is cut, and says so', async (t) => {
  const wide = await visit(t, 'wide characters');
  assert.match(wide.stdout, /^ {6}(?:\u4f60\u597d){21}$/m);
  const columns = wide.stdout.split('\n').filter((line) => /^ +\u4f60/.test(line));
  assert.ok(columns.every((line) => line.length <= 56));
  // Of these characters each takes one column.
  const narrow = await visit(t, 'quotation marks and dots');
  assert.match(narrow.stdout, /^ {6}(?:\u201cso\u201d\u2026 ?){15}$/m);
  const long = await visit(t, 'a megabyte of description');
  assert.match(long.stdout, /^ {6}.*\.\.\. \(\d+ more characters\)$/m);
  assert.match(long.stdout, /^<-- .*\.\.\. \(\d+ more characters\)$/m);
  assert.ok(long.stdout.length < 20_000);
  const many = await visit(t, 'many lines of description');
  assert.match(many.stdout, /^ {6}\.\.\. \(440 more lines\)$/m);
});

// ---------------------------------------------------------------------------------------------
// How it is called
// ---------------------------------------------------------------------------------------------

test('--json prints one object with all that was learned', async (t) => {
  const { stdout, stderr, code } = await visit(t, 'a resource', [...READ, '--json']);
  assert.deepEqual({ stderr, code }, { stderr: '', code: 0 });
  const tool = { name: 'good', description: 'A good tool.', inputSchema: { type: 'object' } };
  const { checks, result, ...account } = JSON.parse(stdout);
  assert.deepEqual(account, {
    era: 'modern', reason: 'it answered server/discover with its supportedVersions',
    versions: { supported: ['2026-07-28'], spoken: '2026-07-28' },
    serverInfo: { name: 'fake', version: '1.2.3', title: 'A fake' },
    capabilities: { tools: {}, resources: {}, prompts: {} }, instructions: 'Be kind.',
    tools: [tool], resources: [{ uri: 'x://good', name: 'good' }],
    resourceTemplates: [{ uriTemplate: 'x://{id}', name: 'good' }],
    prompts: [{ name: 'good', arguments: [{ name: 'topic', required: true }] }],
    findings: [], error: null, ending: { exitCode: 0, signal: null, force: null },
  });
  assert.equal(result.contents[0].text, 'All of it.');
  assert.ok(checks.passed > 10);
  assert.equal(checks.failed, 0);
});

test('--json tells of findings and errors', async (t) => {
  const { stdout, code } = await visit(t, 'legacy, not found', [...READ, '--json']);
  const { era, versions, findings, result, error, checks } = JSON.parse(stdout);
  assert.equal(code, 1);
  assert.deepEqual({ era, result }, { era: 'legacy', result: null });
  assert.deepEqual(versions, { supported: ['2025-11-25'], spoken: '2025-11-25' });
  assert.deepEqual(error, { code: -32002, message: 'Resource not found' });
  assert.equal(findings.length, 1);
  assert.match(findings[0], /^resources\/read: expected a result, came resource not found/);
  assert.equal(checks.failed, 1);
  const silent = await visit(t, 'death on everything, with last words', ['--json']);
  assert.equal(silent.stderr, '    | no configuration\n');
  assert.equal(JSON.parse(silent.stdout).versions.spoken, null);
});

test('--quiet hides the raw messages, and nothing else', async (t) => {
  const loud = await visit(t, 'bad entries');
  const quiet = await visit(t, 'bad entries', ['--quiet']);
  assert.match(loud.stdout, /^--> .*server\/discover/m);
  const rest = loud.stdout.replace(/^(?:-->|<--) .*\n/gm, '');
  const same = (text: string) => text.replace(/^\$ .*$/m, '');
  assert.equal(same(quiet.stdout), same(rest));
});

test('the raw messages are those that crossed the wire', async (t) => {
  const { stdout, heard } = await visit(t, 'legacy');
  assert.deepEqual([...stdout.matchAll(/^--> (.*)$/gm)].map(([, line]) => line), heard[0]);
});

const FILE = ['--call', 'a', '--args'];

/** What is wrong with a call, and what the probe must say of it. */
const WRONG_CALLS: Record<string, [args: string[], says: RegExp]> = {
  'nothing': [[], /^Which one\? Please pass the server's file, or -- and its COMMAND\.$/],
  'nothing after --': [['--'], /\bpass\b.*\bserver\b/],
  'an unknown flag': [['--nope'], /^Unknown option '--nope'\.$/],
  'a value too many': [['--json=yes', 'x'], /'--json'/],
  'an unknown era': [['--era', 'older', 'x'], /^--era older: legacy or modern\.$/],
  'no era': [['--era'], /'--era/],
  'a timeout of 0': [['--timeout', '0', 'x'], /^--timeout 0: milliseconds, in digits\.$/],
  'a timeout in words': [['--timeout', '1e3', 'x'], /^--timeout 1e3: /],
  'a probe timeout of 1.5': [['--probe-timeout', '1.5', 'x'], /^--probe-timeout 1\.5: milli/],
  'no such variable': [['--env', 'MCP_NO_SUCH', 'x'], /^--env MCP_NO_SUCH: /],
  'two servers': [['a.ts', 'b.ts'], /^One server: /],
  'a server and a command': [['a.ts', '--', 'node'], /^One server: /],
  'no such file': [['none.ts'], /^There is no file none\.ts: pass the server's file/],
  'no such script': [['--', 'none.mjs'], /^There is no file none\.mjs: pass /],
  'no such program': [['--', 'mcp-no-such'], /^Cannot start "mcp-no-such" \(.*ENOENT\): is it/],
  'no such program, --json': [['--json', '--', 'mcp-no-such'], /^Cannot start "mcp-no-such"/],
  'two things to do': [['--call', 'a', '--read', 'b', 'x'], /^One of --call, --read and --prompt/],
  'three things to do': [['--call', 'a', '--read', 'b', '--prompt', 'c', 'x'], /^One of --call/],
  'a call of nothing': [['--call', '', 'x'], /^After --call, --read or --prompt comes what/],
  'no tool after --call': [['--call'], /'--call/],
  'arguments for nothing': [['--args', 'good.json', 'x'], /^--args belongs to --call or --pr/],
  'arguments for a read': [['--read', 'a', '--args', 'good.json', 'x'], /^--args belongs to/],
  'no such arguments': [[...FILE, 'no.json', 'x'], /^--args no\.json: there is no such file\.$/],
  'arguments in a folder': [[...FILE, '.', 'x'], /^--args \.: there is no such file\.$/],
  'arguments that are no JSON': [[...FILE, 'bad.json', 'x'], /: it is not JSON; an example is /],
  'arguments in an array': [[...FILE, 'list.json', 'x'], /: its JSON is no object; an example is /],
  'numbers for a prompt':
    [['--prompt', 'a', '--args', 'number.json', 'x'], /: a prompt takes texts alone\.$/],
};

test('wrong calls', { concurrency: 3 }, async (t) => {
  await compiled;
  const place = makeTempFolder(t);
  const files = {
    'bad.json': '{"a":', 'good.json': '{}', 'list.json': '[]', 'number.json': '{"a":1}',
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(place, name), text);
  const refuse = async (name: string, args: string[], says: RegExp): Promise<void> => {
    const outcome = await runNode([join(folder, 'probe.js'), ...args], { cwd: place });
    assert.equal(outcome.code, 2, outcome.stdout + outcome.stderr);
    assert.match(outcome.stderr.split('\n')[0] ?? '', says);
    assert.match(outcome.stderr, /\n\nUsage: npx tsx clients\/probe\.ts /);
    assert.doesNotMatch(outcome.stderr, /\n {4}at /);
    // Only once it tries to start the command does it print something.
    assert.match(outcome.stdout, name === 'no such program' ? /^== probe/ : /^$/);
    assert.deepEqual(readdirSync(place), Object.keys(files));
  };
  await Promise.all(Object.entries(WRONG_CALLS).map(([name, [args, says]]) =>
    t.test(name, () => refuse(name, args, says))));
});

test('--help prints the usage', async () => {
  await compiled;
  const { code, stdout, stderr } = await runNode([join(folder, 'probe.js'), '--help']);
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  const flags = 'call read prompt args era timeout probe-timeout env json quiet help'.split(' ');
  for (const flag of flags) assert.match(stdout, new RegExp(`--${flag}\\b`));
  assert.match(stdout, /^[ -~\n]+$/);
});

test('a server gets few of our variables, and those that --env names', async (t) => {
  const ours = { MCP_TEST_KEY: 'sesame', MCP_TEST_TOKEN: 'open' };
  Object.assign(process.env, ours);
  t.after(() => {
    for (const name of Object.keys(ours)) delete process.env[name];
  });
  const { stdout } = await visit(t, 'its environment', [...CALL, '--env', 'MCP_TEST_KEY']);
  assert.match(stdout, /\bPATH\b/);
  assert.match(stdout, /\bMCP_TEST_KEY\b/);
  assert.doesNotMatch(stdout, /MCP_TEST_TOKEN|sesame/);
});

// ---------------------------------------------------------------------------------------------
// The end
// ---------------------------------------------------------------------------------------------

test('how a server ends is told, and not judged', { concurrency: 3 }, async (t) => {
  const ends: [string, RegExp][] = [
    ['modern', /^It ended by itself, with the code 0\.$/m],
    ['the exit code 3', /^It ended by itself, with the code 3\.$/m],
    ['no exit', /^It did not end by itself: that took SIGTERM\.$/m],
    ['no exit, and no ear for SIGTERM', /^It did not end by itself: that took SIGKILL\.$/m],
  ];
  await Promise.all(ends.map(([scenario, says]) => t.test(scenario, async (t) => {
    const { stdout, code } = await visit(t, scenario, ['--quiet']);
    assert.match(stdout, says);
    assert.equal(code, 0);
  })));
});

test('a probe whose reader goes away, or that is stopped, leaves no process', async (t) => {
  const diary = makeTempFolder(t);
  const command = [process.execPath, FAKES, diary, 'no exit, and no ear for SIGTERM'];
  const first = startClient(t, [SOURCE, '--', ...command]);
  await first.until(/^1\. /m);
  first.child.stdout.destroy();
  const { code, stderr } = await first.ended();
  assert.deepEqual({ code, stderr: withoutNodeWarnings(stderr) }, { code: 2, stderr: '' });
  assert.deepEqual(await findSurvivors(diary), []);
  if (NO_SIGNALS) return t.diagnostic(NO_SIGNALS);
  const second = startClient(t, [SOURCE, '--', ...command]);
  await second.until(/Say goodbye/);
  second.child.kill('SIGINT');
  assert.equal((await second.ended()).code, 2);
  assert.deepEqual(await findSurvivors(diary), []);
});

test('each scenario of the fakes is met by a test', () => {
  const text = readFileSync(new URL(import.meta.url), 'utf8');
  const isMet = (name: string) => text.includes(`'${name}`) || name.startsWith('refused with ');
  const forgotten = Object.keys(ALL).filter((name) => !isMet(name));
  assert.deepEqual(forgotten, []);
});

// ---------------------------------------------------------------------------------------------
// The kit's own servers, as they are
// ---------------------------------------------------------------------------------------------

const MEMBERS = ['tools', 'resources', 'resourceTemplates', 'prompts'] as const;
type Member = (typeof MEMBERS)[number];

/** What a server says it is, and what it lists by name or URI: these, or at least one like this. */
type Inventory = { name: string } & { [member in Member]?: string[] | RegExp };

const SERVERS: Record<string, Inventory> = {
  echo: { name: 'echo-server', tools: ['echo'] },
  notes: { name: 'notes-server', tools: ['notes_query'], resources: ['notes://all'] },
  atlas: {
    name: 'atlas-reading-room', prompts: ['review-project'],
    resources: ['requirements', 'design', 'release%20notes']
      .map((document) => `project://atlas/docs/${document}`),
    resourceTemplates: ['project://atlas/docs/{name}'],
  },
  snapshot: {
    name: 'snapshot-fixture', prompts: ['review-snapshot'], resources: ['project://atlas/manifest'],
  },
  files: {
    name: 'files-server', tools: ['list_files', 'read_file_summary'],
    resources: /^file:\/\/\/.*\/lessons\/.+/, resourceTemplates: /^file:\/\/\/.*\/lessons\/\{/,
  },
};

test('the inventory of each of the kit\'s own servers', { concurrency: 2 }, async (t) => {
  const runs = listServers().flatMap((file) => [undefined, 'legacy'].map((era) => ({ file, era })));
  const takeInventory = async (file: string, era: string | undefined): Promise<void> => {
    const expected = SERVERS[basename(file, '.ts')];
    assert.ok(expected, `${file} is not in the table above: add what it offers`);
    const flags = era === undefined ? [] : ['--era', era];
    const args = [...RUNTIME, SOURCE, ...flags, '--json', '--', file, ...runLine(file)];
    const { code, stdout, stderr } = await runNode(args);
    assert.equal(withoutNodeWarnings(stderr.replace(/^ {4}\| /gm, '')), '');
    const account = JSON.parse(stdout);
    assert.deepEqual({ code, findings: account.findings }, { code: 0, findings: [] });
    assert.equal(account.era, era ?? 'modern');
    const spoken = era === undefined ? '2026-07-28' : '2025-11-25';
    assert.deepEqual(account.versions, { supported: [spoken], spoken });
    assert.equal(account.serverInfo.name, expected.name);
    for (const member of MEMBERS) {
      const keys: string[] = account[member]
        .map((entry: Record<string, string>) => entry.uri ?? entry.uriTemplate ?? entry.name);
      const wanted: string[] | RegExp = expected[member] ?? [];
      if (Array.isArray(wanted)) assert.deepEqual(keys.sort(), [...wanted].sort(), member);
      else assert.ok(keys.length > 0 && keys.every((key) => wanted.test(key)), String(keys));
    }
    assert.deepEqual(account.ending, { exitCode: 0, signal: null, force: null });
  };
  await Promise.all(runs.map(({ file, era }) =>
    t.test(`${basename(file)}, ${era ?? 'asked'}`, () => takeInventory(file, era))));
});
