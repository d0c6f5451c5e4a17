/**
 * probe: what is this server, and what does it offer? A client for any stdio server of either era.
 *
 * Nobody tells a client which era a server is of, so it asks one question that both can hear:
 *
 *   --> {"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{…}}}
 *   <-- {"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],…}}      modern
 *   <-- {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}  legacy
 *
 * Then it lists what the server offers, and calls, reads or gets one thing if you name it.
 *
 * Run: npx tsx clients/probe.ts servers/atlas.ts
 * Any server: npx tsx clients/probe.ts -- COMMAND ARGS…
 *
 * --json prints one object and nothing else on stdout: `era` ("legacy" or "modern"), `reason`,
 * `versions` {`supported`, `spoken`}, `serverInfo`, `capabilities`, `instructions`, the lists
 * `tools`, `resources`, `resourceTemplates` and `prompts` (sound entries, as they came), `findings`
 * (sentences), `result` and `error` of the call, read or prompt, `ending` {`exitCode`, `signal`,
 * `force`} and `checks` {`passed`, `failed`}. What there is not is null; lists, and capabilities,
 * are empty.
 *
 * Exit code: 0 all that came was sound (a tool that says isError is no fault of the server's), 1 a
 * finding, no common version, or a request that failed, 2 called wrongly, nothing to start, or
 * stopped before its end.
 * It proves that what it looked at is well-formed. It does not prove that the server does it well.
 *
 * SPDX-License-Identifier: MIT
 */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

// ---------------------------------------------------------------------------------------------
// The visit: which era, and what there is. Start reading here.
// ---------------------------------------------------------------------------------------------

const CLIENT_INFO = { name: 'mcp-by-hand-probe', version: '1.0.0' };

// What this client speaks, the newest first. All that it asks is the same in each legacy version.
// A batch, which 2025-03-26 alone allows (its basic/index, "Batching"), is a finding here: a real
// client would take it apart.
const MODERN_VERSIONS = ['2026-07-28'] as const;
const LEGACY_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;

// The errors that the modern era alone has (2026-07-28/basic/index, "Error Codes"). The rest of
// -32020 to -32099 is reserved, but an old server may have used it before it was.
const MODERN_ERRORS: Record<number, string> = {
  [-32020]: 'HeaderMismatch',
  [-32021]: 'MissingRequiredClientCapability',
  [-32022]: 'UnsupportedProtocolVersion',
};

/** All that is learned; --json prints it. */
const account: Account = {
  era: null, reason: '', versions: { supported: [], spoken: null },
  serverInfo: null, capabilities: {}, instructions: null,
  tools: [], resources: [], resourceTemplates: [], prompts: [],
  findings: [], result: null, error: null, ending: null, checks: { passed: 0, failed: 0 },
};

/** Visits a server once, from the first question to goodbye. */
async function visit(options: Options): Promise<void> {
  let server = await startServer(options);
  let answer: Answer = {};
  if (options.era !== 'legacy') {
    step('Send server/discover, which a modern server knows');
    const wait = options.era === undefined ? options.probeTimeout : server.startTimeout;
    answer = await server.ask('server/discover', { _meta: meta() }, wait);
  }
  const { era, reason } = options.era === undefined
    ? decideEra(answer)
    : { era: options.era, reason: `--era ${options.era} says so` };
  Object.assign(account, { era, reason });
  // Who did not answer may be anything: then legacy is a guess.
  const isGuess = answer.missing !== undefined && era === 'legacy';
  fact(0, `${isGuess ? 'Taken for' : 'This server is'} ${era}: ${reason}.`, BOLD);
  if (era === 'legacy' && answer.missing === 'death') {
    await server.close();
    say('It is started once more, and greeted with initialize at once.');
    server = await startServer(options);
  }
  let greeting = era === 'legacy' ? await greet(server) : {};
  // Some legacy servers refuse the probe, and only then go.
  if (answer.error !== undefined && greeting.missing === 'death') {
    await server.close();
    say('The probe ended it: it is started once more, and greeted with initialize at once.');
    server = await startServer(options);
    greeting = await greet(server);
  }
  const isKnown = era === 'modern' ? await discover(server, answer) : initialize(server, greeting);
  if (isKnown) introduce();
  for (const list of isKnown ? LISTS : []) {
    const isOffered = isObject(account.capabilities[list.capability]);
    if (isOffered && !server.isGone()) await takeList(server, list);
  }
  if (isKnown && options.task && !server.isGone()) await perform(server, options.task);
  step('Say goodbye: stdin ends');
  const ending = await server.close();
  account.ending = ending;
  const { force, signal, exitCode } = ending;
  if (force) say(`It did not end by itself: that took ${force}.`);
  else say(`It ended by itself, with ${signal ?? `the code ${exitCode}`}.`);
}

/** Decides the era (2026-07-28/basic/transports/stdio, "Backward Compatibility"). */
function decideEra({ result, error, missing, why, damaged }: Answer): Decision {
  // What else is wrong with the answer does not make its server an old one.
  const { supportedVersions } = Object(result ?? damaged?.result);
  const { code } = Object(error ?? damaged?.error);
  const but = damaged === undefined ? '' : ', though that answer is not sound';
  if (Array.isArray(supportedVersions)) {
    const reason = `it answered server/discover with its supportedVersions${but}`;
    return { era: 'modern', reason };
  }
  // A modern error is an answer that no legacy server gives: so nobody falls back after one.
  const name = MODERN_ERRORS[Number.isInteger(code) ? code : 0];
  if (name !== undefined) {
    return { era: 'modern', reason: `it refused server/discover with ${code}, ${name}${but}` };
  }
  // Legacy servers refuse what they do not know in many ways: no single code may decide this.
  const reason =
    error !== undefined ? `it refused server/discover with ${code}, no modern error` :
    result !== undefined ? 'its answer to server/discover lists no supportedVersions' :
    missing === 'damage' ? 'its answer to server/discover is no sound response' :
    `it did not answer server/discover: ${why}`;
  return { era: 'legacy', reason };
}

