/**
 * A server that is right but for one thing. It plays back what a real server said to the same
 * client, with one damage: a right answer with a wrong id, a right conversation that never ends.
 * scripts/client-cases.ts has a case for each damage, and says what a client must make of it.
 *
 * It is plain JavaScript, and knows nothing of MCP, because it is started hundreds of times: Node
 * starts it in a quarter of the time that TypeScript takes.
 *
 * Run: node scripts/fake-server.mjs RECORDING DIARY DAMAGE [SCENARIO | FOLDER…]
 *
 * RECORDING is a folder that a client wrote with --save. Into the folder DIARY go files whose names
 * begin with the ids of the processes that there were; PID.heard has what was said to this one.
 * SCENARIO is the last word of a story's name, which some clients add. FOLDERs are added by a client
 * that works in a temporary folder: its name, which was another one when the recording was made, is
 * put in that one's place. Without arguments it lists its damages.
 */

import { spawn } from 'node:child_process';
import {
  appendFileSync, closeSync, readdirSync, readFileSync, writeFileSync, writeSync,
} from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';

const [recording = '', diary = '', damage = '', last = ''] = process.argv.slice(2);
const [scenario, folder] = isAbsolute(last) ? ['', dirname(last)] : [last, ''];

// ---------------------------------------------------------------------------------------------
// The damages. Most concern the third answer, which every story has, with others around it.
// ---------------------------------------------------------------------------------------------

/** Says something else to one request; `change` gets the line that is right. */
function instead(id, change) {
  return { reply: (line, asked) => (asked === id ? change(line) : `${line}\n`) };
}

/** Says a line of the given text. */
function line(text, id = 3) {
  return instead(id, () => `${text}\n`);
}

/** Changes members of the answer; one that is undefined is left out. */
function members(change, id = 3) {
  return instead(id, (right) => `${JSON.stringify({ ...JSON.parse(right), ...change })}\n`);
}

/** Answers with this error. */
function error(value) {
  return members({ result: undefined, error: value });
}

/** Changes members of the result. */
function result(change) {
  return instead(3, (right) => {
    const message = JSON.parse(right);
    return `${JSON.stringify({ ...message, result: { ...message.result, ...change } })}\n`;
  });
}

/** Says something before each answer, in the same write. */
function before(text) {
  return { reply: (right) => `${text}${right}\n` };
}

/** Replaces what is inside each result, and inside the data of each error, at one level. */
function fields(level, change) {
  // Without a version that it knows, a client leaves, and looks at no field any more.
  const isKept = (name) => /^(resultType|protocolVersion|supportedVersions)$/.test(name);
  const damaged = (value, below) => {
    if (below === 0) return change(value);
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value)
      .map(([name, inner]) => [name, isKept(name) ? inner : damaged(inner, below - 1)]);
    return Array.isArray(value) ? entries.map(([, inner]) => inner) : Object.fromEntries(entries);
  };
  return {
    reply(right) {
      const { result, error, ...message } = JSON.parse(right);
      if (result) message.result = damaged(result, level);
      if (error) message.error = { ...error, ...damaged({ data: error.data }, level) };
      return `${JSON.stringify(message)}\n`;
    },
  };
}

/** Says of the versions in the first answer something else. */
function versions(value) {
  return instead(1, (right) => {
    const isVersion = (name) => /^(protocolVersion|supportedVersions)$/.test(name);
    const message = JSON.parse(right, (name, its) => (isVersion(name) ? value : its));
    return `${JSON.stringify(message)}\n`;
  });
}

const DEEP = `${'{"a":'.repeat(1e5)}1${'}'.repeat(1e5)}`;
const DEEP_LIST = `${'['.repeat(1e5)}${']'.repeat(1e5)}`;
const FAILURE = { code: -32603, message: 'Internal error' };
const notification = '{"jsonrpc":"2.0","method":"notifications/message",' +
  '"params":{"level":"info","data":"TEXT"}}\n';

