/**
 * Plays the server's side of a recorded conversation back to the client that had it. A client that
 * passes the record whole, and fails at the right check where one message of it is damaged, is a
 * client whose checks can fail.
 *
 * Record a conversation first, then replay it, whole or damaged in one place:
 *
 *   npx tsx clients/echo.ts --save record
 *   npx tsx clients/echo.ts -- scripts/replay.ts record
 *   npx tsx clients/echo.ts -- scripts/replay.ts record --damage wrong-id
 *
 * DIR has a STORY.transcript.json for each story: an array of {from, atMs, expectsRefusal, line}.
 * The story is the one whose first client message is the first message that comes in. Where stories
 * begin alike, as those of snapshot do, the client's last argument says how the name must end. Then
 * each message that comes in is compared with the record, as a value, and the server's lines that
 * followed it there are written, at once: the times in the record are not kept.
 *
 * A client that works in a temporary folder adds paths below it instead: the folder's name, which
 * was another one when the record was made, is put in that one's place.
 *
 * Run: npx tsx scripts/replay.ts DIR [--damage NAME] [ENDING | PATH…]
 *
 * Exit code: 0 the record was played; 1 the damage early-exit; 2 called wrongly; 3 the client said
 * other than the record, or less, which stderr explains. Once a damage has struck, the client may
 * leave early: that is what it is for.
 *
 * SPDX-License-Identifier: MIT
 */

import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual, parseArgs } from 'node:util';

import { parseJson } from './testing.ts';

type JsonObject = Record<string, unknown>;

/** One message of a record; a client's is a line that this program waits for. */
export type Entry = { from: 'client' | 'server'; line: string };

/** A recorded conversation, and the story's name, such as `legacy` or `modern-mixed`. */
export type Transcript = { story: string; entries: Entry[] };

// ---------------------------------------------------------------------------------------------
// The damages
// ---------------------------------------------------------------------------------------------

/** One way in which a server's side of a conversation can be wrong. */
export type Damage = {
  /** What goes wrong, in a few words. */
  what: string;
  /** The label of the check that must fail first, by era; an era without one is left whole. */
  fails: { legacy?: string; modern?: string };
  /** Where it strikes: at which response, counted from 1, or when the input has ended. */
  at: number | 'the end';
  /** What is written instead of that response, or at the end. */
  write: (response: JsonObject) => string;
  /** What happens then; without it, the conversation goes on. */
  then?: 'silence' | 'exit';
};

const both = (label: string): Damage['fails'] => ({ legacy: label, modern: label });
const asLine = (value: unknown): string => `${JSON.stringify(value)}\n`;

/**
 * The damages by name. They strike at the third response, since by then both sides are talking and
 * more is to come, save where something else is said. The third response answers the request 3.
 */