/** Modern: no session begins. The answer says who is there, and what it speaks. */
async function discover(server: Server, answer: Answer): Promise<boolean> {
  let known = answer;
  if (answer.error?.code === -32022) {
    // This client knows one modern version, the one that was refused. A client that knows more asks
    // again with another; a server that lists the same one contradicts itself, and is given a try.
    if (!agree('data.supported', at(answer.error, 'data', 'supported'))) return false;
    say(`Both know ${account.versions.spoken}: it is asked again.`);
    known = await request(server, 'server/discover');
  } else if (answer.result !== undefined && !isUsable('server/discover', answer.result)) {
    return false;
  }
  if (!answered('server/discover', known)) return false;
  const { result = {} } = known;
  if (!agree('supportedVersions', result.supportedVersions)) return false;
  const info = at(result, '_meta', 'io.modelcontextprotocol/serverInfo');
  return learn(result, info, info === undefined);
}

/** Takes the newest version that both know. Is there none, it says so, and never falls back. */
function agree(where: string, supported: unknown): boolean {
  if (!check(where, Array.isArray(supported), 'an array of versions', supported)) return false;
  const versions = supported as unknown[];
  const spoken = MODERN_VERSIONS.find((version) => versions.includes(version)) ?? null;
  account.versions = { supported: versions, spoken };
  const isOld = LEGACY_VERSIONS.some((version) => versions.includes(version));
  const hint = isOld ? ' (the server lists a legacy one: --era legacy may help)' : '';
  const expected = `one of ${MODERN_VERSIONS.join(', ')}${hint}`;
  return check('a version that both speak', spoken !== null, expected, versions);
}

/** Legacy: offers to shake hands (2025-11-25/basic/lifecycle). */
function greet(server: Server): Promise<Answer> {
  step('Shake hands: initialize, and then notifications/initialized');
  const protocolVersion = LEGACY_VERSIONS[0];
  const offer = { protocolVersion, capabilities: {}, clientInfo: CLIENT_INFO };
  return server.ask('initialize', offer, server.startTimeout);
}

/** Legacy: takes the hand, if both know a version. */
function initialize(server: Server, answer: Answer): boolean {
  if (!answered('initialize', answer)) return false;
  const { result = {} } = answer;
  const version = LEGACY_VERSIONS.find((known) => known === result.protocolVersion);
  account.versions = { supported: [result.protocolVersion], spoken: version ?? null };
  // A client that does not speak the version it is offered leaves.
  const isKnown = check('a version that both speak', version !== undefined,
    `one of ${LEGACY_VERSIONS.join(', ')}`, result.protocolVersion);
  if (!isKnown) return false;
  server.send({ method: 'notifications/initialized' });
  return learn(result, result.serverInfo, false);
}

// A list that goes on beyond this is taken for an endless one.
const MOST = { pages: 1_000, entries: 100_000, characters: 64 * 1024 * 1024 };

/** Lists one kind of thing, page by page, and prints it. */
async function takeList(server: Server, list: List): Promise<void> {
  step(`List its ${list.title}`);
  const entries = account[list.member];
  const cursors = new Set(); // that came before
  const keys = new Set();
  let cursor: unknown;
  let characters = 0;
  for (let page = 1; ; page += 1) {
    const where = `${list.method}, page ${page}`;
    // The empty string is a cursor like any other: absence alone means the first page, or the last
    // (2026-07-28/server/utilities/pagination).
    const params = cursor === undefined ? {} : { cursor };
    const answer = await request(server, list.method, params);
    // A server with resources need not have templates, and then need not know the method.
    if (answer.error?.code === -32601 && list.member === 'resourceTemplates') {
      return say('It does not know this method (-32601): it has no templates.');
    }
    if (!answered(where, answer)) break;
    takePage(list, where, answer.result?.[list.member], keys);
    cursor = answer.result?.nextCursor;
    characters += answer.size ?? 0;
    if (cursor === undefined) break;
    const isText = typeof cursor === 'string';
    const isNew = !cursors.has(cursor);
    const isMore = page < MOST.pages && entries.length < MOST.entries;
    const isBounded = isMore && characters < MOST.characters;
    const amount = `${entries.length} ${list.title} in ${page} pages, and no end`;
    // What fails here cuts the list off.
    if (!check(`${where}: nextCursor`, isText, 'a string, or no such member', cursor) ||
      !check(`${where}: a new cursor`, isNew, 'none that came before', cursor) ||
      !check(`${where}: an end`, isBounded, 'a list that ends', amount)) break;
    cursors.add(cursor);
  }
  say(`${list.title}: ${entries.length}`, BOLD);
  for (const entry of entries) printEntry(entry, list.key);
}

/** Takes the sound entries of one page, and names the others. */
function takePage(list: List, where: string, page: unknown, keys: Set<unknown>): void {
  if (!check(`${where}: ${list.member}`, Array.isArray(page), 'an array', page)) return;
  for (const [index, entry] of (page as JsonObject[]).entries()) {
    const place = `${where}: ${list.member}[${index}]`;
    const flaw = findFlaw(entry, list.must, list.may) ?? findInnerFlaw(entry, list);
    if (!sound(place, flaw, entry)) continue;
    const key = entry[list.key];
    // Of templates nobody says that no two may be alike.
    const isNew = !keys.has(key) || list.member === 'resourceTemplates';
    check(`${place}: a ${list.key} of its own`, isNew, 'no two alike', key);
    keys.add(key);
    account[list.member].push(entry);
  }
}

/** Calls, reads or gets the one thing that was asked for. */
async function perform(server: Server, { title, capability, method, member, params }: Task) {
  step(title);
  const isOffered = isObject(account.capabilities[capability]);
  if (!check(title, isOffered, `the capability ${capability}`, account.capabilities)) return;
  const answer = await request(server, method, params);
  const { result = null, error = null } = answer;
  Object.assign(account, { result, error });
  if (!answered(method, answer) || result === null) return;
  if (account.era === 'legacy' || result.resultType !== 'input_required') {
    return printResult(member, result);
  }
  say('It wants more input before it goes on (input_required), and this client has none to give.');
  // 2026-07-28/basic/patterns/mrtr: nothing may be asked of a client that declared nothing.
  const isQuiet = Object.keys(Object(result.inputRequests)).length === 0;
  check(title, isQuiet, 'no inputRequests: this client declares no capability', result);
}

