/**
 * The raw cases: bytes in, messages out, for every stdio server of the kit. This file is the table;
 * scripts/raw-cases.test.ts runs it. A case names its bytes as they cross the wire, because the
 * point is what no well-behaved client would ever send.
 *
 * A server is not named here. What a case needs to know of one (its lists, its tools) comes as
 * `Facts`, which the runner reads from the server first; what the contract of a tool promises
 * stands in TOOL_CONTRACTS, by the tool's name.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { KIT } from './testing.ts';

// ---------------------------------------------------------------------------------------------
// What a case is
// ---------------------------------------------------------------------------------------------

export type Bytes = string | Buffer;

/** What a message must be: the same value, where a RegExp stands for a text, a Check for a part. */
export type Pattern =
  | string | number | boolean | null | RegExp | Check
  | readonly Pattern[] | { readonly [member: string]: Pattern };

/** Looks at one value: gives undefined, or what is wrong with it. */
export type Check = (value: unknown) => string | undefined;

/** Some writes, and the messages that come back, in any order: all of them, and no other. */
export type Exchange = { writes: readonly Bytes[]; replies: readonly Pattern[] };

/** One case. A line feed is added to the last write of an exchange that has none at its end. */
export type RawCase = {
  name: string;
  state: State;
  exchanges: readonly Exchange[];
  /** The input ends right after the last write, with no line feed added. */
  endsInput?: true;
  /** What the server must write to stderr; where this is missing, it must write nothing. */
  stderr?: RegExp;
};

/**
 * What the server has been through before the case:
 * - `bare`: a running server in which no session has begun, and none may begin
 * - `session`: a running server after a legacy handshake
 * - `any`: the case is run in both of these
 * - `fresh`: a process of its own
 */
export type State = 'bare' | 'session' | 'any' | 'fresh';

/** What the runner has learned of a server before the cases. */
export type Facts = {
  serverInfo: JsonObject;
  capabilities: JsonObject;
  /** The list methods that the server has, with what each gave in a legacy session. */
  lists: Record<string, JsonObject>;
};

type JsonObject = Record<string, unknown>;

// ---------------------------------------------------------------------------------------------
// Bytes in
// ---------------------------------------------------------------------------------------------

export const MODERN = '2026-07-28';
export const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
export const CAPABILITIES_KEY = 'io.modelcontextprotocol/clientCapabilities';
export const CLIENT_KEY = 'io.modelcontextprotocol/clientInfo';
export const LEVEL_KEY = 'io.modelcontextprotocol/logLevel';
export const SERVER_KEY = 'io.modelcontextprotocol/serverInfo';

/** Writes an object of which each member's value is JSON text, since 1.0 and 1e2 are cases too. */
export function raw(members: Record<string, string | undefined>): string {
  const present = Object.entries(members).filter(([, text]) => text !== undefined);
  return `{${present.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`;
}

/** Writes a request with the id 1; members change it, or take what is undefined out of it. */
function request(members: Record<string, string | undefined>): string {
  return raw({ jsonrpc: '"2.0"', id: '1', ...members });
}

/** Writes a ping whose id is the given JSON text. */
export function ping(id: string): string {
  return raw({ jsonrpc: '"2.0"', id, method: '"ping"' });
}

/** Writes a request as a legacy client would. */
export function legacy(id: unknown, method: string, params?: unknown): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params });
}

/** Writes a request as a modern client would; `meta` adds to what must be in `_meta`. */
export function modern(
  id: unknown,
  method: string,
  params: object = {},
  meta: object = {},
): string {
  const _meta = { [VERSION_KEY]: MODERN, [CAPABILITIES_KEY]: {}, ...meta };
  return JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta } });
}

/** Writes a request whose `_meta` is the given JSON text. */
function withMeta(id: number, method: string, meta: string): string {
  const params = raw({ _meta: meta });
  return raw({ jsonrpc: '"2.0"', id: `${id}`, method: JSON.stringify(method), params });
}

/** Writes a notification whose params are the given JSON text, or missing. */
function notice(method: string, params?: string): string {
  return raw({ jsonrpc: '"2.0"', method: JSON.stringify(method), params });
}

/** Writes the cancellation of the request with that id. */
export function cancel(id: unknown): string {
  return notice('notifications/cancelled', JSON.stringify({ requestId: id, reason: 'changed' }));
}

/** Writes the legacy handshake's first message. */
export function initialize(id: unknown, version: unknown = '2025-11-25'): string {
  const client = { capabilities: {}, clientInfo: { name: 'raw-cases', version: '1' } };
  return legacy(id, 'initialize', { protocolVersion: version, ...client });
}

/** Writes the same with a `_meta` that is the given JSON text. */
function metaInitialize(meta: string): string {
  return initialize(1).replace('"params":{', () => `"params":{"_meta":${meta},`);
}

/** What a modern `_meta` must have. */
const MODERN_META = raw({ [VERSION_KEY]: '"2026-07-28"', [CAPABILITIES_KEY]: '{}' });

const INITIALIZED = notice('notifications/initialized');

/** Puts lines into one write. */
export function lines(...texts: string[]): string {
  return texts.join('\n') + '\n';
}

/** Cuts bytes at some positions: one write each. */
export function cutAt(bytes: Bytes, ...positions: number[]): Buffer[] {
  const whole = Buffer.from(bytes as string); // a Buffer is copied
  const edges = [0, ...positions, whole.length];
  return edges.slice(1).map((edge, index) => whole.subarray(edges[index], edge));
}

/** Cuts bytes everywhere: one write for each of them. */
export function cutEverywhere(bytes: Bytes): Buffer[] {
  return cutAt(bytes, ...Buffer.from(bytes as string).keys()).slice(1); // the cut at 0 is empty
}

// One JSON text for each kind of value, and for each odd member of a kind.
const STRINGS = ['""', '"text"', '"2.0"', '"__proto__"'];
const NUMBERS = ['0', '-0', '1', '-1', '1.5', '1e400', '9007199254740993'];
const ARRAYS = ['[]', '[1]', '[[]]', '[{}]'];
const OBJECTS = ['{}', '{"a":1}', '{"__proto__":{"a":1}}'];
const OTHERS = ['null', 'true', 'false'];
const NOT_STRINGS = [...OTHERS, ...NUMBERS, ...ARRAYS, ...OBJECTS];
const NOT_OBJECTS = [...OTHERS, ...NUMBERS, ...STRINGS, ...ARRAYS];
const VALUES = [...NOT_OBJECTS, ...OBJECTS];

// Every name that a plain object answers to without having it; and `then`, which await looks up.
const INHERITED = [...Object.getOwnPropertyNames(Object.prototype), 'prototype', 'then', 'length'];

const USABLE_IDS = [
  '0', '1', '-1', '42', '9007199254740991', '-9007199254740991',
  '1.0', '1e2', '1E+2', '100e-2', '-0', // whole numbers, however they are spelled
  '""', '" "', '"0"', '"1"', '"null"', '"9007199254740993"', '"é😀"', '"\u2028\u2029"',
  '"\\u0000\\n\\r\\"\\\\\\u2028"', '"\\ud800"', '"\\udc00x"', '"\ufeff"',
  ...INHERITED.map((name) => JSON.stringify(name)),
  JSON.stringify('long '.repeat(20_000)),
];

const UNUSABLE_IDS = [
  'null', 'true', 'false', '1.5', '-0.5', '1e-7', '9007199254740992', '9007199254740993',
  '-9007199254740992', '1e300', '1e400', '-1e400', `1${'0'.repeat(400)}`,
  '[]', '[1]', '["a"]', '{}', '{"a":{"b":1}}', '{"__proto__":1}', '{"toString":1}',
];

// A control character must be escaped in a string; a line feed ends the line besides.
const CONTROLS = Array.from({ length: 32 }, (_, code) => String.fromCharCode(code))
  .filter((character) => character !== '\n');

const NOT_JSON = [
  ...CONTROLS.map((character) => ping(`"a${character}b"`)),
  '{', '}', '[', ']', '"', ',', ':', 'nope', 'null null', 'undefined', 'NaN', 'Infinity', 'True',
  '01', '+1', '.5', '1.', '1e', '0x10', '1_000', "'a'", '"a', '"\\x"', '"\\u12"', '"a\tb"',
  '{"a"}', '{"a":}', '{"a":1,}', "{'a':1}", '{a:1}', '[1,]', '[,1]', '{"a":1}}', '[1]]',
  '// a comment', '{"a":1} // a comment', '/**/{}', 'Content-Length: 2', '<ping/>',
  `${ping('1')} ${ping('2')}`, `${ping('1')};`, `"\u0001"`, '\0', `${ping('1')}\0`, '\u0007',
];

// ---------------------------------------------------------------------------------------------
// Messages out
// ---------------------------------------------------------------------------------------------

/** A result. */
export function ok(id: Pattern, result: Pattern = {}): Pattern {
  return { jsonrpc: '2.0', id, result };
}

/** An error with an id; `more` adds members, or says what the message must be. */
export function err(id: Pattern, code: Pattern, more: Record<string, Pattern> = {}): Pattern {
  return { jsonrpc: '2.0', id, error: { code, message: sentence, ...more } };
}

/** An error without an id, as a member that is not there. */
export function lost(code: number): Pattern {
  return { jsonrpc: '2.0', error: { code, message: sentence } };
}

/** The kit's own words: some, and none of those that V8 or Node put into their errors. */
export const sentence: Check = (value) => {
  if (typeof value !== 'string' || value === '') return `is ${show(value)}, not a sentence`;
  const foreign =
    /unexpected (token|end|non|str|num)|position \d|in JSON|cannot read|is not (a f|it|v)/i;
  return foreign.test(value) ? `${show(value)} quotes Node` : undefined;
};

/** Stands for a member that must not be there. */
export const ABSENT: Check = (value) => `is ${show(value)}, and should not be there`;

/** At least these members. */
export function including(members: Record<string, Pattern>): Check {
  return (value) => {
    if (!isObject(value)) return `is ${show(value)}, not an object`;
    for (const [name, pattern] of Object.entries(members)) {
      if (!Object.hasOwn(value, name)) {
        if (pattern === ABSENT) continue;
        return `has no ${name}`;
      }
      const wrong = mismatch(pattern, value[name]);
      if (wrong !== undefined) return `.${name} ${wrong}`;
    }
    return undefined;
  };
}

/** At least these members, and nothing that only the modern era has. */
export function legacyResult(members: Record<string, Pattern>): Check {
  const modernOnly = { resultType: ABSENT, _meta: ABSENT, ttlMs: ABSENT, cacheScope: ABSENT };
  return including({ ...modernOnly, ...members });
}

/** At least these members, and what each complete result of the modern era has. */
export function modernResult(facts: Facts, members: Record<string, Pattern>): Check {
  const _meta = including({ [SERVER_KEY]: facts.serverInfo as Pattern });
  return including({ resultType: 'complete', _meta, ...members });
}

