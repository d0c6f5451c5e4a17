/**
 * Judge: the official JSON schemas. Every message that the other judges recorded, in both
 * directions, must be what the schema of its era says it is: a request by its method, a result as
 * the result of the method that was asked, an error as the error that its code names.
 *
 * A message that a client sent to be refused is listed with its reason, and may be invalid; what
 * came back for it may not. A message that fits nothing is a failure, never a skip.
 *
 * SPDX-License-Identifier: MIT
 */

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { Ajv } from 'ajv';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

import { readMessages } from '../lessons.ts';
import {
  type Conversation, type Era, type JsonObject, type Stand, type Verdict,
  INTEROP, isObject, KIT, readRecords, show,
} from './judging.ts';

// ---------------------------------------------------------------------------------------------
// Where the schemas come from
// ---------------------------------------------------------------------------------------------

const SCHEMAS: Record<Era, { version: string; sha256: string }> = {
  legacy: {
    version: '2025-11-25',
    sha256: '268a5f82ba70fd7e4b6dc4aa1e64f116f74b4d0edcb69dc046829c79dd4e97e7',
  },
  modern: {
    version: '2026-07-28',
    sha256: 'ef70b61f99b6d2e5e3b46863822eab08dff6a45bedc7a08914e0e5b133f40203',
  },
};

// The specification repository at its tag. The download was written without being tried.
const SOURCE = 'https://raw.githubusercontent.com/modelcontextprotocol/modelcontextprotocol/' +
  '2026-07-28/schema';

/** Gives the text of one era's schema: of MCP_SCHEMA_DIR, of the cache, or downloaded. */
async function readSchema(era: Era): Promise<JsonObject> {
  const { version, sha256 } = SCHEMAS[era];
  const given = process.env.MCP_SCHEMA_DIR;
  const cached = join(INTEROP, 'cache', version, 'schema.json');
  const file = given ? join(given, version, 'schema.json') : cached;
  if (given && !existsSync(file)) throw new Error(`MCP_SCHEMA_DIR has no ${file}`);
  const url = `${SOURCE}/${version}/schema.json`;
  const isThere = existsSync(file);
  const text = isThere ? readFileSync(file) : await download(url);
  const found = createHash('sha256').update(text).digest('hex');
  if (found !== sha256) {
    throw new Error(`${isThere ? file : url} has SHA-256 ${found}, not ${sha256}`);
  }
  if (!given && !existsSync(cached)) {
    mkdirSync(join(cached, '..'), { recursive: true });
    writeFileSync(cached, text);
  }
  return JSON.parse(text.toString('utf8')) as JsonObject;
}

async function download(url: string): Promise<Buffer> {
  const files = Object.values(SCHEMAS).map(({ version }) => `${version}/schema.json`);
  const hint = `set MCP_SCHEMA_DIR to a folder with ${files.join(' and ')}`;
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(60_000) });
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    return Buffer.from(await response.arrayBuffer());
  } catch (error) {
    throw new Error(`cannot download ${url} (${error}); ${hint}`);
  }
}

// ---------------------------------------------------------------------------------------------
// What a message must be
// ---------------------------------------------------------------------------------------------

/** The definition of the result of each method that the kit speaks, by era. */
const RESULTS: Record<Era, Record<string, string>> = {
  legacy: {
    'initialize': 'InitializeResult',
    'ping': 'EmptyResult',
    'tools/list': 'ListToolsResult',
    'tools/call': 'CallToolResult',
    'resources/list': 'ListResourcesResult',
    'resources/templates/list': 'ListResourceTemplatesResult',
    'resources/read': 'ReadResourceResult',
    'resources/subscribe': 'EmptyResult',
    'resources/unsubscribe': 'EmptyResult',
    'prompts/list': 'ListPromptsResult',
    'prompts/get': 'GetPromptResult',
    'completion/complete': 'CompleteResult',
    'logging/setLevel': 'EmptyResult',
    'roots/list': 'ListRootsResult',
    'sampling/createMessage': 'CreateMessageResult',
    'elicitation/create': 'ElicitResult',
  },
  modern: {
    'server/discover': 'DiscoverResult',
    'tools/list': 'ListToolsResult',
    'tools/call': 'CallToolResult',
    'resources/list': 'ListResourcesResult',
    'resources/templates/list': 'ListResourceTemplatesResult',
    'resources/read': 'ReadResourceResult',
    'prompts/list': 'ListPromptsResult',
    'prompts/get': 'GetPromptResult',
    'completion/complete': 'CompleteResult',
    'subscriptions/listen': 'SubscriptionsListenResult',
  },
};

