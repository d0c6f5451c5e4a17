/**
 * Takes each configuration that scripts/host-config.ts prints at its word: the command and the
 * arguments, exactly as they stand in the JSON, are started from another folder with hardly any
 * environment, as a host would, and the server must answer in both eras.
 */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import {
  cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { test, type TestContext } from 'node:test';

import { runsTypeScript } from './host-config.ts';
import {
  isUnderTsx, KIT, listServers, makeTempFolder, type Outcome, runLine, runNode, tsxArguments,
  withoutNodeWarnings,
} from './testing.ts';

const RUNTIME = isUnderTsx() ? tsxArguments() : [];
const IS_WINDOWS = process.platform === 'win32';
const IS_NATIVE = runsTypeScript(process.versions.node);
const SERVERS = listServers().map((file) => basename(file, '.ts'));

/** What each host wants, by its documentation: the key above the servers, and whether a type. */
const SHAPES: Record<string, { key: string; hasType: boolean }> = {
  'claude-desktop': { key: 'mcpServers', hasType: false },
  'claude-code': { key: 'mcpServers', hasType: false },
  vscode: { key: 'servers', hasType: true },
  cursor: { key: 'mcpServers', hasType: false },
  inspector: { key: 'mcpServers', hasType: true },
  generic: { key: 'mcpServers', hasType: false },
};

type Launch = { type?: string; command: string; args: string[] };

/** Runs the program as one would at a prompt. */
const print = (args: string[], cwd: string = KIT, kit: string = KIT) =>
  runNode([...RUNTIME, join(kit, 'scripts', 'host-config.ts'), ...args], { cwd });

/** Reads what was printed for a host, down to the one server in it. */
function readConfig(stdout: string, host: string, name: string): Launch {
  const { key, hasType } = SHAPES[host] ?? assert.fail(host);
  const config = JSON.parse(stdout);
  assert.deepEqual(Object.keys(config), [key]);
  assert.deepEqual(Object.keys(config[key]), [name]);
  const launch = config[key][name];
  const keys = ['command', 'args'];
  assert.deepEqual(Object.keys(launch), hasType ? ['type', ...keys] : keys);
  if (hasType) assert.equal(launch.type, 'stdio');
  return launch;
}

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};
const HELLO = {
  protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'host', version: '1' },
};
const QUESTIONS = [
  { jsonrpc: '2.0', id: 1, method: 'initialize', params: HELLO },
  { jsonrpc: '2.0', id: 2, method: 'server/discover', params: { _meta: META } },
];

/** Starts what a configuration says, as a host does, and asks it in both eras. */
async function start(t: TestContext, { command, args }: Launch): Promise<Outcome> {
  // Windows starts nothing without this one.
  const env = IS_WINDOWS ? { SystemRoot: process.env.SystemRoot ?? '' } : { PATH: '/usr/bin:/bin' };
  const child = spawn(command, args, {
    cwd: makeTempFolder(t), env, timeout: 60_000, killSignal: 'SIGKILL',
  });
  const outcome = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (outcome.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (outcome.stderr += text));
  child.stdin.on('error', () => {}); // it may end before it has read all
  child.stdin.end(QUESTIONS.map((question) => `${JSON.stringify(question)}\n`).join(''));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, ...outcome }));
  });
}

/** Checks that a server answered in both eras, and left well. */
function assertAnswers({ code, stdout, stderr }: Outcome): void {
  assert.equal(withoutNodeWarnings(stderr), '');
  const replies = stdout.trimEnd().split('\n').map((line) => JSON.parse(line));
  const [legacy, modern] = [1, 2].map((id) => replies.find((reply) => reply.id === id)?.result);
  assert.equal(legacy?.protocolVersion, '2025-11-25', stdout);
  assert.deepEqual(modern?.supportedVersions, ['2026-07-28'], stdout);
  assert.equal(code, 0);
}

/** Lists a folder to the bottom, what is installed aside. */
function listAll(folder: string): string[] {
  const names = readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => !['node_modules', '.git'].includes(name));
  return names.flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? [path, ...listAll(path)] : [path];
  }).sort();
}

// ---------------------------------------------------------------------------------------------
// What is printed
// ---------------------------------------------------------------------------------------------