/** A modern result that may be kept: the hints of a list, unless other ones are given. */
export function cacheable(
  facts: Facts,
  members: Record<string, Pattern>,
  hints: Record<string, Pattern> = { ttlMs: 3_600_000, cacheScope: 'public' },
): Check {
  return modernResult(facts, { ...hints, ...members });
}

/** A modern result that no client may keep. */
function uncacheable(facts: Facts, members: Record<string, Pattern>): Check {
  return modernResult(facts, { ttlMs: ABSENT, cacheScope: ABSENT, ...members });
}

/** One reply, a good or a bad one; only an `Internal error` is never right. */
function anyReply(id: Pattern): Check {
  return (value) => {
    const { error, ...rest } = isObject(value) ? value : {};
    if (mismatch(id, rest.id) !== undefined) return `is no reply to ${show(id)}`;
    return isObject(error) && error.code === -32603 ? 'is an Internal error' : undefined;
  };
}

const oneOf = (...values: unknown[]): Check => (value) =>
  values.includes(value) ? undefined : `is ${show(value)}, none of ${show(values)}`;

/** Each server's contract says which of these two it gives in legacy. */
const NOT_FOUND = oneOf(-32602, -32002);

const wholeNumber: Check = (value) =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? undefined : `is ${show(value)}`;

const same = (text: string): Pattern => JSON.parse(text) as Pattern;

const unknownMethod = (id: Pattern, method: string): Pattern =>
  err(id, -32601, { message: `Method not found: ${method}` });

/** Before a session: the error must tell both ways in, for whoever reads it in a log. */
const noSession = (id: Pattern): Pattern =>
  err(id, -32602, { message: /(?=[^]*initialize)(?=[^]*_meta)/ });

const mentions = (key: string): RegExp => new RegExp(key.replaceAll('.', '\\.'));

/** Asks for a method that nobody has: the error tells whether a session has begun. */
const probe = (id: unknown): string => legacy(id, 'no/such');

/** The answer to `server/discover`. */
function discovery(facts: Facts): Check {
  const capabilities = facts.capabilities as Pattern;
  return cacheable(facts, { supportedVersions: [MODERN], capabilities });
}

/** A list method that the server has. */
function listOf(facts: Facts): string {
  const [method] = Object.keys(facts.lists);
  if (method === undefined) throw new Error('a server without any list: nothing to ask it for');
  return method;
}

/** The names, or other texts, that a list of the server gave. */
export function namesIn(facts: Facts, method: string, member: string, key = 'name'): string[] {
  const items = facts.lists[method]?.[member] ?? [];
  return (items as JsonObject[]).map((item) => String(item[key]));
}

/** Compares a value with a pattern: gives undefined, or where and how they differ. */
export function mismatch(pattern: Pattern, value: unknown): string | undefined {
  if (typeof pattern === 'function') return pattern(value);
  if (pattern instanceof RegExp) {
    return typeof value === 'string' && pattern.test(value)
      ? undefined : `is ${show(value)}, which ${pattern} does not match`;
  }
  if (typeof pattern !== 'object' || pattern === null) {
    return pattern === value ? undefined : `is ${show(value)}, not ${show(pattern)}`;
  }
  if (Array.isArray(pattern) !== Array.isArray(value) || typeof value !== 'object' || !value) {
    return `is ${show(value)}, not ${show(pattern)}`;
  }
  const extra = Object.keys(value).filter((name) => !Object.hasOwn(pattern, name));
  if (extra.length > 0) return `has ${extra.join(', ')}, which should not be there`;
  return including(pattern as Record<string, Pattern>)({ ...value });
}

/** Shows a value, or the bytes of a write, in a line that fits a message. */
export function show(value: unknown): string {
  const text = value instanceof Buffer ? value.toString('latin1') : value;
  const name = (_: string, part: unknown): unknown =>
    typeof part === 'function' || part instanceof RegExp ? `<${part}>`.slice(0, 60) : part;
  const shown = JSON.stringify(text, name) ?? String(text);
  return shown.length <= 300 ? shown : `${shown.slice(0, 200)}…(${shown.length} characters)`;
}

/** Is it a JSON object, and neither null nor an array? */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

// ---------------------------------------------------------------------------------------------
// The contracts of tools, by the tool's name
// ---------------------------------------------------------------------------------------------

/** What is promised of one tool: arguments as JSON text, and what they give. */
type ToolContract = {
  good: { args: string | undefined; text: string }[];
  /** Refused by a result with isError; in legacy with -32602, where that is the contract. */
  bad: { args: string | undefined; message: string }[];
  refusesInLegacy: boolean;
};

const NOTES = [
  { id: 1, tag: 'release', text: 'v2.1 shipped with streaming fixes' },
  { id: 2, tag: 'incident', text: 'gateway 502 spike traced to upstream pool' },
  { id: 3, tag: 'release', text: 'v2.2 rolled out canary to 5%' },
];

/** The text of a notes_query result. */
function notes(...ids: number[]): string {
  return JSON.stringify(NOTES.filter(({ id }) => ids.includes(id)));
}

/** Arguments that have, besides what is given, each name of Object.prototype; all to be ignored. */
function withInherited(members: string): string {
  const extra = INHERITED.map((name) => `${JSON.stringify(name)}:{"text":1,"tag":1}`);
  return `{${[...extra, members].filter(Boolean).join(',')}}`;
}

const NO_TEXT = 'arguments.text must be a string';
const NO_TAG = 'arguments.tag must be a string';
const NO_PATH = 'arguments.path must be a string';
const NOT_BELOW = 'Not found below the roots';
const LESSONS = join(KIT, 'lessons');

/** The first 100 characters of a file of the lessons. */
function startOf(path: string): string {
  return [...readFileSync(join(LESSONS, path), 'utf8')].slice(0, 100).join('');
}

/** The text of a list_files result for a folder of the lessons. */
function entriesOf(path: string): string {
  const entries = readdirSync(join(LESSONS, path), { withFileTypes: true });
  const rows = entries.map((one) => ({ name: one.name, type: one.isFile() ? 'file' : 'folder' }));
  return JSON.stringify(rows.sort((a, b) => (a.name < b.name ? -1 : 1)));
}

export const TOOL_CONTRACTS: Record<string, ToolContract> = {
  echo: {
    good: [
      { args: '{"text":"hello"}', text: 'echo: hello' },
      { args: '{"text":""}', text: 'echo: ' },
      { args: '{"text":"é😀\\u2028\u2028\\n\\u0000"}', text: 'echo: é😀\u2028\u2028\n\0' },
      { args: '{"text":"\\ud800 \\udc00"}', text: 'echo: \ud800 \udc00' },
      { args: '{"text":"__proto__","more":1}', text: 'echo: __proto__' },
      { args: withInherited('"text":"hi"'), text: 'echo: hi' },
    ],
    bad: [
      ...NOT_STRINGS.map((text) => ({ args: `{"text":${text}}`, message: NO_TEXT })),
      ...[undefined, '{}', '{"Text":"hi"}', '{"__proto__":{"text":"hi"}}', withInherited('')]
        .map((args) => ({ args, message: NO_TEXT })),
    ],
    refusesInLegacy: true,
  },
  notes_query: {
    good: [
      ...[undefined, '{}', '{"tag":""}', '{"more":1}', '{"__proto__":{"tag":"release"}}']
        .map((args) => ({ args, text: notes(1, 2, 3) })),
      { args: '{"tag":"release"}', text: notes(1, 3) },
      { args: withInherited('"tag":"incident"'), text: notes(2) },
      ...['Release', 'release ', 'rel', '__proto__', 'é😀\u2028', '*', '1']
        .map((tag) => ({ args: JSON.stringify({ tag }), text: '[]' })),
    ],
    bad: NOT_STRINGS.map((tag) => ({ args: `{"tag":${tag}}`, message: NO_TAG })),
    refusesInLegacy: true,
  },
  // The root is the kit's folder lessons.
  read_file_summary: {
    good: [
      ...['README.md', './/GLOSSARY.md', '07-controls/./README.md']
        .map((path) => ({ args: JSON.stringify({ path }), text: startOf(path) })),
      { args: withInherited('"path":"GLOSSARY.md"'), text: startOf('GLOSSARY.md') },
    ],
    bad: [
      ...NOT_STRINGS.map((path) => ({ args: `{"path":${path}}`, message: NO_PATH })),
      ...[undefined, '{}', '{"__proto__":{"path":"README.md"}}', withInherited('')]
        .map((args) => ({ args, message: NO_PATH })),
      ...['', '.', '..', '../README.md', '/etc/passwd', 'no-such', '__proto__', 'a\0', '\ud800']
        .map((path) => ({ args: JSON.stringify({ path }), message: NOT_BELOW })),
    ],
    refusesInLegacy: false,
  },
  list_files: {
    good: [
      ...[undefined, '{}', '{"path":"."}', '{"path":""}', '{"__proto__":{"path":"no-such"}}']
        .map((args) => ({ args, text: entriesOf('.') })),
      { args: '{"path":"07-controls"}', text: entriesOf('07-controls') },
      { args: withInherited('"path":"./07-controls/"'), text: entriesOf('07-controls') },
    ],
    bad: [
      ...NOT_STRINGS.map((path) => ({ args: `{"path":${path}}`, message: NO_PATH })),
      ...['..', '../lessons', '/', 'README.md', 'no-such', 'toString', '\0', '07-controls/..']
        .map((path) => ({ args: JSON.stringify({ path }), message: NOT_BELOW })),
    ],
    refusesInLegacy: false,
  },
};

// ---------------------------------------------------------------------------------------------
// The table
// ---------------------------------------------------------------------------------------------

/** Makes a case of one exchange. */
function one(name: string, state: State, writes: Bytes | Bytes[], ...replies: Pattern[]): RawCase {
  return { name, state, exchanges: [{ writes: [writes].flat(), replies }] };
}

/** Makes a case of one exchange after which the input ends. */
function last(name: string, writes: Bytes | Bytes[], ...replies: Pattern[]): RawCase {
  return { ...one(name, 'fresh', writes, ...replies), endsInput: true };
}

/** Makes a case that each value of a list goes through. */
function each<T>(values: readonly T[], make: (value: T) => RawCase | RawCase[]): RawCase[] {
  return values.flatMap((value) => make(value));
}

/** Lists all cases for a server, in groups of one kind. */
export function rawCases(facts: Facts): Record<string, RawCase[]> {
  return {
    'every JSON value as a line': jsonValues(),
    'lines that are no JSON': notJson(),
    'ids': ids(facts),
    'envelopes': envelopes(),
    'notifications': notifications(),
    'responses': responses(),
    'params': params(facts),
    '_meta and progressToken': metas(facts),
    'inherited names': inheritedNames(facts),
    'before a session': beforeSession(facts),
    'handshake': handshake(facts),
    'modern _meta': modernMeta(facts),
    'modern methods': modernMethods(facts),
    'both eras': bothEras(facts),
    'lists and cursors': lists(facts),
    'tools': tools(facts),
    'resources': resources(facts),
    'prompts': prompts(facts),
    'cancellation of what does not run': cancellations(),
    'framing': framing(),
    'UTF-8': utf8(),
    'deep nesting': deepNesting(facts),
    'end of input': endOfInput(),
  };
}