// These may answer that they need something first (2026-07-28/basic/patterns/mrtr).
const MAY_REQUIRE_INPUT = ['tools/call', 'resources/read', 'prompts/get'];

/** The schema of one era: which method is which definition, and how a value is validated. */
type Schema = {
  /** Says what is wrong with a value that should be what a definition says. */
  problem: (definition: string, value: unknown) => string | undefined;
  /** Says what is wrong with a value that should be a JSON Schema itself. */
  problemOfSchema: (value: unknown) => string | undefined;
  /** The definition of a request or notification by who sends it, its kind and its method. */
  find: (from: 'client' | 'server', kind: 'Request' | 'Notification', method: string) =>
    string | undefined;
  /** The definition of an error by its code; some describe the response, some `error` alone. */
  errorOf: (code: unknown) => { definition: string; isResponse: boolean } | undefined;
};

function compile(schema: JsonObject): Schema {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema(schema, 'mcp');
  const definitions = schema.$defs as Record<string, JsonObject>;
  const validators = new Map<string, ValidateFunction>();

  function problem(definition: string, value: unknown): string | undefined {
    const known = validators.get(definition);
    const validate = known ?? ajv.compile({ $ref: `mcp#/$defs/${definition}` });
    validators.set(definition, validate);
    if (validate(value)) return undefined;
    return `no ${definition}: ${ajv.errorsText(validate.errors, { dataVar: '' })}`;
  }

  /** Follows a path of members from a definition, through references. */
  function at(node: unknown, ...path: string[]): unknown {
    let found = node;
    for (const key of path) {
      found = isObject(found) ? found[key] : undefined;
      const { $ref } = Object(found) as JsonObject;
      if (typeof $ref === 'string') found = definitions[nameOf($ref)];
    }
    return found;
  }

  // A union names its members; the one of client notifications in 2026-07-28 has a single member,
  // which stands there itself.
  function find(from: 'client' | 'server', kind: string, method: string): string | undefined {
    const name = `${from === 'client' ? 'Client' : 'Server'}${kind}`;
    const union = definitions[name];
    const refs = (union?.anyOf as { $ref: string }[] | undefined)?.map(({ $ref }) => nameOf($ref));
    return (refs ?? [name]).find((one) =>
      at(definitions[one], 'properties', 'method', 'const') === method);
  }

  function errorOf(code: unknown): { definition: string; isResponse: boolean } | undefined {
    const hasCode = (node: unknown) => at(node, 'properties', 'code', 'const') === code;
    for (const [definition, body] of Object.entries(definitions)) {
      if (!definition.endsWith('Error')) continue;
      if (hasCode(body)) return { definition, isResponse: false };
      const parts = at(body, 'properties', 'error', 'allOf');
      if (Array.isArray(parts) && parts.some(hasCode)) return { definition, isResponse: true };
    }
    return undefined;
  }

  // A tool may write its schema in the older dialect, if it says so.
  const draft7 = new Ajv({ strict: false });
  const problemOfSchema = (value: unknown) => {
    const dialect = /draft-07/.test(String(at(value, '$schema'))) ? draft7 : ajv;
    return isObject(value) && dialect.validateSchema(value) ? undefined : 'no JSON Schema';
  };
  return { problem, problemOfSchema, find, errorOf };
}

const nameOf = (reference: string) => reference.slice('#/$defs/'.length);

// ---------------------------------------------------------------------------------------------
// One conversation
// ---------------------------------------------------------------------------------------------

/** A request that has been read and not answered. */
type Open = { method: string; expectsRefusal: string | null };

/** What was counted over all conversations. */
type Count = {
  messages: number;
  /** What was sent to be refused, by reason, and how many of these the schema refuses too. */
  refused: Map<string, number>;
  invalid: number;
  excused: Map<Excuse, number>;
};

