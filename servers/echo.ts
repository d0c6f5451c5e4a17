/**
 * echo: one tool that says back what it is told. The tool is trivial so that you see the protocol.
 *
 * A legacy client (2025-11-25 and before) shakes hands first, and the server remembers it:
 *
 *   --> {"jsonrpc":"2.0","id":1,"method":"initialize",
 *        "params":{"protocolVersion":"2025-11-25",…}}
 *   <-- {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":…}}
 *
 * A modern client (2026-07-28) simply asks, and says in `_meta` of each request what it speaks:
 *
 *   --> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo",
 *        "arguments":{"text":"hello"},"_meta":{"io.modelcontextprotocol/protocolVersion":…}}}
 *   <-- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete",
 *        "content":[{"type":"text","text":"echo: hello"}],"_meta":…}}
 *
 * (Shown on several lines here; on the wire a message is one line.)
 *
 * Run: npx tsx servers/echo.ts
 * See it talk: npx tsx clients/echo.ts
 *
 * SPDX-License-Identifier: MIT
 */

import { setTimeout as sleep } from 'node:timers/promises';

// ---------------------------------------------------------------------------------------------
// The idea: what this server offers. Start reading here.
// ---------------------------------------------------------------------------------------------

const SERVER_INFO = { name: 'echo-server', version: '1.0.0' };

const CAPABILITIES = { tools: {} };

const ECHO_TOOL = {
  name: 'echo',
  description: 'Says back the text that it is given.',
  inputSchema: {
    type: 'object',
    properties: { text: { type: 'string', description: 'What to say back.' } },
    required: ['text'],
  },
};

/** What this server does, by method name. Each handler reads, checks, does, returns. */
const METHODS: Record<string, Handler> = {
  /** Lists the one tool. Throws -32602 for a cursor, since there is one page. */
  'tools/list': (params) => {
    refuseCursor(params);
    return { tools: [ECHO_TOOL] };
  },

  /** Calls the tool: a text block, or -32602; for a bad text see `badArgument`. */
  'tools/call': (params, request) => {
    const { name, arguments: args = {} } = params;
    if (typeof name !== 'string') throw new RpcError(-32602, 'params.name must be a string');
    if (!isObject(args)) throw new RpcError(-32602, 'params.arguments must be an object');
    if (name !== ECHO_TOOL.name) throw new RpcError(-32602, `Unknown tool: ${name}`);
    // The input schema above is a promise to the caller; the check is still ours to make.
    const { text } = args;
    if (typeof text !== 'string') throw badArgument('arguments.text must be a string', request);
    return { content: [{ type: 'text', text: `echo: ${text}` }] };
  },
};

/** The error for a bad tool argument: in modern a result that the model reads, else a refusal. */
function badArgument(message: string, request: Request): Error {
  // Modern: a result with isError (2026-07-28/server/tools, "Error Handling"). The legacy page of
  // 2025-11-25 asks the same, since proposal SEP-1303. In legacy this server keeps -32602 on
  // purpose: it is what 2025-06-18 allowed, and the contract that its clients rely on.
  return request.era === 'modern' ? new ToolError(message) : new RpcError(-32602, message);
}

// ---------------------------------------------------------------------------------------------
// Plumbing: the protocol itself, the same in every server. Skip it on first reading.
// ---------------------------------------------------------------------------------------------

// #region mcp — the two eras of the protocol; the same lines in every server, start reading above
/** Any JSON object: `params`, `_meta`, a result. */
type JsonObject = Record<string, unknown>;

/** One request while it is worked on: what a handler may want to know besides its params. */
type Request = {
  id: unknown;
  method: string;
  params: JsonObject;
  era: 'legacy' | 'modern';
  protocolVersion: string;
  /** False from the moment the request is answered or cancelled. */
  isOpen: boolean;
  /** Its `signal` aborts when the client cancels. Read it only where you need it: it is slow. */
  controller: AbortController;
  /** Sends a notification that belongs to this request, while the request is open. */
  notify: (method: string, params: JsonObject) => void;
};

/** Answers one method: gives the result, or throws an RpcError or a ToolError. */
type Handler = (params: JsonObject, request: Request) => JsonObject | Promise<JsonObject>;

/** A tool that ran and failed: a result with `isError`, which the model is meant to read. */
class ToolError extends Error {}