function jsonValues(): RawCase[] {
  const batches = [`[${ping('1')}]`, `[${ping('1')},${ping('2')}]`, `[${INITIALIZED}]`];
  return [
    ...each([...NOT_OBJECTS, ...batches, '"ping"'], (text) => one(text, 'any', text, lost(-32600))),
    ...each(OBJECTS, (text) => one(text, 'any', text, lost(-32600))),
  ];
}

function notJson(): RawCase[] {
  const whole = ping('1');
  const prefixes = Array.from({ length: whole.length - 1 }, (_, i) => whole.slice(0, i + 1));
  return each([...NOT_JSON, ...prefixes], (text) => one(text, 'any', text, lost(-32700)));
}

function ids(facts: Facts): RawCase[] {
  return [
    ...each(USABLE_IDS, (id) => [
      one(`ping with id ${show(id)}`, 'any', ping(id), ok(same(id))),
      one(`unknown method with id ${show(id)}`, 'session',
        request({ id, method: '"no/such"' }), unknownMethod(same(id), 'no/such')),
      one(`modern id ${show(id)}`, 'any',
        modern(0, 'server/discover').replace('"id":0', () => `"id":${id}`),
        ok(same(id), discovery(facts))),
    ]),
    ...each(UNUSABLE_IDS, (id) => [
      one(`ping with id ${show(id)}`, 'any', ping(id), lost(-32600)),
      one(`id ${show(id)} and a method that is a notification's`, 'any',
        request({ id, method: '"notifications/initialized"' }), lost(-32600)),
      one(`id ${show(id)} and a wrong jsonrpc`, 'any', raw({ id, method: '"ping"' }), lost(-32600)),
      one(`id ${show(id)} and bad params`, 'any',
        request({ id, method: '"ping"', params: '1' }), lost(-32600)),
      one(`id ${show(id)} and no method`, 'any', raw({ jsonrpc: '"2.0"', id }), lost(-32600)),
      one(`modern id ${show(id)}`, 'any',
        modern(0, 'server/discover').replace('"id":0', () => `"id":${id}`), lost(-32600)),
    ]),
    // Once it is answered, an id is free again: what is refused is one that is in flight.
    one('an id again after its answer', 'any', lines(ping('7'), ping('7')), ok(7), ok(7)),
  ];
}

function envelopes(): RawCase[] {
  const wrongVersions = VALUES.filter((text) => text !== '"2.0"');
  const more = ['"1.0"', '"2"', '"2.00"', '" 2.0"', '"2.0 "', '2.0', '2', '["2.0"]'];
  return [
    ...each([undefined, ...wrongVersions, ...more], (jsonrpc) => [
      one(`jsonrpc ${jsonrpc}`, 'any', request({ jsonrpc, method: '"ping"' }), err(1, -32600)),
      one(`jsonrpc ${jsonrpc} with the id ""`, 'any', raw({ jsonrpc, id: '""', method: '"ping"' }),
        err('', -32600)),
    ]),
    ...each([undefined, ...NOT_STRINGS], (method) => [
      one(`method ${method}`, 'any', request({ method }), err(1, -32600)),
      one(`method ${method} with the id 0`, 'any', request({ id: '0', method }),
        err(0, -32600)),
      one(`method ${method}, no id`, 'any', raw({ jsonrpc: '"2.0"', method }), lost(-32600)),
      one(`method ${method}, nothing else`, 'any', raw({ method }), lost(-32600)),
      one(`method ${method} and params`, 'any',
        request({ method, params: '{}' }), err(1, -32600)),
    ]),
    // A member `method` that is there, though no string, makes it no response.
    ...each(NOT_STRINGS, (method) => one(`method ${method} and a result`, 'any',
      request({ method, result: '{}' }), err(1, -32600))),
    one('a method and a result', 'any',
      request({ method: '"ping"', result: '{}' }), anyReply(1)),
    one('only an id', 'any', '{"id":1}', err(1, -32600)),
    one('only params', 'any', '{"params":{}}', lost(-32600)),
    one('only jsonrpc', 'any', '{"jsonrpc":"2.0"}', lost(-32600)),
    one('the members inside __proto__', 'any', `{"__proto__":${ping('1')}}`, lost(-32600)),
    one('the method inside __proto__', 'any',
      '{"jsonrpc":"2.0","id":1,"__proto__":{"method":"ping"}}', err(1, -32600)),
    one('the id inside __proto__', 'any',
      '{"jsonrpc":"2.0","method":"ping","__proto__":{"id":1}}'), // so it is a notification
    one('members in another order', 'any', '{"method":"ping","id":1,"jsonrpc":"2.0"}', ok(1)),
    one('more members', 'any', request({ method: '"ping"', a: '1' }), ok(1)),
    one('names spelled with escapes', 'any',
      '{"jsonrp\\u0063":"2\\u002e0","\\u0069d":1,"method":"pin\\u0067"}', ok(1)),
    ...each(['Jsonrpc', 'ID', 'Method'], (name) => one(`a member spelled ${name}`, 'any',
      ping('1').replace(name.toLowerCase(), name), ...(name === 'ID' ? [] : [err(1, -32600)]))),
  ];
}

function notifications(): RawCase[] {
  const methods = [
    'notifications/initialized', 'notifications/cancelled', 'notifications/progress',
    'notifications/roots/list_changed', 'notifications/no/such', '', 'no/such', 'ping',
    'initialize', 'server/discover', 'tools/call', 'tools/list', ...INHERITED,
  ];
  const versions = VALUES.filter((text) => text !== '"2.0"');
  return [
    // In a bare server, so that one of them that began a session is found out.
    ...each(methods, (method) => [
      ...each([undefined, ...VALUES], (params) =>
        one(`${method} with params ${params}`, 'any', notice(method, params))),
      ...each([undefined, ...versions], (jsonrpc) => one(`${method} with jsonrpc ${jsonrpc}`, 'any',
        raw({ jsonrpc, method: JSON.stringify(method), params: '{}' }))),
      one(`${method}, modern`, 'any', modern(undefined, method)),
      one(`${method}, modern of another version`, 'any',
        modern(undefined, method, {}, { [VERSION_KEY]: '1900-01-01' })),
      one(`${method} and a result`, 'any',
        raw({ jsonrpc: '"2.0"', method: JSON.stringify(method), result: '{}' })),
    ]),
    ...each(VALUES, (meta) => one(`_meta ${meta}`, 'any', notice('no/such', raw({ _meta: meta })))),
    one('initialize without an id begins nothing', 'bare',
      lines(JSON.stringify({ ...JSON.parse(initialize(1)) as object, id: undefined }), probe(2)),
      noSession(2)),
    one('initialized without initialize begins nothing', 'bare',
      lines(INITIALIZED, probe(1)), noSession(1)),
    // An id makes it a request, whatever its name.
    ...each(['notifications/initialized', 'notifications/cancelled'], (method) => [
      one(`${method} with an id`, 'session', legacy(1, method, {}), unknownMethod(1, method)),
      one(`${method} with an id`, 'bare', legacy(1, method, {}), noSession(1)),
      one(`${method} with an id, modern`, 'any', modern(1, method), unknownMethod(1, method)),
    ]),
  ];
}

function responses(): RawCase[] {
  const someIds = [undefined, '1', '"a"', 'null', '1.5', '{}', '[]', 'true'];
  return each(someIds, (id) => [
    ...each(VALUES, (value) => [
      one(`result ${value}, id ${id}`, 'any', request({ id, result: value })),
      one(`error ${value}, id ${id}`, 'any', request({ id, error: value })),
      one(`jsonrpc ${value} and a result, id ${id}`, 'any',
        raw({ jsonrpc: value, id, result: '{}' })),
    ]),
    one(`no jsonrpc and an error, id ${id}`, 'any', raw({ id, error: '{"code":1,"message":""}' })),
    one(`result and error, id ${id}`, 'any',
      request({ id, result: '{}', error: '{"code":1,"message":"x"}' })),
    one(`result and params, id ${id}`, 'any',
      request({ id, result: '{}', params: '[]' })),
  ]);
}

function params(facts: Facts): RawCase[] {
  const methods = ['ping', 'initialize', 'server/discover', 'tools/call',
    ...Object.keys(facts.lists)];
  return [
    ...each(methods, (method) => each(NOT_OBJECTS, (params) => one(`${method} ${params}`, 'any',
      request({ method: JSON.stringify(method), params }), err(1, -32602)))),
    ...each([undefined, ...OBJECTS, '{"a":[null]}'], (params) => one(`ping ${params}`, 'any',
      request({ method: '"ping"', params }), ok(1))),
    ...each([undefined, ...OBJECTS], (params) => one(`no/such ${params}`, 'session',
      request({ method: '"no/such"', params }), unknownMethod(1, 'no/such'))),
  ];
}

function metas(facts: Facts): RawCase[] {
  const goodTokens = ['""', '"a"', '"__proto__"', '0', '-1', '7', '1.0', '1e2', '9007199254740993'];
  const badTokens = [...OTHERS, '1.5', '-0.5', '1e400', ...ARRAYS, ...OBJECTS];
  const ignored = raw({
    a: '1', '': 'null', 'com.example/x': '{"y":[]}', traceparent: '1', tracestate: '[]',
    baggage: 'null', 'io.modelcontextprotocol/no-such': '{}', __proto__x: '0',
  }).replace('__proto__x', '__proto__');
  const discover = (token: string): string =>
    modern(1, 'server/discover', {}, { progressToken: 'TOKEN' }).replace('"TOKEN"', () => token);
  return [
    ...each(NOT_OBJECTS, (meta) => [
      ...each(['ping', 'server/discover', 'initialize', 'no/such'], (method) =>
        one(`${method} with _meta ${meta}`, 'any', withMeta(1, method, meta), err(1, -32602))),
      one(`a list with _meta ${meta}`, 'session', withMeta(1, listOf(facts), meta), err(1, -32602)),
    ]),
    ...each(goodTokens, (token) => [
      one(`token ${token}`, 'any', withMeta(1, 'ping', `{"progressToken":${token}}`), ok(1)),
      one(`modern token ${token}`, 'any', discover(token), ok(1, discovery(facts))),
    ]),
    ...each(badTokens, (token) => [
      one(`token ${token}`, 'any', withMeta(1, 'ping', `{"progressToken":${token}}`),
        err(1, -32602)),
      one(`initialize with token ${token}`, 'bare',
        lines(metaInitialize(`{"progressToken":${token}}`), probe(2)),
        err(1, -32602), noSession(2)),
      one(`modern token ${token}`, 'any', discover(token), err(1, -32602)),
    ]),
    ...each(OBJECTS, (meta) => one(`ping with _meta ${meta}`, 'any',
      withMeta(1, 'ping', meta), ok(1))),
    one('unknown keys', 'any', withMeta(1, 'ping', ignored), ok(1)),
    one('unknown keys of a list', 'session', withMeta(1, listOf(facts), ignored),
      ok(1, legacyResult({}))),
    one('only clientInfo, so it is legacy', 'bare',
      legacy(1, 'server/discover', { _meta: { [CLIENT_KEY]: { name: 'x', version: '1' } } }),
      noSession(1)),
    one('only logLevel, so it is legacy', 'session',
      legacy(1, 'ping', { _meta: { [LEVEL_KEY]: 'debug' } }), ok(1)),
    one('the modern keys inside __proto__, so it is legacy', 'bare',
      withMeta(1, 'server/discover', `{"__proto__":{"${VERSION_KEY}":"2026-07-28"}}`),
      noSession(1)),
    one('the modern keys beside _meta, so it is legacy', 'bare',
      legacy(1, 'server/discover', { [VERSION_KEY]: MODERN, [CAPABILITIES_KEY]: {} }),
      noSession(1)),
  ];
}