// #region probe-answers — what an answer must be
/** What became of a request: a result, an error, or neither, and then why. */
type Answer = {
  result?: JsonObject;
  error?: JsonObject;
  missing?: 'silence' | 'death' | 'damage';
  /** The message that came and is not sound. */
  damaged?: JsonObject;
  why?: string;
  /** What a server that is gone said last on stderr. */
  lastWords?: string;
  /** Its length on the wire, in characters. */
  size?: number;
};

/** What every modern request carries (2026-07-28/basic/index, "_meta"). */
function meta(version: string = MODERN_VERSIONS[0]): JsonObject {
  return {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientInfo': CLIENT_INFO,
    'io.modelcontextprotocol/clientCapabilities': {},
  };
}

/** Sends a request as its era wants it, and looks at what each modern result must carry. */
async function request(server: Server, method: string, params: JsonObject = {}): Promise<Answer> {
  if (account.era === 'legacy') return server.ask(method, params);
  const _meta = meta(account.versions.spoken ?? undefined);
  const answer = await server.ask(method, { ...params, _meta });
  const isUnusable = answer.result !== undefined && !isUsable(method, answer.result);
  return isUnusable ? { missing: 'damage' } : answer;
}

/** Is there a result? Says so where not; a damaged answer was named when it came. */
function answered(title: string, { result, error, missing, why, lastWords }: Answer): boolean {
  if (missing === 'damage') return false;
  const last = lastWords?.trim();
  const words = last ? `${why}; its last words on stderr: ${last}` : why;
  return check(title, result !== undefined, 'a result', error ? explain(error, title) : words);
}

/** May a modern result be used? Names what is wrong with its kind, and with its cache hints. */
function isUsable(method: string, { resultType, ttlMs, cacheScope }: JsonObject): boolean {
  // 2026-07-28/basic/patterns/mrtr names the requests that may want more input, and
  // 2026-07-28/server/utilities/caching the results that may be kept.
  const mayAsk = /^(tools\/call|resources\/read|prompts\/get)$/.test(method);
  const isKnown = resultType === 'complete' || (mayAsk && resultType === 'input_required');
  const kinds = `complete${mayAsk ? ' or input_required' : ''}`;
  check(`${method}: resultType`, isKnown, kinds, resultType);
  if (resultType === 'complete' && /list$|read$|discover$/.test(method)) {
    const isTtl = Number.isInteger(ttlMs) && Number(ttlMs) >= 0;
    const isKept = isTtl && (cacheScope === 'public' || cacheScope === 'private');
    const hints = 'a whole ttlMs of 0 or more, a cacheScope';
    check(`${method}: cache hints`, isKept, hints, { ttlMs, cacheScope });
  }
  // Absent counts as complete, though it must be there (2026-07-28/basic/index, "ResultType").
  return isKnown || resultType === undefined;
}

/** What an answer should have been and is not; undefined where it is sound. */
function findEnvelopeFlaw(message: JsonObject, id: number | undefined): string | undefined {
  const { jsonrpc, result, error } = message;
  const isError = Number.isInteger(at(error, 'code')) && typeof at(error, 'message') === 'string';
  return id === undefined ? 'no answer, since nothing is asked' :
    message.id !== id ? `the id ${id}` :
    jsonrpc !== '2.0' ? 'jsonrpc "2.0"' :
    (result === undefined) === (error === undefined) ? 'one of result and error' :
    error === undefined && !isObject(result) ? 'a result that is an object' :
    error !== undefined && !isError ? 'an error with an integer code and a string message' :
    undefined;
}

/** Says what an error means. Both codes for a missing resource are understood, in both eras. */
function explain({ code, message, data }: JsonObject, method: string): string {
  const proper = account.era === 'modern' ? -32602 : -32002;
  const isMissing = method === 'resources/read' && (code === -32002 || code === -32602);
  const odd = code === proper ? '' : `; the ${account.era} era says ${proper} for it`;
  const name = MODERN_ERRORS[Number(code)];
  const what = `error ${code}${name === undefined ? '' : ` (${name})`}: ${message}`;
  const words = data === undefined ? what : `${what}, data: ${JSON.stringify(data)}`;
  return isMissing ? `resource not found (${words}${odd})` : words;
}

/** What lies at a path inside a value; undefined where the path leads nowhere. */
function at(value: unknown, ...path: (string | number)[]): unknown {
  return path.reduce((inner, key) => Object(inner)[key], value);
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The JSON value of a text; undefined, which no JSON text means, where it is none. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Is a value nested deeper than this? To print one without a bound would crash. */
function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}
// #endregion probe-answers

// #region probe-looks — what things must have, and what is shown of them
type Member = 'tools' | 'resources' | 'resourceTemplates' | 'prompts';

/** What --json prints. */
type Account = Record<'serverInfo' | 'result' | 'error' | 'ending', JsonObject | null> &
  Record<Member, JsonObject[]> & {
    era: 'legacy' | 'modern' | null; reason: string; findings: string[];
    versions: { supported: unknown[]; spoken: string | null };
    capabilities: JsonObject; instructions: string | null;
    checks: { passed: number; failed: number };
  };

/** One kind of thing that a server lists: where it is, and what no two of them share. */
type List = {
  title: string; capability: string; method: string; member: Member; key: string;
  must: string[]; may: string[];
};

/** The one thing to do after the lists, and where its result has what is to be shown. */
type Task = {
  title: string; capability: string; method: string; params: JsonObject;
  member: 'content' | 'contents' | 'messages';
};

// The members that are looked at, and of what kind each is, wherever it stands. The rest are texts.
const KINDS: Record<string, string> = {
  size: 'number', required: 'boolean', isError: 'boolean', arguments: 'array', content: 'array',
  contents: 'array', messages: 'array', inputSchema: 'object', outputSchema: 'object',
  resource: 'object',
};

// What each kind of content must have (the schemas of both revisions, ContentBlock).
const CONTENT: Record<string, string[]> = {
  text: ['text'], image: ['data', 'mimeType'], audio: ['data', 'mimeType'],
  resource: ['resource'], resource_link: ['uri', 'name'],
};

