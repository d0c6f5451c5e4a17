/**
 * The client cases: what a client must make of a server with one fault, and of one whose ways are
 * odd but right. This file is the table; scripts/client-cases.test.ts runs it.
 *
 * The server is scripts/fake-server.mjs, where each damage has its name; most concern the third
 * answer of a story. A client is held to the labels of its FAIL lines: these, in this order, and no
 * other.
 */

/** One value for both eras, or one for each. */
export type PerEra<T> = T | { legacy: T; modern: T };

export type ClientCase = {
  damage: string;
  /**
   * The labels that fail in a story, where `*` stands for a number. `content` is for damages that
   * no envelope shows: then any label of the stories' own may fail, and one must.
   */
  fails: PerEra<readonly string[]> | 'content';
  /** What the client says besides, in each story. */
  says?: readonly RegExp[];
  /** What the server must have been told. */
  heard?: PerEra<RegExp | undefined>;
  /** What the server must not have been told. */
  unheard?: PerEra<RegExp | undefined>;
  /** For --timeout. Where there is none, no deadline passes in the case. */
  timeout?: number;
  /** The one story that is told, where each would take seconds. */
  era?: 'modern';
  /** Why Windows cannot have this case. */
  notOnWindows?: string;
};

/** Cases that end alike. */
function all(fails: ClientCase['fails'], ...damages: string[]): ClientCase[] {
  return damages.map((damage) => ({ damage, fails }));
}

// Long enough for a right answer on a slow machine, short enough to wait for in vain.
const SHORT = 1_500;
const NO_SIGNALS = 'there are no signals on Windows';

const STRAY = 'nothing stray on stdout';
const EXIT = 'exit 0 when stdin closes';
const FORCE = 'no force needed to end it';