function inheritedNames(facts: Facts): RawCase[] {
  const calls = (kind: 'prompts' | 'tools'): [string, string][] => {
    const method = kind === 'tools' ? 'tools/call' : 'prompts/get';
    return namesIn(facts, `${kind}/list`, kind).map((name) => [method, name]);
  };
  return each(INHERITED, (name) => [
    one(`method ${name}`, 'session', legacy(1, name), unknownMethod(1, name)),
    one(`method ${name} before a session`, 'bare', legacy(1, name), noSession(1)),
    one(`modern method ${name}`, 'any', modern(1, name), unknownMethod(1, name)),
    ...each(facts.capabilities.tools ? [name] : [], () => [
      one(`tool ${name}`, 'session', legacy(1, 'tools/call', { name }), err(1, -32602)),
      one(`modern tool ${name}`, 'any', modern(1, 'tools/call', { name }), err(1, -32602)),
    ]),
    ...each(facts.capabilities.prompts ? [name] : [], () => [
      one(`prompt ${name}`, 'session', legacy(1, 'prompts/get', { name }), err(1, -32602)),
      one(`modern prompt ${name}`, 'any', modern(1, 'prompts/get', { name }), err(1, -32602)),
    ]),
    // Whether a prompt ignores an argument that it does not know is for its own contract to say.
    ...each([...calls('prompts'), ...calls('tools')], ([method, called]) => {
      const call = { name: called, arguments: Object.fromEntries([[name, 'x']]) };
      return [
        one(`argument ${name} of ${called}`, 'session', legacy(1, method, call), anyReply(1)),
        one(`modern argument ${name} of ${called}`, 'any', modern(1, method, call), anyReply(1)),
      ];
    }),
    ...each(facts.capabilities.resources ? [name] : [], (uri) => [
      one(`resource ${name}`, 'session', legacy(1, 'resources/read', { uri }),
        err(1, NOT_FOUND)),
    ]),
  ]);
}

function beforeSession(facts: Facts): RawCase[] {
  const methods = [...Object.keys(facts.lists), 'server/discover', 'tools/call', 'resources/read',
    'prompts/get', 'resources/subscribe', 'logging/setLevel', 'completion/complete', 'no/such', ''];
  const good = { capabilities: {}, clientInfo: { name: 'x', version: '1' } };
  const texts = [undefined, ...NOT_STRINGS];
  return [
    ...each(methods, (method) => one(method, 'bare', legacy(1, method, {}), noSession(1))),
    one('ping', 'bare', lines(ping('1'), probe(2)), ok(1), noSession(2)),
    // None of these handshakes succeeds, so none of them may begin a session.
    ...each(texts, (version) => one(`initialize with version ${version}`, 'bare',
      lines(legacy(1, 'initialize', { ...good, version: 0 })
        .replace('"version":0', () => version ? `"protocolVersion":${version}` : '"a":1'),
        probe(2)),
      err(1, -32602), noSession(2))),
    one('initialize without params', 'bare', lines(legacy(1, 'initialize'), probe(2)),
      err(1, -32602), noSession(2)),
    one('initialize, its version inside __proto__', 'bare',
      lines(request({ method: '"initialize"',
        params: '{"__proto__":{"protocolVersion":"2025-11-25"}}' }), probe(2)),
      err(1, -32602), noSession(2)),
    ...each(NOT_OBJECTS, (params) => one(`initialize with params ${params}`, 'bare',
      lines(request({ method: '"initialize"', params }), probe(2)),
      err(1, -32602), noSession(2))),
    ...each(NOT_OBJECTS, (meta) => one(`initialize with _meta ${meta}`, 'bare',
      lines(metaInitialize(meta), probe(2)),
      err(1, -32602), noSession(2))),
    one('initialize with a wrong jsonrpc', 'bare',
      lines(initialize(1).replace('"2.0"', '"1.0"'), probe(2)), err(1, -32600), noSession(2)),
    one('initialize with the id null', 'bare', lines(initialize(null), probe(2)),
      lost(-32600), noSession(2)),
    one('initialize in the modern era', 'bare',
      lines(modern(1, 'initialize', { protocolVersion: '2025-11-25', ...good }), probe(2)),
      unknownMethod(1, 'initialize'), noSession(2)),
    one('modern requests, remembered by nobody', 'bare',
      lines(modern(1, 'server/discover'), probe(2), modern(3, listOf(facts)),
        legacy(4, listOf(facts))),
      ok(1, discovery(facts)), noSession(2), ok(3, cacheable(facts, {})), noSession(4)),
  ];
}

function handshake(facts: Facts): RawCase[] {
  const { serverInfo, capabilities } = facts as unknown as Record<string, Pattern>;
  const agreed = (id: Pattern, protocolVersion = '2025-11-25'): Pattern =>
    ok(id, legacyResult({ protocolVersion, serverInfo, capabilities } as Record<string, Pattern>));
  const start = (...texts: string[]): string => lines(...texts);
  const list = listOf(facts);
  const unknown = ['2024-11-05', '2025-03-26', '2026-07-28', '', '9999-12-31', '2025-11-25 ',
    'DRAFT-2026-v1', '__proto__', '2025-06-18\u2028'];
  const halves = [{}, { capabilities: {} }, { clientInfo: { name: 'x', version: '1' } }];
  return [
    one('initialize, and at once the work', 'fresh',
      start(initialize(1), probe(2), legacy(3, list)),
      agreed(1), unknownMethod(2, 'no/such'), ok(3, legacyResult({}))),
    one('initialize, initialized, the work', 'fresh',
      start(initialize('a'), INITIALIZED, probe(2), ping('3')),
      agreed('a'), unknownMethod(2, 'no/such'), ok(3)),
    one('the work, initialize, the work again', 'fresh',
      start(legacy(1, list), initialize(2), legacy(3, list)),
      noSession(1), agreed(2), ok(3, legacyResult({}))),
    one('ping, initialize', 'fresh', start(ping('1'), initialize(2), ping('3')),
      ok(1), agreed(2), ok(3)),
    one('initialized, initialize', 'fresh', start(INITIALIZED, initialize(1), probe(2)),
      agreed(1), unknownMethod(2, 'no/such')),
    one('initialize twice', 'fresh',
      start(initialize(1), initialize(2), probe(3), initialize(4, '2025-06-18'), probe(5)),
      agreed(1), err(2, -32600), unknownMethod(3, 'no/such'), err(4, -32600),
      unknownMethod(5, 'no/such')),
    one('initialize twice, the second after initialized', 'fresh',
      start(initialize(1), INITIALIZED, initialize(1), probe(2)),
      agreed(1), err(1, -32600), unknownMethod(2, 'no/such')),
    one('a second initialize without a good version', 'fresh',
      start(initialize(1), initialize(2, null), legacy(3, 'initialize'), probe(4)),
      agreed(1), err(2, -32602), err(3, -32602), unknownMethod(4, 'no/such')),
    one('refused handshakes, then a good one', 'fresh',
      start(legacy(1, 'initialize'), initialize(2, 20251125), initialize(3).replace('2.0', '2.1'),
        initialize(true), modern(4, 'initialize'), probe(5), initialize(6), probe(7)),
      err(1, -32602), err(2, -32602), err(3, -32600), lost(-32600),
      unknownMethod(4, 'initialize'), noSession(5), agreed(6), unknownMethod(7, 'no/such')),
    one('server/discover without _meta, before and after', 'fresh',
      start(legacy(1, 'server/discover'), initialize(2), legacy(3, 'server/discover', {})),
      noSession(1), agreed(2), unknownMethod(3, 'server/discover')),
    one('initialize, cancelled', 'fresh', start(initialize(1), cancel(1), probe(2)),
      agreed(1), unknownMethod(2, 'no/such')),
    one('a discovery, the handshake, and both again', 'fresh',
      start(modern(1, 'server/discover'), initialize(2), modern(3, 'server/discover'), probe(4),
        modern(5, 'initialize'), modern(6, 'ping'), ping('7')),
      ok(1, discovery(facts)), agreed(2), ok(3, discovery(facts)), unknownMethod(4, 'no/such'),
      unknownMethod(5, 'initialize'), unknownMethod(6, 'ping'), ok(7)),
    one('initialize with 2025-06-18', 'fresh', start(initialize(1, '2025-06-18'), probe(2)),
      agreed(1, '2025-06-18'), unknownMethod(2, 'no/such')),
    ...each(unknown, (version) => one(`initialize with ${show(version)}`, 'fresh',
      start(initialize(1, version), probe(2)), agreed(1), unknownMethod(2, 'no/such'))),
    ...each(halves, (half) => one(`initialize with ${Object.keys(half)} only`, 'fresh',
      start(legacy(1, 'initialize', { protocolVersion: '2025-11-25', ...half }), probe(2)),
      agreed(1), unknownMethod(2, 'no/such'))),
    one('initialize with more than is known', 'fresh',
      start(legacy(1, 'initialize', {
        protocolVersion: '2025-11-25', more: [], clientInfo: { name: '', version: '', more: 1 },
        capabilities: { roots: { listChanged: 1 }, experimental: { a: {} }, no: null },
        _meta: { a: 1, progressToken: 'x', traceparent: '' },
      }), probe(2)),
      agreed(1), unknownMethod(2, 'no/such')),
  ];
}