function validate(
  conversation: Conversation,
  era: Era,
  schema: Schema,
  count: Count,
  report: (problem: string, line: string) => void,
): void {
  const open = { client: new Map<unknown, Open>(), server: new Map<unknown, Open>() };
  const used = { client: new Set<unknown>(), server: new Set<unknown>() };
  for (const { from, line, expectsRefusal } of conversation.crossings) {
    count.messages += 1;
    const problem = judgeMessage(from, line, expectsRefusal);
    if (expectsRefusal !== null) {
      count.refused.set(expectsRefusal, (count.refused.get(expectsRefusal) ?? 0) + 1);
      if (problem !== undefined) count.invalid += 1;
    } else if (problem !== undefined) {
      report(problem, line);
    }
  }
  for (const { method, expectsRefusal } of open.client.values()) {
    report('was never answered', `${method} ${expectsRefusal ?? ''}`);
  }

  function judgeMessage(
    from: 'client' | 'server',
    line: string,
    expectsRefusal: string | null,
  ): string | undefined {
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      return 'no JSON';
    }
    if (!isObject(message)) return 'no object';
    const { id, method } = message;
    if (typeof method !== 'string') return judgeResponse(from, message);
    const kind = id === undefined ? 'Notification' : 'Request';
    if (kind === 'Request') {
      if (used[from].has(id)) return `the id ${show(id)} was used before`;
      used[from].add(id);
      open[from].set(id, { method, expectsRefusal });
    }
    const definition = schema.find(from, kind, method);
    if (definition === undefined) return `${era} has no ${kind} ${method} from a ${from}`;
    return schema.problem(definition, message);
  }

  function judgeResponse(from: 'client' | 'server', message: JsonObject): string | undefined {
    const { id, result, error } = message;
    const asker = from === 'client' ? 'server' : 'client';
    const request = open[asker].get(id);
    open[asker].delete(id);
    if (request === undefined) return 'answers no request';
    if ((result === undefined) === (error === undefined)) return 'has not one of result and error';
    return error === undefined
      ? schema.problem('JSONRPCResultResponse', message) ?? judgeResult(request, result)
      : judgeError(message, error);
  }

  function judgeResult({ method }: Open, result: unknown): string | undefined {
    const definition = RESULTS[era][method];
    if (definition === undefined) return `${era} knows no result of ${method}`;
    const type = era === 'legacy' || !isObject(result) ? 'complete' : result.resultType;
    if (type === 'input_required' && MAY_REQUIRE_INPUT.includes(method)) {
      return schema.problem('InputRequiredResult', result);
    }
    if (type !== 'complete') return `resultType ${show(type)} of ${method}`;
    const tools = isObject(result) && Array.isArray(result.tools) ? result.tools : [];
    return schema.problem(definition, result) ??
      tools.map(({ inputSchema }) => schema.problemOfSchema(inputSchema)).find((one) => one);
  }

  function judgeError(message: JsonObject, error: unknown): string | undefined {
    const general = schema.problem('JSONRPCErrorResponse', message);
    const named = schema.errorOf(isObject(error) ? error.code : undefined);
    if (general !== undefined || named === undefined) return general;
    return schema.problem(named.definition, named.isResponse ? message : error);
  }
}

// ---------------------------------------------------------------------------------------------

/** A message that is not what its schema says, and why that may be. */
type Excuse = { conversation: RegExp; line: RegExp; problem: RegExp; why: string };

const EXCUSES: Excuse[] = [
  {
    conversation: /atlas/,
    line: /"uri":"project:\/\/atlas\/docs\/release notes"/,
    problem: /^no ReadResourceRequest: \/params\/uri must match format "uri"$/,
    why: 'a URI with a raw space, which atlas normalises by contract',
  },
];

/** Cuts a long text into lines, at spaces. */
function wrap(text: string): string[] {
  return text.match(/.{1,92}(?: |$)/g) ?? [text];
}

// What a page shows of a result tells which one it is, where its request is not shown beside it.
const RESULT_BY_MEMBER: Record<string, string> = {
  content: 'CallToolResult', contents: 'ReadResourceResult',
  resourceTemplates: 'ListResourceTemplatesResult', resources: 'ListResourcesResult',
  tools: 'ListToolsResult', prompts: 'ListPromptsResult', messages: 'GetPromptResult',
  supportedVersions: 'DiscoverResult', serverInfo: 'InitializeResult',
};