/** What can be listed, and what an entry must and may have (schema.ts, 2025-11-25, 2026-07-28). */
const LISTS: List[] = [
  { title: 'tools', capability: 'tools', method: 'tools/list', member: 'tools', key: 'name',
    must: ['name', 'inputSchema'], may: ['title', 'description', 'outputSchema'] },
  { title: 'resources', capability: 'resources', method: 'resources/list', member: 'resources',
    key: 'uri', must: ['uri', 'name'], may: ['title', 'description', 'mimeType', 'size'] },
  { title: 'resource templates', capability: 'resources', method: 'resources/templates/list',
    member: 'resourceTemplates', key: 'uriTemplate',
    must: ['uriTemplate', 'name'], may: ['title', 'description', 'mimeType'] },
  { title: 'prompts', capability: 'prompts', method: 'prompts/list', member: 'prompts',
    key: 'name', must: ['name'], may: ['title', 'description', 'arguments'] },
];

/** Says what a value should be and is not: an object with these members. */
function findFlaw(value: unknown, must: string[], may: string[] = []): string | undefined {
  if (!isObject(value)) return 'an object';
  for (const name of [...must, ...may]) {
    const [inner, kind = 'string'] = [value[name], KINDS[name]];
    const came = Array.isArray(inner) ? 'array' : inner === null ? 'null' : typeof inner;
    const isAbsent = inner === undefined && may.includes(name);
    if (came === kind || isAbsent) continue;
    return `${name} to be ${/^[ao]/.test(kind) ? 'an' : 'a'} ${kind}`;
  }
  return undefined;
}

/** Checks that there is no flaw. */
function sound(title: string, flaw: string | undefined, came: unknown): boolean {
  return check(title, flaw === undefined, flaw, came);
}

/** The same for what is one level deeper: a tool's input schema, a prompt's arguments. */
function findInnerFlaw({ inputSchema, arguments: args }: JsonObject, list: List) {
  const isSchema = list.member !== 'tools' || at(inputSchema, 'type') === 'object';
  if (!isSchema) return 'inputSchema.type to be "object"';
  const isPrompt = list.member === 'prompts' && Array.isArray(args);
  for (const [index, one] of isPrompt ? args.entries() : []) {
    const flaw = findFlaw(one, ['name'], ['title', 'description', 'required']);
    if (flaw !== undefined) return `arguments[${index}]: ${flaw}`;
  }
  return undefined;
}

/** The one thing to do, by the option that asked for it. */
function newTask(flag: 'call' | 'read' | 'prompt', what: string, args: JsonObject): Task {
  const params = { name: what, arguments: args };
  const tasks: Record<typeof flag, Task> = {
    call: { title: `Call the tool ${label(what)}`, capability: 'tools', method: 'tools/call',
      params, member: 'content' },
    read: { title: `Read the resource ${label(what)}`, capability: 'resources',
      method: 'resources/read', params: { uri: what }, member: 'contents' },
    prompt: { title: `Get the prompt ${label(what)}`, capability: 'prompts',
      method: 'prompts/get', params, member: 'messages' },
  };
  return tasks[flag];
}

/** Keeps what a server says of itself. A modern one need not say who it is. */
function learn(result: JsonObject, info: unknown, isAnonymous: boolean): true {
  const { capabilities, instructions } = result;
  const flaw = isAnonymous ? undefined : findFlaw(info, ['name', 'version'], ['title']);
  if (sound('serverInfo', flaw, info)) account.serverInfo = (info ?? null) as JsonObject | null;
  const isMap = isObject(capabilities);
  if (check('capabilities', isMap, 'an object', capabilities)) {
    account.capabilities = capabilities as JsonObject;
  }
  for (const [name, value] of Object.entries(account.capabilities)) {
    check(`capabilities.${label(name)}`, isObject(value), 'an object', value);
  }
  if (sound('instructions', findFlaw(result, [], ['instructions']), instructions)) {
    account.instructions = (instructions ?? null) as string | null;
  }
  return true;
}

/** Prints who the server is. */
function introduce(): void {
  const { versions, serverInfo, capabilities, instructions } = account;
  const { name, version, title } = serverInfo ?? {};
  const others = versions.supported.filter((one) => one !== versions.spoken);
  const list = (values: unknown[]) => values.map(label).join(', ');
  step('Read what it says of itself');
  fact(2, `server: ${serverInfo ? `${label(name)} ${label(version)}` : 'it does not say'}`);
  if (title !== undefined) fact(2, `title: ${label(title)}`);
  fact(2, `version: ${versions.spoken}${others.length > 0 ? `; also ${list(others)}` : ''}`);
  fact(2, `capabilities: ${list(Object.keys(capabilities)) || 'none'}`);
  fact(2, `instructions:${instructions ? '' : ' none'}`);
  prose(instructions);
}

/** Prints what was listed: a name, what it says of itself, and its arguments. */
function printEntry(entry: JsonObject, key: string): void {
  const { name, title, mimeType, size, description } = entry;
  const about = [key === 'name' ? undefined : name, title, mimeType]
    .filter((one) => one !== undefined).map(label);
  if (size !== undefined) about.push(`${size} bytes`);
  if (key === 'name') say('');
  fact(2, `${label(entry[key])}${about.length > 0 ? ` (${about.join(', ')})` : ''}`);
  prose(description);
  for (const argument of listArguments(entry)) {
    const { type = 'string', required, description: words = '' } = argument;
    const short = shorten(wordsOf(words).replace(/\s+/g, ' ').trim(), 200);
    const facts = `${shorten(wordsOf(type), 200)}${required === true ? ', required' : ''}`;
    fact(4, `${label(argument.name)}: ${facts}${short === '' ? '' : ` - ${short}`}`);
  }
}

/** The arguments of a tool or a prompt: a tool's as if they were a prompt's, which are a list. */
function listArguments({ inputSchema, arguments: args = [] }: JsonObject): JsonObject[] {
  if (!isObject(inputSchema)) return args as JsonObject[];
  const { properties, required } = inputSchema;
  return Object.entries(isObject(properties) ? properties : {}).map(([name, schema]) => ({
    name, type: typeOf(schema), description: at(schema, 'description'),
    required: Array.isArray(required) && required.includes(name),
  }));
}