function modernMeta(facts: Facts): RawCase[] {
  const { [VERSION_KEY]: version, [CAPABILITIES_KEY]: abilities } = {
    [VERSION_KEY]: '"2026-07-28"', [CAPABILITIES_KEY]: '{}',
  };
  /** `_meta` as JSON text, each member of which can be replaced, and left out with undefined. */
  const meta = (members: Record<string, string | undefined>): string =>
    raw({ [VERSION_KEY]: version, [CAPABILITIES_KEY]: abilities, ...members });
  const ask = (members: Record<string, string | undefined>, method = 'server/discover'): string =>
    withMeta(1, method, meta(members));
  const refused = (key: string): Pattern => err(1, -32602, { message: mentions(key) });
  const unsupported = (requested: string): Pattern =>
    err(1, -32022, { data: { supported: [MODERN], requested } });
  const good = ok(1, discovery(facts));

  const versions = ['2025-11-25', '2025-06-18', '2024-11-05', '1900-01-01', '', '2026-07-29',
    '2026-07-28 ', '2026-07-28\0', 'DRAFT', 'toString', '__proto__', '2026-07-2\u2028', '\ud800',
    'v'.repeat(100_000)];
  const clients = [...NOT_OBJECTS, '{}', '{"name":"x"}', '{"version":"1"}',
    ...NOT_STRINGS.map((value) => `{"name":${value},"version":"1"}`),
    ...NOT_STRINGS.map((value) => `{"name":"x","version":${value}}`),
    '{"__proto__":{"name":"x","version":"1"}}'];
  const levels = 'debug info notice warning error critical alert emergency'.split(' ');
  const notLevels = [...VALUES, '"Debug"', '"trace"', '"warn"', '"debug "', '"fatal"', '["debug"]',
    '"toString"', '"debug,info"', '"debug info"'];
  const ignored = { a: '1', '': 'null', 'com.example/x': '{"y":[]}', traceparent: '1',
    tracestate: '[]', baggage: '{}', 'io.modelcontextprotocol/no-such': 'null',
    toString: '1', constructor: '1' };
  return [
    one('all that is needed', 'any', ask({}), good),
    one('all that is known', 'any',
      ask({ [CLIENT_KEY]: '{"name":"x","version":"1","title":5}', [LEVEL_KEY]: '"info"',
        progressToken: '1' }), good),
    ...each(VALUES, (value) => one(`only a version ${value}`, 'any',
      withMeta(1, 'server/discover', raw({ [VERSION_KEY]: value })),
      refused(STRINGS.includes(value) ? CAPABILITIES_KEY : VERSION_KEY))),
    ...each(VALUES, (value) => one(`only clientCapabilities ${value}`, 'any',
      withMeta(1, 'server/discover', raw({ [CAPABILITIES_KEY]: value })),
      // Where both are wrong, either may be named.
      refused(OBJECTS.includes(value) ? VERSION_KEY : 'io.modelcontextprotocol/'))),
    ...each(NOT_STRINGS, (value) => one(`version ${value}`, 'any',
      ask({ [VERSION_KEY]: value }), refused(VERSION_KEY))),
    ...each(NOT_OBJECTS, (value) => one(`clientCapabilities ${value}`, 'any',
      ask({ [CAPABILITIES_KEY]: value }), refused(CAPABILITIES_KEY))),
    ...each(['{"a":1}', '{"roots":5,"sampling":null}', '{"extensions":[]}', '{"__proto__":1}'],
      (value) => one(`clientCapabilities ${value}`, 'any',
        ask({ [CAPABILITIES_KEY]: value }), good)),
    ...each(clients, (value) => one(`clientInfo ${value}`, 'any',
      ask({ [CLIENT_KEY]: value }), refused(CLIENT_KEY))),
    one('clientInfo of empty strings', 'any',
      ask({ [CLIENT_KEY]: '{"version":"","name":""}' }), good),
    ...each(levels, (level) => one(`logLevel ${level}`, 'any',
      ask({ [LEVEL_KEY]: `"${level}"` }), good)),
    ...each(notLevels, (level) => one(`logLevel ${level}`, 'any',
      ask({ [LEVEL_KEY]: level }), refused(LEVEL_KEY))),
    one('unknown keys', 'any', ask(ignored), good),
    one('an unknown key named __proto__', 'any',
      ask(ignored).replace('"toString"', '"__proto__"'), good),
    ...each(versions, (version) => [
      one(`version ${show(version)}`, 'any', ask({ [VERSION_KEY]: JSON.stringify(version) }),
        unsupported(version)),
      one(`a list in version ${show(version)}`, 'any',
        ask({ [VERSION_KEY]: JSON.stringify(version) }, listOf(facts)), unsupported(version)),
    ]),
    // The order of the checks: what is ill-typed, then the version, then the method.
    ...each([CAPABILITIES_KEY, CLIENT_KEY, LEVEL_KEY], (key) => [
      one(`${key} and the version are wrong`, 'any',
        ask({ [VERSION_KEY]: '"1900-01-01"', [key]: '1' }), refused(key)),
      one(`${key} and the method are wrong`, 'any', ask({ [key]: '1' }, 'no/such'), refused(key)),
      one(`${key} is wrong in a ping`, 'any', ask({ [key]: '1' }, 'ping'), refused(key)),
    ]),
    one('the token and the version are wrong', 'any',
      ask({ [VERSION_KEY]: '"1900-01-01"', progressToken: 'null' }), err(1, -32602)),
    ...each(['no/such', 'initialize', 'ping', 'tools/call', 'resources/read'], (method) =>
      one(`the version of ${method} is wrong`, 'any',
        ask({ [VERSION_KEY]: '"2025-11-25"' }, method), unsupported('2025-11-25'))),
    one('the method and its cursor are wrong', 'any',
      modern(1, 'no/such', { cursor: '' }), unknownMethod(1, 'no/such')),
  ];
}

function modernMethods(facts: Facts): RawCase[] {
  const { capabilities } = facts;
  const nobodys = [
    'initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'no/such', '', 'discover',
    'Server/discover', 'server/discover ', 'server/', 'rpc.discover', 'é\u2028😀',
    'notifications/initialized', 'roots/list', 'sampling/createMessage', 'elicitation/create',
    ...(capabilities.tools ? [] : ['tools/list', 'tools/call']),
    ...(capabilities.resources ? [] : ['resources/list', 'resources/read']),
    ...(facts.lists['resources/templates/list'] ? [] : ['resources/templates/list']),
    ...(capabilities.prompts ? [] : ['prompts/list', 'prompts/get']),
    ...(capabilities.completions ? [] : ['completion/complete']),
  ];
  // In legacy these two exist, though the server may lack what they need; ping and initialize do.
  const legacyToo = nobodys.filter((method) => !['initialize', 'ping'].includes(method)
    && !(method === 'logging/setLevel' && capabilities.logging)
    && !(method === 'resources/subscribe' && isObject(capabilities.resources)
      && capabilities.resources.subscribe));
  return [
    ...each(nobodys, (method) => one(method, 'any', modern(1, method), unknownMethod(1, method))),
    ...each(legacyToo, (method) =>
      one(`${method} in legacy`, 'session', legacy(1, method, {}), unknownMethod(1, method))),
    one('a very long one', 'any', modern(1, 'm'.repeat(100_000)),
      unknownMethod(1, 'm'.repeat(100_000))),
  ];
}

function bothEras(facts: Facts): RawCase[] {
  const list = listOf(facts);
  const mixed = (id: number): string[] =>
    [legacy(id, list), modern(id + 1, list), ping(`${id + 2}`), modern(id + 3, 'ping')];
  const answers = (id: number): Pattern[] => [
    ok(id, legacyResult({})), ok(id + 1, cacheable(facts, {})), ok(id + 2),
    unknownMethod(id + 3, 'ping'),
  ];
  return [
    one('turn by turn', 'session', lines(...mixed(1), ...mixed(5), ...mixed(9)),
      ...answers(1), ...answers(5), ...answers(9)),
    one('the same id in both, one after the other', 'session',
      lines(modern(1, list), legacy(1, list)),
      ok(1, cacheable(facts, {})), ok(1, legacyResult({}))),
    one('a refused modern request changes nothing', 'session',
      lines(modern(1, list, {}, { [VERSION_KEY]: '1900-01-01' }), legacy(2, list)),
      err(1, -32022, { data: { supported: [MODERN], requested: '1900-01-01' } }),
      ok(2, legacyResult({}))),
    one('a second initialize', 'session', lines(initialize(1), probe(2)),
      err(1, -32600), unknownMethod(2, 'no/such')),
  ];
}

/** The cache hints of a list: the usual ones, save where the list may change at any time. */
function hintsOf({ serverInfo }: Facts, method: string): Record<string, Pattern> | undefined {
  const mayChange = serverInfo.name === 'files-server' && method === 'resources/list';
  return mayChange ? { ttlMs: 0, cacheScope: 'private' } : undefined;
}

function lists(facts: Facts): RawCase[] {
  return each(Object.entries(facts.lists), ([method, legacyList]) => {
    const items = { ...legacyList } as Record<string, Pattern>;
    const cursor = (value: string, text: string): string =>
      text.replace('"cursor":0', () => `"cursor":${value}`);
    return [
      one(`${method}`, 'session', legacy(1, method), ok(1, legacyResult(items))),
      one(`${method} with more params`, 'session', legacy(1, method, { a: 1 }),
        ok(1, legacyResult(items))),
      // The same items in both eras, and no page after them.
      one(`modern ${method}`, 'any', modern(1, method),
        ok(1, cacheable(facts, items, hintsOf(facts, method)))),
      ...each([...VALUES, '"MQ=="'], (value) => [
        one(`${method} with cursor ${value}`, 'session',
          cursor(value, legacy(1, method, { cursor: 0 })), err(1, -32602)),
        one(`modern ${method} with cursor ${value}`, 'any',
          cursor(value, modern(1, method, { cursor: 0 })), err(1, -32602)),
      ]),
    ];
  });
}

function tools(facts: Facts): RawCase[] {
  if (!facts.capabilities.tools) return [];
  /** A call as JSON text, in legacy or in modern. */
  const call = (modernEra: boolean, name: string | undefined, args?: string): string => {
    const params = raw({ name, arguments: args, _meta: modernEra ? MODERN_META : undefined });
    return request({ method: '"tools/call"', params });
  };
  const names = namesIn(facts, 'tools/list', 'tools');
  const known = names.filter((name) => Object.hasOwn(TOOL_CONTRACTS, name));
  const contracts = known.map((name) => [name, TOOL_CONTRACTS[name] as ToolContract] as const);
  return [
    ...each([undefined, ...NOT_STRINGS], (name) => [
      one(`name ${name}`, 'session', call(false, name, '{}'), err(1, -32602)),
      one(`modern name ${name}`, 'any', call(true, name, '{}'), err(1, -32602)),
    ]),
    ...each(['', 'no-such', 'é\u2028😀', '\ud800'], (name) => [
      one(`tool ${show(name)}`, 'session', call(false, JSON.stringify(name)),
        err(1, -32602, { message: `Unknown tool: ${name}` })),
      one(`modern tool ${show(name)}`, 'any', call(true, JSON.stringify(name)),
        err(1, -32602, { message: `Unknown tool: ${name}` })),
    ]),
    ...each(names, (name) => [
      ...each(NOT_OBJECTS, (args) => [
        one(`${name} with arguments ${args}`, 'session', call(false, JSON.stringify(name), args),
          err(1, -32602)),
        one(`modern ${name} with arguments ${args}`, 'any', call(true, JSON.stringify(name), args),
          err(1, -32602)),
      ]),
      one(`${name} without params.name's right case`, 'session',
        call(false, JSON.stringify(name.toUpperCase())), err(1, -32602)),
    ]),
    ...each(contracts, ([name, { good, bad, refusesInLegacy }]) => [
      ...each(good, ({ args, text }) => {
        const content: Pattern = [{ type: 'text', text }];
        const shown = `${name} ${show(args)}`;
        const legacyAnswer = { jsonrpc: '2.0', id: 1, result: { content } };
        return [
          one(shown, 'session', call(false, JSON.stringify(name), args), legacyAnswer),
          one(`modern ${shown}`, 'any', call(true, JSON.stringify(name), args),
            ok(1, uncacheable(facts, { content, isError: ABSENT }))),
        ];
      }),
      ...each(bad, ({ args, message }) => {
        const content: Pattern = [{ type: 'text', text: message }];
        const shown = `${name} ${show(args)}`;
        return [
          one(shown, 'session', call(false, JSON.stringify(name), args), refusesInLegacy
            ? err(1, -32602, { message }) : ok(1, legacyResult({ content, isError: true }))),
          one(`modern ${shown}`, 'any', call(true, JSON.stringify(name), args),
            ok(1, uncacheable(facts, { content, isError: true }))),
        ];
      }),
    ]),
  ];
}

