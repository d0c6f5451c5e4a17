/**
 * Runs the client cases: the clients echo and notes against each fake server of the table, and
 * every other client that holds a conversation over stdio against those that concern its stories.
 * (Their plumbing is byte for byte the same, which scripts/plumbing.ts checks.)
 */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import test, { after, before, describe } from 'node:test';
import type { TestContext } from 'node:test';

import { KINDS } from './client-cases.ts';
import type { ClientCase, PerEra } from './client-cases.ts';
import {
  compile, FAKE_SERVER, findSurvivors, listTalkers, lookAtOutput, readDiary,
  readStories, RUNTIME,
} from './client-wire.ts';
import type { Story } from './client-wire.ts';
import { makeTempFolder, runNode } from './testing.ts';
import type { Outcome } from './testing.ts';

const THOROUGH = ['echo', 'notes'];
const TALKERS = listTalkers();

// Hundreds of clients are started here, and tsx would take most of the time: they are compiled
// once. Everything in it goes when the tests are over.
const folder = makeTempFolder({ after });
const programOf = (name: string): string => join(folder, `${name}.js`);
const recordingOf = (name: string): string => join(folder, `${name} recording`);

/** What each client prints when all is well, story by story. */
const good = new Map<string, Story[]>();

before(async () => {
  await compile(TALKERS.map(({ file }) => file), folder);
  for (const { name, server } of TALKERS) {
    // The same conversation that a learner has; and the fake servers learn from its record.
    const outcome = await runNode([
      ...RUNTIME, programOf(name), server, '--save', recordingOf(name),
    ]);
    assert.equal(outcome.code, 0, `${name} fails with its own server:\n${outcome.stdout}`);
    assert.deepEqual(lookAtOutput(outcome), [], outcome.stdout);
    good.set(name, readStories(outcome.stdout));
  }
});

/** The labels of the envelope checks, and of others that end a story, with the request's number. */
const ENDS_STORY =
  /^(?:response [\w ]+|result (?:xor error|object|type)|error shape|server still there) (\d+)$/;

function pick<T extends object | undefined>(value: PerEra<T>, era: 'legacy' | 'modern'): T {
  return value !== undefined && 'legacy' in value ? value[era] : value as T;
}

const eraOf = (story: Story): 'legacy' | 'modern' =>
  story.name.startsWith('legacy') ? 'legacy' : 'modern';

/** Compares what a client made of a case with what it should; gives what is wrong. */
function judge(name: string, item: ClientCase, outcome: Outcome): string[] {
  const complaints = lookAtOutput(outcome);
  const all = good.get(name)?.filter((story) => !item.era || eraOf(story) === item.era) ?? [];
  const stories = readStories(outcome.stdout);
  const [told, expected] = [stories, all].map((list) => list.map((story) => story.name).join(', '));
  if (told !== expected) complaints.push(`told: ${told}; expected: ${expected}`);
  if (item.fails === 'content' && outcome.code !== 1) complaints.push('nothing failed');
  for (const [index, story] of stories.entries()) {
    const complain = (what: string): unknown => complaints.push(`${story.name}: ${what}`);
    judgeStory(story, all[index], item, complain);
    for (const pattern of item.says ?? []) {
      if (!pattern.test(story.text)) complain(`${pattern} should be printed`);
    }
  }
  return complaints;
}