/** Says in a few words which values a JSON schema allows. */
function typeOf(schema: unknown): string {
  const { type, enum: values, const: only, $ref, items, anyOf, oneOf = anyOf }: JsonObject =
    Object(schema);
  if (only !== undefined) return JSON.stringify(only);
  if (Array.isArray(values)) return values.map((value) => JSON.stringify(value)).join(' or ');
  if (Array.isArray(oneOf)) return [...new Set(oneOf.map(typeOf))].join(' or ');
  if (type === 'array' && items !== undefined) return `array of ${typeOf(items)}`;
  return [type ?? $ref ?? 'anything'].flat().map(wordsOf).join(' or ');
}

/** Prints what a call, a read or a prompt brought. */
function printResult(member: Task['member'], result: JsonObject): void {
  const { isError, description, structuredContent, [member]: blocks } = result;
  if (!sound(member, findFlaw(result, [member], ['isError', 'description']), result)) return;
  if (isError === true) say('The tool says that it failed (isError).', BOLD);
  prose(description);
  for (const [index, block] of (blocks as unknown[]).entries()) {
    const where = `${member}[${index}]`;
    if (member === 'content') printBlock(where, block);
    else if (member === 'contents') printContents(where, block);
    else printMessage(where, block);
  }
  if ((blocks as unknown[]).length === 0) say(`${member}: none`);
  if (structuredContent === undefined) return;
  fact(2, 'structured content:');
  // Spread out, a deep value of one line could be longer than a string may be.
  const flat = JSON.stringify(structuredContent);
  prose(flat.length > 100_000 ? flat : JSON.stringify(structuredContent, null, 2));
}

/** Prints one message of a prompt: who speaks, and what. */
function printMessage(where: string, message: unknown): void {
  const role = at(message, 'role');
  const isRole = role === 'user' || role === 'assistant';
  if (check(`${where}.role`, isRole, 'user or assistant', role)) fact(2, `${role}:`);
  printBlock(`${where}.content`, at(message, 'content'));
}

/** Prints one block of content, each kind in its own way; what is binary is counted, not shown. */
function printBlock(where: string, block: unknown): void {
  const type = wordsOf(at(block, 'type'));
  const must = Object.hasOwn(CONTENT, type) ? CONTENT[type] : undefined;
  const kinds = `the type ${Object.keys(CONTENT).join(', ')}`;
  if (!sound(where, must === undefined ? kinds : findFlaw(block, must), block)) return;
  const { text, data, mimeType, uri, name, resource } = block as JsonObject;
  if (type === 'resource') return printContents(where, resource, 'embedded resource ');
  if (type === 'text') fact(2, 'text:');
  else if (type === 'resource_link') fact(2, `resource link ${label(uri)} (${label(name)})`);
  else fact(2, `${type}: ${label(mimeType)}, ${countBytes(where, data)}`);
  prose(text);
}

/** Prints the contents of a resource: its text, or how much there is of what. */
function printContents(where: string, contents: unknown, kind = ''): void {
  const isBlob = at(contents, 'text') === undefined;
  const flaw = findFlaw(contents, ['uri', isBlob ? 'blob' : 'text'], ['mimeType']);
  if (!sound(where, flaw, contents)) return;
  const { uri, mimeType, text, blob } = contents as JsonObject;
  check(`${where}: text or blob`, isBlob || blob === undefined, 'one of the two', 'both');
  const type = mimeType === undefined ? 'no MIME type' : label(mimeType);
  fact(2, `${kind}${label(uri)}: ${type}, ${isBlob ? countBytes(where, blob) : 'text'}`);
  if (!isBlob) prose(text);
}

/** How many bytes there are in a text of base64. */
function countBytes(where: string, data: unknown): string {
  const text = String(data);
  const isBase64 = text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
  check(`${where}: base64`, isBase64, 'base64 with its padding', shorten(text, 60));
  return isBase64 ? `${Buffer.byteLength(text, 'base64')} bytes` : 'unreadable';
}

// #endregion probe-looks

// #region probe-text — how words of the server's are shown: they may lie, but not steer
const WIDTH = Math.min(Math.max(process.stdout.columns || 100, 40), 100);

// What could steer a terminal, or hide: controls, marks of direction, line ends of other kinds,
// invisible characters, half a character. Emoji joined by U+200D are torn apart by this.
const STRANGE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{DI}\u2800]/gu;

/** Shows strange characters as \u…. */
function shield(text: string): string {
  const unit = (one: string) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return text.replace(STRANGE, (character) => character.split('').map(unit).join(''));
}

/** Cuts a long text, and says so. */
function shorten(text: string, most = 2000): string {
  const rest = text.length - most;
  return rest > 0 ? `${text.slice(0, most)}... (${rest} more characters)` : text;
}

/** Prints a line of ours, with words of the server's in it; what is too long is indented more. */
function fact(indent: number, text: string, colour = 0): void {
  for (const [index, one] of wrap(shorten(text), indent + 6).entries()) {
    say(`${' '.repeat(indent + (index && 6))}${one}`, colour);
  }
}

/** Prints the server's own prose, deeper than any line of ours, so that it cannot pass for one. */
function prose(text: unknown): void {
  if (typeof text !== 'string' || text.trim() === '') return;
  const lines = shorten(text.trimEnd(), 4000).split(/\r\n|[\n\r]/); // --json has all
  for (const one of lines.slice(0, 60).flatMap((one) => wrap(one))) say(`      ${one}`);
  if (lines.length > 60) say(`      ... (${lines.length - 60} more lines)`);
}

/** Breaks a line, since a terminal that did it would go on at its left edge. */
function wrap(line: string, indent = 6): string[] {
  const shown = shield(line);
  // Most characters of East Asia, and emoji, take two columns.
  const isWide = /[\u1100-\u115f\u2e80-\uffff]|[^\0-\uffff]/u.test(shown);
  const width = (isWide ? WIDTH >> 1 : WIDTH) - indent - 2; // a terminal breaks at its last column
  // At a space, if there is one in the second half; else where the line is full.
  const pieces = new RegExp(`.{${width >> 1},${width}}(?:\\s|$)|.{1,${width}}`, 'gu');
  return shown.match(pieces) ?? [''];
}