function resources(facts: Facts): RawCase[] {
  if (!facts.capabilities.resources) return [];
  const read = (uri: string | undefined): string =>
    request({ method: '"resources/read"', params: raw({ uri }) });
  const readModern = (uri: string | undefined): string =>
    modern(1, 'resources/read', { uri: 0 })
      .replace('"uri":0', () => uri ? `"uri":${uri}` : '"a":0');
  const uris = namesIn(facts, 'resources/list', 'resources', 'uri');
  const unknown = ['', 'no-such', 'file:///etc/passwd', 'no-such://all', 'é\u2028', '\ud800',
    ...INHERITED];
  const content: Check = (value) => Array.isArray(value) && value.length > 0
    ? undefined : `is ${show(value)}, not a list of contents`;
  return [
    ...each([undefined, ...NOT_STRINGS], (uri) => [
      one(`uri ${uri}`, 'session', read(uri), err(1, -32602)),
      one(`modern uri ${uri}`, 'any', readModern(uri), err(1, -32602)),
    ]),
    ...each(unknown, (uri) => [
      one(`unknown ${show(uri)}`, 'session', read(JSON.stringify(uri)),
        { jsonrpc: '2.0', id: 1, error: including({ code: NOT_FOUND, message: sentence }) }),
      one(`modern unknown ${show(uri)}`, 'any', readModern(JSON.stringify(uri)),
        err(1, -32602, { data: { uri } })),
    ]),
    ...each(uris, (uri) => [
      one(uri, 'session', read(JSON.stringify(uri)), ok(1, legacyResult({ contents: content }))),
      one(`modern ${uri}`, 'any', readModern(JSON.stringify(uri)), ok(1, cacheable(facts,
        { contents: content }, { ttlMs: wholeNumber, cacheScope: oneOf('public', 'private') }))),
    ]),
  ];
}

function prompts(facts: Facts): RawCase[] {
  if (!facts.capabilities.prompts) return [];
  const get = (modernEra: boolean, name: string | undefined, args?: string): string => {
    const params = raw({ name, arguments: args, _meta: modernEra ? MODERN_META : undefined });
    return request({ method: '"prompts/get"', params });
  };
  return [
    ...each([undefined, ...NOT_STRINGS, '""', '"no-such"', '"é\u2028"', '"\\ud800"'], (name) => [
      one(`name ${name}`, 'session', get(false, name), err(1, -32602)),
      one(`modern name ${name}`, 'any', get(true, name), err(1, -32602)),
    ]),
    ...each(namesIn(facts, 'prompts/list', 'prompts'), (name) => each(NOT_OBJECTS, (args) => [
      one(`${name} with arguments ${args}`, 'session', get(false, JSON.stringify(name), args),
        err(1, -32602)),
      one(`modern ${name} with arguments ${args}`, 'any', get(true, JSON.stringify(name), args),
        err(1, -32602)),
    ])),
  ];
}

function cancellations(): RawCase[] {
  return [
    one('of a finished request', 'any', lines(ping('1'), cancel(1), ping('2')), ok(1), ok(2)),
    one('of a finished request, and its id again', 'any',
      lines(ping('1'), cancel(1), ping('1')), ok(1), ok(1)),
    one('of a modern request', 'any',
      lines(modern(1, 'ping'), cancel(1), ping('2')), unknownMethod(1, 'ping'), ok(2)),
    one('in advance', 'any', lines(cancel(1), ping('1')), ok(1)),
    one('in advance, twice', 'any', lines(cancel('a'), cancel('a'), ping('"a"')), ok('a')),
    ...each(INHERITED, (name) => one(`of ${name}`, 'any', lines(cancel(name), ping('1')), ok(1))),
    ...each(VALUES, (id) => one(`of the id ${id}`, 'any',
      lines(ping('1'), notice('notifications/cancelled', `{"requestId":${id}}`), ping('1')),
      ok(1), ok(1))),
    ...each(VALUES, (reason) => one(`with the reason ${reason}`, 'any',
      notice('notifications/cancelled', `{"requestId":1,"reason":${reason}}`))),
    one('of nothing', 'any', notice('notifications/cancelled', '{"reason":"none"}')),
  ];
}

function framing(): RawCase[] {
  const blank = ['', ' ', '\t', '\r', ' \t \r', '\ufeff', '\ufeff \t\r', '    '.repeat(50_000)];
  // Not blank: white space to Unicode, but not to JSON.
  const notBlank = ['\v', '\f', '\u00a0', '\u0085', '\u2028', '\u2029', '\u3000', '\ufeff\ufeff',
    ' \ufeff', `\ufeff\ufeff${ping('1')}`, ` \ufeff${ping('1')}`, `${ping('1')}\ufeff`,
    `${ping('1')}\u00a0`, `${ping('1')}\u2028`, `\u2028${ping('1')}`];
  const line = lines(ping('"é😀"'));
  const many = Array.from({ length: 100 }, (_, id) => id);
  return [
    ...each(blank, (text) => [
      one(`a line ${show(text)}`, 'any', lines(text)),
      one(`a line ${show(text)} between two`, 'any',
        lines(ping('1'), text, ping('2')), ok(1), ok(2)),
      one(`a first line ${show(text)}`, 'fresh', lines(text, ping('1')), ok(1)),
    ]),
    ...each(notBlank, (text) => one(`a line ${show(text)}`, 'any', text, lost(-32700))),
    one('a byte order mark at the very start', 'fresh',
      lines(`\ufeff${ping('1')}`, ping('2')), ok(1), ok(2)),
    one('a byte order mark at the very start, cut', 'fresh',
      cutEverywhere(lines(`\ufeff${ping('1')}`)), ok(1)),
    one('a byte order mark at a later line', 'any', lines(ping('1'), `\ufeff${ping('2')}`),
      ok(1), ok(2)),
    one('CRLF', 'any', `${ping('1')}\r\n${ping('2')}\r\n\r\n${ping('3')}\r\n`, ok(1), ok(2), ok(3)),
    one('CRLF, cut between', 'any', [`${ping('1')}\r`, `\n${ping('2')}`, '\r', '\n'], ok(1), ok(2)),
    one('CR alone is no line end', 'any', `${ping('1')}\r${ping('2')}\n`, lost(-32700)),
    one('CR inside, where JSON allows it', 'any', ping('1').replaceAll(',', '\r,\t '), ok(1)),
    one('white space around', 'any', ` \t${ping('1')} \t \r\n`, ok(1)),
    one('U+2028 and U+2029 in a string', 'any', ping('"a\u2028b\u2029c"'), ok('a\u2028b\u2029c')),
    one('U+0085, U+000B and U+000C', 'any', ping('"a\u0085b"') + '\n\v\n\f', ok('a\u0085b'),
      lost(-32700), lost(-32700)),
    one('a line feed inside a string', 'any', `{"jsonrpc":"2.0","id":"a\nb","method":"ping"}`,
      lost(-32700), lost(-32700)),
    one('a message on two lines', 'any', '{"jsonrpc":"2.0",\n"id":1,"method":"ping"}',
      lost(-32700), lost(-32700)),
    one('a good line after a bad one', 'any', lines('nope', ping('1'), '[', ping('2')),
      lost(-32700), ok(1), lost(-32700), ok(2)),
    one('100 lines in one write', 'any', lines(...many.map((id) => ping(`${id}`))),
      ...many.map((id) => ok(id))),
    one('two and a half lines, then the rest', 'any',
      cutAt(line + line + line, Math.floor(2.5 * Buffer.byteLength(line))),
      ok('é😀'), ok('é😀'), ok('é😀')),
    one('one byte at a time', 'any', cutEverywhere(line), ok('é😀')),
    one('an empty write in between', 'any', [ping('1').slice(0, 9), '', ping('1').slice(9)], ok(1)),
    one('the line feed on its own', 'any', [ping('1'), '\n'], ok(1)),
    one('the line feed first', 'any', [ping('1'), `\n${ping('2')}`, '\n'], ok(1), ok(2)),
    ...each(Array.from({ length: Buffer.byteLength(line) - 1 }, (_, i) => i + 1), (at) =>
      one(`cut at byte ${at}`, 'any', cutAt(line, at), ok('é😀'))),
    one('a longer line', 'any', ping('1').replace('{', () => `{${' '.repeat(300_000)}`), ok(1)),
  ];
}