test('each host, each server: it starts as printed, and answers', { concurrency: 2 }, async (t) => {
  const pairs = Object.keys(SHAPES).flatMap((host) => SERVERS.map((name) => [host, name] as const));
  await Promise.all(pairs.map(([host, name]) => t.test(`${host}, ${name}`, async (t) => {
    const { code, stdout, stderr } = await print([host, name]);
    assert.equal(code, 0, stderr);
    const launch = readConfig(stdout, host, name);
    assert.equal(launch.command, process.execPath);
    const file = join(KIT, 'servers', `${name}.ts`);
    const at = launch.args.indexOf(file);
    // Before the server is tsx, where this Node needs it; after it are the Run: line's arguments.
    assert.equal(at, IS_NATIVE ? 0 : 2, launch.args.join(' '));
    if (!IS_NATIVE) assert.match(launch.args[1] ?? '', /^file:\/\/\/.*\/tsx\/dist\/loader\.mjs$/);
    const rest = launch.args.slice(at + 1);
    if (name === 'files') assert.deepEqual(rest, [join(KIT, 'lessons')]);
    else assert.deepEqual(rest, runLine(file));
    assertAnswers(await start(t, launch));
    // What is to be known stands beside it, and says what was not tried.
    assert.match(stderr, /It belongs here:\n {2}\S/);
    assert.match(stderr, /^(Not tried in |Tried with the command line |No standard says this)/m);
    assert.match(stderr, /If you move the kit or replace\nthat Node, print this again\./);
    for (const line of stderr.split('\n')) {
      if (!line.startsWith('  claude mcp add ')) assert.ok(line.length <= 100, line);
    }
  })));
});

test('the places: what the documentation of each host says', async () => {
  const places: Record<string, RegExp[]> = {
    'claude-desktop': [
      /macOS: +~\/Library\/Application Support\/Claude\/claude_desktop_config\.json\n/,
      /Windows: +%APPDATA%\\Claude\\claude_desktop_config\.json\n/,
      /Linux: +its documentation names no place/, /Quit Claude Desktop wholly/,
    ],
    'claude-code': [/\.mcp\.json in the root of the project/, /claude mcp add echo -- /],
    vscode: [/\.vscode\/mcp\.json/, /MCP: Open User Configuration/, /MCP: List Servers/],
    cursor: [/\.cursor\/mcp\.json in a project, or ~\/\.cursor\/mcp\.json/],
    inspector: [/--config inspector\.json --server echo\n/, /"protocolEra": "modern"/],
    generic: [/mcpServers/],
  };
  assert.deepEqual(Object.keys(places), Object.keys(SHAPES));
  for (const [host, patterns] of Object.entries(places)) {
    const { stderr } = await print([host, 'echo']);
    for (const pattern of patterns) assert.match(stderr, pattern);
  }
});

test('with --tap: the tap is in front, and the server still answers', async (t) => {
  const folder = makeTempFolder(t);
  const { code, stdout, stderr } = await print(['vscode', 'echo', '--tap', 'log.jsonl'], folder);
  assert.equal(code, 0, stderr);
  const launch = readConfig(stdout, 'vscode', 'echo');
  const log = join(folder, 'log.jsonl');
  const loader = IS_NATIVE ? [] : launch.args.slice(0, 2);
  assert.deepEqual(launch.args, [
    ...loader, join(KIT, 'scripts', 'tap.ts'), log, '--',
    process.execPath, ...loader, join(KIT, 'servers', 'echo.ts'),
  ]);
  assert.match(stderr, /tap\.ts --show .*log\.jsonl.* --follow/);
  assert.equal(existsSync(log), false, 'printing alone writes no log');
  assertAnswers(await start(t, launch));
  const written = readFileSync(log, 'utf8');
  assert.match(written, /server\/discover/);
  // A second -- on the command line of claude is not documented: there is only the file, then.
  const other = await print(['claude-code', 'echo', '--tap', 'log.jsonl'], folder);
  assert.doesNotMatch(other.stderr, /claude mcp add/);
});

const NO_SHELL = IS_WINDOWS && 'it is for the shells of Linux and macOS';

test('the line for `claude mcp add` is right in a shell', { skip: NO_SHELL }, async (t) => {
  const folder = makeTempFolder(t);
  const odd = join(folder, "it's $HOME \"q\" `x` & \\ 你好");
  mkdirSync(odd);
  const { stdout, stderr } = await print(['claude-code', 'files', odd]);
  const { command, args } = readConfig(stdout, 'claude-code', 'files');
  const line = /^ {2}claude mcp add files -- (.*)$/m.exec(stderr)?.[1] ?? '';
  const child = spawn('/bin/sh', ['-c', `printf '%s\\n' ${line}`]);
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
  await new Promise((resolve) => child.on('close', resolve));
  assert.deepEqual(said.trimEnd().split('\n'), [command, ...args]);
});