/** A value of the server's as text; String() fails on an object with a toString of its own. */
function wordsOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value) ?? 'nothing';
}

/** A name of the server's choice: as it is where it is plain, else in quotes. */
function label(name: unknown): string {
  const text = wordsOf(name);
  return /^[\w.:/{}?=&%#@~+*,;$!()-]+$/.test(text) ? text : JSON.stringify(shorten(text, 200));
}

/** Prints the account, piece by piece: a whole one could be longer than a string may be. */
function printAccount(): void {
  const write = (text: string) => void process.stdout.write(text);
  const put = (value: unknown) => write(shield(JSON.stringify(value)));
  for (const [index, [name, value]] of Object.entries(account).entries()) {
    write(`${index === 0 ? '{' : ','}\n  "${name}": `);
    if (!Array.isArray(value)) {
      put(value);
      continue;
    }
    for (const [place, entry] of value.entries()) {
      write(`${place === 0 ? '[' : ','}\n    `);
      put(entry);
    }
    write(value.length === 0 ? '[]' : '\n  ]');
  }
  write('\n}\n');
}
// #endregion probe-text

// ---------------------------------------------------------------------------------------------
// Plumbing: the wire, the counting, the command line. Skip it on first reading.
// ---------------------------------------------------------------------------------------------

// #region probe-wire — one server process, and what crosses the wire
type JsonObject = Record<string, unknown>;

type Decision = { era: 'legacy' | 'modern'; reason: string };
type Server = Awaited<ReturnType<typeof startServer>>;

/** Starts a server; ends this program, with 2, where it cannot start. */
async function startServer({ command, env, timeout }: Options) {
  const [file = '', ...args] = withRuntime(command).command;
  // On POSIX the server leads a group of processes, so that what it starts can be ended with it.
  const child = spawn(file, args, { env, detached: !IS_WINDOWS, windowsHide: true });
  child.stdin.on('error', () => {}); // a broken pipe: the end of its stdout tells the rest
  process.on('exit', () => end(child, 'SIGKILL')); // however this program ends
  await once(child, 'spawn').catch(({ message }: Error) => leave(2, message.includes('EACCES')
    ? `"${file}" is no program (${message}). Put what runs it in front: -- python3 ${file}`
    : `Cannot start "${file}" (${message}): is it installed, and on the PATH?`));
  const exited = once(child, 'exit');
  const closed = once(child, 'close'); // it has exited, and all that it wrote is read
  const late = new Map<unknown, string>(); // requests whose deadline has passed
  let waiting: { id: number; settle: (answer: Answer) => void } | undefined;
  let [lastId, line] = [0, ''];
  let [lastWords, death] = ['', '']; // on stderr; how it ended

  // --- Out ---

  function send(message: JsonObject): void {
    const text = JSON.stringify({ jsonrpc: '2.0', ...message });
    showMessage('-->', text);
    child.stdin.write(`${text}\n`);
  }

  /** Sends a request, and waits for what becomes of it. There is one at a time. */
  function ask(method: string, params: JsonObject, wait?: number): Promise<Answer> {
    if (death !== '') return Promise.resolve({ missing: 'death', why: death, lastWords });
    const id = ++lastId;
    const ms = wait ?? (id === 1 ? 3 * timeout : timeout); // the first includes the start
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        late.set(id, method);
        // Neither of the two that open a conversation: initialize must not be cancelled
        // (2025-11-25/basic/utilities/cancellation), and nothing but it may come before it.
        const isFirst = method === 'initialize' || method === 'server/discover';
        if (!isFirst) send({ method: 'notifications/cancelled', params: { requestId: id } });
        waiting?.settle({ missing: 'silence', why: `nothing within ${ms} ms` });
      }, ms);
      waiting = {
        id,
        settle(answer) {
          clearTimeout(timer);
          waiting = undefined;
          resolve(answer);
        },
      };
      send({ id, method, params });
    });
  }

  // --- In ---

  // Lines are cut at byte 10 alone; setEncoding keeps a character whole that two reads split.
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    for (const [index, piece] of text.split('\n').entries()) {
      if (index > 0 && line.trim() !== '') take(line.replace(/\r$/, ''));
      line = index > 0 ? piece : line + piece;
    }
    if (line.length <= MOST.characters) return;
    check('a message', false, 'a line of 64 Mi characters at most', line);
    line = '';
    child.stdout.destroy();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    lastWords = (lastWords + text).trimStart().slice(-300);
  });
  // stderr is for people: it is shown and never judged (2026-07-28/basic/transports/stdio).
  let words = ''; // of one line
  child.stderr.on('data', (text: string) => {
    for (const [index, piece] of text.split('\n').entries()) {
      if (index > 0) passOn();
      words += piece.slice(0, 2001 - words.length); // no more of it is shown
    }
  });
  child.stderr.once('end', () => words === '' || passOn());

  function passOn(): void {
    const isWhole = words.length <= 2000;
    for (const one of wrap(isWhole ? words.replace(/\r$/, '') : `${words.slice(0, -1)}...`)) {
      if (output.isJson) console.error(`    | ${one}`);
      else say(`    | ${one}`);
    }
    words = '';
  }

  function take(text: string): void {
    showMessage('<--', text);
    const message = parse(text);
    if (message === undefined) return void check('a message', false, 'one line of JSON', text);
    const isSound = isObject(message) && !isDeeper(message, 500);
    const { id, method, result, error } = isSound ? message : {};
    const isAnswer = result !== undefined || error !== undefined || typeof method !== 'string';
    if (isSound && !isAnswer) return id === undefined ? undefined : asked(id, method);
    if (late.has(id)) {
      const hint = child.stdin.writableEnded ? ': is its stdout flushed after each message?'
        : late.get(id) === 'server/discover' ? '; --probe-timeout waits longer' : '';
      fact(6, `(it answers ${late.get(id)} after its deadline, and is ignored${hint})`);
      return void late.delete(id);
    }
    const object = 'a JSON object, 500 deep at most';
    const flaw = isSound ? findEnvelopeFlaw(message, waiting?.id) : object;
    sound('a message', flaw, text);
    if (waiting === undefined || waiting.id !== id) return; // nobody waits for it
    if (flaw !== undefined) {
      return waiting.settle({ missing: 'damage', damaged: Object(message) as JsonObject });
    }
    const size = text.length;
    waiting.settle(error === undefined
      ? { result: result as JsonObject, size } : { error: error as JsonObject, size });
  }

  // A request of the server's own. Only the legacy era has such (2026-07-28/basic/transports/stdio,
  // "Sending Messages" and "Receiving Messages").
  function asked(id: unknown, method: unknown): void {
    const isLegacy = account.era !== 'modern'; // or not yet decided: then it speaks like one
    check('a message', isLegacy, 'no request from a modern server', method);
    if (!isLegacy) return;
    if (method === 'ping') send({ id, result: {} });
    else send({ id, error: { code: -32601, message: 'This client answers ping alone' } });
  }

  // --- The end ---

  // When it exits, or its output ends, 0.3 s are left for what is still on its way. What it started
  // may live on and hold its pipes, so that the end of its output alone would not tell.
  const noteDeath = () => setTimeout(() => {
    if (death !== '') return;
    const { exitCode, signalCode } = child;
    death = exitCode !== null ? `it ended with the code ${exitCode}` :
      signalCode !== null ? `it was ended by ${signalCode}` : 'it closed its output';
    waiting?.settle({ missing: 'death', why: death, lastWords });
  }, 300);
  child.once('exit', noteDeath);
  child.stdout.once('close', noteDeath);

  /** Sees the server out: stdin ends, then SIGTERM, then SIGKILL (2025-11-25/basic/lifecycle). */
  async function close() {
    const isWithin = (ms: number, event: Promise<unknown>) =>
      Promise.race([event.then(() => true), sleep(ms, false, { ref: false })]);
    let force: string | null = null; // the signal that it took
    child.stdin.end();
    if (!(await isWithin(5000, exited))) end(child, (force = 'SIGTERM'));
    if (!(await isWithin(2000, exited))) end(child, (force = 'SIGKILL'));
    await exited;
    // What the server started may outlive it, and hold its pipes: that has to go too.
    await isWithin(500, closed);
    end(child, 'SIGKILL');
    for (const pipe of child.stdio) pipe?.destroy();
    if (line.trim() !== '') check('a message', false, 'a newline at its end', line);
    const { exitCode, signalCode: signal } = child;
    return { exitCode, signal, force };
  }
  return { ask, send, close, isGone: () => death !== '', startTimeout: 3 * timeout };
}

