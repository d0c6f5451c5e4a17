/**
 * Plays the sample of each server to it, and then files of every kind to servers of every kind:
 * those that answer, that do not, that die, that will not leave, and that say hostile things.
 */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { findFault } from './send.ts';
import {
  isUnderTsx, KIT, listServers, makeTempFolder, runNode, tsxArguments, withoutNodeWarnings,
} from './testing.ts';

const RUNTIME = isUnderTsx() ? tsxArguments() : [];
const SCRIPT = join(KIT, 'scripts', 'send.ts');
const ECHO = join(KIT, 'servers', 'echo.ts');

/** Runs the program as one would at a prompt. */
const send = (args: string[], cwd: string = KIT) => runNode([...RUNTIME, SCRIPT, ...args], { cwd });

const request = (id: unknown, method = 'ping') => JSON.stringify({ jsonrpc: '2.0', id, method });

// A server for whatever a test wants: it hands each line to `answer`, whose text it writes.
const scaffold = (answer: string, atEnd = 'process.exit(0)') => `
  import { createInterface } from 'node:readline';
  const write = (text) => process.stdout.write(text);
  const reply = (id, more = { result: {} }) =>
    write(JSON.stringify({ jsonrpc: '2.0', id, ...more }) + '\\n');
  const answer = (text) => { ${answer} };
  createInterface({ input: process.stdin })
    .on('line', answer).on('close', () => { ${atEnd} });
`;
const ANSWERS = `
  let message = {};
  try { message = JSON.parse(text); } catch {}
  if (message.id !== undefined) reply(message.id);
`;

/** Plays messages to a server that is written for the test; gives how that went. */
async function play(
  t: TestContext, server: string, messages: string | Buffer, args: string[] = [],
) {
  const folder = makeTempFolder(t);
  writeFileSync(join(folder, 'server.mjs'), server);
  writeFileSync(join(folder, 'messages.jsonl'), messages);
  const outcome = await send([...args, 'server.mjs', 'messages.jsonl'], folder);
  const lines = outcome.stdout.trimEnd().split('\n');
  return { ...outcome, lines, last: lines.at(-1) ?? '' };
}

/** Is a process still there? Waits for it to go as long as a busy machine may need. */
async function isGone(pid: number): Promise<boolean> {
  for (let turn = 0; turn < 100; turn += 1) {
    try {
      process.kill(pid, 0);
    } catch {
      return true;
    }
    await sleep(50);
  }
  return false;
}

// ---------------------------------------------------------------------------------------------
// The samples
// ---------------------------------------------------------------------------------------------