/** The cases by kind. Only those of `content` concern the stories, the others the plumbing. */
export const KINDS: Record<string, ClientCase[]> = {
  'what must not disturb': all([],
    'no damage',
    'CRLF',
    'blank lines',
    'single bytes',
    'several messages in one write',
    'a notification in between',
    'a notification of five megabytes',
    'a notification with _meta a hundred thousand times',
    'characters that end lines elsewhere',
    'other spellings of the same JSON',
    'a log on stderr',
    'a late warning on stderr',
    'a megabyte on stderr',
  ).concat([
    { damage: 'control characters', fails: [], says: [/\\u009b31m/, /\\u001b\[2J\\u0007/] },
  ]),

  'lines that are no message': [
    { damage: 'a banner on stdout', fails: ['response JSON 1', STRAY], says: [/came: .*1\.0 is/] },
    // RFC 8259, section 8.1: who sends JSON must not add one. Real hosts choke on it, so it fails.
    { damage: 'a byte order mark', fails: ['response JSON 1', STRAY], says: [/came: +\\ufeff\{/] },
    {
      damage: 'control characters on stdout',
      fails: ['response JSON 3', STRAY],
      says: [/^<-- \\u001b\[32m\{/m, /came: +\\u001b\[32m\{/],
    },
    ...all(['response JSON 3', STRAY],
      'bytes that are no text',
      'pretty-printed JSON',
      'two messages in one line',
    ),
    ...all(['response object 3'],
      'an array',
      'a number',
      'a string',
      'null',
      'deep nesting',
      'deep nesting in place of an envelope',
    ),
    { damage: 'an endless line', fails: ['response line 3', STRAY] },
  ],

  'envelopes': [
    ...all(['response identity 3'],
      'a wrong id',
      'no id',
      'a string id',
      'a null id',
      'an id in an array',
      'a method that is no string',
    ),
    ...all(['response identity 1'], 'a boolean id'), // true is not 1
    ...all(['response jsonrpc 3'],
      'a wrong jsonrpc',
      'a number for jsonrpc',
      'no jsonrpc',
    ),
    ...all(['result xor error 3'],
      'result and error',
      'result and a null error',
      'neither result nor error',
    ),
    ...all(['error shape 3'],
      'an error without a code',
      'an error with a fractional code',
      'an error with a string for a code',
      'an error without a message',
      'an error with a number for a message',
      'an error that is a string',
      'an error that is null',
    ),
    ...all(['result object 3'],
      'a result that is an array',
      'a result that is a string',
      'a result that is null',
    ),
    // In the legacy era the member means nothing.
    ...all({ legacy: [], modern: ['result type 3'] },
      'an unknown resultType',
      'no resultType',
      'a resultType that is no string',
    ),
  ],

  'messages that nobody asked for': [
    ...all(['second answer 3'], 'a second answer'),
    ...all({ legacy: ['response identity 2'], modern: [] }, 'an answer to a notification'),
    {
      damage: 'a ping of its own',
      fails: { legacy: [], modern: ['no request from the server'] },
      heard: { legacy: /^\{"jsonrpc":"2\.0","id":"own","result":\{\}\}$/m, modern: undefined },
      unheard: { legacy: undefined, modern: /"id":"own"/ },
    },
    {
      damage: 'a request of its own',
      fails: { legacy: [], modern: ['no request from the server'] },
      heard: { legacy: /^\{"jsonrpc":"2\.0","id":3,"error":\{"code":-32601,/m, modern: undefined },
      unheard: { legacy: undefined, modern: /"error":/ },
    },
  ],

  'time': [
    {
      damage: 'silence',
      fails: ['response in time 3'],
      says: [
        /expected: an answer to \w+\/\w+$/m,
        /came: +nothing within 1500 ms; its last words on stderr: it thinks/,
      ],
      heard: /"method":"notifications\/cancelled","params":\{"requestId":3\}/,
      timeout: SHORT,
    },
    {
      damage: 'silence from the start', // no right answer can be late here
      fails: ['response in time 1'],
      says: [/expected: an answer to (?:initialize|server\/discover)$/m, /nothing within 900 ms/],
      heard: { legacy: undefined, modern: /cancelled","params":\{"requestId":1\}/ },
      unheard: { legacy: /cancelled/, modern: undefined },
      timeout: 300,
    },
    {
      damage: 'a late answer',
      fails: ['response in time 3'],
      says: [/^<-- \{.*"id":3.*\n {6}\(that came after the story had ended\)$/m],
      timeout: SHORT,
    },
    {
      damage: 'nothing but notifications',
      fails: ['response in time 3'],
      timeout: SHORT,
    },
    {
      damage: 'stdin closed', // and its end, a second later, is no fault
      fails: ['response in time 4'],
      timeout: SHORT,
    },
    {
      damage: 'an answer under the id before',
      fails: ['second answer 2', 'response in time 3'],
      timeout: SHORT,
    },
  ],

  'deaths': [
    {
      damage: 'death during a request',
      fails: ['server still there 3', EXIT],
      says: [/came: +nothing; exit: 7; its last words on stderr: out of memory/, /code 7/],
    },
    {
      damage: 'death before the first request',
      fails: ['server still there 1', EXIT],
      says: [/came: +nothing; exit: 7; its last words on stderr: no configuration/, /code 7/],
    },
    {
      damage: 'death by a signal',
      fails: ['server still there 3', EXIT],
      says: [/came: +nothing; exit: SIGKILL;/, /came: +SIGKILL/],
      notOnWindows: NO_SIGNALS,
    },
    {
      damage: 'death after the first answer',
      fails: ['server still there 2'], // the client has sent the next request by then
      says: [/came: +nothing; exit: 0; its last words on stderr: none/],
    },
    { damage: 'death within an answer', fails: ['server still there 3', STRAY], says: [/20$/m] },
    { damage: 'stdout closed', fails: ['server still there 3'], says: [/exit: none;/] },
  ],

  'the end': [
    { damage: 'the exit code 3', fails: [EXIT], says: [/expected: code 0\n +came: +code 3/] },
    { damage: 'a last line without an end', fails: [STRAY], says: [/came: +3$/m] },
    { damage: 'trailing noise', fails: ['response JSON *', STRAY], says: [/came: +bye/] },
    {
      damage: 'no exit',
      fails: [EXIT, FORCE],
      says: [/came: +SIGTERM\nFAIL .*\n.*\n +came: +SIGTERM/],
      era: 'modern',
      notOnWindows: NO_SIGNALS,
    },
    {
      damage: 'no exit, and no ear for SIGTERM',
      fails: [EXIT, FORCE],
      says: [/^ {4}\| no$/m, /came: +SIGKILL\nFAIL .*\n.*\n +came: +SIGKILL/],
      era: 'modern',
      notOnWindows: NO_SIGNALS,
    },
    {
      damage: 'a child that outlives it',
      fails: [FORCE],
      says: [/came: +SIGKILL/],
      notOnWindows: 'there are no groups of processes on Windows, where the child lives on',
    },
  ],

  'content': [
    {
      damage: 'a version that nobody speaks',
      fails: { legacy: ['a version that this client speaks'], modern: ['2026-07-28 is offered'] },
      unheard: /"id":2|initialized/, // it leaves
    },
    {
      damage: 'no version',
      fails: { legacy: ['a version that this client speaks'], modern: ['2026-07-28 is offered'] },
      unheard: /"id":2|initialized/,
    },
    ...all('content',
      'errors in place of results',
      'results in place of errors',
      ...[1, 3].flatMap((level) => [
        `nothing at level ${level}`,
        `null at level ${level}`,
        `a text at level ${level}`,
        `an array around it at level ${level}`,
        `an object that is no text at level ${level}`,
      ]),
    ),
  ],
};