const MODERN_VERSION = '2026-07-28';
const LEGACY_VERSIONS = ['2025-11-25', '2025-06-18'] as const; // the newest first
const META_VERSION = 'io.modelcontextprotocol/protocolVersion';
const META_CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const META_CLIENT_INFO = 'io.modelcontextprotocol/clientInfo';
const META_LOG_LEVEL = 'io.modelcontextprotocol/logLevel';
const SERVER_META = { 'io.modelcontextprotocol/serverInfo': SERVER_INFO };
const LOG_LEVELS = 'debug info notice warning error critical alert emergency'.split(' ');
// The answer to `server/discover` (2026-07-28/server/discover).
const DISCOVERY = { supportedVersions: [MODERN_VERSION], capabilities: CAPABILITIES };
// What the modern era took away (2026-07-28/changelog, major changes 2, 4 and 5).
const LEGACY_ONLY = [
  'initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'resources/unsubscribe'];
const NO_SESSION = `No session: send initialize first (${LEGACY_VERSIONS[0]}), or send ` +
  `${META_VERSION} and ${META_CAPABILITIES} in params._meta of each request (${MODERN_VERSION})`;

/** Answers one request: at once where the handler gives a value, later where it gives a promise. */
function answer(connection: Connection, request: Request): void | Promise<void> {
  try {
    const result = findHandler(connection, request)(request.params, request);
    if (!(result instanceof Promise)) return succeed(connection, request, result);
    return result
      .then((value) => succeed(connection, request, value))
      .catch((error: unknown) => fail(connection, request, error));
  } catch (error) {
    return fail(connection, request, error);
  }
}

/** Finds out which era a request is of, and who answers it there; throws an RpcError if nobody. */
function findHandler(connection: Connection, request: Request): Handler {
  const { method, params } = request;
  const meta = params._meta === undefined ? {} : params._meta;
  if (!isObject(meta)) throw new RpcError(-32602, 'params._meta must be an object');
  const token = meta.progressToken;
  if (token !== undefined && typeof token !== 'string' && !Number.isInteger(token)) {
    throw new RpcError(-32602, 'progressToken must be a string or an integer');
  }
  // Either key makes it modern, whatever its type: who sends one means the modern era.
  if (META_VERSION in meta || META_CAPABILITIES in meta) {
    checkModernMeta(meta);
    request.era = 'modern';
    request.protocolVersion = MODERN_VERSION;
    if (method === 'server/discover') return () => DISCOVERY;
    if (LEGACY_ONLY.includes(method)) throw new RpcError(-32601, `Method not found: ${method}`);
  } else {
    if (method === 'initialize') return () => initialize(connection, params);
    if (method === 'ping') return () => ({});
    if (connection.legacyVersion === undefined) throw new RpcError(-32602, NO_SESSION);
    request.protocolVersion = connection.legacyVersion;
  }
  // Only METHODS' own keys count, so that `toString` is an unknown method like any other.
  const handler = Object.hasOwn(METHODS, method) ? METHODS[method] : undefined;
  if (handler === undefined) throw new RpcError(-32601, `Method not found: ${method}`);
  return handler;
}

/** Checks what each modern request must carry (2026-07-28/basic/index, "_meta"). */
function checkModernMeta(meta: JsonObject): void {
  const requested = meta[META_VERSION];
  if (typeof requested !== 'string') throw badMeta(META_VERSION, 'a string');
  if (!isObject(meta[META_CAPABILITIES])) throw badMeta(META_CAPABILITIES, 'an object');
  if (META_CLIENT_INFO in meta && !isImplementation(meta[META_CLIENT_INFO])) {
    throw badMeta(META_CLIENT_INFO, 'an object with the strings name and version');
  }
  if (META_LOG_LEVEL in meta && !LOG_LEVELS.includes(meta[META_LOG_LEVEL] as string)) {
    throw badMeta(META_LOG_LEVEL, `one of ${LOG_LEVELS.join(', ')}`);
  }
  // The example on 2026-07-28/basic/versioning also lists a legacy version as supported. We do not:
  // the client retries with a version from this list, and a legacy one may not stand in `_meta`.
  if (requested === MODERN_VERSION) return;
  const data = { supported: [MODERN_VERSION], requested };
  throw new RpcError(-32022, 'Unsupported protocol version', data);
}

/** Begins the legacy session (2025-11-25/basic/lifecycle, "Version Negotiation"). */
function initialize(connection: Connection, params: JsonObject): JsonObject {
  const asked = params.protocolVersion;
  if (typeof asked !== 'string') throw new RpcError(-32602, 'protocolVersion must be a string');
  // The specification is silent on a second handshake; to refuse it is this kit's own rule.
  if (connection.legacyVersion !== undefined) throw new RpcError(-32600, 'Already initialized');
  const protocolVersion = LEGACY_VERSIONS.find((known) => known === asked) ?? LEGACY_VERSIONS[0];
  connection.legacyVersion = protocolVersion;
  return { protocolVersion, capabilities: CAPABILITIES, serverInfo: SERVER_INFO };
}

/** Sends a result, with what each modern one carries; what the handler set itself stays. */
function succeed(connection: Connection, request: Request, result: JsonObject): void {
  if (!isObject(result)) throw new TypeError(`The handler of ${request.method} gave no object.`);
  if (request.era === 'legacy') return reply(connection, request, { result });
  const { resultType = 'complete' } = result;
  const hints = resultType === 'complete' ? cacheHints(request.method) : undefined;
  const _meta = { ...SERVER_META, ...(result._meta as JsonObject | undefined) };
  reply(connection, request, { result: { resultType, ...hints, ...result, _meta } });
}

/** Sends what a handler threw: a tool's failure as a result, all else as an error. */
function fail(connection: Connection, request: Request, error: unknown): void {
  if (error instanceof ToolError && request.method === 'tools/call') {
    const content = [{ type: 'text', text: error.message }];
    return succeed(connection, request, { content, isError: true });
  }
  // The client learns nothing of an unexpected error; whoever runs the server finds it on stderr.
  const known = error instanceof RpcError ? error : new RpcError(-32603, 'Internal error');
  if (known !== error && request.isOpen) console.error(error);
  try {
    reply(connection, request, { error: known.error });
  } catch (unspeakable) {
    fail(connection, request, unspeakable); // its `data` is nothing that JSON can say
  }
}

/** How long a client may keep a result, and for whom (2026-07-28/server/utilities/caching). */
function cacheHints(method: string): JsonObject | undefined {
  if (method === 'resources/read') return { ttlMs: 300_000, cacheScope: 'public' };
  const isCacheable = method === 'server/discover' || method.endsWith('/list');
  return isCacheable ? { ttlMs: 3_600_000, cacheScope: 'public' } : undefined;
}

/** For a list of one page: throws -32602 for any cursor, since this server has handed out none. */
function refuseCursor(params: JsonObject): void {
  if (params.cursor !== undefined) throw new RpcError(-32602, 'Invalid cursor: there is one page');
}

function badMeta(key: string, expected: string): RpcError {
  return new RpcError(-32602, `params._meta["${key}"] must be ${expected}`);
}

function isImplementation(value: unknown): boolean {
  return isObject(value) && typeof value.name === 'string' && typeof value.version === 'string';
}
// #endregion mcp

// #region json-rpc — the envelope; the same lines in every server, start reading above
/** What outlives one message. The wire makes it: one for a stdio process or a legacy session. */
type Connection = {
  /** The version that `initialize` agreed on; undefined until then. */
  legacyVersion: string | undefined;
  /** The requests whose handlers are still at work, by id: 1 and "1" are different ids. */
  inFlight: Map<unknown, { request: Request; work: Promise<void> }>;
  /** Puts one message, already JSON, on the wire. */
  send: (message: string) => void;
};

/** A refused request: the `error` member of its response. */
class RpcError extends Error {
  error: JsonObject;
  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.error = { code, message, data };
  }
}