function utf8(): RawCase[] {
  // What is no UTF-8 becomes U+FFFD, one or more of them; how many, no cut may change.
  const broken = ['80', 'bf', 'c0 af', 'c3', 'c3 28', 'e2 82', 'e2 28 a1', 'ed a0 80',
    'ed a0 bd ed b8 80', 'e0 80 af', 'f0 9f 98', 'f0 28 8c bc', 'f0 80 80 af', 'f4 90 80 80',
    'f5 80 80 80', 'f8 88 80 80 80', 'fe', 'ff', 'ff fe', 'e2 82 e2 82 ac', 'f0 9f e2 82',
    'c3 c3 a9', '80 80 80 80'];
  const before = '{"jsonrpc":"2.0","id":"é';
  return [
    ...each(broken, (hex) => {
      const bytes = Buffer.from(hex.replaceAll(' ', ''), 'hex');
      const rest = Buffer.from('b","method":"ping"}\n');
      const line = Buffer.concat([Buffer.from(before), bytes, rest]);
      const whole = (JSON.parse(line.toString('utf8')) as { id: string }).id; // with U+FFFD
      const at = Buffer.byteLength(before);
      const cuts = Array.from({ length: bytes.length + 2 }, (_, i) => at + i);
      return [
        one(`${hex} in a string`, 'any', line, ok(whole)),
        one(`${hex} in a string, byte by byte`, 'any', cutAt(line, ...cuts), ok(whole)),
        ...each(cuts, (cut) => one(`${hex} in a string, cut at ${cut - at}`, 'any',
          cutAt(line, cut), ok(whole))),
        one(`${hex} as a line`, 'any', Buffer.concat([bytes, Buffer.from('\n')]), lost(-32700)),
        one(`${hex} before a line feed, then a good line`, 'any',
          Buffer.concat([bytes, Buffer.from(`\n${ping('1')}\n`)]), lost(-32700), ok(1)),
        one(`${hex}, a cut, a line feed, a good line`, 'any', [bytes, `\n${ping('1')}\n`],
          lost(-32700), ok(1)),
      ];
    }),
    ...each(
      ['é', '€', '😀', '\u2028', 'a\u0301', '\ufffd', '\uffff', '\u{10ffff}', '\x7f', '\u0080'],
      (text) => one(`${show(text)}, byte by byte`, 'any', cutEverywhere(lines(ping(`"${text}"`))),
        ok(text))),
    one('lone surrogates, escaped', 'any', ping('"\\ud83d \\ude00"'), ok('\ud83d \ude00')),
    one('a pair of surrogates, escaped', 'any', ping('"\\ud83d\\ude00"'), ok('😀')),
    one('an overlong line feed is none', 'any',
      Buffer.concat([Buffer.from('nope'), Buffer.from([0xc0, 0x8a]), Buffer.from('nope\n')]),
      lost(-32700)),
    one('half a character, a byte order mark', 'any',
      Buffer.concat([Buffer.from([0xef, 0xbb, 0x0a]), Buffer.from(lines(`\ufeff${ping('1')}`))]),
      lost(-32700), ok(1)),
    one('UTF-16', 'any', Buffer.from(`\ufeff${ping('1')}`, 'utf16le'), lost(-32700)),
  ];
}

function deepNesting(facts: Facts): RawCase[] {
  const depth = 100_000;
  const array = '['.repeat(depth) + ']'.repeat(depth);
  const object = '{"a":'.repeat(depth) + '1' + '}'.repeat(depth);
  const own = '{"__proto__":'.repeat(depth) + '1' + '}'.repeat(depth);
  const inMeta = (name: string, value: string): string =>
    modern(1, 'server/discover', {}, { [name]: 0 })
      .replace(`"${name}":0`, () => `"${name}":${value}`);
  return [
    one('a line', 'any', array, lost(-32600)),
    one('a line that does not end it', 'any', '['.repeat(depth), lost(-32700)),
    ...each(Object.entries({ array, object, 'own __proto__': own }), ([kind, value]) => [
      one(`${kind} as id`, 'any', ping(value), lost(-32600)),
      one(`${kind} as jsonrpc`, 'any', request({ jsonrpc: value, method: '"ping"' }),
        err(1, -32600)),
      one(`${kind} as method`, 'any', request({ method: value }),
        err(1, -32600)),
      one(`${kind} as params`, 'any',
        request({ method: '"ping"', params: value }),
        kind === 'array' ? err(1, -32602) : ok(1)),
      one(`${kind} in params`, 'any',
        request({ method: '"ping"', params: `{"a":${value}}` }), ok(1)),
      one(`${kind} as _meta`, 'any', withMeta(1, 'ping', value),
        kind === 'array' ? err(1, -32602) : ok(1)),
      one(`${kind} in _meta`, 'any', withMeta(1, 'ping', `{"a":${value}}`), ok(1)),
      one(`${kind} in a modern _meta`, 'any', inMeta('a', value), ok(1, discovery(facts))),
      one(`${kind} as a modern version`, 'any', inMeta(VERSION_KEY, value), err(1, -32602)),
      one(`${kind} as clientInfo`, 'any', inMeta(CLIENT_KEY, value), err(1, -32602)),
      one(`${kind} as logLevel`, 'any', inMeta(LEVEL_KEY, value), err(1, -32602)),
      one(`${kind} as progressToken`, 'any', inMeta('progressToken', value), err(1, -32602)),
      one(`${kind} as cursor`, 'any',
        modern(1, listOf(facts), { cursor: 0 }).replace('"cursor":0', () => `"cursor":${value}`),
        err(1, -32602)),
      one(`${kind} in a notification`, 'any', notice('no/such', value)),
      one(`${kind} as the id of a cancellation`, 'any',
        notice('notifications/cancelled', `{"requestId":${value}}`)),
      one(`${kind} in a response`, 'any', request({ result: value })),
      one(`${kind} in a member that nobody knows`, 'any',
        request({ method: '"ping"', a: value }), ok(1)),
      ...each(namesIn(facts, 'tools/list', 'tools'), (name) => {
        const arguments_ = raw({ text: value, tag: value });
        const params = raw({ name: JSON.stringify(name), arguments: arguments_ });
        const call = request({ method: '"tools/call"', params });
        return one(`${kind} as an argument of ${name}`, 'session', call, anyReply(1));
      }),
    ]),
  ];
}

function endOfInput(): RawCase[] {
  const half = Buffer.from('é').subarray(0, 1);
  return [
    last('at once', ''),
    last('after a blank line', '\n'),
    last('after a byte order mark', '\ufeff'),
    last('after white space', ' \t\r'),
    last('after a whole line', lines(ping('1')), ok(1)),
    last('after an unterminated line', ping('1'), ok(1)),
    last('after an unterminated line with CR', `${ping('1')}\r`, ok(1)),
    last('after a line and an unterminated one', `${ping('1')}\n\ufeff${ping('2')}`, ok(1), ok(2)),
    last('after an unterminated notification', INITIALIZED),
    last('after a piece of a message', ping('1').slice(0, 20), lost(-32700)),
    last('after half a character', Buffer.concat([Buffer.from(lines(ping('1'))), half]),
      ok(1), lost(-32700)),
    last('after a message and half a character', Buffer.concat([Buffer.from(ping('1')), half]),
      lost(-32700)),
    last('within half a byte order mark', Buffer.from([0xef, 0xbb]), lost(-32700)),
    last('after 500 lines', lines(...Array.from({ length: 500 }, (_, id) => ping(`${id}`))),
      ...Array.from({ length: 500 }, (_, id) => ok(id))),
  ];
}

// ---------------------------------------------------------------------------------------------
// Calls in flight: cases for a copy of the server that has the methods below
// ---------------------------------------------------------------------------------------------

/** The line of each server after which the test methods go. */
export const METHODS_LINE = 'const METHODS: Record<string, Handler> = {\n';

/**
 * Methods that end when they are told to, or fail in one way each. They are text, since they go
 * into a copy of the server, where `ToolError` and `METHODS` are its own.
 */
export const TEST_METHODS = `
  // Added by a test. Works until test/release names its key; says when its signal aborts.
  'test/hold': (params, request) => new Promise((resolve) => {
    const held = (globalThis.held ??= new Map());
    held.set(params.key, { resolve, request });
    request.controller.signal.addEventListener('abort', () => {
      (globalThis.aborted ??= []).push(request.id);
      if (params.tell) console.error('aborted: ' + params.tell);
      request.notify('notifications/progress', { progressToken: 'late', progress: 1 });
    });
  }),
  'test/release': (params) => {
    const { resolve, request } = globalThis.held.get(params.key);
    request.notify('notifications/progress', { progressToken: params.key, progress: 1 });
    resolve({ released: params.key });
    return {};
  },
  // Fails when its signal aborts, as much of Node does.
  'test/abortable': (params, request) => new Promise((resolve, reject) => {
    request.controller.signal.addEventListener('abort', () => reject(new Error('aborted')));
  }),
  // Notifies for a call that was answered long ago.
  'test/poke': (params) => {
    globalThis.held.get(params.key).request.notify('notifications/progress', { progress: 2 });
    return {};
  },
  'test/aborted': () => {
    const ids = globalThis.aborted ?? [];
    globalThis.aborted = [];
    return { ids };
  },
  'test/sleep': ({ ms, size = 1 }) => new Promise((resolve) =>
    setTimeout(() => resolve({ slept: 'x'.repeat(size) }), ms)),
  'test/era': (params, { id, era, protocolVersion, method, isOpen }) => ({
    id, era, protocolVersion, method, isOpen, aborted: params.touch === true,
  }),
  'test/throw': () => { throw new Error('a secret'); },
  'test/throw-later': async () => { throw new Error('a secret'); },
  'test/throw-text': () => { throw 'a secret'; },
  'test/throw-nothing': () => { throw undefined; },
  'test/throw-null-later': () => Promise.reject(null),
  'test/type-error': (params) => params.no.such,
  'test/bigint': () => ({ big: 1n }),
  'test/bigint-later': async () => ({ big: 1n }),
  'test/circle': () => { const circle = {}; circle.circle = circle; return circle; },
  'test/rpc-error': () => { throw new RpcError(-32000, 'told', { why: ['x'] }); },
  'test/rpc-error-later': async () => { throw new RpcError(7, 'told'); },
  'test/rpc-error-bigint': () => { throw new RpcError(-32000, 'told', 1n); },
  'test/rpc-error-bigint-later': async () => { throw new RpcError(-32000, 'told', 1n); },
  // Puts methods of the protocol's names before the server's own, for what depends on a name.
  'test/install': () => {
    const own = { ...METHODS };
    METHODS['tools/call'] = (params, request) => {
      if (params.name === 'test_fail') throw new ToolError('it failed');
      if (params.name === 'test_fail_later') return Promise.reject(new ToolError('it failed'));
      return own['tools/call'](params, request);
    };
    for (const name of ['tools/list', 'resources/read']) {
      METHODS[name] = (params, request) => {
        if (params.own === undefined) return own[name](params, request);
        return params.later ? Promise.resolve(params.own) : params.own;
      };
    }
    return {};
  },
`;

/** Makes a case of several exchanges, in a session with the test methods. */
function steps(name: string, ...exchanges: [string | string[], ...Pattern[]][]): RawCase {
  return {
    name,
    state: 'session',
    exchanges: exchanges.map(([text, ...replies]) =>
      ({ writes: [lines(...[text].flat())], replies })),
  };
}