// Pages also show what is sent to be refused; this is why the schema may refuse it too.
const SHOWN_TO_BE_REFUSED: { text: RegExp; why: string }[] = [
  { text: /"method":"echo\/reverse"/, why: 'an unknown method' },
  { text: /"method":"ping","params":\{"_meta":\{"io\./, why: 'ping, which modern has not' },
  { text: /"_meta":\{"io\.[^,]*protocolVersion":"2026-07-28"\}/, why: 'half of _meta' },
];

/** Validates each message that a page of the course shows whole, in a `jsonl` fence. */
function judgePages(schemas: Record<Era, Schema>, verdict: Verdict): void {
  const messages = readMessages(KIT);
  const unused = new Set(SHOWN_TO_BE_REFUSED);
  for (const { page, line, text } of messages) {
    const message = JSON.parse(text) as JsonObject;
    const isModern = /io\.modelcontextprotocol\/|"resultType"/.test(text);
    const schema = schemas[isModern ? 'modern' : 'legacy'];
    const problem = problemOnPage(schema, message);
    const excuse = SHOWN_TO_BE_REFUSED.find((one) => one.text.test(text));
    if (problem !== undefined && excuse) unused.delete(excuse);
    else verdict.check(`${page}:${line}`, problem);
  }
  for (const { why } of unused) verdict.failures.push(`no page shows ${why} any more: take it out`);
  verdict.check('messages on pages', messages.length > 0 ? undefined : 'none was found');
}

function problemOnPage(schema: Schema, message: JsonObject): string | undefined {
  const { id, method, result, error } = message;
  if (error !== undefined) return schema.problem('JSONRPCErrorResponse', message);
  if (typeof method === 'string') {
    const definition = schema.find('client', id === undefined ? 'Notification' : 'Request', method);
    return definition ? schema.problem(definition, message) : `a client has no ${method}`;
  }
  const member = Object.keys(Object(result)).find((key) => RESULT_BY_MEMBER[key] !== undefined);
  return member === undefined
    ? 'a result of an unknown shape'
    : schema.problem(RESULT_BY_MEMBER[member] ?? '', result);
}

// The judges that leave records.
const RECORDING = ['sdk-clients', 'sdk-servers', 'inspector', 'runtimes'];

export async function judge(stand: Stand, verdict: Verdict): Promise<void> {
  const schemas = {
    legacy: compile(await readSchema('legacy')),
    modern: compile(await readSchema('modern')),
  };
  const count: Count = { messages: 0, refused: new Map(), invalid: 0, excused: new Map() };
  const conversations = existsSync(stand.records) ? readRecords(stand.records) : [];
  for (const judge of stand.isWhole ? RECORDING : []) {
    const isThere = conversations.some(({ name }) => name.startsWith(judge));
    verdict.check(`records of ${judge}`, isThere ? undefined : 'none');
  }
  judgePages(schemas, verdict);
  if (conversations.length === 0) throw new Error('there are no records: ask the other judges');
  for (const conversation of conversations) {
    const { name } = conversation;
    const era = /^(legacy|modern)/.exec(name.split(/[\\/]/).at(-1) ?? '')?.[0] as Era | undefined;
    if (!verdict.that(`${name}: an era`, era !== undefined, name) || era === undefined) continue;
    const before = count.messages;
    validate(conversation, era, schemas[era], count, (problem, line) => {
      const excuse = EXCUSES.find((one) =>
        one.conversation.test(name) && one.line.test(line) && one.problem.test(problem));
      if (excuse) count.excused.set(excuse, (count.excused.get(excuse) ?? 0) + 1);
      else verdict.failures.push(`${name}: ${problem}: ${show(line)}`);
    });
    verdict.checks += count.messages - before;
  }
  for (const excuse of EXCUSES) {
    const isThere = conversations.some(({ name }) => excuse.conversation.test(name));
    const problem = count.excused.has(excuse) ? undefined : 'no longer occurs: take it out';
    if (isThere) verdict.check(`the excuse "${excuse.why}"`, problem);
  }
  const refused = [...count.refused].map(([reason, times]) => `${reason} (${times})`);
  const sum = [...count.refused.values()].reduce((total, times) => total + times, 0);
  verdict.counted = `${count.messages} messages in ${conversations.length} conversations; ` +
    `${sum} sent to be refused, of which ${count.invalid} are invalid`;
  verdict.notes.push(...wrap(`sent to be refused: ${refused.join(', ')}`));
  for (const [{ why }, times] of count.excused) verdict.notes.push(`excused (${times}): ${why}`);
}