/** Takes one message, and answers it if it asks for an answer. */
function receive(connection: Connection, text: string): void {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return refuse(connection, -32700, 'Parse error: this line is not JSON');
  }
  // A batch is an array, and ends here too: MCP took batches out with 2025-06-18.
  if (!isObject(message)) return refuse(connection, -32600, 'a message must be a JSON object');
  const { jsonrpc, id, method, params = {}, result, error } = message;
  if (typeof method === 'string' && id === undefined) return notified(connection, message);
  // We never ask the client anything, so a response answers nothing of ours.
  if (method === undefined && (result !== undefined || error !== undefined)) return;
  // An id that cannot be used is left out of the reply: MCP's schema has no null id. A number past
  // 2^53 may have lost digits in JSON.parse, and would not come back as it was sent.
  const isUsable = typeof id === 'string' || Number.isSafeInteger(id);
  if (!isUsable) return refuse(connection, -32600, 'id must be a string or a safe integer');
  if (jsonrpc !== '2.0') return refuse(connection, -32600, 'jsonrpc must be "2.0"', id);
  if (typeof method !== 'string') return refuse(connection, -32600, 'method must be a string', id);
  if (connection.inFlight.has(id)) return refuse(connection, -32600, 'this id is in flight', id);
  if (!isObject(params)) return refuse(connection, -32602, 'params must be an object', id);

  const request: Request = {
    id, method, params,
    era: 'legacy', // `findHandler` settles this and the version
    protocolVersion: '',
    isOpen: true,
    controller: new AbortController(),
    notify(method, params) {
      if (request.isOpen) connection.send(JSON.stringify({ jsonrpc: '2.0', method, params }));
    },
  };
  const work = answer(connection, request);
  if (work !== undefined) connection.inFlight.set(id, { request, work });
}

