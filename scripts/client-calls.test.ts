/**
 * How the clients are called, and what they do besides telling stories: each option, wrong calls,
 * what is saved, what a server inherits, how a client ends when it is stopped. The clients are run
 * as learners run them, with tsx or with Node alone, whichever runs this file.
 */

import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import test, { after } from 'node:test';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import {
  FAKE_SERVER, findSurvivors, listTalkers, lookAtOutput, readDiary, readStories, RUNTIME,
  startClient,
} from './client-wire.ts';
import { isUnderTsx, KIT, makeTempFolder, runNode } from './testing.ts';
import type { Outcome } from './testing.ts';

const ECHO = join(KIT, 'clients', 'echo.ts');
const ECHO_SERVER = join(KIT, 'servers', 'echo.ts');
const NO_SIGNALS = process.platform === 'win32' && 'there are no signals on Windows';

/** Runs a client to its end, with what Node needs to run TypeScript. */
function call(args: string[], cwd: string = KIT, input = ''): Promise<Outcome> {
  return runNode([...RUNTIME, ...args], { cwd, input });
}

/** Runs it, and expects that all goes well. */
async function callWell(args: string[], cwd?: string, input?: string): Promise<Outcome> {
  const outcome = await call(args, cwd, input);
  assert.equal(outcome.code, 0, `${outcome.stdout}${outcome.stderr}`);
  assert.deepEqual(lookAtOutput(outcome), [], outcome.stdout);
  return outcome;
}

// The fake servers play back what the echo server says; and the record itself is looked at below.
const recording = join(makeTempFolder({ after }), 'a record', 'of echo');
const recorded = callWell([ECHO, '--save', recording]);

/** The command of a fake server of echo, and the folder of its diary. */
async function fake(t: TestContext, damage: string): Promise<{ command: string[]; diary: string }> {
  await recorded;
  const diary = makeTempFolder(t);
  return { command: [process.execPath, FAKE_SERVER, recording, diary, damage], diary };
}

const readJson = (folder: string, file: string) =>
  JSON.parse(readFileSync(join(folder, file), 'utf8'));

// ---------------------------------------------------------------------------------------------
// Called well
// ---------------------------------------------------------------------------------------------

for (const { name, file, server } of listTalkers()) {
  test(`${name} --help prints the usage`, async () => {
    const { code, stdout, stderr } = await call([file, '--era', 'legacy', '--help', '--', 'none']);
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
    assert.match(stdout, new RegExp(`^[^]+\\n\\nUsage: npx tsx clients/${name}\\.ts `));
    for (const flag of ['era', 'step', 'save', 'timeout', 'env', 'help']) {
      assert.match(stdout, new RegExp(`--${flag}\\b`));
    }
    assert.match(stdout, /^[ -~\n]+$/);
  });

  test(`${name} finds its own server, and prints as it should`, async () => {
    const { stdout } = await callWell([file]);
    const runtime = isUnderTsx() ? 'npx tsx' : 'node';
    const command = new RegExp(`^\\$ ${runtime} servers/${name}\\.ts`);
    for (const { text } of readStories(stdout)) {
      assert.match(text.split('\n')[1] ?? '', command);
      assert.match(text, /^PASS {2}silent stderr$/m);
    }
    assert.match(stdout, /\n\nresult: \d+ checks passed\n$/);
  });

  test(`${name} runs in one flat folder with its server`, async (t) => {
    const folder = makeTempFolder(t);
    copyFileSync(file, join(folder, 'client.ts'));
    copyFileSync(server, join(folder, 'server.ts'));
    const { stdout } = await callWell(['client.ts', 'server.ts'], folder);
    assert.match(stdout, /^\$ .* server\.ts\b/m);
    assert.deepEqual(readdirSync(folder).sort(), ['client.ts', 'server.ts']);
  });
}

test('a server whose path has a space', async (t) => {
  const folder = join(makeTempFolder(t), 'my servers');
  mkdirSync(folder);
  copyFileSync(ECHO_SERVER, join(folder, 'my echo.ts'));
  const server = join(folder, 'my echo.ts');
  await callWell([ECHO, server]);
  await callWell([ECHO, join('my servers', 'my echo.ts')], join(folder, '..'));
  // A COMMAND that is a script is run by the client's own runtime, too.
  const { stdout } = await callWell([ECHO, '--', server]);
  assert.doesNotMatch(stdout, /silent stderr/);
});