const DAMAGES = {
  // --- What must not disturb ---
  'no damage': {},
  'CRLF': { reply: (right) => `${right}\r\n` },
  'blank lines': { reply: (right) => `\n\r\n  \n${right}\n\t\n` },
  'single bytes': {
    put(text) {
      for (const byte of Buffer.from(text)) {
        say(Buffer.of(byte));
        if (byte >= 0x80) pause(2); // so that a read ends within a character
      }
    },
  },
  'several messages in one write': {
    reply: (right) => `${notification}${notification}${right}\n${notification}`,
  },
  'a notification in between': { heard: () => say(notification) },
  'a notification of five megabytes': instead(3, (right) =>
    `${notification.replace('TEXT', 'x'.repeat(5e6))}${right}\n`),
  // Each seems to be the beginning of what a client prints in grey, and none has its end.
  'a notification with _meta a hundred thousand times': instead(3, (right) => {
    const text = notification.replace('}}', '} }');
    return `${text.replace('"TEXT"', `[${'{"_meta":{"io.model":1} },'.repeat(1e5)}0]`)}${right}\n`;
  }),
  'characters that end lines elsewhere': before(notification.replace('TEXT', '\u2028\u2029\u0085')),
  'other spellings of the same JSON': {
    reply(right) {
      const message = { extra: { id: 99 }, ...JSON.parse(right) };
      const text = JSON.stringify(Object.fromEntries(Object.entries(message).reverse()), null, 2);
      return `${text.replaceAll('\n', ' \t').replace(/"id": (\d+)/, '"id": $1.0e0')} \n`;
    },
  },
  'a log on stderr': {
    start: () => complain('up and running\r\n'),
    heard: () => complain('heard something: na\u00efve'), // no end of line
  },
  'a late warning on stderr': {
    end() {
      complain('warning: it was cold');
      process.exit(0);
    },
  },
  'a megabyte on stderr': {
    start: () => complain(`${'x'.repeat(99)}\n`.repeat(5e3) + 'y'.repeat(5e5)),
  },
  'control characters': {
    ...before(notification.replace('TEXT', '\u007f\u009b31m')),
    start: () => complain('\u001b[2J\u0007\u009b31m\u0000\r\u001b]0;title\u0007\n'),
  },

  // --- Lines that are no message ---
  'a banner on stdout': { start: () => say('fake server 1.0 is ready\n') },
  'a byte order mark': { start: () => say('\ufeff') },
  'control characters on stdout': instead(3, (right) => `\u001b[32m${right}\u001b[0m\n`),
  'bytes that are no text': instead(3, () => Buffer.of(0xc3, 0x28, 0xff, 0xfe, 0x0a)),
  'pretty-printed JSON': instead(3, (right) => `${JSON.stringify(JSON.parse(right), null, 2)}\n`),
  'two messages in one line': instead(3, (right) => `${right}${right}\n`),
  'an array': instead(3, (right) => `[${right}]\n`),
  'a number': line('3'),
  'a string': line('"ready"'),
  'null': line('null'),
  'deep nesting': line(`{"jsonrpc":"2.0","id":3,"result":${DEEP}}`),
  'deep nesting in place of an envelope': line(`{"jsonrpc":${DEEP_LIST},"id":3,"result":{}}`),
  'an endless line': instead(3, () => {
    for (let megabytes = 0; megabytes < 100; megabytes += 1) say('x'.repeat(2 ** 20));
    return '\n';
  }),

  // --- Envelopes ---
  'a wrong jsonrpc': members({ jsonrpc: '1.0' }),
  'a number for jsonrpc': members({ jsonrpc: 2 }),
  'no jsonrpc': members({ jsonrpc: undefined }),
  'a wrong id': members({ id: 4711 }),
  'no id': members({ id: undefined }),
  'a string id': members({ id: '3' }),
  'a boolean id': members({ id: true }, 1),
  'a null id': members({ id: null }),
  'an id in an array': members({ id: [3] }),
  'result and error': members({ error: { code: -32603, message: 'both' } }),
  'result and a null error': members({ error: null }),
  'neither result nor error': members({ result: undefined }),
  'an error without a code': error({ message: 'no code' }),
  'an error with a fractional code': error({ code: -32603.5, message: 'a half' }),
  'an error with a string for a code': error({ code: '-32603', message: 'a string' }),
  'an error without a message': error({ code: -32603 }),
  'an error with a number for a message': error({ code: -32603, message: 5 }),
  'an error that is a string': error('Internal error'),
  'an error that is null': error(null),
  'a result that is an array': members({ result: [] }),
  'a result that is a string': members({ result: 'done' }),
  'a result that is null': members({ result: null }),
  'an unknown resultType': result({ resultType: 'partial' }),
  'no resultType': result({ resultType: undefined }),
  'a resultType that is no string': result({ resultType: ['complete'] }),

  // --- Messages that nobody asked for ---
  'a second answer': instead(3, (right) => `${right}\n${right}\n`),
  'an answer to a notification': {
    heard(text) {
      if (!text.includes('"id":')) say('{"jsonrpc":"2.0","id":null,"result":{}}\n');
    },
  },
  'a ping of its own': instead(3, (right) =>
    `{"jsonrpc":"2.0","id":"own","method":"ping"}\n${right}\n`),
  'a request of its own': instead(3, (right) =>
    `{"jsonrpc":"2.0","id":3,"method":"roots/list","params":{}}\n${right}\n`),
  'a method that is no string': line('{"jsonrpc":"2.0","id":7,"method":{"toString":1}}'),

  // --- Time ---
  'silence from the start': { reply: () => '' },
  'silence': instead(3, () => {
    complain('it thinks\n');
    return '';
  }),
  'nothing but notifications': instead(3, () => {
    setInterval(() => say(notification), 100).unref();
    return '';
  }),
  'stdin closed': instead(3, (right) => {
    closeSync(0);
    setTimeout(() => process.exit(0), 2_500);
    return `${right}\n`;
  }),
  'an answer under the id before': members({ id: 2 }),
  'a late answer': {
    ...instead(3, () => ''),
    end() {
      say(`${answers.get(3)}\n`);
      process.exit(0);
    },
  },

  // --- Deaths ---
  'death before the first request': {
    start() {
      complain('no configuration\n');
      process.exit(7);
    },
  },
  'death during a request': instead(3, () => {
    complain('out of memory\n');
    process.exit(7);
  }),
  'death by a signal': instead(3, () => {
    process.kill(process.pid, 'SIGKILL');
    return '';
  }),
  'death after the first answer': instead(1, (right) => {
    say(`${right}\n`);
    process.exit(0);
  }),
  'death within an answer': instead(3, (right) => {
    say(right.slice(0, 20));
    process.exit(0);
  }),
  'stdout closed': instead(3, () => {
    closeSync(1);
    return '';
  }),

  // --- The end ---
  'the exit code 3': { end: () => process.exit(3) },
  'a last line without an end': {
    end() {
      say('bye');
      process.exit(0);
    },
  },
  'trailing noise': {
    end() {
      say('bye\n');
      process.exit(0);
    },
  },
  'no exit': { end: () => setInterval(() => {}, 1e3) },
  'no exit, and no ear for SIGTERM': {
    start: () => process.on('SIGTERM', () => complain('no\n')),
    end: () => setInterval(() => {}, 1e3),
  },
  'a child that outlives it': {
    start() {
      const code = ['-e', 'setTimeout(() => {}, 6e4)'];
      const child = spawn(process.execPath, code, { stdio: 'inherit' });
      writeFileSync(join(diary, `${child.pid}.child`), '');
      child.unref();
    },
  },

  // --- Content ---
  'a version that nobody speaks': versions('1999-01-01'),
  'no version': versions(undefined),
  'errors in place of results': {
    reply: (right) => right.includes('"result":')
      ? `${JSON.stringify({ ...JSON.parse(right), result: undefined, error: FAILURE })}\n`
      : `${right}\n`,
  },
  'results in place of errors': {
    reply: (right) => `${right.replace(/"error":\{.*$/, '"result":{"resultType":"complete"}}')}\n`,
  },
};