/** Lists the cases that need a call in flight, or a handler that fails, for one of the eras. */
export function inFlightCases(facts: Facts, era: 'legacy' | 'modern'): Record<string, RawCase[]> {
  const ask = era === 'modern' ? modern : legacy;
  const answer = (id: Pattern, members: Record<string, Pattern> = {}): Pattern =>
    ok(id, era === 'modern' ? modernResult(facts, members) : legacyResult(members));
  const hold = (id: unknown, key = 'a'): string => ask(id, 'test/hold', { key });
  const release = (key = 'a'): string => ask('release', 'test/release', { key });
  const released = answer('release');
  const held = (id: Pattern, key = 'a'): Pattern => answer(id, { released: key });
  const progress = (key = 'a'): Pattern => ({
    jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: key, progress: 1 },
  });
  const aborted = ask('aborted', 'test/aborted');
  const abortedIds = (...ids: Pattern[]): Pattern => answer('aborted', { ids });
  /** A case that begins with nothing aborted, whatever was before it. */
  const flight = (name: string, ...exchanges: Parameters<typeof steps>[1][]): RawCase =>
    steps(name, [ask('forget', 'test/aborted'), answer('forget')], ...exchanges);
  const kinds = [1, '1', 0, '', -1, 'a', '__proto__', 'constructor', 9007199254740991, '0'];

  return {
    [`${era}: a call in flight`]: [
      ...each(kinds, (id) => [
        flight(`the call ${show(id)}, cancelled`,
          [hold(id)], [cancel(id)], [aborted, abortedIds(id)], [release(), released],
          [ping(show(id)), ok(id)]),
        flight(`the call ${show(id)}, cancelled in the same write`,
          [[hold(id), cancel(id)]], [aborted, abortedIds(id)], [release(), released]),
        flight(`the call ${show(id)}, its id used again`,
          [hold(id)],
          [ping(show(id)), err(id, -32600)],
          [ask(id, 'no/such'), err(id, -32600)],
          [modern(id, 'server/discover'), err(id, -32600)],
          [hold(id, 'b'), err(id, -32600)],
          [aborted, abortedIds()],
          [release(), released, progress(), held(id)],
          [ping(show(id)), ok(id)]),
      ]),
      flight('1 and "1" are two calls', [hold(1)], [hold('1', 'b')], [cancel('1')],
        [aborted, abortedIds('1')], [release('b'), released],
        [release(), released, progress(), held(1)]),
      flight('0, "" and "0" are three calls', [[hold(0, 'a'), hold('', 'b'), hold('0', 'c')]],
        [release('b'), released, progress('b'), held('', 'b')],
        [release('c'), released, progress('c'), held('0', 'c')],
        [release('a'), released, progress('a'), held(0, 'a')]),
      flight('answers in another order', [[hold(1, 'a'), hold(2, 'b'), ping('3')], ok(3)],
        [release('b'), released, progress('b'), held(2, 'b')],
        [release('a'), released, progress('a'), held(1, 'a')]),
      ...each([...VALUES, '"1"', '"7"', '7.5', '[7]', '{"id":7}'], (id) =>
        flight(`the call 7, and a cancellation of ${id}`, [hold(7)],
          [notice('notifications/cancelled', `{"requestId":${id}}`)], [aborted, abortedIds()],
          [release(), released, progress(), held(7)])),
      ...each([undefined, ...NOT_OBJECTS, '{}', '{"id":7}', '{"__proto__":{"requestId":7}}'],
        (params) => flight(`the call 7, and a cancellation with params ${params}`, [hold(7)],
          [notice('notifications/cancelled', params)], [aborted, abortedIds()],
          [release(), released, progress(), held(7)])),
      ...each(['"jsonrpc":"1.0",', '"jsonrpc":2,', ''], (member) =>
        flight(`the call 7, and a cancellation that begins with {${member}`, [hold(7)],
          [`{${member}"method":"notifications/cancelled","params":{"requestId":7}}`],
          [aborted, abortedIds()], [release(), released, progress(), held(7)])),
      flight('a cancellation that spells the id otherwise', [hold(10)],
        [notice('notifications/cancelled', '{"requestId":1.0e1}')], [aborted, abortedIds(10)],
        [release(), released]),
      flight('a cancellation with an id of its own is a request', [hold(7)],
        [legacy(8, 'notifications/cancelled', { requestId: 7 }),
          unknownMethod(8, 'notifications/cancelled')],
        [aborted, abortedIds()], [release(), released, progress(), held(7)]),
      flight('a cancelled id, used again at once', [[hold(1), cancel(1), hold(1, 'b')]],
        [release('a'), released], [release('b'), released, progress('b'), held(1, 'b')]),
      flight('a cancelled id, used again, is still in flight', [[hold(1), cancel(1), hold(1, 'b')]],
        [release('a'), released], [ping('1'), err(1, -32600)],
        [release('b'), released, progress('b'), held(1, 'b')]),
      flight('a cancellation twice', [[hold(1), cancel(1), cancel(1)]], [aborted, abortedIds(1)],
        [release(), released]),
      flight('a notification after the answer', [hold(1)],
        [release(), released, progress(), held(1)],
        [ask(2, 'test/poke', { key: 'a' }), answer(2)]),
      flight('a notification after the cancellation', [hold(1)], [cancel(1)],
        [ask(2, 'test/poke', { key: 'a' }), answer(2)], [release(), released]),
      flight('a cancellation after the answer aborts nothing', [hold(1)],
        [release(), released, progress(), held(1)], [cancel(1)], [aborted, abortedIds()]),
      // Its failure tells nobody anything: no reply, and nothing on stderr.
      flight('a call that fails when it is cancelled', [ask(1, 'test/abortable')], [cancel(1)],
        [ping('1'), ok(1)]),
      flight('a response with the id in flight', [hold(1)],
        [request({ result: '{}' })], [release(), released, progress(), held(1)]),
      flight('100 calls in flight',
        [Array.from({ length: 100 }, (_, id) => hold(id, `k${id}`))],
        ...Array.from({ length: 100 }, (_, index): [string, ...Pattern[]] => {
          const [id, key] = [99 - index, `k${99 - index}`]; // the last one first
          return [release(key), released, progress(key), held(id, key)];
        })),
      flight('what a handler is told', [ask(5, 'test/era'), answer(5, {
        era, id: 5, method: 'test/era', isOpen: true,
        protocolVersion: era === 'modern' ? MODERN : '2025-11-25',
      })]),
    ],
    [`${era}: a handler that fails`]: [
      ...each(['throw', 'throw-later', 'throw-text', 'type-error', 'bigint', 'bigint-later',
        'circle', 'throw-nothing', 'throw-null-later', 'rpc-error-bigint',
        'rpc-error-bigint-later'],
      (method) => ({
        ...steps(`test/${method}`,
          [ask(1, `test/${method}`), err(1, -32603, { message: 'Internal error' })],
          [ask(1, 'test/era'), answer(1)]),
        stderr: stderrOf(method),
      })),
      steps('an RpcError', [ask(1, 'test/rpc-error'),
        { jsonrpc: '2.0', id: 1, error: { code: -32000, message: 'told', data: { why: ['x'] } } }]),
      steps('an RpcError, later', [ask(1, 'test/rpc-error-later'),
        { jsonrpc: '2.0', id: 1, error: { code: 7, message: 'told' } }]),
      ...each(['test_fail', 'test_fail_later'], (name) => steps(`a ToolError of ${name}`,
        [ask(1, 'test/install'), answer(1)],
        [ask(2, 'tools/call', { name }),
          answer(2, { content: [{ type: 'text', text: 'it failed' }], isError: true })])),
    ],
    [`${era}: what a handler sets itself`]: each([false, true], (later) =>
      each(['tools/list', 'resources/read'], (method) => {
        const give = (own: JsonObject, result: Pattern): RawCase => steps(
          `${method} gives ${show(own)}${later ? ', later' : ''}`,
          [ask(1, 'test/install'), answer(1)], [ask(2, method, { own, later }), ok(2, result)]);
        const others = { name: 'other', version: '2' };
        // Legacy adds nothing and takes nothing away.
        if (era === 'legacy') {
          return [{}, { resultType: 'x', ttlMs: 5, cacheScope: 'private', _meta: { a: 1 } }]
            .map((own) => give(own, own as Pattern));
        }
        const _meta = { [SERVER_KEY]: facts.serverInfo as Pattern };
        const scope = { cacheScope: oneOf('public', 'private') };
        return [
          give({}, { resultType: 'complete', ttlMs: wholeNumber, ...scope, _meta }),
          give({ ttlMs: 5 }, { resultType: 'complete', ttlMs: 5, ...scope, _meta }),
          give({ ttlMs: 0, cacheScope: 'private' },
            { resultType: 'complete', ttlMs: 0, cacheScope: 'private', _meta }),
          give({ resultType: 'complete', a: 1 },
            { resultType: 'complete', ttlMs: wholeNumber, ...scope, a: 1, _meta }),
          give({ resultType: 'input_required', a: 1 },
            { resultType: 'input_required', a: 1, _meta }),
          give({ _meta: { 'com.example/a': 1 } }, { resultType: 'complete', ttlMs: wholeNumber,
            ...scope, _meta: { ..._meta, 'com.example/a': 1 } }),
          give({ _meta: { [SERVER_KEY]: others } }, { resultType: 'complete', ttlMs: wholeNumber,
            ...scope, _meta: { [SERVER_KEY]: others } }),
        ];
      })),
  };
}

/** What stderr must have after an unexpected error: its stack, or what was thrown for one. */
function stderrOf(method: string): RegExp {
  if (method === 'throw-nothing') return /undefined/;
  if (method === 'throw-null-later') return /null/;
  if (method === 'throw-text') return /a secret/;
  if (method.startsWith('throw')) return /Error: a secret\n +at /;
  return /TypeError: .*\n[^]* at /;
}

/**
 * A whole conversation of both eras, good and bad, for a copy with the test methods: the same
 * messages must come back however these bytes are cut. Nothing in it depends on who is faster: a
 * call is cancelled, or released, in a later line than the one that begins it.
 */
export function conversation(facts: Facts): Buffer {
  const list = listOf(facts);
  const hold = (id: unknown, key: string): string => legacy(id, 'test/hold', { key });
  const release = (id: unknown, key: string): string => modern(id, 'test/release', { key });
  return Buffer.concat([
    Buffer.from('\ufeff\r\n\n'),
    Buffer.from(lines(ping('"é€😀"'), legacy(1, list), initialize(2), INITIALIZED, hold(3, 'a'))),
    Buffer.from(lines(cancel(3), hold('3', 'b'), `\ufeff${legacy(4, list)}\r`, '', ' \t\r')),
    Buffer.from(lines(modern(5, list), ping('"\u2028\u2029\u0085"'), ping('3'), ping('"3"'), '[]')),
    Buffer.from(lines('{"result":1}', '{"jsonrpc":"2.0","id":null,"method":"ping"}', '{}', '"é"')),
    Buffer.from('{"jsonrpc":"2.0","id":"'), Buffer.from('80f09f98c3a9e282ed a0 80ff'
      .replaceAll(' ', ''), 'hex'), Buffer.from('","method":"ping"}\n'),
    Buffer.from([0xe2, 0x82, 0x0a, 0xf0, 0x9f, 0x0a, 0xc3, 0x0a]),
    Buffer.from(lines(ping('"\\ud83d\\ude00 \\ud800"'), legacy(6, 'é\u2028😀'), initialize(7))),
    Buffer.from(lines(release(8, 'a'), release(9, 'b'), modern(10, 'ping'), 'nope', '\u2028')),
    Buffer.from(`${ping('"é😀 last"')}\r`), // unterminated
  ]);
}
