/**
 * Replays the conversations of all clients to them (scripts/replay.ts): whole, and damaged in
 * one place, which each client must notice at the check that the table of damages names. The
 * conversations are recorded here, afresh. Then what the player says where the two depart, and
 * where it is called wrongly.
 */

import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, after, test } from 'node:test';

import { runClient } from './faults.ts';
import type { Run } from './faults.ts';
import { DAMAGES } from './replay.ts';
import type { Damage, Entry } from './replay.ts';
import { isUnderTsx, KIT, makeTempFolder, runNode, tsxArguments } from './testing.ts';

const RUNTIME = isUnderTsx() ? tsxArguments() : [];
const SCRIPT = join(KIT, 'scripts', 'replay.ts');

// Which stories the damages are tried on. All clients have the same plumbing, so that one of them
// shows both eras, and that each of the others shows one is enough.
const ERAS: Record<string, string[]> = {
  echo: ['legacy', 'modern'], notes: ['modern'], atlas: ['legacy'], snapshot: ['modern'],
  files: ['legacy'],
};
const PAIRS = Object.keys(ERAS);

// Made before the tests, and removed after them.
const removals: (() => void)[] = [];
const RECORDS = makeTempFolder({ after: (remove) => removals.push(remove) });
after(() => removals.forEach((remove) => remove()));

const clientOf = (pair: string): string => join(KIT, 'clients', `${pair}.ts`);
const recordOf = (pair: string): string => join(RECORDS, `record of ${pair}`);

before(async () => {
  await Promise.all(PAIRS.map(async (pair) => {
    const args = ['--save', recordOf(pair)];
    const { code, stdout } = await runNode([...RUNTIME, clientOf(pair), ...args]);
    assert.equal(code, 0, stdout);
  }));
});

/** Runs a client with its own record for a server. */
function replay(pair: string, folder: string, options: string[], damage?: string) {
  const damaged = damage === undefined ? [] : ['--damage', damage];
  const command = ['--', SCRIPT, recordOf(pair), ...damaged];
  return runClient(clientOf(pair), [...options, ...command], folder);
}

/** The label that failed first in a story, and the one that had to. */
function firstOf({ failed }: Run, story: string, fails: Damage['fails']) {
  const expected = fails[story.startsWith('legacy') ? 'legacy' : 'modern'];
  return [failed.find((check) => check.story === story)?.label, expected] as const;
}

// Two at once: each is a client and a player, which mostly take turns.
test('whole replays pass every check', { concurrency: 2 }, async (t) => {
  await Promise.all(PAIRS.map((pair) => t.test(pair, async (t) => {
    const { code, stdout, stderr, failed, left } = await replay(pair, makeTempFolder(t), []);
    const expected = { code: 0, stderr: '', failed: [], left: [] };
    assert.deepEqual({ code, stderr, failed, left }, expected, stdout);
    assert.doesNotMatch(stdout, /^ {4}\| /m, 'the player has nothing to explain');
  })));
});

test('damaged replays fail at their check', { concurrency: 2 }, async (t) => {
  const { 'unknown-version': _, ...damages } = DAMAGES; // that has a test of its own, below
  const rows = Object.entries(damages).flatMap(([damage, { fails }]) =>
    PAIRS.map((pair) => ({ damage, fails, pair, eras: ERAS[pair] ?? [] })));
  await Promise.all(rows.map(({ damage, fails, pair, eras }) => {
    const expected = eras.flatMap((era) => fails[era as keyof typeof fails] ?? []);
    if (expected.length === 0) return undefined; // it is meant for the other era
    return t.test(`${damage}: ${pair}`, async (t) => {
      const era = eras.length === 1 ? ['--era', ...eras] : [];
      // The deadline is that of silence; a first answer gets three times as long.
      const options = [...era, '--timeout', damage === 'silence' ? '1500' : '10000'];
      const run = await replay(pair, makeTempFolder(t), options, damage);
      assert.equal(run.code, 1, run.stdout);
      assert.equal(run.stderr, '');
      assert.deepEqual(run.left, []);
      const stories = new Set([...run.passed, ...run.failed].map(({ story }) => story));
      for (const story of stories) assert.equal(...firstOf(run, story, fails), run.stdout);
      assert.match(run.stdout, /\nresult: \d+ of \d+ checks failed\n$/);
    });
  }));
});

test('a server of an unknown version is asked for nothing else', { concurrency: 2 }, async (t) => {
  await Promise.all(PAIRS.map((pair) => t.test(pair, async (t) => {
    const folder = makeTempFolder(t);
    mkdirSync(join(folder, 'saved'));
    const run = await replay(pair, folder, ['--save', 'saved'], 'unknown-version');
    assert.equal(run.code, 1);
    const files = readdirSync(join(folder, 'saved')).filter((file) => /transcript/.test(file));
    assert.equal(run.failed.length, files.length, 'one check fails in each story');
    for (const file of files) {
      const story = file.replace('.transcript.json', '');
      assert.equal(...firstOf(run, story, DAMAGES['unknown-version']?.fails ?? {}), story);
      const entries: Entry[] = JSON.parse(readFileSync(join(folder, 'saved', file), 'utf8'));
      const said = entries.filter(({ from }) => from === 'client');
      const methods = said.map(({ line }) => JSON.parse(line).method);
      const first = file.startsWith('legacy') ? 'initialize' : 'server/discover';
      assert.deepEqual(methods, [first], file);
      const cleanup = JSON.parse(readFileSync(
        join(folder, 'saved', file.replace('transcript', 'cleanup')), 'utf8'));
      assert.deepEqual([cleanup.exitCode, cleanup.force], [0, null]);
    }
  })));
});