// What stands where something of another kind is expected. The last is a trap for who converts
// without a look: it cannot become a string.
const ODD = {
  'nothing': () => undefined,
  'null': () => null,
  'a text': () => 'odd',
  'an array around it': (value) => [value],
  'an object that is no text': () => ({ toString: 1, valueOf: 1, then: 1, length: -1 }),
};
for (const [name, change] of Object.entries(ODD)) {
  for (const level of [1, 3]) DAMAGES[`${name} at level ${level}`] = fields(level, change);
}

// ---------------------------------------------------------------------------------------------
// The server that is right
// ---------------------------------------------------------------------------------------------

/** Writes to stdout, or else to stderr; at once, so that nothing is lost by an exit after it. */
function say(bytes, descriptor = 1) {
  try {
    let rest = Buffer.from(bytes);
    while (rest.length > 0) rest = rest.subarray(writeSync(descriptor, rest));
  } catch {
    // The client reads no more.
  }
}

function complain(text) {
  say(text, 2);
}

function pause(ms) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

const answers = new Map(); // the right lines, by the request's id

/** Finds the story that this request opens, and learns its answers. */
function learn(opening) {
  for (const file of readdirSync(recording)) {
    if (!file.endsWith(`${scenario}.transcript.json`)) continue;
    const messages = JSON.parse(inFolder(readFileSync(join(recording, file), 'utf8')))
      .map(({ from, line }) => ({ from, line, ...JSON.parse(line) }));
    if (messages[0].method !== opening.method) continue;
    for (const { from, id, line } of messages) if (from === 'server') answers.set(id, line);
  }
}

/** Puts the client's temporary folder in the place of the recorded one; mkdtemp ends both. */
function inFolder(text) {
  const name = basename(folder);
  return name === '' ? text : text.replaceAll(RegExp(`${name.slice(0, -6)}\\w{6}`, 'g'), name);
}

function hear(text, right) {
  appendFileSync(join(diary, `${process.pid}.heard`), `${text}\n`);
  right.heard(text);
  const message = JSON.parse(text);
  if (answers.size === 0) learn(message);
  const answer = message.method === undefined ? undefined : answers.get(message.id);
  if (answer !== undefined) right.put(right.reply(answer, message.id));
}

function main() {
  if (recording === '') return console.log(Object.keys(DAMAGES).join('\n'));
  if (!Object.hasOwn(DAMAGES, damage)) throw new Error(`There is no damage "${damage}".`);
  const right = {
    start() {},
    heard() {},
    reply: (answer) => `${answer}\n`,
    put: say,
    end: () => process.exit(0),
    ...DAMAGES[damage],
  };
  writeFileSync(join(diary, `${process.pid}.heard`), '');
  setTimeout(() => process.exit(9), 6e4).unref(); // whatever becomes of the client
  right.start();
  let rest = '';
  process.stdin.setEncoding('utf8').on('data', (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop();
    for (const each of lines) hear(each, right);
  });
  process.stdin.on('end', right.end);
}

main();