function judgeStory(
  story: Story,
  right: Story | undefined,
  item: ClientCase,
  complain: (what: string) => unknown,
): void {
  const { fails } = story;
  const came = `[${fails.join(', ')}]`;
  if (item.fails === 'content') {
    if (fails.some((label) => ENDS_STORY.test(label))) complain(`an envelope fails: ${came}`);
    return;
  }
  const expected = pick(item.fails, eraOf(story));
  const isSame = (label: string, index: number): boolean =>
    label === expected[index] || label.replace(/\d+$/, '*') === expected[index];
  if (fails.length !== expected.length || !fails.every(isSame)) {
    complain(`these checks fail: ${came}; expected: [${expected.join(', ')}]`);
  }
  // A story is told to its end, save that such a fault ends it, and nothing is asked any more.
  const end = fails.map((label) => ENDS_STORY.exec(label)?.[1]).find((id) => id !== undefined);
  const asked = Math.max(...story.sent.map((line) => Number(JSON.parse(line).id ?? 0)));
  if (end !== undefined && Number(end) !== asked) {
    complain(`request ${asked} is the last one, though ${end} failed`);
  }
  // The stderr of a foreign server is not judged.
  const passes = right?.passes.filter((label) => label !== 'silent stderr');
  if (expected.length === 0 && story.passes.join('\n') !== passes?.join('\n')) {
    complain('the checks are not those of a good story');
  }
  const answers = [story, right].map((one) => one?.came.filter((line) => line.includes('"id":')));
  if (item.damage === 'CRLF' && answers[0]?.join('\n') !== answers[1]?.join('\n')) {
    complain('a line is printed with what ends it');
  }
}

function judgeDiary(item: ClientCase, diary: string, stories: Story[]): string[] {
  const entries = readDiary(diary);
  const count = entries.length === stories.length ? [] : [`${entries.length} servers were started`];
  return count.concat(entries.flatMap(({ era, heard }) => {
    const text = heard.join('\n');
    const isHeard = pick(item.heard, era)?.test(text) ?? true;
    const isUnheard = pick(item.unheard, era)?.test(text) ?? false;
    return [
      ...isHeard ? [] : [`the ${era} server should have heard ${pick(item.heard, era)}`],
      ...isUnheard ? [`the ${era} server should not have heard ${pick(item.unheard, era)}`] : [],
    ];
  }));
}

/** Tells a client's stories to a damaged server, and fails with all that is wrong, and the rest. */
async function run(t: TestContext, name: string, item: ClientCase): Promise<void> {
  const diary = makeTempFolder(t);
  const outcome = await runNode([
    programOf(name),
    ...item.era === undefined ? [] : ['--era', item.era],
    ...item.timeout === undefined ? [] : ['--timeout', `${item.timeout}`],
    '--', process.execPath, FAKE_SERVER, recordingOf(name), diary, item.damage,
  ]);
  const complaints = judge(name, item, outcome);
  complaints.push(...judgeDiary(item, diary, readStories(outcome.stdout)));
  const survivors = await findSurvivors(diary);
  if (survivors.length > 0) complaints.push(`it left processes behind: ${survivors}`);
  if (outcome.signal !== null) complaints.push('it had to be killed after a minute');
  if (complaints.length === 0) return;
  const said = `${outcome.stdout}${outcome.stderr}`.slice(-6_000);
  assert.fail(`${complaints.join('\n')}\nThe client, at the end:\n${said}`);
}

const RUNS = Object.entries(KINDS).flatMap(([kind, items]) =>
  TALKERS.filter(({ name }) => THOROUGH.includes(name) || kind === 'content')
    .flatMap(({ name }) => items.map((item) => ({ name, kind, item }))));

/** Runs some of the cases, a few at a time. */
async function runAll(t: TestContext, runs: typeof RUNS): Promise<void> {
  await Promise.all(runs.map(({ name, kind, item }) => {
    const skip = process.platform === 'win32' && item.notOnWindows;
    const title = `${name}: ${kind}: ${item.damage}`;
    return t.test(title, { skip: skip ?? false }, (t) => run(t, name, item));
  }));
}

// Those that wait for a deadline leave the processors to those that do not.
const WAITING = ['time', 'the end'];
describe('the client cases', { concurrency: 2 }, () => {
  test('those that do not wait', { concurrency: 3 }, (t) =>
    runAll(t, RUNS.filter(({ kind }) => !WAITING.includes(kind))));
  test('those that wait', { concurrency: 4 }, (t) =>
    runAll(t, RUNS.filter(({ kind }) => WAITING.includes(kind))));
});

test('each damage of the fake server has a case, and each case a damage', () => {
  const damages = execFileSync(process.execPath, [FAKE_SERVER], { encoding: 'utf8' });
  const cases = Object.values(KINDS).flat().map(({ damage }) => damage);
  assert.deepEqual(cases.toSorted(), damages.trim().split('\n').sort());
});