test('folders for the files server are made absolute, from where you are', async (t) => {
  const folder = makeTempFolder(t);
  mkdirSync(join(folder, 'my data'));
  writeFileSync(join(folder, 'my data', 'a.txt'), 'a');
  const { stdout, stderr } = await print(['cursor', 'files', 'my data', '.'], folder);
  const launch = readConfig(stdout, 'cursor', 'files');
  assert.deepEqual(launch.args.slice(-2), [join(folder, 'my data'), folder]);
  assert.match(stderr, /Made absolute: my data, \.\./);
  assertAnswers(await start(t, launch));
  // The Run: line's folder is one of the kit, wherever you are.
  const own = await print(['cursor', 'files'], folder);
  assert.equal(readConfig(own.stdout, 'cursor', 'files').args.at(-1), join(KIT, 'lessons'));
  assert.doesNotMatch(own.stderr, /Made absolute/);
  // Other servers' words are no paths, even where a folder has that name.
  mkdirSync(join(folder, 'expired'));
  const other = await print(['cursor', 'snapshot', 'expired'], folder);
  assert.equal(readConfig(other.stdout, 'cursor', 'snapshot').args.at(-1), 'expired');
});

test('a copy of the kit in a folder with an odd name', async (t) => {
  const quote = IS_WINDOWS ? '' : '"';
  const kit = join(makeTempFolder(t), `the ${quote}kit${quote} 你好 100% #1`);
  for (const part of ['servers', 'scripts', 'lessons', 'package.json']) {
    const isOurs = (path: string) => !/[\\/](node_modules|interop)([\\/]|$)/.test(
      path.slice(KIT.length));
    cpSync(join(KIT, part), join(kit, part), { recursive: true, filter: isOurs });
  }
  symlinkSync(join(KIT, 'node_modules'), join(kit, 'node_modules'), 'junction');
  const before = listAll(kit);
  for (const args of [['echo'], ['files'], ['echo', '--tap', join(kit, 'log.jsonl')]]) {
    const { code, stdout, stderr } = await print(['inspector', ...args], KIT, kit);
    assert.equal(code, 0, stderr);
    assert.doesNotMatch(stdout.replaceAll('\n', ''), /[\u0000-\u001f\u007f-\u009f]/);
    const launch = readConfig(stdout, 'inspector', args[0] ?? '');
    assert.ok(launch.args.includes(join(kit, 'servers', `${args[0]}.ts`)), stdout);
    // Printing leaves nothing behind, in the kit or elsewhere.
    assert.deepEqual(listAll(kit), before);
    assertAnswers(await start(t, launch));
  }
});

test('a server of your own: its name, and what runs it', async (t) => {
  const folder = makeTempFolder(t);
  const server = readFileSync(join(KIT, 'servers', 'echo.ts'), 'utf8');
  writeFileSync(join(folder, 'my server (v2).mts'), server);
  const typed = await print(['generic', 'my server (v2).mts', '--', '--flag'], folder);
  const launch = readConfig(typed.stdout, 'generic', 'my-server-v2');
  assert.deepEqual(launch.args.slice(-2), [join(folder, 'my server (v2).mts'), '--flag']);
  assertAnswers(await start(t, launch));
  writeFileSync(join(folder, 'plain.mjs'), '');
  const plain = await print(['generic', 'plain.mjs'], folder);
  assert.deepEqual(readConfig(plain.stdout, 'generic', 'plain').args, [join(folder, 'plain.mjs')]);
  assert.match(plain.stderr, /, without tsx\./);
});

test('a server of your own elsewhere: its Run: line, and a name that a host takes', async (t) => {
  const folder = makeTempFolder(t);
  mkdirSync(join(folder, 'own'));
  const write = (name: string, run: string) =>
    writeFileSync(join(folder, 'own', name), `/**\n * Run: npx tsx ${run}\n */\n`);
  const argsOf = async (name: string, ...given: string[]) => {
    const { code, stdout, stderr } = await print(['generic', join('own', name), ...given], folder);
    assert.equal(code, 0, stderr);
    const [key = ''] = Object.keys(JSON.parse(stdout).mcpServers);
    return [key, ...readConfig(stdout, 'generic', key).args.slice(IS_NATIVE ? 1 : 3)];
  };
  // The line is meant where its file is seen as it is written there.
  write('server.ts', 'server.ts ./data');
  assert.deepEqual(await argsOf('server.ts'), ['server', join(folder, 'own', 'data')]);
  write('mine.ts', './own/mine.ts ./data');
  assert.deepEqual(await argsOf('mine.ts'), ['mine', join(folder, 'data')]);
  // Words are paths for the files server of the kit alone.
  write('files.ts', 'files.ts');
  assert.deepEqual(await argsOf('files.ts', 'verbose'), ['files', 'verbose']);
  write('\u6587\u4ef6.ts', 'x.ts');
  assert.deepEqual(await argsOf('\u6587\u4ef6.ts'), ['server']);
  writeFileSync(join(folder, 'own', '-x.mjs'), '');
  const log = ['--tap', join(folder, 'log.jsonl')];
  const { stdout, stderr } = await print(['generic', join('own', '-x.mjs'), ...log], folder);
  assert.equal(readConfig(stdout, 'generic', 'x').args.at(-1), join(folder, 'own', '-x.mjs'));
  // That the tap needs tsx says nothing of the server.
  assert.match(stderr, /^The server is run by Node [\d.]+, without tsx\./m);
});