export const DAMAGES: Record<string, Damage> = {
  'wrong-jsonrpc': {
    what: 'the third response says "jsonrpc": "1.0"',
    fails: both('response jsonrpc 3'),
    at: 3,
    write: (response) => asLine({ ...response, jsonrpc: '1.0' }),
  },
  'wrong-id': {
    what: 'the third response has an id that nobody used',
    fails: both('response identity 3'),
    at: 3,
    write: (response) => asLine({ ...response, id: 1003 }),
  },
  // The first response, for its id is 1: a client that compares loosely takes `true` for it.
  'boolean-id': {
    what: 'the first response has the id true',
    fails: both('response identity 1'),
    at: 1,
    write: (response) => asLine({ ...response, id: true }),
  },
  'string-id': {
    what: 'the third response has its id as a string',
    fails: both('response identity 3'),
    at: 3,
    write: (response) => asLine({ ...response, id: String(response.id) }),
  },
  'result-and-error': {
    what: 'the third response has both a result and an error',
    fails: both('result xor error 3'),
    at: 3,
    write: (response) =>
      asLine({ result: {}, error: { code: -32603, message: 'Internal error' }, ...response }),
  },
  neither: {
    what: 'the third response has neither a result nor an error',
    fails: both('result xor error 3'),
    at: 3,
    write: ({ jsonrpc, id }) => asLine({ jsonrpc, id }),
  },
  'non-object': {
    what: 'the third response comes in an array, as a batch of one',
    fails: both('response object 3'),
    at: 3,
    write: (response) => asLine([response]),
  },
  'text-result': {
    what: 'the third response has a string for a result',
    fails: both('result object 3'),
    at: 3,
    write: ({ jsonrpc, id }) => asLine({ jsonrpc, id, result: 'done' }),
  },
  'error-without-code': {
    what: 'the third response is an error without a code',
    fails: both('error shape 3'),
    at: 3,
    write: ({ jsonrpc, id }) => asLine({ jsonrpc, id, error: { message: 'something broke' } }),
  },
  'unknown-result-type': {
    what: 'the third response has a resultType that no client knows (modern stories alone)',
    fails: { modern: 'result type 3' },
    at: 3,
    write: ({ jsonrpc, id }) => asLine({ jsonrpc, id, result: { resultType: 'done' } }),
  },
  'second-answer': {
    what: 'the third response comes twice',
    fails: both('second answer 3'),
    at: 3,
    write: (response) => asLine(response) + asLine(response),
  },
  'server-request': {
    what: 'before the third response the server asks the client (modern stories alone)',
    fails: { modern: 'no request from the server' },
    at: 3,
    write: (response) => asLine({ jsonrpc: '2.0', id: 'a', method: 'ping' }) + asLine(response),
  },
  'pretty-printed': {
    what: 'the third response is spread over several lines',
    fails: both('response JSON 3'),
    at: 3,
    write: (response) => `${JSON.stringify(response, null, 2)}\n`,
  },
  banner: {
    what: 'before the first response the server says on stdout that it is ready',
    fails: both('response JSON 1'),
    at: 1,
    write: (response) => `The server is ready.\n${asLine(response)}`,
  },
  'trailing-noise': {
    what: 'when the input has ended the server takes its leave on stdout, with no line feed',
    fails: both('nothing stray on stdout'),
    at: 'the end',
    write: () => 'Goodbye.',
  },
  silence: {
    what: 'the third response never comes, and none after it',
    fails: both('response in time 3'),
    at: 3,
    write: () => '',
    then: 'silence',
  },
  'early-exit': {
    what: 'instead of the third response the server ends, with exit code 1',
    fails: both('server still there 3'),
    at: 3,
    write: () => '',
    then: 'exit',
  },
  // A client that does not speak the version leaves before it asks for anything else.
  'unknown-version': {
    what: 'the first response offers the version 2099-01-01 alone',
    fails: { legacy: 'a version that this client speaks', modern: '2026-07-28 is offered' },
    at: 1,
    write: (response) => {
      const result: JsonObject = Object(response.result);
      const version = '2099-01-01';
      const isLegacy = 'protocolVersion' in result;
      const offer = isLegacy ? { protocolVersion: version } : { supportedVersions: [version] };
      return asLine({ ...response, result: { ...result, ...offer } });
    },
  },
};

// ---------------------------------------------------------------------------------------------
// The player
// ---------------------------------------------------------------------------------------------

/** What the player does to the world: it writes, explains itself to people, and stops reading. */
type Stage = {
  write: (text: string) => void;
  explain: (text: string) => void;
  leave: (code: number) => void;
};