// ---------------------------------------------------------------------------------------------
// The player alone, without a client
// ---------------------------------------------------------------------------------------------

const play = (input: string, ...args: string[]) =>
  runNode([...RUNTIME, SCRIPT, ...args], { input });

/** What the client says in a record, a line each. */
function saidIn(file: string): string[] {
  const entries: Entry[] = JSON.parse(readFileSync(file, 'utf8'));
  return entries.filter(({ from }) => from === 'client').map(({ line }) => `${line}\n`);
}

test('what departs from the record ends the replay with 3', { concurrency: 2 }, async (t) => {
  const said = saidIn(join(recordOf('echo'), 'legacy.transcript.json'));
  const whole = said.join('');
  const cases: Record<string, [input: string, says: RegExp, args?: string[]]> = {
    'another beginning': ['{"jsonrpc":"2.0","id":1,"method":"x"}\n', /No record begins with .*"x"/],
    'no JSON': ['hello\n', /No record begins with what the client says first: hello/],
    'another message': [whole.replace('"ping"', '"pong"'), /departs from .*legacy\.[^]*"pong"/],
    'one message more': [`${whole}{}\n`, /recorded: nothing more\n {2}it says: {2}\{\}/],
    'one message less': [said.slice(0, -1).join(''), /left early; the record goes on with: \{/],
    'nothing at all': ['', /ended before the client said anything/],
    'a damage too late': [whole, /has no response 3/, ['--damage', 'wrong-id']],
  };
  // A record that ends before the third response.
  const short = join(RECORDS, 'short');
  mkdirSync(short);
  const entries: Entry[] = [{ from: 'client', line: said[0]?.trim() ?? '' }];
  writeFileSync(join(short, 'legacy.transcript.json'), JSON.stringify(entries));
  await Promise.all(Object.entries(cases).map(([name, [input, says, args]]) =>
    t.test(name, async () => {
      const { code, stderr } = args
        ? await play(said[0] ?? '', short, ...args)
        : await play(input, recordOf('echo'));
      assert.match(stderr, says);
      assert.equal(code, 3);
      assert.doesNotMatch(stderr, /\n {4}at /);
    })));
});

test('members may come in another order, and lines in pieces', async () => {
  const [first = ''] = saidIn(join(recordOf('echo'), 'modern.transcript.json'));
  const { method, ...rest } = JSON.parse(first);
  const { stdout } = await play(`${JSON.stringify({ method, ...rest })}\n`, recordOf('echo'));
  assert.match(stdout, /^\{"jsonrpc":"2\.0","id":1,"result":.*\}\n$/);
});

test('where stories begin alike, the ending decides', async () => {
  const folder = recordOf('snapshot');
  for (const ending of ['mixed', 'expired']) {
    const said = saidIn(join(folder, `legacy-${ending}.transcript.json`));
    const { code, stderr } = await play(said.join(''), folder, ending);
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  }
});

const WRONG_CALLS: Record<string, [args: (folder: string) => string[], says: RegExp]> = {
  'no folder named': [() => [], /There is no DIR/],
  'a folder that is not there': [() => ['none'], /no folder none: record it with/],
  'a file for a folder': [() => [SCRIPT], /no folder .*replay\.ts: record it with/],
  'a folder without records': [(folder) => [folder], /has no \*\.transcript\.json: record/],
  'an unknown damage': [() => [recordOf('echo'), '--damage', 'x'], /no damage "x".*wrong-jsonrpc/],
  'a damage without a name': [() => [recordOf('echo'), '--damage'], /argument missing/],
  'an unknown ending': [() => [recordOf('echo'), 'mixed'], /no record of a story .*legacy\./],
  'too many words': [() => [recordOf('echo'), 'a', 'b'], /at most the ENDING/],
  'a file that is no record': [(folder) => {
    writeFileSync(join(folder, 'legacy.transcript.json'), '[{"from":"client"}]');
    return [folder];
  }, /is no transcript\. What --save writes/],
};

test('wrong calls end with 2 and a sentence', { concurrency: 2 }, async (t) => {
  await Promise.all(Object.entries(WRONG_CALLS).map(([name, [args, says]]) =>
    t.test(name, async (t) => {
      const { code, stdout, stderr } = await play('', ...args(makeTempFolder(t)));
      assert.equal(code, 2, stderr);
      assert.match(stderr, says);
      assert.match(stderr, /\n\nUsage: /);
      assert.doesNotMatch(stderr, /\n {4}at /);
      assert.equal(stdout, '');
    })));
});

test('--help lists the damages', async () => {
  const { code, stdout } = await play('', '--help');
  assert.equal(code, 0);
  for (const [name, { what }] of Object.entries(DAMAGES)) {
    assert.ok(stdout.includes(name) && stdout.includes(what), name);
  }
});