test('--era tells the stories of that era alone', async () => {
  for (const era of ['legacy', 'modern']) {
    const { stdout } = await callWell([ECHO, '--era', era]);
    assert.deepEqual(readStories(stdout).map(({ name }) => name), [era]);
    assert.match(stdout, /^1\. /m);
  }
});

test('the step numbers run on through the stories', async () => {
  const { stdout } = await recorded;
  const [legacy, modern] = readStories(stdout);
  const last = Number([...(legacy?.text ?? '').matchAll(/^(\d+)\. /gm)].at(-1)?.[1]);
  assert.ok(last > 1);
  assert.match(modern?.text ?? '', new RegExp(`^${last + 1}\\. `, 'm'));
});

test('a server that somebody else wrote passes, though it logs to stderr', async (t) => {
  const folder = makeTempFolder(t);
  copyFileSync(join(KIT, 'scripts', 'foreign-server.mjs'), join(folder, 'that.mjs'));
  const { stdout } = await callWell([ECHO, '--', 'node', join(folder, 'that.mjs')]);
  assert.equal(readStories(stdout).length, 2);
  assert.match(stdout, /^ {4}\| .* INFO received tools\/call$/m);
  assert.match(stdout, /^<-- .*list_changed/m);
});

test('the stderr of the kit\'s own servers is judged, Node\'s warnings aside', async (t) => {
  const folder = makeTempFolder(t);
  const server = readFileSync(ECHO_SERVER, 'utf8');
  const say = async (text: string): Promise<Outcome> => {
    const file = join(folder, 'server.ts');
    writeFileSync(file, `${server}\nconsole.error(${JSON.stringify(text)});\n`);
    return call([ECHO, file, '--era', 'modern']);
  };

  const loud = await say('listening');
  assert.deepEqual(readStories(loud.stdout)[0]?.fails, ['silent stderr']);
  assert.match(loud.stdout, /came: +listening/);
  assert.equal(loud.code, 1);

  const warning = '(node:4711) ExperimentalWarning: Type Stripping is an experimental feature\n' +
    '(Use `node --trace-warnings ...` to show where the warning was created)';
  const warned = await say(warning);
  assert.equal(warned.code, 0, warned.stdout);
  assert.match(warned.stdout, /^ {4}\| \(node:4711\) Exp/m);
});

// ---------------------------------------------------------------------------------------------
// Called wrongly
// ---------------------------------------------------------------------------------------------

/** Expects a sentence and the usage on stderr, no stack, and nothing left behind. */
async function refuse(t: TestContext, args: string[], sentence: RegExp): Promise<void> {
  const folder = makeTempFolder(t);
  writeFileSync(join(folder, 'file'), 'text\n');
  const what = args.join(' ');
  const { code, stdout, stderr } = await call([ECHO, ...args], folder);
  assert.equal(code, 2, `${what}: ${stdout}${stderr}`);
  assert.match(stderr.split('\n')[0] ?? '', sentence, what);
  assert.match(stderr, /\n\nUsage: npx tsx clients\/echo\.ts /, what);
  assert.doesNotMatch(stderr, /\n {4}at /, what);
  // Only once it tries to start the command does it print something else.
  assert.match(stdout, /^(?:== echo: the legacy story ==\n\$ .*\n)?$/, what);
  assert.deepEqual(readdirSync(folder), ['file'], what);
}