/** Plays one of several records: `take` each line that comes in, then `end`. */
function makePlayer(transcripts: Transcript[], damage: Damage | undefined, stage: Stage) {
  let chosen: Transcript | undefined;
  let next = 0; // the entry that is due
  let responses = 0;
  let hasStruck = false;
  let hasLeft = false;
  let isSilent = false;

  /** Takes one line of the client's, and plays what followed it. */
  function take(text: string): void {
    if (hasLeft || isSilent) return;
    chosen ??= choose(text);
    if (chosen === undefined) return;
    play(); // what the server said unasked before it was spoken to
    const due = chosen.entries[next];
    if (due === undefined || !isSame(due.line, text)) return depart(text, due?.line);
    next += 1;
    play();
  }

  function choose(text: string): Transcript | undefined {
    const found = transcripts.find(({ entries }) => isSame(firstOfClient(entries), text));
    if (found !== undefined) return found;
    const begins = transcripts.map((one) => `  ${one.story}: ${firstOfClient(one.entries)}`);
    stage.explain([
      `No record begins with what the client says first: ${text}`,
      'They begin like this:',
      ...begins,
      'Record this client afresh: run it against the real server with --save DIR.',
    ].join('\n'));
    leave(3);
    return undefined;
  }

  /** Writes the server's lines that are due, up to the client's next one. */
  function play(): void {
    while (!hasLeft && !isSilent) {
      const entry = chosen?.entries[next];
      if (entry?.from !== 'server') return;
      next += 1;
      const message = parseJson(entry.line) as JsonObject;
      const isResponse = 'result' in Object(message) || 'error' in Object(message);
      if (isResponse) responses += 1;
      if (isResponse && responses === damage?.at && isMeant()) strike(damage, message);
      else stage.write(`${entry.line}\n`);
    }
  }

  /** Is the damage meant for the era of the story that is played? */
  function isMeant(): boolean {
    const era = chosen?.story.startsWith('legacy') ? 'legacy' : 'modern';
    return damage?.fails[era] !== undefined;
  }

  function strike(damage: Damage, response: JsonObject): void {
    hasStruck = true;
    stage.write(damage.write(response));
    isSilent = damage.then === 'silence';
    if (damage.then === 'exit') leave(1);
  }

  function depart(text: string, due = 'nothing more'): void {
    stage.explain([
      `The client departs from the record ${chosen?.story}.transcript.json.`,
      `  recorded: ${due}`,
      `  it says:  ${text}`,
      'A replay can answer only what was said before: record the client afresh with --save DIR.',
    ].join('\n'));
    leave(3);
  }

  /** The client's input has ended. */
  function end(): void {
    if (hasLeft) return;
    if (damage?.at === 'the end') strike(damage, {});
    const due = chosen?.entries.slice(next).find(({ from }) => from === 'client');
    if (hasStruck && damage?.at !== 'the end') return leave(0);
    if (chosen === undefined) stage.explain('The input ended before the client said anything.');
    else if (due) stage.explain(`The client left early; the record goes on with: ${due.line}`);
    else if (damage !== undefined && !hasStruck && isMeant()) {
      stage.explain(`This record has no response ${damage.at}, so that nothing was damaged.`);
    } else return leave(0);
    leave(3);
  }

  function leave(code: number): void {
    hasLeft = true;
    stage.leave(code);
  }

  return { take, end };
}

function firstOfClient(entries: Entry[]): string {
  return entries.find(({ from }) => from === 'client')?.line ?? '';
}

/** Do two lines say the same? The order of members does not matter, all else does. */
function isSame(recorded: string, said: string): boolean {
  const value = parseJson(said);
  return value !== undefined && isDeepStrictEqual(parseJson(recorded), value);
}

// ---------------------------------------------------------------------------------------------
// The command
// ---------------------------------------------------------------------------------------------

const SUFFIX = '.transcript.json';

const USAGE = `Usage: npx tsx clients/NAME.ts -- scripts/replay.ts DIR [--damage DAMAGE]
DIR is where the client's --save wrote its transcripts.`;

function refuse(sentence: string): never {
  console.error(`${sentence}\n\n${USAGE}`);
  process.exit(2);
}

/** How this program was called; `place` is the client's temporary folder, if it has one. */
type Call = { folder: string; ending: string; place: string; damage: Damage | undefined };