/** Ends a process and what it started; on Windows, which has no such groups, the process alone. */
function end(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(IS_WINDOWS ? Number(child.pid) : -Number(child.pid), signal);
  } catch {
    // It was gone already.
  }
}

// #endregion probe-wire

// #region probe-report — what is printed, and how it counts
const output = { isJson: false, isQuiet: false };
const HAS_COLOUR = process.stdout.isTTY && !process.env.NO_COLOR;
const [BOLD, RED] = [1, 31];
let steps = 0;

/** Prints one line, in which nothing is left that could steer the terminal. */
function say(text: string, colour = 0): void {
  if (output.isJson) return;
  const shown = shield(text).trimEnd();
  const isPlain = !HAS_COLOUR || colour === 0;
  process.stdout.write(isPlain ? `${shown}\n` : `\u001b[${colour}m${shown}\u001b[0m\n`);
}

/** Shows a line of the wire as it is, but for what is strange; on a terminal in pieces. */
function showMessage(arrow: '-->' | '<--', text: string): void {
  if (output.isQuiet) return;
  // The pieces of a broken line must not stand where ours begin.
  const pieces = process.stdout.isTTY ? wrap(shorten(text)) : [shorten(text)];
  for (const [index, piece] of pieces.entries()) say(`${index === 0 ? arrow : '   '} ${piece}`);
}

/** Begins a step of the visit. */
function step(title: string): void {
  say('');
  say(`${++steps}. ${title}`, BOLD);
}

/** Counts what was judged. What is wrong is printed, and kept for --json. */
function check(title: string, holds: boolean, expected: unknown, came: unknown): boolean {
  account.checks[holds ? 'passed' : 'failed'] += 1;
  if (holds || account.findings.length > 1000) return holds;
  const [wanted, found] = [expected, came].map((value) =>
    shorten(typeof value === 'string' ? value : JSON.stringify(value) ?? 'nothing', 500));
  account.findings.push(`${title}: expected ${wanted}, came ${found}`);
  fact(0, `FAIL  ${title}`, RED);
  fact(6, `expected: ${wanted}`);
  fact(6, `came:     ${found}`);
  if (account.findings.length > 1000) say('      (whatever else is wrong is counted, not shown)');
  return holds;
}
// #endregion probe-report

// #region probe-call — how this program is called
const USAGE = `Usage: npx tsx clients/probe.ts [OPTIONS] SERVER.ts
       npx tsx clients/probe.ts [OPTIONS] -- COMMAND ARGS     any server, in any language
  --call TOOL [--args FILE.json]    call a tool, with the object in the file as its arguments
  --read URI                        read a resource
  --prompt NAME [--args FILE.json]  get a prompt
  --era legacy|modern  do not ask which      --quiet     hide the raw messages
  --timeout MS  for one answer (5000)        --json      one JSON object, and nothing else
  --probe-timeout MS  silence that long on server/discover means legacy (5000)
  --env NAME    pass this variable on        --help      print this`;