const WRONG_CALLS: [string, string[], RegExp][] = [
  ['an unknown flag', ['--nope'], /^Unknown option '--nope'\.$/],
  ['a value for a flag without one', ['--step=yes'], /'--step'/],
  ['no value for --era', ['--era'], /'--era/],
  ['an unknown era', ['--era', 'older'], /^--era older: legacy or modern\.$/],
  ['a part of an era', ['--era', 'leg'], /^--era leg: legacy or modern\.$/],
  ['no value for --timeout', ['--timeout'], /'--timeout/],
  ...['0', '1e3', '1.5', '', '99999999999']
    .map((ms): [string, string[], RegExp] =>
      [`--timeout "${ms}"`, [`--timeout=${ms}`], /^--timeout .*: milliseconds, in digits\.$/]),
  ['--timeout -1', ['--timeout', '-1'], /--timeout/],
  ['--timeout=-1', ['--timeout=-1'], /^--timeout -1: milliseconds/],
  ['a variable that there is not', ['--env', 'MCP_NO_SUCH'], /^--env MCP_NO_SUCH: .*no such var/],
  ['a folder that is a file', ['--save', 'file'], /^--save file: not a folder\.$/],
  ['-- without a command', ['--'], /^After -- comes the COMMAND/],
  ['two servers', ['file', 'file'], /^One server: /],
  ['a server and a command', ['file', '--', 'node', 'file'], /^One server: /],
  ['no such server', ['missing.ts'], /^There is no file missing\.ts: pass /],
  ['no such script', ['--', 'missing.mjs'], /^There is no file missing\.mjs: pass /],
  ['no such program', ['--', 'mcp-no-such'], /^Cannot start "mcp-no-such" \(.*ENOENT\): is it/],
  ['a path through a file', ['--', join('file', 'x')], /^Cannot start ".*file.x" \(/],
  ['a program that is none', ['--', './file'], /^Cannot start "\.\/file" \(/],
  ['no such program, and --save', ['--save', 'new', '--', 'mcp-no-such'], /^Cannot start /],
];

test('wrong calls', { concurrency: 3 }, async (t) => {
  await Promise.all(WRONG_CALLS.map(([name, args, sentence]) =>
    t.test(name, (t) => refuse(t, args, sentence))));
});

test('a record that cannot be written is told in a sentence', async (t) => {
  const folder = makeTempFolder(t);
  writeFileSync(join(folder, 'file'), 'text\n');
  const { code, stderr } = await call([ECHO, '--save', join('file', 'inner')], folder);
  assert.equal(code, 2);
  assert.match(stderr, /^E[A-Z]+: .*inner'\n\nUsage: /);
  assert.deepEqual(readdirSync(folder), ['file']);
});

// ---------------------------------------------------------------------------------------------
// --save
// ---------------------------------------------------------------------------------------------

test('--save writes the whole account', async () => {
  const { stdout } = await recorded;
  const stories = readStories(stdout);
  assert.deepEqual(readdirSync(recording).sort(), [
    'legacy.cleanup.json', 'legacy.stderr.log', 'legacy.transcript.json',
    'modern.cleanup.json', 'modern.stderr.log', 'modern.transcript.json', 'results.json',
  ]);
  const checks = Number(/result: (\d+) checks passed/.exec(stdout)?.[1]);
  assert.deepEqual(readJson(recording, 'results.json'), { checks, passed: checks, failed: 0 });

  for (const { name, text } of stories) {
    assert.equal(readFileSync(join(recording, `${name}.stderr.log`), 'utf8'), '');
    assert.deepEqual(readJson(recording, `${name}.cleanup.json`), {
      exitCode: 0, signal: null, force: null, strayStdoutBytes: 0, stderrBytes: 0,
    });
    const transcript: Record<string, unknown>[] = readJson(recording, `${name}.transcript.json`);
    const printed = transcript.map(({ from, line }) =>
      `${from === 'client' ? '-->' : '<--'} ${line}`);
    assert.deepEqual(printed, text.match(/^(?:-->|<--) .*$/gm));
    const times = transcript.map(({ atMs }) => Number(atMs));
    assert.ok(times.every((at, index) => Number.isInteger(at) && at >= (times[index - 1] ?? 0)));
    const refused = (line: unknown): boolean => transcript.some((other) => {
      const answer = JSON.parse(String(other.line));
      return answer.id === JSON.parse(String(line)).id && answer.error !== undefined;
    });
    for (const entry of transcript) {
      assert.deepEqual(Object.keys(entry), ['from', 'atMs', 'expectsRefusal', 'line']);
      const expected = entry.from === 'client' && refused(entry.line) ? 'string' : 'object';
      assert.equal(typeof entry.expectsRefusal, expected, String(entry.line));
      if (expected === 'object') assert.equal(entry.expectsRefusal, null);
    }
  }
});

test('--save keeps the account of a bad end, to the byte', async (t) => {
  const save = join(makeTempFolder(t), 'new', 'folder');
  const ends: [string, object][] = [
    ['the exit code 3', { exitCode: 3 }],
    ['a last line without an end', { strayStdoutBytes: 3 }],
    ['trailing noise', { strayStdoutBytes: 4 }],
    ['a log on stderr', {}],
  ];
  for (const [damage, change] of ends) {
    const { command, diary } = await fake(t, damage);
    const { stdout } = await call([ECHO, '--era', 'modern', '--save', save, '--', ...command]);
    const { stderrBytes, ...cleanup } = readJson(save, 'modern.cleanup.json');
    const good = { exitCode: 0, signal: null, force: null, strayStdoutBytes: 0 };
    assert.deepEqual(cleanup, { ...good, ...change }, damage);
    const failed = readStories(stdout).flatMap(({ fails }) => fails).length;
    assert.equal(readJson(save, 'results.json').failed, failed, damage);
    if (damage !== 'a log on stderr') continue;
    const count = readDiary(diary)[0]?.heard.length ?? 0;
    const said = 'up and running\r\n' + 'heard something: na\u00efve'.repeat(count);
    assert.equal(readFileSync(join(save, 'modern.stderr.log'), 'utf8'), said);
    assert.equal(stderrBytes, Buffer.byteLength(said));
  }
  assert.deepEqual(readdirSync(save).length, 4); // the second run replaced the first
});

// ---------------------------------------------------------------------------------------------
// --step
// ---------------------------------------------------------------------------------------------

test('--step waits for Enter before each message, and does not wait after the last', async (t) => {
  const client = startClient(t, [ECHO, '--step']);
  const count = async (): Promise<number> => {
    await sleep(200); // for a message that nobody asked for
    return client.stdout().split('\n--> ').length - 1;
  };
  await client.until(/^1\. /m);
  assert.equal(await count(), 0);
  client.child.stdin.write('\n');
  await client.until(/^<-- /m);
  assert.equal(await count(), 1);
  client.child.stdin.write('\n\n'); // two at once are for two messages
  await client.until(/^--> [^]*^--> [^]*^--> [^]*^<-- /m);
  assert.equal(await count(), 3);
  // Its stdin stays open, as on a terminal.
  client.child.stdin.write('\n'.repeat(100));
  assert.equal((await client.ended()).code, 0);
});

test('--step goes on without waiting where the input has ended', async () => {
  await callWell([ECHO, '--step']);
  await callWell([ECHO, '--step'], KIT, '\n\n\n');
});

test('a server that dies while the client waits for Enter', async (t) => {
  const { command, diary } = await fake(t, 'death after the first answer');
  const client = startClient(t, [ECHO, '--step', '--', ...command]);
  client.child.stdin.write('\n');
  await client.until(/^FAIL {2}server still there 1$[^]*^== echo: the modern story ==$/m);
  client.child.stdin.write('\n'.repeat(100));
  const outcome = await client.ended();
  assert.deepEqual(lookAtOutput(outcome), [], outcome.stdout);
  const [legacy, modern] = readStories(outcome.stdout);
  assert.deepEqual(legacy?.fails, ['server still there 1']);
  assert.match(legacy?.text ?? '', /came: +nothing; exit: 0;/);
  assert.deepEqual(modern?.fails, ['server still there 2']);
  // The story that was waiting does not go on within the next one.
  const [steps, right] = [modern, readStories((await recorded).stdout)[1]]
    .map((story) => [...(story?.text ?? '').matchAll(/^\d+\. (.*)$/gm)].map(([, title]) => title));
  assert.deepEqual(steps?.filter((title) => !right?.includes(title)), []);
  assert.deepEqual(await findSurvivors(diary), []);
});

// ---------------------------------------------------------------------------------------------
// What a server inherits, and what a terminal gets
// ---------------------------------------------------------------------------------------------

test('a server gets few of our variables, and those that --env names', async (t) => {
  const folder = makeTempFolder(t);
  const server = join(folder, 'server.mjs');
  writeFileSync(server, `
    import { writeFileSync } from 'node:fs';
    writeFileSync('seen.json', JSON.stringify(process.env));
  `);
  const ours = { MCP_TEST_KEY: 'sesame', MCP_TEST_TOKEN: 'open', NODE_TEST_X: 'x' };
  Object.assign(process.env, ours);
  t.after(() => {
    for (const name of Object.keys(ours)) delete process.env[name];
  });
  const see = async (...flags: string[]): Promise<Record<string, string>> => {
    await call([ECHO, '--era', 'modern', ...flags, server], folder);
    return readJson(folder, 'seen.json');
  };

  const plain = await see();
  const all = JSON.stringify(plain);
  assert.doesNotMatch(all, /sesame|"open"|MCP_TEST/);
  for (const name of ['PATH', 'HOME', 'TMPDIR', 'NODE_TEST_X']) {
    if (process.env[name] !== undefined) assert.equal(plain[name], process.env[name], name);
  }
  const named = await see('--env', 'MCP_TEST_KEY');
  assert.equal(named.MCP_TEST_KEY, 'sesame');
  assert.equal(named.MCP_TEST_TOKEN, undefined);
  const both = await see('--env', 'MCP_TEST_KEY', '--env=MCP_TEST_TOKEN');
  assert.deepEqual([both.MCP_TEST_KEY, both.MCP_TEST_TOKEN], ['sesame', 'open']);
});

test('colours are for a terminal without NO_COLOR', async (t) => {
  const { command } = await fake(t, 'control characters');
  // stdout is a pipe here; this is all that a client looks at.
  const terminal = ['--import', 'data:text/javascript,process.stdout.isTTY=true'];
  const { NO_COLOR: before } = process.env;
  t.after(() => before === undefined ? delete process.env.NO_COLOR : process.env.NO_COLOR = before);
  delete process.env.NO_COLOR;
  const { stdout, code } = await call([...terminal, ECHO, '--', ...command]);
  assert.equal(code, 0);
  assert.match(stdout, /^\u001b\[32mPASS {2}/m);
  assert.match(stdout, /\u001b\[2m"_meta":/);
  // Of what the server sends nothing is left to the terminal.
  const bare = stdout.replace(/\u001b\[(?:\d|\d\d)m/g, '');
  assert.deepEqual(lookAtOutput({ code, stdout: bare, stderr: '', signal: null }), []);

  process.env.NO_COLOR = '1';
  await callWell([...terminal, ECHO, '--', ...command]);
});

// ---------------------------------------------------------------------------------------------
// Stopped
// ---------------------------------------------------------------------------------------------

test('a client whose reader goes away leaves no process', async (t) => {
  const { command, diary } = await fake(t, 'no exit, and no ear for SIGTERM');
  const client = startClient(t, [ECHO, '--', ...command]);
  await client.until(/^1\. /m);
  client.child.stdout.destroy();
  const { code, stderr } = await client.ended();
  assert.deepEqual({ code, stderr }, { code: 2, stderr: '' });
  assert.deepEqual(await findSurvivors(diary), []);
});

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  test(`a client that gets ${signal} leaves no process`, { skip: NO_SIGNALS }, async (t) => {
    const { command, diary } = await fake(t, 'no exit, and no ear for SIGTERM');
    const client = startClient(t, [ECHO, '--era', 'modern', '--', ...command]);
    await client.until(/Say goodbye/); // now the server hangs
    client.child.kill(signal);
    const { code, stderr } = await client.ended();
    assert.deepEqual({ code, stderr }, { code: 2, stderr: '' });
    assert.deepEqual(await findSurvivors(diary), []);
  });
}

test('a client that is stopped during a request leaves no process', { skip: NO_SIGNALS },
  async (t) => {
    const { command, diary } = await fake(t, 'a child that outlives it');
    const client = startClient(t, [ECHO, '--step', '--', ...command]);
    client.child.stdin.write('\n');
    await client.until(/^<-- /m);
    client.child.kill('SIGTERM');
    assert.equal((await client.ended()).code, 2);
    assert.equal(readdirSync(diary).length, 2); // the server, and its child
    assert.deepEqual(await findSurvivors(diary), []);
  });

test('paths are shown from where one is', async (t) => {
  const folder = makeTempFolder(t);
  mkdirSync(join(folder, 'inner'));
  copyFileSync(ECHO_SERVER, join(folder, 'server.ts'));
  const { stdout } = await callWell([ECHO, join('..', 'server.ts')], join(folder, 'inner'));
  const shown = relative(join(folder, 'inner'), join(folder, 'server.ts')).replaceAll('\\', '/');
  assert.ok(stdout.includes(` ${shown}\n`));
});
