/**
 * files: a schema checks types, not permission. "path" may be a perfectly good string, and still
 * lead to a file that nobody meant to share.
 *
 * The operator who starts this server names the roots: the folders whose files it may read. Who
 * calls it names paths, and can never name a root. A path below a root is read:
 *
 *   --> {…"method":"tools/call","params":{"name":"read_file_summary",
 *        "arguments":{"path":"README.md"}}}
 *   <-- {…"result":{"content":[{"type":"text","text":"# The lessons…"}]}}
 *
 * One that leads out is not, however it is spelled, and whatever is or is not there:
 *
 *   --> {…"arguments":{"path":"../package.json"}}
 *   <-- {…"result":{"content":[{"type":"text","text":"Not found below the roots"}],"isError":true}}
 *
 * Nor is one that comes as the URI of a resource:
 *
 *   --> {…"method":"resources/read","params":{"uri":"file:///etc/passwd"}}
 *   <-- {…"error":{"code":-32002,"message":"Not found below the roots"}}
 *
 * (Legacy forms, shortened; modern requests add `_meta`, and the code is -32602.)
 *
 * What this does not do: a hard link is a file like any other, so one to a file outside is served.
 * And whoever starts this server lends it all that they may read themselves: a real server would
 * run as a user, or in a container, that may read the roots and nothing else. MCP's own "roots", by
 * which a client suggests folders, are another thing: advice, and no access control
 * (2026-07-28/client/roots, which deprecates them).
 *
 * Run: npx tsx servers/files.ts lessons
 * Or:  npx tsx servers/files.ts FOLDER FOLDER…    else $DATA_ROOT is the root, else ./data
 * See it talk: npx tsx clients/files.ts
 *
 * SPDX-License-Identifier: MIT
 */

import {
  closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readSync, realpathSync,
} from 'node:fs';
import { basename, dirname, extname, join, relative, resolve, sep } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';

// ---------------------------------------------------------------------------------------------
// The idea: what this server offers. Start reading here.
// ---------------------------------------------------------------------------------------------

const SERVER_INFO = { name: 'files-server', version: '1.0.0' };

const CAPABILITIES = { tools: {}, resources: {} };

// One message for all that is refused: one that told "forbidden" from "not there", or named a real
// path, would answer questions about what is outside.
const REFUSED = 'Not found below the roots';

const SUMMARY_LENGTH = 100; // characters
const SUMMARY_LIMIT = 1024 * 1024; // bytes that are read to find them
const RESOURCE_LIMIT = 16 * 1024 * 1024; // bytes
const ENTRY_LIMIT = 1000; // of a folder
const PAGE_LENGTH = 1000; // resources

// A schema can say that a path is a string, and "../../etc/passwd" is one.
const PATH = {
  type: 'string',
  description: 'From the first root, with "/" between names; ".." is never followed. Absolute ' +
    'paths work too, except on Windows.',
};

const SUMMARY_TOOL = {
  name: 'read_file_summary',
  description: `Gives the first ${SUMMARY_LENGTH} characters of a text file below the roots.`,
  inputSchema: { type: 'object', properties: { path: PATH }, required: ['path'] },
};

const LIST_TOOL = {
  name: 'list_files',
  description: `Lists one level of a folder, ${ENTRY_LIMIT} entries at most. Without a path, of ` +
    'the first root.',
  inputSchema: { type: 'object', properties: { path: PATH } },
};