/** Sends the one response of a request, unless it was cancelled. */
function reply(connection: Connection, request: Request, outcome: JsonObject): void {
  if (!request.isOpen) return;
  const response = JSON.stringify({ jsonrpc: '2.0', id: request.id, ...outcome });
  request.isOpen = false;
  connection.inFlight.delete(request.id);
  connection.send(response);
}

/** Answers what never became a request; without `id` where it had none that can be used. */
function refuse(connection: Connection, code: number, message: string, id?: unknown): void {
  connection.send(JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } }));
}

/** Takes a notification; of all there are, only `notifications/cancelled` asks us to do a thing. */
function notified(connection: Connection, { jsonrpc, method, params }: JsonObject): void {
  if (jsonrpc !== '2.0' || method !== 'notifications/cancelled' || !isObject(params)) return;
  // An id that is not in flight is ignored (2026-07-28/basic/patterns/cancellation, "Error
  // Handling"). `initialize` never is: it was answered before this message was read.
  const call = connection.inFlight.get(params.requestId);
  if (call !== undefined) cancel(connection, call.request);
}

/** Aborts a handler and silences its reply. */
function cancel(connection: Connection, request: Request): void {
  request.isOpen = false;
  connection.inFlight.delete(request.id);
  request.controller.abort();
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
// #endregion json-rpc

// #region stdio — the wire; the same lines in every stdio server, start reading above
const LINE_LIMIT = 64 * 1024 * 1024; // UTF-16 units; what is longer is refused, not remembered
const GRACE_MS = 2000; // for what is still at work when the input ends

/** Serves one client on stdin and stdout, a line a message (2026-07-28/basic/transports/stdio). */
function serveStdio(): void {
  let output = '';
  const connection: Connection = { legacyVersion: undefined, inFlight: new Map(), send };

  // What is sent in one turn goes out in one write: a system call costs more than a small reply.
  function send(message: string): void {
    if (output === '') queueMicrotask(flush);
    output += `${message}\n`;
  }

  // Backpressure: while the client does not read our replies, we read no more of its requests.
  function flush(): void {
    if (!process.stdout.write(output)) process.stdin.pause();
    output = '';
  }

  // setEncoding turns bytes into text before lines are cut. That is safe, since UTF-8 has byte 10
  // only for "\n", and a character that two reads split waits in its decoder. Bytes that are no
  // UTF-8 become U+FFFD: a real server would rather refuse than act on what was never said.
  let line: string | undefined = ''; // undefined while the rest of a refused line is dropped

  function read(text: string): void {
    for (const [index, piece] of text.split('\n').entries()) {
      if (index > 0) endLine();
      if (line !== undefined) line += piece; // quick however long the line: V8 keeps the pieces
      if (line === undefined || line.length <= LINE_LIMIT) continue;
      refuse(connection, -32600, `a line may have ${LINE_LIMIT} characters at most`);
      line = undefined;
    }
  }

  function endLine(): void {
    const text = line?.charCodeAt(0) === 0xfeff ? line.slice(1) : line; // a byte order mark
    line = '';
    // A blank line is no message; and a "\r" at the end is white space to JSON.
    if (text !== undefined && /[^ \t\r]/.test(text)) receive(connection, text);
  }

  async function end(): Promise<void> {
    endLine();
    const calls = [...connection.inFlight.values()];
    await Promise.race([Promise.all(calls.map(({ work }) => work)), sleep(GRACE_MS)]);
    for (const { request } of connection.inFlight.values()) cancel(connection, request);
    flush();
    process.stdout.write('', () => process.exit(0)); // called when all before it is written
  }

  process.stdin.setEncoding('utf8').on('data', read).on('end', end).on('error', end);
  process.stderr.on('error', () => {}); // nobody reads our log; the client still reads us
  process.stdout.on('drain', () => process.stdin.resume());
  process.stdout.on('error', () => process.exit(0)); // EPIPE above all: nobody reads us any more
  process.on('SIGTERM', () => process.exit(0));
}

/** Tells a person who started this by hand what it waits for; a client never sees this. */
function greetTerminal(): void {
  const hint = 'Ctrl-D ends the input (Windows: Ctrl-Z, then Enter), Ctrl-C stops it at once.';
  if (process.stdin.isTTY) console.error(`${SERVER_INFO.name} waits for a message a line. ${hint}`);
}
// #endregion stdio

// #region node — the same lines in every server and client
/** Ends with one sentence on a Node that is too old to run the rest. */
function requireNode20(): void {
  if (Number.parseInt(process.versions.node, 10) >= 20) return;
  console.error(`This needs Node 20 or later; this is Node ${process.versions.node}.`);
  process.exit(2);
}
// #endregion node

function main(): void {
  requireNode20();
  greetTerminal();
  serveStdio();
}

main();