function readArguments(): Call {
  let call;
  try {
    const options = { damage: { type: 'string' }, help: { type: 'boolean' } } as const;
    call = parseArgs({ options, allowPositionals: true });
  } catch (error) {
    return refuse((error as Error).message.replace(/\. [^]*/, '.'));
  }
  const { damage: name, help } = call.values;
  const [folder, ...rest] = call.positionals;
  const paths = rest.filter((word) => isAbsolute(word));
  const [ending = '', ...more] = rest.filter((word) => !isAbsolute(word));
  const names = Object.keys(DAMAGES);
  if (help) {
    const rows = Object.entries(DAMAGES).map(([name, { what }]) => `  ${name.padEnd(20)} ${what}`);
    console.log(`${USAGE}\n\nDAMAGE is one of:\n${rows.join('\n')}`);
    process.exit(0);
  }
  if (folder === undefined) refuse('There is no DIR: which record shall be played?');
  if (more.length > 0) refuse(`After DIR comes at most the ENDING of a story, not: ${more}`);
  if (name !== undefined && !Object.hasOwn(DAMAGES, name)) {
    refuse(`There is no damage "${name}". There are: ${names.join(', ')}.`);
  }
  const place = paths[0] === undefined ? '' : dirname(paths[0]);
  return { folder, ending, place, damage: name === undefined ? undefined : DAMAGES[name] };
}

/** Reads the records whose names end as asked; ends this program where there is none. */
function readTranscripts({ folder, ending, place }: Call): Transcript[] {
  if (!existsSync(folder) || !statSync(folder).isDirectory()) {
    refuse(`There is no folder ${folder}: record it with npx tsx clients/NAME.ts --save ${folder}`);
  }
  const files = readdirSync(folder).filter((file) => file.endsWith(SUFFIX)).sort();
  if (files.length === 0) {
    refuse(`${folder} has no *${SUFFIX}: record with npx tsx clients/NAME.ts --save ${folder}`);
  }
  const suffix = ending === '' ? SUFFIX : `-${ending}${SUFFIX}`;
  const wanted = files.filter((file) => file.endsWith(suffix));
  if (wanted.length === 0) {
    refuse(`${folder} has no record of a story that ends in -${ending}: ${files.join(', ')}`);
  }
  return wanted.map((file) => {
    const entries = parseJson(inPlace(readFileSync(join(folder, file), 'utf8'), place));
    if (!Array.isArray(entries) || !entries.every(isEntry)) {
      refuse(`${join(folder, file)} is no transcript. What --save writes is an array of ` +
        '{"from": "client" or "server", "line": "…"}: record it afresh.');
    }
    return { story: file.slice(0, -SUFFIX.length), entries };
  });
}

/** Puts the client's temporary folder in the place of the recorded one; mkdtemp ends both. */
function inPlace(record: string, place: string): string {
  const name = basename(place);
  return name === '' ? record : record.replaceAll(RegExp(`${name.slice(0, -6)}\\w{6}`, 'g'), name);
}

function isEntry(value: unknown): value is Entry {
  const { from, line } = Object(value);
  return (from === 'client' || from === 'server') && typeof line === 'string';
}

function main(): void {
  const call = readArguments();
  const player = makePlayer(readTranscripts(call), call.damage, {
    write: (text) => process.stdout.write(text),
    explain: (text) => console.error(text),
    // With stdin gone nothing keeps this process alive, and what was written still goes out.
    leave: (code) => {
      process.exitCode = code;
      process.stdin.destroy();
    },
  });
  let rest = '';
  process.stdin.setEncoding('utf8');
  process.stdin.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const text of lines) if (text.trim() !== '') player.take(text);
  });
  process.stdin.on('end', () => player.end());
  process.stdout.on('error', () => process.stdin.destroy()); // nobody reads this any more
}

// The tests import this file; then it does nothing by itself. Links are resolved, since a path that
// leads through one is not the file's URL.
if (realpathSync(process.argv[1] ?? '.') === realpathSync(fileURLToPath(import.meta.url))) main();