/** What this server does, by method name. Each handler reads, checks, does, returns. */
const METHODS: Record<string, Handler> = {
  /** Lists both tools. Throws -32602 for a cursor, since there is one page. */
  'tools/list': (params) => {
    refuseCursor(params);
    return { tools: [SUMMARY_TOOL, LIST_TOOL] };
  },

  /**
   * Calls a tool. What a tool cannot do, it says in a result with `isError`, in both eras
   * (2025-11-25/server/tools and 2026-07-28/server/tools, "Error Handling").
   */
  'tools/call': (params) => {
    const { name, arguments: args = {} } = params;
    if (typeof name !== 'string') throw new RpcError(-32602, 'params.name must be a string');
    if (!isObject(args)) throw new RpcError(-32602, 'params.arguments must be an object');
    if (name === SUMMARY_TOOL.name) return summarizeFile(args.path);
    if (name === LIST_TOOL.name) return listFolder(args.path === undefined ? '.' : args.path);
    throw new RpcError(-32602, `Unknown tool: ${name}`);
  },

  /**
   * Lists the files below the roots, a page at a time. The cursor is the URI of the last file of
   * the page before: it still works when that file is gone. It is compared with others and never
   * opened, so that nobody can read by it. Throws -32602 for a cursor that is none.
   */
  'resources/list': ({ cursor }, request) => {
    const last = cursor === undefined ? undefined : pathOfUri(cursor);
    const isValid = cursor === undefined || (last !== undefined && isBelowRoots(last));
    if (!isValid) throw new RpcError(-32602, 'Invalid cursor: this server gave no such cursor');
    const resources: JsonObject[] = [];
    for (const path of walkRoots()) {
      if (last !== undefined && rank(path) <= rank(last)) continue;
      if (resources.length === PAGE_LENGTH) {
        return perishable({ resources, nextCursor: resources.at(-1)?.uri }, request);
      }
      resources.push({ uri: uriOf(path), name: nameOf(path) });
    }
    return perishable({ resources }, request);
  },

  /** Lists a template for each root. Throws -32602 for a cursor, since there is one page. */
  'resources/templates/list': (params) => {
    refuseCursor(params);
    const description = 'A file below a root: its path from there, percent-encoded.';
    // The root "/" ends in a slash already.
    const resourceTemplates = ROOTS.map((root) =>
      ({ uriTemplate: `${uriOf(root).replace(/\/?$/, '/')}{+path}`, name: 'file', description }));
    return { resourceTemplates };
  },

  /** Reads a file whole: `text` where it is text, else `blob`, which is base64. */
  'resources/read': (params, request) => {
    const { uri } = params;
    if (typeof uri !== 'string') throw new RpcError(-32602, 'params.uri must be a string');
    const path = pathOfUri(uri);
    const bytes = readFile(path, RESOURCE_LIMIT + 1);
    if (path === undefined || bytes === undefined) throw notFound(uri, request);
    if (bytes.length > RESOURCE_LIMIT) {
      // Not -32602, which would say that it is not there (server/resources of both eras).
      throw new RpcError(-32603, `The file has more than ${RESOURCE_LIMIT} bytes`);
    }
    const text = decode(bytes);
    const content = text === undefined ? { blob: bytes.toString('base64') } : { text };
    const type = text === undefined ? 'application/octet-stream' : 'text/plain';
    const mimeType = MIME_TYPES[extname(path).toLowerCase()] ?? type;
    return perishable({ contents: [{ uri: uriOf(path), mimeType, ...content }] }, request);
  },
};

/** The tool read_file_summary: one text block. Throws a ToolError for a bad path, or no text. */
function summarizeFile(path: unknown): JsonObject {
  if (typeof path !== 'string') throw new ToolError('arguments.path must be a string');
  const bytes = readFile(pathOfArgument(path), SUMMARY_LIMIT);
  if (bytes === undefined) throw new ToolError(REFUSED);
  const text = decode(bytes, bytes.length === SUMMARY_LIMIT);
  if (text === undefined) throw new ToolError('Not a text file');
  return { content: [{ type: 'text', text: firstCharacters(text) }] };
}

/**
 * The tool list_files: one text block, a JSON array; a second one where entries are left out.
 * Throws a ToolError for a bad path.
 */
function listFolder(path: unknown): JsonObject {
  if (typeof path !== 'string') throw new ToolError('arguments.path must be a string');
  const entries = readFolder(pathOfArgument(path));
  if (entries === undefined) throw new ToolError(REFUSED);
  const texts = [JSON.stringify(entries.slice(0, ENTRY_LIMIT))];
  const more = entries.length - ENTRY_LIMIT;
  if (more > 0) texts.push(`The first ${ENTRY_LIMIT} entries; ${more} more are left out.`);
  return { content: texts.map((text) => ({ type: 'text', text })) };
}

function notFound(uri: string, request: Request): RpcError {
  // 2025-11-25/server/resources has -32002, 2026-07-28/server/resources -32602. Both show the URI
  // in `data`; here the modern error alone has it, as it was sent, so that it tells nothing new.
  return request.era === 'legacy'
    ? new RpcError(-32002, REFUSED) : new RpcError(-32602, REFUSED, { uri });
}

/** Adds modern cache hints (2026-07-28/server/utilities/caching): a file may change at any time. */
function perishable(result: JsonObject, request: Request): JsonObject {
  return request.era === 'legacy' ? result : { ...result, ttlMs: 0, cacheScope: 'private' };
}

// ---------------------------------------------------------------------------------------------
// The boundary: what the lesson is about. A server MUST sanitize paths, says 2026-07-28/server/
// resources ("Security Considerations"), and not how. Each file and folder is opened here.
// ---------------------------------------------------------------------------------------------

// #region boundary — where the roots end; this server's own
const IS_WINDOWS = process.platform === 'win32';

// The real paths of the roots, found once: each stays what it was when the operator named it.
const ROOTS: string[] = [];
const NAMES: string[] = []; // the roots as they were named, made absolute
readRoots();