test('a path with ${ is warned of: several hosts replace that', async (t) => {
  const folder = join(makeTempFolder(t), 'a ${HOME}');
  mkdirSync(folder);
  const { stderr } = await print(['vscode', 'files', folder]);
  assert.match(stderr, /Mind the \$\{ in a path/);
  assert.doesNotMatch((await print(['vscode', 'files', '.'])).stderr, /Mind the/);
});

test('a kit without node_modules: native, or a sentence', async (t) => {
  const kit = makeTempFolder(t);
  for (const part of ['servers', 'scripts/host-config.ts', 'scripts/testing.ts', 'package.json']) {
    cpSync(join(KIT, part), join(kit, part), { recursive: true });
  }
  const { code, stdout, stderr } = await print(['cursor', 'echo'], kit, kit);
  if (IS_NATIVE) {
    assertAnswers(await start(t, readConfig(stdout, 'cursor', 'echo')));
  } else {
    assert.equal(code, 2);
    assert.equal(stdout, '');
    assert.match(stderr, /^Node [\d.]+ needs tsx to run TypeScript.*: run npm ci in /);
  }
});

test('which Node runs TypeScript by itself', () => {
  const yes = ['22.18.0', '22.20.1', '23.6.0', '24.0.0', '26.10.0', '100.0.0'];
  const no = ['20.20.2', '21.7.3', '22.17.1', '22.6.0', '23.5.0', '23.0.0'];
  assert.deepEqual(yes.map(runsTypeScript), yes.map(() => true));
  assert.deepEqual(no.map(runsTypeScript), no.map(() => false));
});

// ---------------------------------------------------------------------------------------------
// The command
// ---------------------------------------------------------------------------------------------

const WRONG_CALLS: Record<string, [args: string[], says: RegExp]> = {
  'nothing': [[], /^For which HOST, and which SERVER\?\n\n[^]* claude-desktop +Claude Desktop\n/],
  'no server': [['cursor'], /^After cursor comes the SERVER/],
  'an unknown host': [['emacs', 'echo'], /^There is no host emacs here\. There are claude-desk/],
  'a prototype as host': [['toString', 'echo'], /^There is no host toString/],
  'an unknown server': [
    ['cursor', 'none'], /^There is no server none\. The kit has atlas, echo, files, notes, /,
  ],
  'a test as server': [['cursor', 'atlas.test'], /^There is no server atlas\.test/],
  'a folder as server': [['cursor', 'servers'], /^There is no server servers/],
  'no script': [['cursor', 'package.json'], /^package\.json is no script/],
  'a folder as log': [['cursor', 'echo', '--tap', 'lessons'], /^--tap lessons is a folder/],
  'a log in no folder': [['cursor', 'echo', '--tap', 'none/x'], /^--tap none\/x: there is no fol/],
  'an empty log': [['cursor', 'echo', '--tap', ''], /^--tap: the name of the log is empty/],
  'a folder that is not there': [['cursor', 'files', 'none'], /^There is no folder .*none: /],
  'an unknown option': [['cursor', 'echo', '--write'], /^Unknown option '--write'/],
  'hostile text': [['\u001b[2J', 'echo'], /^There is no host \\u001b\[2J here/],
};

test('wrong calls end with 2 and a sentence', { concurrency: 2 }, async (t) => {
  await Promise.all(Object.entries(WRONG_CALLS).map(([name, [args, says]]) =>
    t.test(name, async () => {
      const { code, stdout, stderr } = await print(args);
      assert.equal(code, 2);
      assert.equal(stdout, '');
      assert.match(withoutNodeWarnings(stderr), says);
      assert.match(stderr, /\n\nUsage: /);
      assert.doesNotMatch(stderr, /\n {4}at /);
    })));
  const help = await print(['--help']);
  assert.equal(help.code, 0);
  for (const host of Object.keys(SHAPES)) assert.ok(help.stdout.includes(` ${host} `), host);
});

test('a reader that goes away leaves no stack', async () => {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const args = [...RUNTIME, join(KIT, 'scripts', 'host-config.ts'), 'cursor', 'echo'];
  const child = spawn(process.execPath, args, { cwd: KIT, env });
  child.stdout.destroy();
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  await new Promise((resolve) => child.on('close', resolve));
  assert.doesNotMatch(stderr, /\n {4}at |EPIPE/);
});