const FLAGS = {
  'call': { type: 'string' }, 'read': { type: 'string' }, 'prompt': { type: 'string' },
  'args': { type: 'string' }, 'era': { type: 'string' }, 'timeout': { type: 'string' },
  'probe-timeout': { type: 'string' }, 'env': { type: 'string', multiple: true },
  'json': { type: 'boolean' }, 'quiet': { type: 'boolean' }, 'help': { type: 'boolean' },
} as const;
const IS_WINDOWS = process.platform === 'win32';
// Of our environment a server gets these variables, and those that --env names.
const ENV = /^(PATH|HOME|TMPDIR|TMP|TEMP|NODE_.*|SYSTEM(ROOT|DRIVE)|COMSPEC|PATHEXT|USERPROFILE)$/i;
const SCRIPT = /\.m?[jt]s$/;

type Options = ReturnType<typeof readOptions>;

/** Ends this program with a sentence and the usage: code 0 for --help, 2 for a wrong call. */
function leave(code: 0 | 2, sentence: string): never {
  (code === 0 ? console.log : console.error)(`${shield(sentence)}\n\n${USAGE}`);
  process.exit(code);
}

/** Reads how this program was called; ends it, or throws, where that makes no sense. */
function readOptions(argv: string[]) {
  const cut = argv.includes('--') ? argv.indexOf('--') : argv.length;
  const isCommand = cut < argv.length;
  const call = parseArgs({ args: argv.slice(0, cut), options: FLAGS, allowPositionals: true });
  const { era, timeout = '5000', env: names = [], help, json = false, quiet = false } = call.values;
  // Long enough for a server that is slow to start: one that is taken for legacy by mistake costs
  // more than the wait for a legacy server that says nothing, and most say something at once.
  const { 'probe-timeout': probeTimeout = '5000' } = call.values;
  const command = isCommand ? argv.slice(cut + 1) : call.positionals;
  const unset = names.find((name) => process.env[name] === undefined);
  if (help) leave(0, 'Finds out what a server is, and lists what it offers.');
  const isOne = call.positionals.length <= (isCommand ? 0 : 1);
  if (!isOne) leave(2, 'One server: SERVER.ts, or -- and a COMMAND with its arguments.');
  if (!command[0]) leave(2, "Which one? Please pass the server's file, or -- and its COMMAND.");
  if (SCRIPT.test(command[0]) && !existsSync(command[0])) {
    leave(2, `There is no file ${command[0]}: pass the server's file, or -- and its COMMAND.`);
  }
  if (era !== undefined && era !== 'legacy' && era !== 'modern') {
    leave(2, `--era ${era}: legacy or modern.`);
  }
  for (const [flag, ms] of Object.entries({ timeout, 'probe-timeout': probeTimeout })) {
    if (!/^[1-9]\d{0,7}$/.test(ms)) leave(2, `--${flag} ${ms}: milliseconds, in digits.`);
  }
  if (unset !== undefined) leave(2, `--env ${unset}: there is no such variable here.`);
  const isPassed = ([name]: [string, unknown]) => ENV.test(name) || names.includes(name);
  Object.assign(output, { isJson: json, isQuiet: quiet });
  return {
    era, command, task: readTask(call.values),
    timeout: Number(timeout), probeTimeout: Number(probeTimeout),
    env: Object.fromEntries(Object.entries(process.env).filter(isPassed)),
  };
}

/** Reads what to do after the lists, if anything. */
function readTask(values: { [flag in 'call' | 'read' | 'prompt' | 'args']?: string | undefined }) {
  const { call, read, prompt, args: file } = values;
  const [what, ...more] = [call, read, prompt].filter((one) => one !== undefined);
  if (more.length > 0) leave(2, 'One of --call, --read and --prompt at a time.');
  if (what === '') leave(2, 'After --call, --read or --prompt comes what to ask for.');
  if (file !== undefined && (what === undefined || what === read)) {
    leave(2, '--args belongs to --call or --prompt.');
  }
  const args = file === undefined ? {} : readArguments(file);
  const isText = Object.values(args).every((value) => typeof value === 'string');
  if (prompt !== undefined && !isText) leave(2, `--args ${file}: a prompt takes texts alone.`);
  const flag = read !== undefined ? 'read' : call !== undefined ? 'call' : 'prompt';
  return what === undefined ? undefined : newTask(flag, what, args);
}

/** Reads the arguments for a tool or a prompt, before any server is started. */
function readArguments(file: string): JsonObject {
  const isFile = existsSync(file) && !statSync(file).isDirectory();
  if (!isFile) leave(2, `--args ${file}: there is no such file.`);
  // Editors on Windows may put a mark at the beginning.
  const args = parse(readFileSync(file, 'utf8').replace(/^\ufeff/, ''));
  if (isObject(args)) return args;
  const what = args === undefined ? 'it is not JSON' : 'its JSON is no object';
  return leave(2, `--args ${file}: ${what}; an example is {"text": "hello"}`);
}

/** A script is run by the same runtime that runs this program: never a shell, no npx. */
function withRuntime([file = '', ...args]: string[]): { command: string[]; shown: string[] } {
  if (!SCRIPT.test(file)) return { command: [file, ...args], shown: [file, ...args] };
  const runtime = process.execArgv.filter((argument) => !argument.startsWith('--inspect'));
  const name = runtime.some((argument) => argument.includes('tsx')) ? 'npx tsx' : 'node';
  const command = [process.execPath, ...runtime, resolve(file), ...args];
  return { command, shown: [name, relative('', file).replaceAll('\\', '/'), ...args] };
}

async function main(): Promise<void> {
  process.exitCode = 2; // until the visit is over
  if (parseInt(process.versions.node) < 20) return console.error('This needs Node 20 or later.');
  const options = readOptions(process.argv.slice(2));
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', () => process.exit(2)); // nobody reads this any more
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(2));
  say('== probe: what is this server? ==', BOLD);
  say(`$ ${withRuntime(options.command).shown.join(' ')}`);
  await visit(options);
  const { passed, failed } = account.checks;
  const total = passed + failed;
  say('');
  say(`result: ${failed > 0 ? `${failed} of ${total} checks failed` : `${total} checks passed`}`);
  if (output.isJson) printAccount();
  process.exitCode = failed > 0 ? 1 : 0;
}
// #endregion probe-call

// What ends it early is told in a sentence, without a stack: an unknown flag, for one.
main().catch(({ message }: Error) => leave(2, message.replace(/\. [^]*/, '.')));