/** Takes the roots from whoever starts this server; ends it if it can read none of them. */
function readRoots(): void {
  const given = process.argv.slice(2);
  const folders = given.length > 0 ? given : [process.env.DATA_ROOT || './data'];
  for (const folder of new Set(folders)) {
    try {
      readdirSync(folder); // a root that cannot be listed is none
      // The native one asks the system, which knows the case of letters, and Windows' short names.
      const real = realpathSync.native(folder);
      if (!ROOTS.includes(real)) ROOTS.push(real);
      NAMES.push(resolve(folder));
    } catch {
      console.error(`Not a folder that can be read: ${folder === '' ? '""' : resolve(folder)}`);
    }
  }
  if (ROOTS.length > 0) return;
  console.error('Usage: npx tsx servers/files.ts FOLDER…, or name one in DATA_ROOT.');
  process.exit(2);
}

/** Makes a tool's argument a path to look at; undefined where it breaks a rule. */
function pathOfArgument(path: string): string | undefined {
  // "link/.." has two meanings: for `resolve` the folder that holds the link, for the system the
  // one above what it leads to. No caller needs "..", so none is followed.
  if (path.split('/').includes('..')) return undefined;
  // On Windows there is more: "..\", "C:", "file:stream", and "\\host\share" or "//host/share". The
  // other machine must not even be asked: that alone would tell it who you are.
  if (IS_WINDOWS && /[\\:]|^\/\//.test(path)) return undefined;
  // The classic mistake is resolve(path): that starts at the working directory, which is whatever
  // the host was started in.
  return resolve(ROOTS[0] ?? '', path);
}

/** Makes a URI a path to look at; undefined where it is no plain file URI of this machine. */
function pathOfUri(uri: unknown): string | undefined {
  // What `new URL` would mend in silence is looked for before it does: it drops tabs and line
  // feeds, trims spaces, takes "\" for "/" and "%2e" for ".", and then goes up for "..". A query or
  // a fragment would be dropped later. ("localhost" it takes for no host, and so do we.)
  const isPlain = typeof uri === 'string' && !/[\u0000-\u0020\\?#]|%2e|%2f/i.test(uri);
  if (!isPlain || uri.split('/').includes('..') || !URL.canParse(uri)) return undefined;
  const { protocol, host, pathname } = new URL(uri);
  // A host would make Windows ask another machine; a second "/" in front looks like one.
  if (protocol !== 'file:' || host !== '' || pathname.startsWith('//')) return undefined;
  try {
    const path = fileURLToPath(uri); // decodes, once
    return IS_WINDOWS && path.indexOf(':', 2) > 0 ? undefined : path; // "C:\\file:stream"
  } catch {
    return undefined; // "%zz", or on Windows "%5c" or a path without a drive
  }
}

/** Is a path below a root, or the root itself? */
function isBelow(path: string, root: string): boolean {
  // Whole names are compared, with a separator behind each: as mere strings, "/data-private" starts
  // with "/data".
  const withEnd = (name: string) => (name.endsWith(sep) ? name : name + sep);
  return withEnd(path).startsWith(withEnd(root));
}

/** Is a path below one of the roots' real paths? */
function isBelowRoots(real: string): boolean {
  return ROOTS.some((root) => isBelow(real, root));
}

/** Resolves a path; throws where it begins or ends outside of the roots, or ends nowhere. */
function resolveBelowRoots(path: string): string {
  // A link out there may lead in. To follow it would tell the caller that it is there.
  const begins = NAMES.some((name) => isBelow(path, name)) || isBelowRoots(path);
  if (!begins) throw new Error(REFUSED);
  // Resolve, then compare: where a path ends is known only when its links are resolved.
  const real = realpathSync.native(path);
  if (!isBelowRoots(real)) throw new Error(REFUSED);
  return real;
}

/** Makes a folder the working directory; throws where its path leads elsewhere by now. */
function enterFolder(real: string): void {
  // A path that was right a moment ago may lead elsewhere now, and be right again when we look
  // once more: somebody may move folders about as fast as we look. But a working directory stays
  // the folder that it is, whatever becomes of its name, and the system can say where that is.
  // (Others would use openat, or Linux's openat2 with RESOLVE_BENEATH; Node has neither.)
  process.chdir(real);
  if (realpathSync.native('.') !== real) throw new Error(REFUSED);
}

/** Opens a file below the roots, to read; undefined for all that is refused, whatever it is. */
function openFile(path: string): number | undefined {
  try {
    const real = resolveBelowRoots(path);
    enterFolder(dirname(real));
    // One name is left. To open a FIFO or a device does something to it already: so look first.
    const name = basename(real);
    if (!lstatSync(name).isFile()) return undefined;
    // It may be another by now. O_NOFOLLOW refuses a link that was put there since; O_NONBLOCK does
    // not wait for the other end of a FIFO. (Windows has neither, but making links takes a right.)
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
    const fd = openSync(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (fstatSync(fd).isFile()) return fd; // check what was opened
    closeSync(fd);
  } catch {
    // Not there, not readable, a loop of links, a NUL in the name: all get the same answer.
  }
  return undefined;
}

/** Reads a file, from its start, so many bytes at most; undefined where it is refused. */
function readFile(path: string | undefined, most: number): Buffer | undefined {
  const fd = path === undefined ? undefined : openFile(path);
  if (fd === undefined) return undefined;
  try {
    // While this reads, all else waits, and a call cannot be cancelled. A real server would read
    // with node:fs/promises, and heed `request.controller.signal`.
    const bytes = Buffer.alloc(Math.min(most, fstatSync(fd).size));
    let length = 0;
    let got = 0;
    do {
      got = readSync(fd, bytes, length, bytes.length - length, null);
      length += got;
    } while (got > 0); // 0: the file ends, or `bytes` is full
    return bytes.subarray(0, length);
  } catch {
    return undefined; // a disk that fails
  } finally {
    closeSync(fd);
  }
}

/** What a folder holds: a link is called a link, and where it leads is not told. */
type Entry = { name: string; type: 'file' | 'folder' | 'link' | 'other' };

/** Lists a folder, sorted by name; undefined where it is refused. */
function readFolder(path: string | undefined): Entry[] | undefined {
  if (path === undefined) return undefined;
  try {
    enterFolder(resolveBelowRoots(path));
    const found = readdirSync('.', { withFileTypes: true });
    const entries = found.map((one): Entry => ({
      name: one.name,
      type: one.isFile() ? 'file'
        : one.isDirectory() ? 'folder'
        : one.isSymbolicLink() ? 'link' : 'other',
    }));
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch {
    return undefined; // for whatever reason: the same answer
  }
}
// #endregion boundary

// ---------------------------------------------------------------------------------------------
// The small things: the order of files, their names, their texts.
// ---------------------------------------------------------------------------------------------

// #region names-and-texts — this server's own
/**
 * Finds the files below all roots, in the order of their ranks. Linked files that are inside count;
 * linked folders are not entered, for they may lead in circles. Each page walks from the start: a
 * real server would keep an index.
 */
function* walkRoots(): Generator<string> {
  const isInner = (root: string) => ROOTS.some((one) => one !== root && isBelow(root, one));
  const outer = ROOTS.filter((root) => !isInner(root));
  for (const root of outer.sort((a, b) => (rank(a) < rank(b) ? -1 : 1))) yield* walk(root);
}

/** Finds the files of one folder, and of those in it. */
function* walk(folder: string): Generator<string> {
  for (const { name, type } of readFolder(folder) ?? []) {
    const path = join(folder, name);
    if (type === 'folder') yield* walk(path);
    // A name that is no UTF-8 reaches us mended, and leads to nothing: so it is looked for too.
    else if (type === 'file' && !name.includes('\ufffd')) yield path;
    else if (isFile(path)) yield path;
  }
}

/** Can this be read as a file below the roots? */
function isFile(path: string): boolean {
  const fd = openFile(path);
  if (fd !== undefined) closeSync(fd);
  return fd !== undefined;
}

/** A text by which paths compare as a walk meets them: a folder's files before "folder.txt". */
function rank(path: string): string {
  return path.replaceAll(sep, '\0');
}

function uriOf(path: string): string {
  return pathToFileURL(path).href;
}

/** The path from its root, with "/" between names on every system. */
function nameOf(path: string): string {
  const root = ROOTS.find((one) => isBelow(path, one)) ?? '';
  return relative(root, path).replaceAll(sep, '/');
}

/** What the end of a name promises; a real server would have a longer table. */
const MIME_TYPES: Record<string, string> = {
  '.csv': 'text/csv', '.html': 'text/html', '.jpg': 'image/jpeg', '.json': 'application/json',
  '.md': 'text/markdown', '.png': 'image/png',
};

/**
 * Reads bytes as UTF-8, with a mark in front if there is one; undefined where they are no such
 * text, or hold NUL. A real server would know other encodings. `isCut`: the last character may be
 * incomplete.
 */
function decode(bytes: Buffer, isCut = false): string | undefined {
  try {
    const decoder = new TextDecoder('utf8', { fatal: true, ignoreBOM: true });
    const text = decoder.decode(bytes, { stream: isCut });
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}

/**
 * The start of a text. A character is what a reader sees as one, with all accents that it has: a
 * real server would limit the bytes, too.
 */
function firstCharacters(text: string): string {
  let start = '';
  let count = 0;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (count === SUMMARY_LENGTH) break;
    start += segment;
    count += 1;
  }
  return start;
}
// #endregion names-and-texts

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