test('each server answers each request of its sample once', { concurrency: 2 }, async (t) => {
  const names = listServers().map((file) => basename(file, '.ts'));
  await Promise.all(names.map((name) => t.test(name, async () => {
    const sample = `scripts/messages/${name}.jsonl`;
    const outcome = await send([`servers/${name}.ts`, sample]);
    assert.equal(outcome.code, 0, outcome.stdout + outcome.stderr);
    assert.equal(withoutNodeWarnings(outcome.stderr), '');
    const lines = outcome.stdout.trimEnd().split('\n');
    assert.match(lines[0] ?? '', new RegExp(`^\\$ (npx tsx|node) servers/${name}\\.ts`));
    const idsAfter = (arrow: string): unknown[] => lines
      .filter((line) => line.startsWith(arrow))
      .map((line) => {
        try {
          return JSON.parse(line.slice(arrow.length)).id ?? 'none';
        } catch {
          return 'none';
        }
      })
      .filter((id) => id !== 'none');
    const asked = idsAfter('--> ');
    assert.deepEqual(idsAfter('<-- '), asked);
    assert.ok(asked.length >= 6, `${name}: only ${asked.length} requests`);
    // Both eras, comments that teach, and mistakes on purpose.
    assert.match(outcome.stdout, /^--> .*"initialize"/m);
    assert.match(outcome.stdout, /^--> .*io\.modelcontextprotocol\/protocolVersion":"2026-07-28"/m);
    assert.match(outcome.stdout, /^<-- .*"error":\{"code":-32/m);
    const comments = lines.filter((line) => line.startsWith('#'));
    assert.ok(comments.length >= 6, `${name}: only ${comments.length} comments`);
    const file = readFileSync(join(KIT, sample), 'utf8');
    for (const line of file.split('\n')) {
      if (line.startsWith('#')) assert.ok([...line].length <= 100, `longer than 100: ${line}`);
    }
    // The same file gives the same output each time.
    assert.equal((await send([`servers/${name}.ts`, sample])).stdout, outcome.stdout);
  })));
});

test('arguments: those of the Run: line, or others, or the whole command', async (t) => {
  const sample = 'scripts/messages/snapshot.jsonl';
  const own = await send(['servers/snapshot.ts', sample]);
  assert.match(own.stdout, /^\$ .*servers\/snapshot\.ts mixed\n/);
  const other = await send(['servers/snapshot.ts', sample, 'expired']);
  assert.match(other.stdout, /^\$ .*servers\/snapshot\.ts expired\n/);
  assert.equal(other.code, 0);
  const whole = await send([sample, '--', 'servers/snapshot.ts', 'expired']);
  assert.equal(whole.stdout, other.stdout);
  const args = [...RUNTIME, join(KIT, 'servers', 'snapshot.ts'), 'expired'];
  const foreign = await send([sample, '--', process.execPath, ...args]);
  assert.equal(foreign.code, 0);
  assert.deepEqual(foreign.stdout.split('\n').slice(1), other.stdout.split('\n').slice(1));
  // The Run: line of files names a folder of the kit; it is found from elsewhere, too.
  const folder = makeTempFolder(t);
  const files = join(KIT, 'scripts', 'messages', 'files.jsonl');
  const away = await send([join(KIT, 'servers', 'files.ts'), files], folder);
  assert.equal(away.code, 0, away.stdout + away.stderr);
  assert.match(away.stdout, /The lessons/);
});

test('a Run: line that begins with ./ means the folder of the server', async (t) => {
  const folder = makeTempFolder(t);
  const server = scaffold(
    'reply(1, { result: { args: process.argv.slice(2), cwd: process.cwd() } })');
  writeFileSync(join(folder, 'dot.ts'), `/**\n * Run: npx tsx ./dot.ts a\n */${server}`);
  writeFileSync(join(folder, 'm.jsonl'), request(1));
  const { code, stdout } = await send([join(folder, 'dot.ts'), join(folder, 'm.jsonl')]);
  assert.equal(code, 0, stdout);
  const [, answer = ''] = /^<-- (.*)$/m.exec(stdout) ?? [];
  assert.deepEqual(JSON.parse(answer).result, { args: ['a'], cwd: folder });
});

// ---------------------------------------------------------------------------------------------
// The file
// ---------------------------------------------------------------------------------------------

// It says, as a JSON string, which bytes came in.
const BYTES = scaffold('', '').replace(/createInterface\([^]*/, `
  let line = [];
  process.stdin.on('data', (bytes) => {
    for (const byte of bytes) {
      if (byte !== 10) { line.push(byte); continue; }
      const hex = Buffer.from(line).toString('hex');
      line = [];
      write(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { hex } }) + '\\n');
    }
  });
`);
const hexes = (stdout: string) => [...stdout.matchAll(/"hex":"(.*?)"/g)].map(([, hex = '']) =>
  Buffer.from(hex, 'hex').toString('latin1'));

test('lines are sent byte for byte; comments and empty lines are printed', async (t) => {
  const odd = '{"jsonrpc": "2.0",  "id":1 ,"method":"\\u00e9", "b":1e3}  ';
  const file = `# first\n\n${odd}\n!raw \tnot JSON \n!raw\n!raw  two blanks\n# last\n${request(1)}`;
  const { code, stdout, lines, last } = await play(t, BYTES, file, ['--timeout', '20000']);
  assert.equal(code, 0, stdout);
  assert.deepEqual(hexes(stdout), [odd, '\tnot JSON ', '', ' two blanks', request(1)]);
  // What has been answered is asked before what comes later.
  const said = lines.filter((line) => !line.startsWith('<-- '));
  assert.deepEqual(said.slice(1, -2), [
    '# first', '', `--> ${odd}`, '--> \\u0009not JSON ', '--> ', '-->  two blanks', '# last',
    `--> ${request(1)}`,
  ]);
  assert.match(last, /^end: exit 0; 5 messages sent, 5 came$/);
});

test('CRLF, a byte order mark, and a byte that is no UTF-8', async (t) => {
  const mark = Buffer.from([0xef, 0xbb, 0xbf]);
  const file = Buffer.concat([
    mark, Buffer.from(`# comment\r\n${request(1)}\r\n\r\n!raw a`), Buffer.from([0xff, 0xfe]),
    Buffer.from(`b\r\n!sleep 1\r\n!close\r\n`),
  ]);
  const { code, stdout, lines } = await play(t, BYTES, file);
  assert.equal(code, 0, stdout);
  assert.deepEqual(hexes(stdout), [request(1), 'a\xff\xfeb']);
  assert.equal(lines[1], '# comment');
  assert.ok(lines.includes('--> a\ufffd\ufffdb'), stdout);
});

test('a file with only comments, and an empty one, start and end the server', async (t) => {
  for (const [file, said] of [['# nothing\n', ['# nothing']], ['', []]] as const) {
    const { code, lines } = await play(t, scaffold(ANSWERS), file);
    assert.equal(code, 0);
    assert.deepEqual(lines.slice(1), [...said, '', 'end: exit 0; 0 messages sent, 0 came']);
  }
});

test('!sleep waits, and !close ends stdin', async (t) => {
  const server = scaffold('reply(JSON.parse(text).id)', 'write("closed\\n")');
  const note = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/x' });
  const file = `${request(1)}\n${note}\n!sleep 2000\n!close\n!sleep 30000\n# bye\n`;
  const { code, lines } = await play(t, server, file);
  assert.equal(code, 0);
  // It does not wait for an answer to a notification; what comes then comes while it sleeps.
  assert.deepEqual(lines.slice(3), [
    `--> ${note}`, '!sleep 2000', '<-- {"jsonrpc":"2.0","result":{}}', '!close',
    '!sleep 30000', '<-- closed', '# bye', '', 'end: exit 0; 2 messages sent, 3 came',
  ]);
});

test('it waits for the answer that is due, and for no other', async (t) => {
  // Each message is answered only after another answer, a request and a notification.
  const server = scaffold(`
    let id; try { id = JSON.parse(text).id } catch {}
    reply(99); reply(String(id)); write('{"jsonrpc":"2.0","id":1,"method":"ping"}\\n');
    setTimeout(() => reply(id), 200);
  `);
  const { code, lines } = await play(t, server, `${request(1)}\n${request(2)}\n`);
  assert.equal(code, 0);
  const arrows = lines.map((line) => line.slice(0, 3)).join(' ');
  assert.equal(arrows.trim(), '$ n --> <-- <-- <-- <-- --> <-- <-- <-- <--  end', lines.join('\n'));
  assert.match(lines.at(-3) ?? '', /"id":2,"result"/);
});

test('a line of 8 MiB goes through, both ways', async (t) => {
  const text = 'x'.repeat(8 * 1024 * 1024);
  const line = JSON.stringify({ jsonrpc: '2.0', id: 1, method: text });
  const server = scaffold(
    'reply(1, { result: { length: text.length, text: JSON.parse(text).method } })');
  const { code, lines } = await play(t, server, `${line}\n`, ['--timeout', '60000']);
  assert.equal(code, 0);
  assert.equal(lines[1], `--> ${line}`);
  assert.ok(lines[2]?.includes(`"length":${line.length}`));
});

const BROKEN: Record<string, [file: string | Buffer, says: RegExp]> = {
  'a name without quotes': [
    `# x\n\n{"jsonrpc":"2.0","id":1,method:"ping"}\n`,
    new RegExp('^messages\\.jsonl:3:25: this line is not JSON: expected a name in double quotes\n' +
      ' {4}\\{"jsonrpc":"2\\.0","id":1,method:"ping"\\}\n {28}\\^\nOne message is one line\\. '),
  ],
  'a comma too many': ['{"a":[1,2,]}', /1:11: .*expected a value\n    \{"a":\[1,2,\]\}\n {14}\^\n/],
  'a text that ends too early': [
    '{', /1:2: .*expected a name in double quotes, or "\}"\n    \{\n {5}\^\n/,
  ],
  'single quotes': ["{'a':1}", /1:2: .*expected a name in double quotes, or "\}"/],
  'two on one line': ['{} {}', /1:4: .*expected the end of the line/],
  'a string without an end': ['["a]', /1:5: .*expected the " that ends this string/],
  'a tab in a string': [
    '["a\tb"]', /1:4: .*expected an escape here: .*\n    \["a\\u0009b"\]\n {7}\^/,
  ],
  'a wrong escape': ['["C:\\docs"]', /1:5: .*expected an escape: .*\n    \["C:\\docs"\]\n {8}\^/],
  'wide characters': ['["你好" 1]', /1:7: .*expected "," or "\]"\n    \["你好" 1\]\n {12}\^/],
  'an accent of its own': ['["e\u0301" 1]', /1:7: .*\n    \["e\u0301" 1\]\n {9}\^\n/],
  'emoji that are joined': [
    '["\u{1f469}\u200d\u{1f4bb}" 1]', /\n    \["\u{1f469}\u200d\u{1f4bb}" 1\]\n {12}\^\n/u,
  ],
  'rare Chinese': ['["\u{20000}" 1]', /1:6: .*\n    \["\u{20000}" 1\]\n {10}\^\n/u],
  'a long line': [`[${'1,'.repeat(500)}x${',1'.repeat(500)}]`,
    /1:1002: .*\n    \.\.\.[1,]{50}x[1,]{29}\.\.\.\n {57}\^/],
  'hostile text': ['{\u001b[31m"a"}', /1:2: .*\n    \{\\u001b\[31m"a"\}\n {5}\^/],
  'JSON with a byte that is no UTF-8': [
    Buffer.from([0x22, 0xff, 0x22]), /^messages\.jsonl:1: .*no UTF-8.*begin the line with !raw/],
  'an unknown command': ['!send {}', /^messages\.jsonl:1: there is no !send\. There are !raw TEXT/],
  'a hostile command': ['!\u001b[2J', /there is no !\\u001b\[2J\./],
  'a lone !': ['!', /there is no !\./],
  'a tab after !raw': ['!raw\tx', /^messages\.jsonl:1: after !raw comes one blank, not a tab/],
  'a sleep without a number': ['!sleep', /after !sleep come milliseconds/],
  'a sleep of half a second': ['!sleep 0.5', /after !sleep come milliseconds/],
  'a sleep of a month': ['!sleep 2678400000', /after !sleep come milliseconds/],
  'a close with more': ['!close now', /!close stands alone/],
  'a message after !close': [
    '!close\n# fine\n{}\n', /^messages\.jsonl:3: no message can follow !close/,
  ],
};

test('a broken file: a caret, and nothing is started', { concurrency: 2 }, async (t) => {
  await Promise.all(Object.entries(BROKEN).map(([name, [file, says]]) => t.test(name, async (t) => {
    const { code, stdout, stderr } = await play(t, 'console.log("started")', file);
    assert.equal(code, 2);
    assert.equal(stdout, '');
    assert.match(withoutNodeWarnings(stderr), says);
    assert.match(stderr, /\n\nUsage: /);
    assert.doesNotMatch(stderr, /\n {4}at /);
  })));
});

test('the place where JSON breaks, compared with JSON.parse', () => {
  const sound = '{"a":[1,-2.5e+3,{"b":"\\u00e9\\n"},[],{}],"c":null ,"d" : true,"e":""}';
  const pieces = ['', ...'"\\,:{}[]0-.ex \t\u00e9'];
  let broken = 0;
  for (let at = 0; at <= sound.length; at += 1) {
    for (const piece of pieces) {
      for (const length of [0, 1, 3]) {
        const text = sound.slice(0, at) + piece + sound.slice(at + length);
        let isJson = true;
        try {
          JSON.parse(text);
        } catch {
          isJson = false;
        }
        const fault = findFault(text);
        assert.equal(fault === undefined, isJson, text);
        if (fault === undefined) continue;
        broken += 1;
        // What stands before the damage can still become JSON. The longest token here that is no
        // string has 7 characters, and a broken one is reported where it begins.
        assert.ok(fault.at > at - 7 && fault.at <= text.length, `${text} ${fault.at}`);
      }
    }
  }
  assert.ok(broken > 1000);
  const deep = '['.repeat(100_000);
  assert.equal(findFault(deep + ']'.repeat(100_000)), undefined);
  assert.equal(findFault(deep)?.at, 100_000);
});

// ---------------------------------------------------------------------------------------------
// Servers that behave badly
// ---------------------------------------------------------------------------------------------

test('no answer in time: it says so, goes on, and ends with 1', async (t) => {
  const server = scaffold('const { id } = JSON.parse(text); if (id !== 2) reply(id);');
  const file = [1, 2, 3].map((id) => request(id)).join('\n');
  const { code, stdout, lines, last } = await play(t, server, file, ['--timeout', '2000']);
  assert.equal(code, 1);
  const after = lines.indexOf(`--> ${request(2)}`);
  assert.equal(lines[after + 1], '      (no answer to 2 in 2000 ms)', stdout);
  assert.equal(lines[after + 2], `--> ${request(3)}`);
  assert.equal(last, 'end: exit 0; 3 messages sent, 2 came; 1 got no answer');
});

test('silence after what is no message is no fault', async (t) => {
  const { code, lines, last } = await play(
    t, scaffold(ANSWERS), `${request(1)}\n!raw nonsense\n${request(2)}\n`, ['--timeout', '2000']);
  assert.equal(code, 0);
  assert.ok(lines.includes('      (no answer in 2000 ms)'));
  assert.equal(last, 'end: exit 0; 3 messages sent, 2 came');
});

test('a server that dies is noticed at once, and the rest is not sent', async (t) => {
  const server = scaffold(`
    const { id } = JSON.parse(text);
    if (id === 2) { console.error('no more'); process.exit(7); }
    reply(id);
  `);
  const file = `${request(1)}\n${request(2)}\n# more\n!sleep 60000\n${request(3)}\n`;
  const { code, lines, last, stdout } = await play(t, server, file, ['--timeout', '50000']);
  assert.equal(code, 1);
  assert.ok(lines.includes('    | no more'), stdout);
  assert.ok(lines.includes('      (no answer to 2: the server has ended)'), stdout);
  assert.ok(lines.includes('# more'), stdout);
  assert.equal(
    last, 'end: exit 7; 2 of 3 messages sent, 1 came; the server ended before the rest was sent');
});

test('a server that leaves well, but without its answer', async (t) => {
  const { code, lines, last } = await play(t, scaffold('process.exit(0)'), request(1));
  assert.equal(code, 1);
  assert.ok(lines.includes('      (no answer to 1: the server has ended)'));
  assert.equal(last, 'end: exit 0; 1 message sent, 0 came; 1 got no answer');
});

test('a server that dies while the file sleeps ends the sleep', async (t) => {
  const note = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/x' });
  // A quarter of an hour: the test's own deadline would come first, and end it with a signal.
  const { code, last } = await play(t, scaffold('process.exit(0)'), `${note}\n!sleep 900000\n`);
  assert.equal(code, 0);
  assert.equal(last, 'end: exit 0; 1 message sent, 0 came');
});

test('a server that ends badly after a good talk', async (t) => {
  const { code, last } = await play(t, scaffold(ANSWERS, 'process.exit(3)'), request(1));
  assert.equal(code, 1);
  assert.equal(last, 'end: exit 3; 1 message sent, 1 came');
});

test('what outlives stdin is forced, with what it started', async (t) => {
  const child = 'setInterval(() => {}, 1000)';
  const server = scaffold(ANSWERS, '') + `
    import { spawn } from 'node:child_process';
    const own = spawn(process.execPath, ['-e', ${JSON.stringify(child)}], { stdio: 'inherit' });
    console.error('pids ' + process.pid + ' ' + own.pid);
    process.on('SIGTERM', () => {});
    setInterval(() => {}, 1000);
  `;
  const { code, stdout, last } = await play(t, server, request(1));
  assert.equal(code, 1);
  const word = process.platform === 'win32' ? 'SIGTERM' : 'SIGKILL';
  assert.match(last, new RegExp(`^end: ${word}; 1 message sent, 1 came; it outlived .* ${word}$`));
  const pids = /pids (\d+) (\d+)/.exec(stdout)?.slice(1).map(Number) ?? [];
  assert.equal(pids.length, 2);
  // Windows has no groups of processes: there what the server started stays.
  const ours = process.platform === 'win32' ? pids.slice(0, 1) : pids;
  for (const pid of ours) assert.ok(await isGone(pid), `process ${pid} is left`);
});

test('a server that leaves, and what it had started stays', async (t) => {
  const child = 'setInterval(() => {}, 1000)';
  const server = scaffold(ANSWERS) + `
    import { spawn } from 'node:child_process';
    const own = spawn(process.execPath, ['-e', ${JSON.stringify(child)}], { stdio: 'inherit' });
    console.error('pid ' + own.pid);
  `;
  const { code, stdout, last } = await play(t, server, request(1));
  assert.equal(code, 1);
  assert.equal(
    last, 'end: exit 0; 1 message sent, 1 came; what it had started outlived it: SIGKILL');
  const pid = Number(/pid (\d+)/.exec(stdout)?.[1]);
  assert.ok(pid > 0, stdout);
  if (process.platform === 'win32') process.kill(pid); // there are no groups of processes there
  assert.ok(await isGone(pid), `process ${pid} is left`);
});

test('a line of the server that never ends is given up', async (t) => {
  const server = scaffold("write('x'.repeat(64 * 1024 * 1024 + 1))");
  const { code, last } = await play(t, server, `${request(1)}\n${request(2)}\n`);
  assert.equal(code, 1);
  assert.match(last, /^end: .*; 1 of 2 messages sent, 0 came; a line of the server's has /);
});

test('a line on stderr is cut, however long, and the last needs no end', async (t) => {
  const server = scaffold(
    "process.stderr.write('x'.repeat(20 * 1024 * 1024) + '\\nthe next\\r\\n', () => reply(1))",
    "process.stderr.write('its last words', () => process.exit(0))");
  const { code, lines } = await play(t, server, request(1));
  assert.equal(code, 0);
  assert.deepEqual(lines.filter((line) => line.startsWith('    | ')), [
    `    | ${'x'.repeat(10_000)}... (the rest of this line is left out)`,
    '    | the next', '    | its last words',
  ]);
});

test('hostile text of a server, and of the file, is shown as \\u', async (t) => {
  const server = scaffold(`
    console.error('\\u001b[31mred\\u009b2J');
    write('\\u202e\\u001b[2J\\u0007\\n');
    reply(1, { result: { text: '\\u202e' } });
  `);
  const file = `# \u001b]0;title\u0007\n!raw \u202e\u0000\n${request(1)}\n`;
  const { stdout } = await play(t, server, file);
  assert.doesNotMatch(stdout.replaceAll('\n', ''), /[\u0000-\u001f\u007f-\u009f\u202a-\u202e]/);
  assert.match(stdout, /<-- \\u202e\\u001b\[2J\\u0007\n/);
  assert.match(stdout, /"result":\{"text":"\\u202e"\}/);
  assert.match(stdout, / {4}\| \\u001b\[31mred\\u009b2J/);
  assert.match(stdout, /# \\u001b\]0;title\\u0007/);
  assert.match(stdout, /--> \\u202e\\u0000/);
});

test('what is no JSON from the server, and a last line without an end, is printed', async (t) => {
  const server = scaffold(`write('Ready.\\r\\n\\n'); reply(JSON.parse(text).id);`, `write('Bye.')`);
  const { code, lines } = await play(t, server, request(1));
  assert.equal(code, 0);
  assert.equal(lines[2], '<-- Ready.');
  assert.deepEqual(lines.slice(-3), ['<-- Bye.', '', 'end: exit 0; 1 message sent, 3 came']);
});

test('a reader of ours that goes away ends all of it quietly', async (t) => {
  const folder = makeTempFolder(t);
  const server = `process.stderr.write('pid ' + process.pid + '\\n');${scaffold(`
    const { id } = JSON.parse(text);
    reply(id);
  `, '')}; setInterval(() => {}, 1000);`;
  writeFileSync(join(folder, 'server.mjs'), server);
  const lines = Array.from({ length: 2000 }, (_, id) => request(id)).join('\n');
  writeFileSync(join(folder, 'messages.jsonl'), `${lines}\n!sleep 60000\n`);
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const args = [...RUNTIME, SCRIPT, 'server.mjs', 'messages.jsonl'];
  const child = spawn(process.execPath, args, { cwd: folder, env });
  let [stdout, stderr] = ['', ''];
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    if (/pid \d+/.test(stdout)) child.stdout.destroy();
  });
  const [code] = await once(child, 'exit');
  assert.equal(code, 2);
  assert.equal(withoutNodeWarnings(stderr), '');
  const pid = Number(/pid (\d+)/.exec(stdout)?.[1]);
  assert.ok(pid > 0, stdout);
  assert.ok(await isGone(pid), `process ${pid} is left`);
});

// ---------------------------------------------------------------------------------------------
// The command
// ---------------------------------------------------------------------------------------------

test('paths with a blank, and the environment that a server gets', async (t) => {
  const folder = makeTempFolder(t);
  mkdirSync(join(folder, 'a b'));
  copyFileSync(ECHO, join(folder, 'a b', 'my echo.ts'));
  writeFileSync(join(folder, 'a b', 'm 1.jsonl'), `${request(1)}\n`);
  const paths = [join('a b', 'my echo.ts'), join('a b', 'm 1.jsonl')];
  const { code, stdout } = await send(paths, folder);
  assert.equal(code, 0, stdout);
  assert.match(stdout, /^\$ .*a b\/my echo\.ts\n-->[^]*"result":\{\}/);
  const shows = scaffold('reply(1, { result: Object.keys(process.env).sort() })');
  process.env.SEND_TEST_SECRET = 'x';
  t.after(() => delete process.env.SEND_TEST_SECRET);
  const plain = await play(t, shows, request(1));
  assert.doesNotMatch(plain.stdout, /SEND_TEST_SECRET/);
  assert.match(plain.stdout, /PATH/i);
  const named = await play(t, shows, request(1), ['--env', 'SEND_TEST_SECRET']);
  assert.match(named.stdout, /SEND_TEST_SECRET/);
});

const SAMPLE = join('scripts', 'messages', 'echo.jsonl');
const WRONG_CALLS: Record<string, [args: string[], says: RegExp]> = {
  'nothing': [[], /^Which SERVER, and which FILE/],
  'no file of messages': [[ECHO], /echo\.ts comes the FILE of messages/],
  'a file that is not there': [[ECHO, 'none.jsonl'], /^There is no file none\.jsonl\. Samples are/],
  'a hostile name': [[ECHO, '\u001b[2J'], /^There is no file \\u001b\[2J\. /],
  'a folder as file': [[ECHO, 'scripts'], /^scripts is a folder/],
  'a server that is not there': [['none.ts', SAMPLE], /^There is no file none\.ts/],
  'the two the wrong way round': [[SAMPLE, ECHO], /is no SERVER\.ts\. The server comes first/],
  'no command': [[SAMPLE, '--'], /^After -- comes the COMMAND/],
  'a server and a command': [[ECHO, SAMPLE, '--', 'x'], /^Before -- comes the FILE of/],
  'a command that is not there': [[SAMPLE, '--', 'no-such-command'], /^Cannot start it \(.*ENOENT/],
  'a script that is not there': [[SAMPLE, '--', 'none.mjs'], /^There is no file none\.mjs/],
  'an unknown option': [['--quiet', ECHO, SAMPLE], /^Unknown option '--quiet'/],
  'a timeout in words': [['--timeout', 'soon', ECHO, SAMPLE], /^--timeout soon: milliseconds/],
  'a variable that is not there': [['--env', 'NO_SUCH', ECHO, SAMPLE], /^--env NO_SUCH: there/],
};

test('wrong calls end with 2 and a sentence', { concurrency: 2 }, async (t) => {
  await Promise.all(Object.entries(WRONG_CALLS).map(([name, [args, says]]) =>
    t.test(name, async () => {
      const { code, stdout, stderr } = await send(args);
      assert.equal(code, 2);
      assert.match(withoutNodeWarnings(stderr), says);
      assert.match(stderr, /\n\nUsage: /);
      assert.doesNotMatch(stderr, /\n {4}at /);
      if (name !== 'a command that is not there') assert.equal(stdout, '');
    })));
  const help = await send(['--help']);
  assert.equal(help.code, 0);
  assert.match(help.stdout, /^Plays a file of messages[^]*Usage: /);
});
