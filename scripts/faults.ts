/**
 * Breaks the kit on purpose, in one place at a time, and looks whether somebody notices: a copy of
 * a server, or of a client, gets one deliberate edit, and the client that belongs to it must fail
 * first at the very check that is named here. That "the program failed" is not enough: a check that
 * nobody has ever seen fail is no check.
 *
 * The table comes first. It is also a list of what people get wrong in MCP, and of what their users
 * see then. The edited copies are only run, and need not please the compiler.
 *
 * Run: npx tsx scripts/faults.ts [--only NAME[,NAME…]]     all faults, or these
 *      npx tsx scripts/faults.ts --list                    the table, to read
 *      npx tsx scripts/faults.ts --unreached               all, then the checks that none reaches
 *      npx tsx scripts/faults.ts --write NAME FILE         the edited copy, to run it yourself
 *
 * Exit code: 0 each fault was noticed where it should be, 1 one was not, 2 called wrongly.
 *
 * SPDX-License-Identifier: MIT
 */

import {
  existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

import { DAMAGES } from './replay.ts';
import { isUnderTsx, KIT, runNode, tsxArguments, withoutNodeWarnings } from './testing.ts';

// ---------------------------------------------------------------------------------------------
// The table
// ---------------------------------------------------------------------------------------------

/** One deliberate edit, and who must notice it. */
export type Fault = {
  /** What it is called. */
  name: string;
  /** The file that is edited: `servers/echo.ts`, say. Its name is also that of the client. */
  file: string;
  /** The text that is replaced; it must occur in the file exactly once. */
  find: string;
  replace: string;
  /** The story in which it must be noticed: `legacy`, or `modern-expired`. */
  story: string;
  /** The label of the check that must be the first to fail in that story; * is any number. */
  fails: string;
  /** The label on Windows, where it is another. */
  failsOnWindows?: string;
  /** What a user would see. */
  symptom: string;
  /** It needs what Windows does not have, such as a FIFO. */
  isPosix?: true;
  /** The client's deadline for an answer, in ms, where a fault makes it wait. */
  timeout?: number;
};

/** The faults of one file; each is named after it, save that a client's begins with `client-`. */
function faultsOf(file: string, faults: Omit<Fault, 'file'>[]): Fault[] {
  return faults.map((fault) => ({ ...fault, file }));
}

const ECHO: Fault[] = faultsOf('servers/echo.ts', [
  // --- The wire and the envelope: in both eras alike ---
  {
    name: 'echo-banner',
    find: '  serveStdio();',
    replace: "  console.log('echo-server is ready');\n  serveStdio();",
    story: 'legacy',
    fails: 'response JSON 1',
    symptom: 'The host reports a parse error before the first answer; some never connect.',
  },
  {
    name: 'echo-pretty-printed',
    find: "JSON.stringify({ jsonrpc: '2.0', id: request.id, ...outcome })",
    replace: "JSON.stringify({ jsonrpc: '2.0', id: request.id, ...outcome }, null, 2)",
    story: 'modern',
    fails: 'response JSON 1',
    symptom: 'The host reports a parse error a line, and waits for an answer until it gives up.',
  },
  {
    name: 'echo-string-id',
    find: 'id: request.id, ...outcome',
    replace: 'id: String(request.id), ...outcome',
    story: 'legacy',
    fails: 'response identity 1',
    symptom: 'Every request runs into its deadline, though the log shows an answer to each.',
  },
  {
    name: 'echo-no-jsonrpc',
    find: "{ jsonrpc: '2.0', id: request.id, ...outcome }",
    replace: '{ id: request.id, ...outcome }',
    story: 'modern',
    fails: 'response jsonrpc 1',
    symptom: 'A host that validates drops every answer; one that does not works by luck.',
  },
  {
    name: 'echo-answers-notification',
    find: "  if (jsonrpc !== '2.0' || method !== 'notifications/cancelled'",
    replace: "  connection.send(JSON.stringify({ jsonrpc: '2.0', id: null, result: {} }));\n" +
      "  if (jsonrpc !== '2.0' || method !== 'notifications/cancelled'",
    story: 'legacy',
    fails: 'response identity 2',
    symptom: 'Right after the handshake the host gets an answer to nothing, and may hang up.',
  },
  {
    name: 'echo-second-answer',
    find: '  connection.send(response);',
    replace: '  connection.send(response);\n  connection.send(response);',
    story: 'legacy',
    fails: 'second answer 1',
    symptom: 'The host logs an answer to an unknown id after each call.',
  },
  {
    name: 'echo-null-result-beside-error',
    find: '{ error: known.error }',
    replace: '{ result: null, error: known.error }',
    story: 'legacy',
    fails: 'result xor error 6',
    symptom: 'A host that looks at `result` first takes a refusal for an empty success.',
  },
  {
    name: 'echo-code-in-words',
    find: 'this.error = { code, message, data };',
    replace: 'this.error = { code: `E${code}`, message, data };',
    story: 'legacy',
    fails: 'error shape 6',
    symptom: 'The host cannot tell a refusal that it could mend from one that it could not.',
  },
  {
    name: 'echo-result-in-text',
    find: 'return reply(connection, request, { result });',
    replace: 'return reply(connection, request, { result: JSON.stringify(result) });',
    story: 'legacy',
    fails: 'result object 1',
    symptom: 'The host finds nothing in the answer: all of it is one string.',
  },
  {
    name: 'echo-uncaught-error',
    find: '  } catch (error) {\n    return fail(connection, request, error);',
    replace: '  } catch (error) {\n    throw error;',
    story: 'legacy',
    fails: 'server still there 6',
    symptom: 'One bad call ends the server, and the host says that it disconnected.',
  },
  {
    name: 'echo-unterminated-line',
    find: '    output += `${message}\\n`;',
    replace: "    output += output === '' ? message : `\\n${message}`;",
    story: 'legacy',
    fails: 'response in time 1',
    symptom: 'The host waits for the end of a line that never comes: the last answer is lost.',
    timeout: 700,
  },
  {
    name: 'echo-bytes-for-characters',
    find: 'process.stdout.write(output)',
    replace: "process.stdout.write(output, 'latin1')",
    story: 'legacy',
    fails: 'text beyond ASCII echoed',
    symptom: 'English works; names with accents, Chinese and emoji come out as rubbish.',
  },
  {
    name: 'echo-chatty-stderr',
    find: '  const { jsonrpc, id, method, params = {}, result, error } = message;',
    replace: '  const { jsonrpc, id, method, params = {}, result, error } = message;\n' +
      '  console.error(`received ${method}`);',
    story: 'modern',
    fails: 'silent stderr',
    symptom: "The host's log fills with lines that look like errors.",
  },
  {
    name: 'echo-goodbye',
    find: "process.stdout.write('', () => process.exit(0));",
    replace: "process.stdout.write('Goodbye.', () => process.exit(0));",
    story: 'modern',
    fails: 'nothing stray on stdout',
    symptom: 'The host reports a parse error each time it closes the server.',
  },
  {
    name: 'echo-no-exit',
    find: "process.stdout.write('', () => process.exit(0));",
    replace: 'setInterval(() => {}, 1000);',
    story: 'modern',
    fails: 'no force needed to end it',
    failsOnWindows: 'exit 0 when stdin closes', // no handler runs there, and so no exit with 0
    symptom: 'Closing the host takes seconds, and forgotten servers pile up.',
  },
  {
    name: 'echo-exit-code',
    find: "process.stdout.write('', () => process.exit(0));",
    replace: "process.stdout.write('', () => process.exit(1));",
    story: 'legacy',
    fails: 'exit 0 when stdin closes',
    symptom: 'The host shows a crash whenever the server ends as it should.',
  },

  // --- Legacy ---
  {
    name: 'echo-newest-version',
    find: 'return { protocolVersion, capabilities: CAPABILITIES, serverInfo: SERVER_INFO };',
    replace: 'return {\n    protocolVersion: MODERN_VERSION, capabilities: CAPABILITIES, ' +
      'serverInfo: SERVER_INFO,\n  };',
    story: 'legacy',
    fails: 'a version that this client speaks',
    symptom: 'Hosts from before 2026 refuse to connect, though the server could serve them.',
  },
  {
    name: 'echo-no-server-info',
    find: 'return { protocolVersion, capabilities: CAPABILITIES, serverInfo: SERVER_INFO };',
    replace: 'return { protocolVersion, capabilities: CAPABILITIES };',
    story: 'legacy',
    fails: 'serverInfo (contract of echo)',
    symptom: 'A host that validates refuses the handshake; others show a server without a name.',
  },
  {
    name: 'echo-capability-true',
    find: 'const CAPABILITIES = { tools: {} };',
    replace: 'const CAPABILITIES = { tools: true };',
    story: 'legacy',
    fails: 'the tools capability: an object',
    symptom: 'A host that validates refuses the handshake.',
  },
  {
    name: 'echo-no-ping',
    find: "if (method === 'ping') return () => ({});",
    replace: '',
    story: 'legacy',
    fails: 'ping answered',
    symptom: 'A host that asks now and then whether the server lives takes it for dead.',
  },
  {
    name: 'echo-required-missing',
    find: "    required: ['text'],\n",
    replace: '',
    story: 'legacy',
    fails: 'the tool listed (contract of echo)',
    symptom: 'Models leave the text out, since nothing tells them that it is needed.',
  },
  {
    name: 'echo-next-cursor',
    find: 'return { tools: [ECHO_TOOL] };',
    replace: "return { tools: [ECHO_TOOL], nextCursor: '' };",
    story: 'legacy',
    fails: 'one page: no nextCursor',
    symptom: 'A host that fetches all pages asks for the next one, and is refused.',
  },
  {
    name: 'echo-other-text',
    find: 'text: `echo: ${text}`',
    replace: 'text: `echo: ${text.toUpperCase()}`',
    story: 'legacy',
    fails: 'the text echoed',
    symptom: 'The answer is not what was said.',
  },
  {
    name: 'echo-success-is-error',
    find: "return { content: [{ type: 'text', text: `echo: ${text}` }] };",
    replace: "return { content: [{ type: 'text', text: `echo: ${text}` }], isError: true };",
    story: 'legacy',
    fails: 'no isError on success (contract of echo)',
    symptom: 'The model reads that its call failed, and tries again.',
  },
  {
    name: 'echo-unknown-tool-served',
    find: 'throw new RpcError(-32602, `Unknown tool: ${name}`);',
    replace: 'throw new ToolError(`Unknown tool: ${name}`);',
    story: 'legacy',
    fails: 'unknown tool: -32602',
    symptom: 'The host counts a call of a tool that does not exist as a call that ran.',
  },
  {
    name: 'echo-ignores-tool-name',
    find: '    if (name !== ECHO_TOOL.name) throw new RpcError(-32602, `Unknown tool: ${name}`);\n',
    replace: '',
    story: 'legacy',
    fails: 'unknown tool: -32602',
    symptom: 'Whatever tool the model calls, it is this one that runs.',
  },
  {
    name: 'echo-legacy-tool-error',
    find: "request.era === 'modern' ? new ToolError(message) : new RpcError(-32602, message)",
    replace: 'new ToolError(message)',
    story: 'legacy',
    fails: 'bad argument: -32602 (contract of echo)',
    symptom: 'Clients that rely on the old contract take a refused call for one that ran.',
  },
  {
    name: 'echo-other-words',
    find: "badArgument('arguments.text must be a string', request)",
    replace: 'badArgument(`Cannot read ${typeof text}`, request)',
    story: 'legacy',
    fails: 'bad argument: the message (contract of echo)',
    symptom: 'The message does not say which argument is wrong, nor what is expected.',
  },
  {
    name: 'echo-unknown-method-internal',
    find: 'if (handler === undefined) throw new RpcError(-32601, `Method not found: ${method}`);',
    replace: 'if (handler === undefined) throw new RpcError(-32603, `Cannot serve: ${method}`);',
    story: 'legacy',
    fails: 'unknown method: -32601',
    symptom: 'A host that asks for what is optional takes the server for broken.',
  },

  // --- Modern ---
  {
    name: 'echo-no-discover',
    find: "    if (method === 'server/discover') return () => DISCOVERY;\n",
    replace: '',
    story: 'modern',
    fails: '2026-07-28 is offered',
    symptom: 'A host that can do both falls back to the old handshake, for ever.',
  },
  {
    name: 'echo-discovers-legacy',
    find: 'supportedVersions: [MODERN_VERSION]',
    replace: 'supportedVersions: LEGACY_VERSIONS',
    story: 'modern',
    fails: '2026-07-28 is offered',
    symptom: 'A host finds no version in common with a server that speaks its own.',
  },
  {
    name: 'echo-era-forgotten',
    find: "    request.era = 'modern';\n",
    replace: '',
    story: 'modern',
    fails: 'result type 1',
    symptom: 'Modern requests are answered in the old shape, and hosts reject each answer.',
  },
  {
    name: 'echo-always-asks-back',
    find: "const { resultType = 'complete' } = result;",
    replace: "const { resultType = 'input_required' } = result;",
    story: 'modern',
    fails: 'server/discover: resultType',
    symptom: 'The host asks its user for input that nobody wants.',
  },
  {
    name: 'echo-nameless-results',
    find: 'const _meta = { ...SERVER_META, ...(result._meta as JsonObject | undefined) };',
    replace: 'const _meta = { ...(result._meta as JsonObject | undefined) };',
    story: 'modern',
    fails: 'server/discover: serverInfo in _meta (contract of echo)',
    symptom: 'Behind a gateway nobody can say which server an answer came from.',
  },
  {
    name: 'echo-ttl-in-words',
    find: "isCacheable ? { ttlMs: 3_600_000, cacheScope: 'public' } : undefined",
    replace: "isCacheable ? { ttlMs: '1h', cacheScope: 'public' } : undefined",
    story: 'modern',
    fails: 'server/discover: cache hints',
    symptom: 'A host that validates rejects the answer; others fetch the list each time.',
  },
  {
    name: 'echo-lists-without-hints',
    find: " || method.endsWith('/list')",
    replace: '',
    story: 'modern',
    fails: 'tools/list: cache hints',
    symptom: 'A host that validates rejects the list; others fetch it before every call.',
  },
  {
    name: 'echo-any-version',
    find: '  if (requested === MODERN_VERSION) return;\n',
    replace: "  if (requested !== '') return;\n",
    story: 'modern',
    fails: 'unknown version: -32022',
    symptom: 'A host of another version is served, and misunderstands what it gets.',
  },
  {
    name: 'echo-version-legacy-code',
    find: "throw new RpcError(-32022, 'Unsupported protocol version', data);",
    replace: "throw new RpcError(-32602, 'Unsupported protocol version', data);",
    story: 'modern',
    fails: 'unknown version: -32022',
    symptom: 'A host takes the server for one of the old era, and tries to shake hands.',
  },
  {
    name: 'echo-requested-missing',
    find: 'const data = { supported: [MODERN_VERSION], requested };',
    replace: 'const data = { supported: [MODERN_VERSION] };',
    story: 'modern',
    fails: 'data.requested',
    symptom: "The host's message cannot say which version was refused.",
  },
  {
    name: 'echo-supports-legacy-in-meta',
    find: 'const data = { supported: [MODERN_VERSION], requested };',
    replace: 'const data = { supported: LEGACY_VERSIONS, requested };',
    story: 'modern',
    fails: 'data.supported has a version we speak',
    symptom: 'The host retries with a version that may not stand in _meta, and is refused again.',
  },
  {
    name: 'echo-serves-without-meta',
    find: 'if (connection.legacyVersion === undefined) throw new RpcError(-32602, NO_SESSION);',
    replace: "if (connection.legacyVersion === undefined) request.era = 'modern';",
    story: 'modern',
    fails: 'without _meta: -32602',
    symptom: 'Requests that say nothing of their version are served by guess.',
  },
  {
    name: 'echo-remembers-modern',
    find: "    request.era = 'modern';\n",
    replace: "    request.era = 'modern';\n    connection.legacyVersion = LEGACY_VERSIONS[0];\n",
    story: 'modern',
    fails: 'result type 6',
    symptom: 'It works in one process, and fails behind a gateway that has several.',
  },
  {
    name: 'echo-half-meta',
    find: "if (!isObject(meta[META_CAPABILITIES]))",
    replace: 'if (false)',
    story: 'modern',
    fails: 'without clientCapabilities: -32602',
    symptom: 'The server guesses what the client can do, and asks for what it cannot.',
  },
  {
    name: 'echo-modern-ping',
    find: "    if (method === 'server/discover') return () => DISCOVERY;\n",
    replace: "    if (method === 'server/discover') return () => DISCOVERY;\n" +
      "    if (method === 'ping') return () => ({});\n",
    story: 'modern',
    fails: 'ping: -32601',
    symptom: 'A host that tells the eras apart by what is missing is misled.',
  },
  {
    name: 'echo-refuses-bad-argument',
    find: "request.era === 'modern' ? new ToolError(message) : new RpcError(-32602, message)",
    replace: 'new RpcError(-32602, message)',
    story: 'modern',
    fails: 'bad argument: isError',
    symptom: 'The host ends the turn with an error; the model never learns what to mend.',
  },
  {
    name: 'echo-asks-the-client',
    find: '  if (!request.isOpen) return;\n  const response',
    replace: '  if (!request.isOpen) return;\n' +
      '  const id = connection.inFlight.size;\n' +
      "  connection.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'roots/list' }));\n" +
      '  const response',
    story: 'modern',
    fails: 'no request from the server',
    symptom: 'A modern host has nobody who could answer, and the server waits for ever.',
  },

  // --- Kept variants, for those who must see an era crossing: see --write ---
  {
    name: 'echo-legacy-only',
    find: `  // Either key makes it modern, whatever its type: who sends one means the modern era.
  if (META_VERSION in meta || META_CAPABILITIES in meta) {
    checkModernMeta(meta);
    request.era = 'modern';
    request.protocolVersion = MODERN_VERSION;
    if (method === 'server/discover') return () => DISCOVERY;
    if (LEGACY_ONLY.includes(method)) throw new RpcError(-32601, \`Method not found: \${method}\`);
  } else {
    if (method === 'initialize') return () => initialize(connection, params);
    if (method === 'ping') return () => ({});
    if (connection.legacyVersion === undefined) throw new RpcError(-32602, NO_SESSION);
    request.protocolVersion = connection.legacyVersion;
  }
`,
    replace: `  // A server from before 2026-07-28 has never heard of the keys in \`_meta\`.
  if (method === 'initialize') return () => initialize(connection, params);
  if (method === 'ping') return () => ({});
  if (connection.legacyVersion === undefined) {
    throw new RpcError(-32602, 'No session: send initialize first');
  }
  request.protocolVersion = connection.legacyVersion;
`,
    story: 'modern',
    fails: '2026-07-28 is offered',
    symptom: 'A modern host gets an error that names no version: it has to shake hands instead.',
  },
  {
    name: 'echo-modern-only',
    find: `  } else {
    if (method === 'initialize') return () => initialize(connection, params);
    if (method === 'ping') return () => ({});
    if (connection.legacyVersion === undefined) throw new RpcError(-32602, NO_SESSION);
    request.protocolVersion = connection.legacyVersion;
  }
`,
    replace: `  } else if (method === 'initialize') {
    // A legacy client cannot go on from here by itself: the message may be all that its user sees,
    // so it names the version (2026-07-28/basic/versioning, "Backward Compatibility …").
    const message = \`This server speaks MCP \${MODERN_VERSION} alone, which has no initialize\`;
    const data = { supported: [MODERN_VERSION], requested: params.protocolVersion };
    throw new RpcError(-32022, message, data);
  } else {
    // Whatever the method: without \`_meta\` this is no request (2026-07-28/basic/index, "_meta").
    throw badMeta(META_VERSION, \`there: this server speaks MCP \${MODERN_VERSION} alone\`);
  }
`,
    story: 'legacy',
    fails: 'a version that this client speaks',
    symptom: 'A host from before 2026 cannot connect, and all that it can show is the message.',
  },
]);

const ECHO_CLIENT: Fault[] = faultsOf('clients/echo.ts', [
  {
    name: 'client-echo-half-meta',
    find: "  'io.modelcontextprotocol/clientCapabilities': {},\n",
    replace: '',
    story: 'modern',
    fails: '2026-07-28 is offered',
    symptom: 'Every modern server refuses every request of this client.',
  },
  {
    name: 'client-echo-one-id',
    find: 'const id = ++lastId;',
    replace: 'const id = (lastId = 1);',
    story: 'legacy',
    fails: 'second answer 1',
    symptom: 'A client that uses an id again cannot tell which of its questions was answered.',
    timeout: 700,
  },
]);

const NOTES: Fault[] = faultsOf('servers/notes.ts', [
  {
    name: 'notes-agrees-to-any-version',
    find: 'LEGACY_VERSIONS.find((known) => known === asked) ?? LEGACY_VERSIONS[0];',
    replace: 'asked as typeof LEGACY_VERSIONS[number];',
    story: 'legacy',
    fails: 'a version that this client speaks',
    symptom: 'A host believes that both speak a version which has no handshake at all.',
  },
  {
    name: 'notes-capability-missing',
    find: 'const CAPABILITIES = { tools: {}, resources: {} };',
    replace: 'const CAPABILITIES = { tools: {} };',
    story: 'legacy',
    fails: 'tools and resources: objects',
    symptom: 'The host never asks for the resources: to its user there are none.',
  },
  {
    name: 'notes-tag-required',
    find: '    properties: { tag: {',
    replace: "    required: ['tag'],\n    properties: { tag: {",
    story: 'legacy',
    fails: 'the tool listed (contract of notes)',
    symptom: 'The model invents a tag whenever it wants all notes.',
  },
  {
    name: 'notes-no-tag-none',
    find: "tag === '' || note.tag === tag",
    replace: 'note.tag === tag',
    story: 'legacy',
    fails: 'all notes',
    symptom: 'The model asks for everything, and reports that there is nothing.',
  },
  {
    name: 'notes-pretty-text',
    find: 'JSON.stringify(found)',
    replace: 'JSON.stringify(found, null, 2)',
    story: 'legacy',
    fails: 'all notes',
    symptom: 'Each answer costs the model twice the tokens, and differs from the resource.',
  },
  {
    name: 'notes-tag-ignored',
    find: "tag === '' || note.tag === tag",
    replace: 'tag !== undefined || note',
    story: 'legacy',
    fails: 'notes by tag',
    symptom: 'The model gets all notes whatever it asks for, and quotes the wrong ones.',
  },
  {
    name: 'notes-tag-any-case',
    find: 'note.tag === tag',
    replace: 'note.tag === tag.toLowerCase()',
    story: 'legacy',
    fails: 'no notes by Incident',
    symptom: 'Two tags that differ in case are one here, and two in every other tool.',
  },
  {
    name: 'notes-tag-part',
    find: 'note.tag === tag',
    replace: 'note.tag.includes(tag)',
    story: 'modern',
    fails: 'the retry is served: no notes',
    symptom: 'A query for one tag also finds the notes of another that contains it.',
  },
  {
    name: 'notes-tag-converted',
    find: "if (typeof tag !== 'string')",
    replace: 'if (false)',
    story: 'legacy',
    fails: 'bad tag: -32602 (contract of notes)',
    symptom: 'A wrong call looks like an empty result: the model concludes that nothing is there.',
  },
  {
    name: 'notes-refuses-bad-tag',
    find: "request.era === 'modern' ? new ToolError(message) : new RpcError(-32602, message)",
    replace: 'new RpcError(-32602, message)',
    story: 'modern',
    fails: 'bad tag: isError',
    symptom: 'The host ends the turn with an error; the model never learns what to mend.',
  },
  {
    name: 'notes-bad-tag-wordless',
    find: 'text: error.message }',
    replace: "text: 'Error' }",
    story: 'modern',
    fails: 'bad tag: the text (contract of notes)',
    symptom: 'The model learns that its call failed, not why, and repeats it.',
  },
  {
    name: 'notes-plain-resource',
    find: "  mimeType: 'application/json',",
    replace: "  mimeType: 'text/plain',",
    story: 'legacy',
    fails: 'the resource listed (contract of notes)',
    symptom: 'The host shows the notes as one long line instead of a table.',
  },
  {
    name: 'notes-second-copy',
    find: 'text: JSON.stringify(NOTES)',
    replace: 'text: JSON.stringify(NOTES.slice(0, 2))',
    story: 'legacy',
    fails: 'the resource read',
    symptom: 'What the application shows and what the model says do not agree.',
  },
  {
    name: 'notes-empty-for-unknown',
    find: 'throw new RpcError(-32602, `Unknown resource: ${uri}`, data);',
    replace: 'return { contents: [], data };',
    story: 'legacy',
    fails: 'unknown resource: -32602 (contract of notes)',
    symptom: 'A misspelt URI reads as a document without content.',
  },
  {
    name: 'notes-says-not-which',
    find: '`Unknown resource: ${uri}`',
    replace: "'Unknown resource'",
    story: 'legacy',
    fails: 'unknown resource: the message',
    symptom: 'The log says that a resource is unknown, and not which.',
  },
  {
    name: 'notes-legacy-code',
    find: 'throw new RpcError(-32602, `Unknown resource: ${uri}`, data);',
    replace: 'throw new RpcError(-32002, `Unknown resource: ${uri}`, data);',
    story: 'modern',
    fails: 'unknown resource: -32602',
    symptom: 'A modern host does not know the code, and reports a broken server.',
  },
  {
    name: 'notes-no-data',
    find: "const data = request.era === 'modern' ? { uri } : undefined;",
    replace: 'const data = undefined;',
    story: 'modern',
    fails: 'data.uri as it was sent',
    symptom: 'A program that read many resources cannot tell which of them is gone.',
  },
  {
    name: 'notes-templates-without-any',
    find: "  'resources/list': (params) => {",
    replace: "  'resources/templates/list': () => ({ resourceTemplates: [] }),\n" +
      "  'resources/list': (params) => {",
    story: 'legacy',
    fails: 'no templates: -32601 (contract of notes)',
    symptom: 'Hosts offer to fill in templates of which there are none.',
  },
  {
    name: 'notes-read-without-hints',
    find: "{ ttlMs: 300_000, cacheScope: 'public' }",
    replace: '{}',
    story: 'modern',
    fails: 'resources/read: cache hints',
    symptom: 'A host that validates rejects what it read.',
  },
  {
    name: 'notes-scope-unknown',
    find: "{ ttlMs: 3_600_000, cacheScope: 'public' }",
    replace: "{ ttlMs: 3_600_000, cacheScope: 'shared' }",
    story: 'modern',
    fails: 'server/discover: cache hints',
    symptom: 'A gateway cannot tell whether one user may see what another has asked for.',
  },
  {
    name: 'notes-text-for-contents',
    find: 'return { contents: [{ uri, mimeType, text: JSON.stringify(NOTES) }] };',
    replace: 'return { contents: { uri, mimeType, text: JSON.stringify(NOTES) } };',
    story: 'modern',
    fails: 'the resource read',
    symptom: 'The host finds no content, since it looks for a list of contents.',
  },
]);

const ATLAS: Fault[] = faultsOf('servers/atlas.ts', [
  // --- What a URI may lead to ---
  {
    name: 'atlas-decodes-twice',
    find: 'return new URL(uri).href;',
    replace: "return new URL(uri.replaceAll('%25', '%')).href;",
    story: 'legacy',
    fails: 'a doubly encoded path upwards: -32002',
    symptom: 'A filter in front of the server is passed by writing %252e for a dot.',
  },
  {
    name: 'atlas-decodes-first',
    find: 'return new URL(uri).href;',
    replace: 'return new URL(decodeURIComponent(uri)).href;',
    story: 'legacy',
    fails: 'an encoded path upwards: -32002',
    symptom: 'A slash inside a name becomes a path, and the name leads elsewhere.',
  },
  {
    name: 'atlas-ignores-query',
    find: 'return new URL(uri).href;',
    replace: "return new URL(uri).href.split('?')[0];",
    story: 'legacy',
    fails: 'a query: -32002',
    symptom: "Who asks for ?version=1 gets today's text, and takes it for version 1.",
  },
  {
    name: 'atlas-ignores-fragment',
    find: 'return new URL(uri).href;',
    replace: "return new URL(uri).href.split('#')[0];",
    story: 'legacy',
    fails: 'a fragment: -32002',
    symptom: "Each fragment is a document of its own to the host's cache, and all are the same.",
  },
  {
    name: 'atlas-extra-segment',
    find: 'DOCUMENTS.find((one) => one.uri === canonical);',
    replace: 'DOCUMENTS.find((one) => `${canonical}/`.startsWith(`${one.uri}/`));',
    story: 'legacy',
    fails: 'an extra segment: -32002',
    symptom: 'A document that does not exist reads as its parent.',
  },
  {
    name: 'atlas-decodes-letters',
    find: 'return new URL(uri).href;',
    replace: 'return encodeURI(decodeURI(new URL(uri).href));',
    story: 'legacy',
    fails: 'a needlessly encoded letter: -32002',
    symptom: 'One document has many URIs, and a list of what is forbidden misses most of them.',
  },
  {
    name: 'atlas-plus-is-space',
    find: 'return new URL(uri).href;',
    replace: "return new URL(uri.replaceAll('+', ' ')).href;",
    story: 'legacy',
    fails: 'a plus for a space: -32002',
    symptom: 'A document with a plus in its name cannot be read.',
  },
  {
    name: 'atlas-opens-files',
    find: '    const canonical = normalise(uri);\n',
    replace: '    const canonical = normalise(uri);\n' +
      "    if (uri.startsWith('file:')) return { contents: [{ uri, text: 'root:x:0:0' }] };\n",
    story: 'legacy',
    fails: 'another scheme: -32002',
    symptom: 'Whoever can ask the server can read any file on its machine.',
  },
  {
    name: 'atlas-climbs-out',
    find: 'DOCUMENTS.find((one) => one.uri === canonical);',
    replace: "DOCUMENTS.find((one) => one.uri === canonical || canonical?.endsWith('/private'));",
    story: 'legacy',
    fails: 'a path upwards: -32002',
    symptom: 'What lies beside the documents can be read, though no list has it.',
  },
  {
    name: 'atlas-empty-name',
    find: 'DOCUMENTS.find((one) => one.uri === canonical);',
    replace: "DOCUMENTS.find((one) => one.uri === canonical || canonical?.endsWith('/docs/'));",
    story: 'legacy',
    fails: 'an empty name: -32002',
    symptom: 'A host that forgot the name reviews the first document, and nobody notices.',
  },
  {
    name: 'atlas-compares-as-sent',
    find: 'const canonical = normalise(uri);',
    replace: 'const canonical = uri;',
    story: 'legacy',
    fails: 'a step up: the canonical URI',
    symptom: 'A document is not found when somebody types a space where the list has %20.',
  },
  {
    name: 'atlas-guesses',
    find: "throw new RpcError(-32002, 'Resource not found')",
    replace: 'return { contents: [] }',
    story: 'legacy',
    fails: 'a missing document: -32002',
    symptom: 'A review is written about a document without content.',
  },

  // --- What is listed and promised ---
  {
    name: 'atlas-promises-subscriptions',
    find: 'const CAPABILITIES = { resources: {}, prompts: {} };',
    replace: 'const CAPABILITIES = { resources: { subscribe: true }, prompts: {} };',
    story: 'legacy',
    fails: 'no subscription promised (contract of atlas)',
    symptom: 'The host relies on news that never come, and shows old text for ever.',
  },
  {
    name: 'atlas-announces-tools',
    find: 'const CAPABILITIES = { resources: {}, prompts: {} };',
    replace: 'const CAPABILITIES = { resources: {}, prompts: {}, tools: {} };',
    story: 'legacy',
    fails: 'no tools announced (contract of atlas)',
    symptom: 'The host asks for tools at each start, and reports an error.',
  },
  {
    name: 'atlas-capabilities-true',
    find: 'const CAPABILITIES = { resources: {}, prompts: {} };',
    replace: 'const CAPABILITIES = { resources: true, prompts: true };',
    story: 'legacy',
    fails: 'the resources capability: an object',
    symptom: 'A host that validates refuses the handshake.',
  },
  {
    name: 'atlas-list-reversed',
    find: 'return { resources: DOCUMENTS.map(',
    replace: 'return { resources: DOCUMENTS.toReversed().map(',
    story: 'legacy',
    fails: 'three documents, in order',
    symptom: 'The order changes from host to host, and caches never match.',
  },
  {
    name: 'atlas-next-cursor',
    find: 'return { resources: DOCUMENTS.map(',
    replace: "return { nextCursor: '', resources: DOCUMENTS.map(",
    story: 'legacy',
    fails: 'one page: no nextCursor',
    symptom: 'A host that fetches all pages asks for the next one, and is refused.',
  },
  {
    name: 'atlas-plain-text',
    find: "const MIME_TYPE = 'text/markdown';",
    replace: "const MIME_TYPE = 'text/plain';",
    story: 'legacy',
    fails: 'requirements: MIME type, as listed',
    symptom: 'The host shows headings as lines that begin with #.',
  },
  {
    name: 'atlas-uri-without-scheme',
    find: '({ uri, mimeType: MIME_TYPE, text })',
    replace: "({ uri: uri.replace('project:', ''), mimeType: MIME_TYPE, text })",
    story: 'legacy',
    fails: 'requirements: its URI',
    symptom: 'What the model cites cannot be read again.',
  },
  {
    name: 'atlas-two-contents',
    find: 'return { contents: [contentsOf(document)] };',
    replace: 'return { contents: [contentsOf(document), contentsOf(document)] };',
    story: 'legacy',
    fails: 'requirements: one content',
    symptom: 'The model is given each document twice.',
  },
  {
    name: 'atlas-one-language',
    find: '({ uri, mimeType: MIME_TYPE, text })',
    replace: "({ uri, mimeType: MIME_TYPE, text: text.replace(/^.*\uff1a.*$/gm, '') })",
    story: 'legacy',
    fails: 'requirements: its first item, in two languages',
    symptom: 'Half of the team cannot read the documents.',
  },
  {
    name: 'atlas-template-without-names',
    find: 'requirements, design or release notes (a space is %20)',
    replace: 'ask whoever runs this server',
    story: 'legacy',
    fails: 'its description has the names',
    symptom: 'Nobody can fill in the template, since nothing says which names there are.',
  },
  {
    name: 'atlas-template-by-title',
    find: 'docs/{name}',
    replace: 'docs/{title}',
    story: 'legacy',
    fails: 'the template listed',
    symptom: 'Hosts that fill in name read a URI with braces in it, which is not found.',
  },
  {
    name: 'atlas-optional-focus',
    find: 'required: true },',
    replace: 'required: false },',
    story: 'legacy',
    fails: 'its first argument: focus, required',
    symptom: 'The host lets its user leave the focus out, and the prompt is refused.',
  },
  {
    name: 'atlas-document-required',
    find: 'required: false },',
    replace: 'required: true },',
    story: 'legacy',
    fails: 'its other argument: document, not required',
    symptom: 'The host makes its user choose one document, though all is the default.',
  },
  {
    name: 'atlas-other-prompt',
    find: "name: 'review-project',",
    replace: "name: 'review_project',",
    story: 'legacy',
    fails: 'the prompt listed',
    symptom: 'What a user has bound to a key does nothing any more.',
  },
  {
    name: 'atlas-any-prompt',
    find: 'if (name !== REVIEW_PROMPT.name)',
    replace: 'if (false)',
    story: 'legacy',
    fails: 'an unknown prompt: -32602',
    symptom: 'Whatever prompt one asks for, it is this one that comes.',
  },
  {
    name: 'atlas-empty-tools',
    find: "  'prompts/list': (params) => {",
    replace: "  'tools/list': () => ({ tools: [] }),\n  'prompts/list': (params) => {",
    story: 'legacy',
    fails: 'no tools: -32601',
    symptom: 'A host cannot tell a server without tools from one whose tools are missing.',
  },

  // --- The prompt ---
  {
    name: 'atlas-stale-embedding',
    find: "({ type: 'resource', resource: contentsOf(one) })",
    replace: "({ type: 'resource', resource: { ...contentsOf(one), text: one.text.trim() } })",
    story: 'legacy',
    fails: 'consistency: then the documents as they were read',
    symptom: 'The model reviews a text that nobody else can read.',
  },
  {
    name: 'atlas-no-material',
    find: '[task, ...material].map(',
    replace: '[task].map(',
    story: 'legacy',
    fails: 'consistency: how many messages',
    symptom: 'The model is asked to judge by what is attached, and nothing is.',
  },
  {
    name: 'atlas-one-task-for-all',
    find: 'text: `Focus: ${focus}. ${aim}\\n\\n${RULES}`',
    replace: 'text: RULES',
    story: 'legacy',
    fails: 'each focus has a task of its own',
    symptom: 'Whichever focus one chooses, the review is the same.',
  },
  {
    name: 'atlas-task-last',
    find: '[task, ...material].map(',
    replace: '[...material, task].map(',
    story: 'legacy',
    fails: 'consistency: a text first',
    symptom: 'The model reads three documents before it learns what for.',
  },
  {
    name: 'atlas-speaks-for-the-model',
    find: "({ role: 'user', content })",
    replace: "({ role: 'assistant', content })",
    story: 'legacy',
    fails: 'consistency: all from the user',
    symptom: 'The model takes the documents for its own words.',
  },
  {
    name: 'atlas-always-all',
    find: "document === 'all' || one.name === document",
    replace: 'document !== undefined || one',
    story: 'legacy',
    fails: 'one document: how many messages',
    symptom: 'Who asks for one document pays for three.',
  },
  {
    name: 'atlas-extra-key',
    find: 'if (Object.keys(others).length > 0)',
    replace: 'if (false)',
    story: 'legacy',
    fails: 'an extra key: -32602',
    symptom: 'A misspelt argument is ignored, and the default is used instead.',
  },
  {
    name: 'atlas-default-focus',
    find: 'if (!aim)',
    replace: 'if (false)',
    story: 'legacy',
    fails: 'no arguments member: -32602',
    symptom: 'A review without a focus begins: Focus: undefined.',
  },
  {
    name: 'atlas-document-by-path',
    find: 'one.name === document',
    replace: "one.name === String(document).replace('../', '')",
    story: 'legacy',
    fails: 'a path as document: -32602',
    symptom: 'What should be a name works as a path, and one day as the wrong one.',
  },

  // --- Modern ---
  {
    name: 'atlas-legacy-code',
    find: "throw new RpcError(-32602, 'Resource not found', { uri })",
    replace: "throw new RpcError(-32002, 'Resource not found', { uri })",
    story: 'modern',
    fails: 'a missing document: -32602',
    symptom: 'A modern host does not know the code, and reports a broken server.',
  },
  {
    name: 'atlas-other-uri-back',
    find: "'Resource not found', { uri }",
    replace: "'Resource not found', { uri: canonical }",
    story: 'modern',
    fails: 'a path upwards: data.uri as it was sent',
    symptom: 'A program that read many resources cannot tell which of them is gone.',
  },
  {
    name: 'atlas-read-without-hints',
    find: "{ ttlMs: 300_000, cacheScope: 'public' }",
    replace: '{}',
    story: 'modern',
    fails: 'requirements: cache hints',
    symptom: 'A host that validates rejects what it read.',
  },
]);

const SNAPSHOT: Fault[] = faultsOf('servers/snapshot.ts', [
  {
    name: 'snapshot-expired-from-newest',
    find: 'throw notReadable(UNAVAILABLE, { ...REASON, uri }, request);',
    replace: "return readResource(uri.replace('/r1/', '/r2/'), request);",
    story: 'legacy-expired',
    fails: 'r1/requirements: -32002',
    symptom: 'A review of r1 quotes sentences that r1 never had.',
  },
  {
    name: 'snapshot-prompt-swaps',
    find: '    const uris = urisOf(args.revision);\n',
    replace: '    let uris = urisOf(args.revision);\n' +
      "    if (!TEXTS.get(uris[0] ?? '')) uris = urisOf(current);\n",
    story: 'legacy-expired',
    fails: 'review-snapshot with {"revision":"r1"}: -32002',
    symptom: 'The prompt says r1, and what is attached is r2.',
  },
  {
    name: 'snapshot-pinned-swapped',
    find: '  const text = TEXTS.get(pinned);',
    replace: '  const other = uri.replace(/r([12]).design$/, (_, n) => `r${3 - n}/design`);\n' +
      '  const text = TEXTS.get(other === uri ? pinned : other);',
    story: 'legacy-mixed',
    fails: 'r1/design: its own text',
    symptom: 'A link that was pinned to r1 shows the text of r2.',
  },
  {
    name: 'snapshot-half-a-manifest',
    find: 'JSON.stringify({ revision: current, uris: urisOf(current) });',
    replace: 'JSON.stringify({\n      revision: current, ' +
      "uris: urisOf(current).slice(current === 'r2' ? 1 : 0),\n    });",
    story: 'legacy-expired',
    fails: 'the manifest names r2',
    symptom: 'The second attempt succeeds, and one document is silently missing.',
  },
  {
    name: 'snapshot-capability-missing',
    find: 'const CAPABILITIES = { resources: {}, prompts: {} };',
    replace: 'const CAPABILITIES = { resources: {} };',
    story: 'legacy-expired',
    fails: 'resources and prompts: objects',
    symptom: 'The host never asks for the prompt: to its user there is none.',
  },
  {
    name: 'snapshot-two-contents',
    find: 'const contents = [readResource(uri, request)];',
    replace: 'const contents = [readResource(uri, request), readResource(uri, request)];',
    story: 'legacy-expired',
    fails: 'manifest: one content',
    symptom: 'The model is given each document twice.',
  },
  {
    name: 'snapshot-trims',
    find: "mimeType: 'text/plain', text",
    replace: "mimeType: 'text/plain', text: text.trim()",
    story: 'legacy-mixed',
    fails: 'latest/requirements: the text of r1',
    symptom: 'A checksum over the text does not match that of its author.',
  },
  {
    name: 'snapshot-latest-frozen',
    find: "  current = 'r2';\n",
    replace: '',
    story: 'legacy-mixed',
    fails: 'latest/design: the text of r2',
    symptom: 'What is called latest is what was latest when the server started.',
  },
  {
    name: 'snapshot-forgets-r1',
    find: "if (SCENARIO === 'expired') for",
    replace: 'for',
    story: 'legacy-mixed',
    fails: 'r1/requirements: one content',
    symptom: 'Who began to read r1 can never finish, though it was promised to stay.',
  },
  {
    name: 'snapshot-starts-late',
    find: "let current = 'r1';",
    replace: "let current = 'r2';",
    story: 'legacy-expired',
    fails: 'the manifest names r1',
    symptom: 'Nobody can review what was released as r1.',
  },
  {
    name: 'snapshot-changes-at-once',
    find: "SCENARIO === 'mixed' ? latest : MANIFEST.uri",
    replace: 'MANIFEST.uri',
    story: 'legacy-mixed',
    fails: 'the manifest names r1',
    symptom: 'Reading twice gives two bundles, and no request says what changed.',
  },
  {
    name: 'snapshot-normalises',
    find: '  if (uri === MANIFEST.uri) {',
    replace: '  uri = new URL(uri).href;\n  if (uri === MANIFEST.uri) {',
    story: 'legacy-mixed',
    fails: 'r1/../r2/design: -32002',
    symptom: 'A URI that looks pinned to r1 reads r2.',
  },
  {
    name: 'snapshot-guesses',
    find: "throw notReadable('Resource not found', { uri }, request);",
    replace: "return { uri, mimeType: 'text/plain', text: '' };",
    story: 'legacy-mixed',
    fails: 'r9/design: -32002',
    symptom: 'A revision that never was reads as an empty one.',
  },
  {
    name: 'snapshot-default-revision',
    find: '    const { name, arguments: args } = params;',
    replace: '    const { name } = params;\n' +
      '    const { revision = current } = Object(params.arguments);\n' +
      '    const args = { revision: String(revision) };',
    story: 'legacy-mixed',
    fails: 'review-snapshot with no arguments: -32602',
    symptom: 'Who names no revision reviews whichever is current just then.',
  },
  {
    name: 'snapshot-any-prompt',
    find: 'name !== PROMPT.name || ',
    replace: '',
    story: 'modern-mixed',
    fails: 'review-project with {"revision":"r1"}: -32602',
    symptom: 'Whatever prompt one asks for, it is this one that comes.',
  },
  {
    name: 'snapshot-optional-revision',
    find: 'required: true',
    replace: 'required: false',
    story: 'legacy-mixed',
    fails: 'the prompt and its one argument',
    symptom: 'The host lets its user leave the revision out, and the prompt is refused.',
  },
  {
    name: 'snapshot-latest-prompt',
    find: 'const isReadable = uris.every((uri) => TEXTS.get(uri) !== undefined);',
    replace: "const isReadable = uris.every((uri) => TEXTS.get(uri) ?? uri.includes('latest'));",
    story: 'legacy-mixed',
    fails: 'review-snapshot with {"revision":"latest"}: -32002',
    symptom: 'A review of latest cannot be repeated, and nobody can say what it was about.',
  },
  {
    name: 'snapshot-prompt-of-latest',
    find: '(uri) => readResource(uri, request)',
    replace: "(uri) => readResource(uri.replace(/r[12]/, 'latest'), request)",
    story: 'legacy-mixed',
    fails: 'prompt for r1: what was read',
    symptom: 'The prompt attaches other texts than those that its caller has read.',
  },
  {
    name: 'snapshot-gone-is-unknown',
    find: '  if (!TEXTS.has(pinned)) throw',
    replace: '  if (TEXTS.get(pinned) === undefined) throw',
    story: 'legacy-expired',
    fails: 'r1/requirements: the message',
    symptom: 'Nobody learns that starting over would help.',
  },
  {
    name: 'snapshot-lists-documents',
    find: 'resources: [MANIFEST]',
    replace: "resources: [MANIFEST, { uri: urisOf(current)[0], name: 'requirements' }]",
    story: 'legacy-mixed',
    fails: 'the manifest alone is listed',
    symptom: 'Users pick single documents from the list, of whichever revision.',
  },
  {
    name: 'snapshot-empty-lists',
    find: "  'prompts/list': (params) => {",
    replace: "  'tools/list': () => ({ tools: [] }),\n" +
      "  'resources/templates/list': () => ({ resourceTemplates: [] }),\n" +
      "  'prompts/list': (params) => {",
    story: 'legacy-mixed',
    fails: 'tools/list: -32601',
    symptom: 'A host cannot tell a server without tools from one whose tools are missing.',
  },
  {
    name: 'snapshot-hints-in-legacy',
    find: "    if (request.era === 'legacy') return { contents };\n",
    replace: '',
    story: 'legacy-mixed',
    fails: 'manifest: nothing of the modern era',
    symptom: 'A legacy host that validates strictly rejects what it reads.',
  },
  {
    name: 'snapshot-modern-shape',
    find: "  if (request.era === 'legacy') return reply(connection, request, { result });\n",
    replace: '',
    story: 'legacy-mixed',
    fails: 'resources/list: nothing of the modern era',
    symptom: 'A legacy host that validates strictly rejects each answer.',
  },
  {
    name: 'snapshot-keeps-the-manifest',
    find: 'ttlMs: TEXTS.has(uri) ? 3_600_000 : 0',
    replace: 'ttlMs: 3_600_000',
    story: 'modern-expired',
    fails: 'manifest: ttlMs 0',
    symptom: 'For an hour a host acquires from a manifest whose revision is gone.',
  },
  {
    name: 'snapshot-never-keeps',
    find: 'TEXTS.has(uri) ? 3_600_000 : 0',
    replace: '0',
    story: 'modern-mixed',
    fails: 'r1/requirements: ttlMs 3600000',
    symptom: 'A host fetches again and again what can never change.',
  },
  {
    name: 'snapshot-scope-unknown',
    find: ": 0, cacheScope: 'public' };",
    replace: ": 0, cacheScope: 'shared' };",
    story: 'modern-expired',
    fails: 'manifest: cache hints',
    symptom: 'A gateway cannot tell whether one user may see what another has read.',
  },
  {
    name: 'snapshot-legacy-code',
    find: "  if (request.era === 'modern') return new RpcError(-32602, message, data);\n",
    replace: '',
    story: 'modern-expired',
    fails: 'r1/requirements: -32602',
    symptom: 'A modern host does not know the code, and reports a broken server.',
  },
  {
    name: 'snapshot-no-reason',
    find: 'notReadable(UNAVAILABLE, { ...REASON, uri }, request)',
    replace: 'notReadable(UNAVAILABLE, { uri }, request)',
    story: 'modern-expired',
    fails: 'r1/requirements: data',
    symptom: 'A program would have to read English to know that it must start over.',
  },
]);

// How the server opens a file: it looks first, and then does not wait.
const OPENING = `    if (!lstatSync(name).isFile()) return undefined;
    // It may be another by now. O_NOFOLLOW refuses a link that was put there since; O_NONBLOCK does
    // not wait for the other end of a FIFO. (Windows has neither, but making links takes a right.)
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
    const fd = openSync(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
`;

const FILES: Fault[] = faultsOf('servers/files.ts', [
  // --- The boundary: the classic mistakes ---
  {
    name: 'files-types-only',
    find: '    const real = resolveBelowRoots(path);',
    replace: '    const real = realpathSync.native(path);',
    story: 'legacy',
    fails: 'absolute, outside: isError',
    symptom: 'The schema is satisfied, and whoever calls reads all that the server may read.',
  },
  {
    name: 'files-starts-with',
    find: '  return withEnd(path).startsWith(withEnd(root));',
    replace: '  return path.startsWith(root);',
    story: 'modern',
    fails: 'a sibling that starts as the root: isError',
    symptom: 'With /data shared, /data-private is shared too.',
  },
  {
    name: 'files-checked-before-links',
    find: '  if (!isBelowRoots(real)) throw new Error(REFUSED);\n',
    replace: '',
    story: 'legacy',
    fails: 'a link to a file outside: isError',
    symptom: 'The path looks right, and the link at its end leads anywhere.',
  },
  {
    name: 'files-decoded-twice',
    find: '    const path = fileURLToPath(uri); // decodes, once',
    replace: '    const path = decodeURIComponent(fileURLToPath(uri));',
    story: 'modern',
    fails: 'percent signs: the resource',
    symptom: 'Files with a % in their name are lost, and %252e%252e becomes "..".',
  },
  {
    name: 'files-leaks-real-path',
    find: '  if (bytes === undefined) throw new ToolError(REFUSED);',
    replace: `  if (bytes === undefined) {
    const real = realpathSync.native(resolve(ROOTS[0] ?? '', path));
    throw new ToolError('Outside of the roots: ' + real);
  }`,
    story: 'legacy',
    fails: 'up and out: the text (contract of files)',
    symptom: 'Each refusal tells where things lie, and which of them there are.',
  },
  {
    name: 'files-from-working-directory',
    find: "  return resolve(ROOTS[0] ?? '', path);",
    replace: '  return resolve(path);',
    story: 'legacy',
    fails: 'relative to the first root: the tool',
    symptom: 'It works when started by hand in the root, and never in a host.',
  },
  // --- More ways to be wrong about a path ---
  {
    name: 'files-follows-link-from-outside',
    find: '  if (!begins) throw new Error(REFUSED);\n',
    replace: '',
    story: 'legacy',
    fails: 'a link outside that leads in (contract of files): isError',
    symptom: 'Whoever asks learns which links there are outside, if they lead in.',
  },
  {
    name: 'files-leaks-structured',
    find: '    return succeed(connection, request, { content, isError: true });',
    replace: '    const structuredContent = { roots: ROOTS };\n' +
      '    return succeed(connection, request, { content, structuredContent, isError: true });',
    story: 'legacy',
    fails: 'up and out: nothing besides (contract of files)',
    symptom: 'Nobody reads that member, until somebody does.',
  },
  {
    name: 'files-leaks-data',
    find: 'new RpcError(-32002, REFUSED)',
    replace: 'new RpcError(-32002, REFUSED, { roots: ROOTS })',
    story: 'legacy',
    fails: 'up and out: no data (contract of files)',
    symptom: 'The host logs where the folders lie, and the log is passed on.',
  },
  {
    name: 'files-another-message',
    find: 'new RpcError(-32602, REFUSED, { uri })',
    replace: "new RpcError(-32602, uri.includes('..') ? 'Forbidden' : REFUSED, { uri })",
    story: 'modern',
    fails: 'up and out: the message (contract of files)',
    symptom: 'Two refusals that differ are an answer to whoever compares them.',
  },
  {
    name: 'files-leaks-beside',
    find: "    const content = [{ type: 'text', text: error.message }];",
    replace: "    const content = [{ type: 'text', text: error.message }];\n" +
      "    content.push({ type: 'text', text: JSON.stringify(ROOTS) });",
    story: 'modern',
    fails: 'up and out: the text (contract of files)',
    symptom: 'The sentence is discreet, and what is sent beside it is not.',
  },
  {
    name: 'files-tells-what-exists',
    find: '  if (bytes === undefined) throw new ToolError(REFUSED);',
    replace: `  if (bytes === undefined) {
    const there = lstatSync(resolve(ROOTS[0] ?? '', path), { throwIfNoEntry: false });
    throw new ToolError(there === undefined ? 'There is no such file' : REFUSED);
  }`,
    story: 'modern',
    fails: 'up and out: the text (contract of files)',
    symptom: 'Whoever asks learns which files there are outside, without reading one.',
  },
  {
    name: 'files-follows-dot-dot',
    find: "  if (path.split('/').includes('..')) return undefined;\n",
    replace: '',
    story: 'legacy',
    fails: 'up, and in again (contract of files): isError',
    symptom: 'What "link/.." means depends on who resolves it: two checks see two files.',
  },
  {
    name: 'files-waits-for-fifo',
    find: OPENING,
    replace: `    const { O_RDONLY, O_NOFOLLOW } = constants;
    const fd = openSync(name, O_RDONLY | O_NOFOLLOW);
`,
    story: 'legacy',
    fails: 'response in time *',
    isPosix: true,
    symptom: 'One path, and the server never answers anybody again.',
    timeout: 1500,
  },
  {
    name: 'files-reads-anything-open',
    find: `${OPENING}    if (fstatSync(fd).isFile()) return fd; // check what was opened
`,
    replace: `    const { O_RDONLY, O_NONBLOCK } = constants;
    return openSync(name, O_RDONLY | O_NONBLOCK);
`,
    story: 'modern',
    fails: 'a FIFO: isError',
    symptom: 'A folder is an internal error, a FIFO an empty file, a device without end.',
  },
  {
    name: 'files-empty-path-is-root',
    find: "  if (bytes === undefined) throw new ToolError(REFUSED);",
    replace: "  if (bytes === undefined && path === '') return { content: [] };\n" +
      '  if (bytes === undefined) throw new ToolError(REFUSED);',
    story: 'legacy',
    fails: 'an empty path: isError',
    symptom: 'A model that leaves the path out is told that all went well.',
  },
  {
    name: 'files-any-host',
    find: `  if (protocol !== 'file:' || host !== '' || pathname.startsWith('//')) return undefined;
  try {
    const path = fileURLToPath(uri); // decodes, once
`,
    replace: `  if (protocol !== 'file:') return undefined;
  try {
    const path = decodeURIComponent(pathname);
`,
    story: 'modern',
    fails: 'a foreign host: the code',
    symptom: 'On Windows the server asks another machine, and hands over its name and password.',
  },
  {
    name: 'files-ignores-query',
    find: '\\\\?#]|%2e',
    replace: '\\\\]|%2e',
    story: 'legacy',
    fails: 'a query, a fragment, a space (contract of files): the code',
    symptom: 'One file has many names, and a cache keeps it many times.',
  },
  {
    name: 'files-encoded-dots',
    find: '|%2e|%2f/i',
    replace: '|%2f/i',
    story: 'legacy',
    fails: 'an encoded dot (contract of files): the code',
    symptom: 'A filter in front that looks for "greeting.txt" does not see it.',
  },
  {
    name: 'files-lists-outside',
    find: "    if (type === 'folder') yield* walk(path);",
    replace: "    if (type === 'folder' || (type === 'link' && !isFile(path))) yield path;\n" +
      "    else if (type === 'folder') yield* walk(path);",
    story: 'modern',
    fails: 'the files, and no others (contract of files)',
    symptom: 'The host lists what nobody can read.',
  },
  {
    name: 'files-second-root-only-listed',
    find: '  return ROOTS.some((root) => isBelow(real, root));',
    replace: "  return isBelow(real, ROOTS[0] ?? '');",
    story: 'legacy',
    fails: 'absolute, in the second root: the tool',
    symptom: 'The operator names two folders, and half of the files cannot be read.',
  },
  {
    name: 'files-root-not-resolved',
    find: '      const real = realpathSync.native(folder);',
    replace: '      const real = resolve(folder);',
    story: 'modern',
    fails: 'relative to the first root: the tool',
    symptom: 'Where the root is a link, as /tmp is on macOS, nothing is ever found.',
  },
  // --- What is read ---
  {
    name: 'files-cuts-characters',
    find: '  for (const { segment } of new Intl.Segmenter().segment(text)) {',
    replace: "  for (const segment of text.split('')) {",
    story: 'legacy',
    fails: '100 characters, the last one whole',
    symptom: 'A summary ends in half an emoji, which some JSON parsers refuse.',
  },
  {
    name: 'files-reads-all',
    find: '  const bytes = readFile(pathOfArgument(path), SUMMARY_LIMIT);',
    replace: '  const bytes = readFile(pathOfArgument(path), Infinity);',
    story: 'modern',
    fails: '1 MiB is read at most (contract of files)',
    symptom: 'To show a hundred characters of a log, the server reads gigabytes.',
  },
  {
    name: 'files-guesses-text',
    find: "{ fatal: true, ignoreBOM: true }",
    replace: '{ ignoreBOM: true }',
    story: 'legacy',
    fails: 'no text: isError',
    symptom: 'The model is shown a picture as rows of question marks.',
  },
  {
    name: 'files-blob-as-text',
    find: "bytes.toString('base64')",
    replace: "bytes.toString('latin1')",
    story: 'modern',
    fails: 'no text: a blob',
    symptom: 'The host cannot decode the picture, or shows another one.',
  },
  // --- What it says of itself ---
  {
    name: 'files-refusal-as-protocol-error',
    find: '  if (bytes === undefined) throw new ToolError(REFUSED);',
    replace: '  if (bytes === undefined) throw new RpcError(-32602, REFUSED);',
    story: 'legacy',
    fails: 'up and out: isError',
    symptom: 'The model never sees why it failed; the host may think the server is broken.',
  },
  {
    name: 'files-legacy-code',
    find: "new RpcError(-32602, REFUSED, { uri });",
    replace: 'new RpcError(-32002, REFUSED, { uri });',
    story: 'modern',
    fails: 'up and out: the code',
    symptom: 'A modern host does not know the code, and reports a broken server.',
  },
  {
    name: 'files-modern-code',
    find: 'new RpcError(-32002, REFUSED)',
    replace: 'new RpcError(-32602, REFUSED)',
    story: 'legacy',
    fails: 'up and out: the code',
    symptom: 'A legacy host takes a missing file for a wrong request of its own.',
  },
  {
    name: 'files-no-data',
    find: "new RpcError(-32602, REFUSED, { uri });",
    replace: 'new RpcError(-32602, REFUSED);',
    story: 'modern',
    fails: 'up and out: data.uri as it was sent',
    symptom: 'With several reads under way, the log does not say which one failed.',
  },
  {
    name: 'files-untyped-path',
    find: "const PATH = {\n  type: 'string',",
    replace: 'const PATH = {',
    story: 'modern',
    fails: 'the tools (contract of files)',
    symptom: 'A model sends a list of paths, and is told that it must be a string.',
  },
  {
    name: 'files-kept-for-ever',
    find: "{ ...result, ttlMs: 0, cacheScope: 'private' }",
    replace: "{ ...result, ttlMs: '0', cacheScope: 'private' }",
    story: 'modern',
    fails: 'resources/read: cache hints',
    symptom: 'A client that trusts the hint compares a text with the time of day.',
  },
  {
    name: 'files-root-by-caller',
    find: '    if (name === SUMMARY_TOOL.name) return summarizeFile(args.path);',
    replace: "    if (typeof args.path === 'string') ROOTS.push(args.path);\n" +
      '    if (name === SUMMARY_TOOL.name) return summarizeFile(args.path);',
    story: 'legacy',
    fails: 'absolute, outside: isError',
    symptom: 'Whoever calls decides what may be read.',
  },
]);

export const FAULTS: Fault[] = [
  ...ECHO, ...ECHO_CLIENT, ...NOTES, ...ATLAS, ...SNAPSHOT, ...FILES,
];

// ---------------------------------------------------------------------------------------------
// One client's account of itself
// ---------------------------------------------------------------------------------------------

/** A check in a client's output, and the story it stood in. */
export type Check = { story: string; label: string };

/** What a run of a client came to. */
export type Run = {
  code: number | null;
  stdout: string;
  stderr: string;
  passed: Check[];
  failed: Check[];
  /** The processes and files that are there after the client has ended, and should not be. */
  left: string[];
};

// The runtime's arguments for a script: those of tsx, or none where Node itself runs TypeScript.
const RUNTIME = isUnderTsx() ? tsxArguments() : [];

/**
 * Runs a client to its end, in a folder of its own. Each process of the run, the servers too, notes
 * down that it began, so that afterwards one can ask whether it is still there.
 */
export async function runClient(client: string, args: string[], folder: string): Promise<Run> {
  const list = join(folder, 'processes.txt');
  const preload = join(folder, 'processes.mjs');
  writeFileSync(list, '');
  // A client gives its own runtime's arguments to a server that is a script: so this one as well.
  writeFileSync(preload, `import { appendFileSync } from 'node:fs';
appendFileSync(${JSON.stringify(list)}, \`\${process.pid}\\n\`);
`);
  const before = listFiles(folder);
  const runtime = ['--import', pathToFileURL(preload).href, ...RUNTIME];
  const options = { cwd: folder, deadline: 60_000 };
  const { code, stdout, stderr } = await runNode([...runtime, client, ...args], options);
  const processes = readFileSync(list, 'utf8').split('\n').filter((pid) => pid !== '').map(Number);
  const running = processes.filter(isRunning);
  for (const pid of running) process.kill(pid, 'SIGKILL');
  const files = listFiles(folder).filter((file) => !before.includes(file));
  const left = [...running.map((pid) => `process ${pid}`), ...files.map((file) => `file ${file}`)];
  return { code, stdout, stderr: withoutNodeWarnings(stderr), ...readChecks(stdout), left };
}

function listFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true }).map(String).sort();
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0); // asks, and sends nothing
  } catch {
    return false;
  }
}

/** Finds the checks in what a client printed. */
function readChecks(stdout: string): { passed: Check[]; failed: Check[] } {
  const passed: Check[] = [];
  const failed: Check[] = [];
  let story = '';
  for (const line of stdout.split('\n')) {
    story = /^== \w+: the ([\w-]+) story ==$/.exec(line)?.[1] ?? story;
    const [, verdict, label] = /^(PASS|FAIL) {2}(.+)$/.exec(line) ?? [];
    if (label !== undefined) (verdict === 'PASS' ? passed : failed).push({ story, label });
  }
  return { passed, failed };
}

// ---------------------------------------------------------------------------------------------
// One fault
// ---------------------------------------------------------------------------------------------

/** Makes the edit in a text; throws where what it replaces is not there exactly once. */
export function applyEdit({ name, file, find, replace }: Fault, text: string): string {
  const pieces = text.split(find);
  if (pieces.length === 2) return pieces.join(replace);
  throw new Error([
    `${name}: its text must occur once in ${file}, and occurs ${pieces.length - 1} times:`,
    ...find.trimEnd().split('\n').map((line) => `  ${line}`),
    'The file has changed since: bring the fault in scripts/faults.ts up to date.',
  ].join('\n'));
}

/** Reads a fault's file, and gives it with the edit. */
function readEdited(fault: Fault): string {
  // Git may check files out with CRLF; the table has LF.
  return applyEdit(fault, readFileSync(join(KIT, fault.file), 'utf8').replaceAll('\r\n', '\n'));
}

const pairOf = ({ file }: Fault): string => basename(file, '.ts');

/** Runs the pair of a fault: one of the two is an edited copy, the other the kit's own. */
export async function runFault(fault: Fault, folder: string, isWhole = false): Promise<Run> {
  const edited = join(folder, fault.file);
  mkdirSync(dirname(edited), { recursive: true });
  writeFileSync(edited, readEdited(fault));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n');
  const pair = pairOf(fault);
  const isClient = fault.file.startsWith('clients/');
  const client = isClient ? edited : join(KIT, 'clients', `${pair}.ts`);
  const server = isClient ? join(KIT, 'servers', `${pair}.ts`) : edited;
  const era = isWhole ? [] : ['--era', eraOf(fault.story)];
  const timeout = fault.timeout === undefined ? [] : ['--timeout', String(fault.timeout)];
  return runClient(client, [server, ...era, ...timeout], folder);
}

function eraOf(story: string): string {
  return story.split('-')[0] ?? '';
}

/** Can this fault show itself on this system? */
export function isPossible({ isPosix }: Fault): boolean {
  return isPosix !== true || process.platform !== 'win32';
}

/** Says what is wrong with how a fault was noticed; nothing, if it was noticed as it should be. */
export function judge(fault: Fault, run: Run): string[] {
  const { code, stdout, stderr, failed, left } = run;
  const isWindows = process.platform === 'win32';
  const expected = (isWindows && fault.failsOnWindows) || fault.fails;
  const first = failed.find(({ story }) => story === fault.story)?.label;
  const isExpected = first === expected || first?.replace(/\d+$/, '*') === expected;
  const last = stdout.trimEnd().split('\n').at(-1) ?? '';
  const troubles: string[] = [];
  if (first === undefined) {
    const elsewhere = failed.map(({ story, label }) => `"${label}" in ${story}`).join(', ');
    troubles.push(`nobody noticed: no check failed in the ${fault.story} story`);
    if (elsewhere !== '') troubles.push(`elsewhere failed: ${elsewhere}`);
  } else if (!isExpected) troubles.push(`"${first}" failed first, not "${expected}"`);
  if (code !== 1) troubles.push(`the client ended with ${code}, not with 1`);
  if (!/^result: \d+ of \d+ checks failed$/.test(last)) troubles.push(`its last line was: ${last}`);
  if (stderr !== '') troubles.push(`the client said on stderr: ${stderr.trimEnd()}`);
  for (const one of left) troubles.push(`left behind: ${one}`);
  return troubles;
}

/** Runs a client with the kit's own server: all must pass, or no fault would mean anything. */
export async function runControl(pair: string, folder: string): Promise<Run> {
  mkdirSync(join(folder, 'servers'), { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n');
  const copy = join(folder, 'servers', `${pair}.ts`);
  writeFileSync(copy, readFileSync(join(KIT, 'servers', `${pair}.ts`)));
  return runClient(join(KIT, 'clients', `${pair}.ts`), [copy], folder);
}

// ---------------------------------------------------------------------------------------------
// All of them
// ---------------------------------------------------------------------------------------------

// Each is a client and a server, which mostly take turns: so this fills two processors.
const AT_ONCE = 2;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Does some jobs, a few at a time; what each has to say is said in the order of the jobs. */
async function doEach<T>(
  jobs: readonly T[],
  say: (line: string) => void,
  work: (job: T) => Promise<string[]>,
): Promise<void> {
  const said: string[][] = [];
  let [next, spoken] = [0, 0];
  const worker = async (): Promise<void> => {
    for (let index = next++; index < jobs.length; index = next++) {
      said[index] = await work(jobs[index] as T);
      for (let lines = said[spoken]; lines !== undefined; lines = said[++spoken]) {
        for (const line of lines) say(line);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

/**
 * Runs some faults, and before them their pairs as they are; tells `say` how it goes, line by line.
 * Gives true if each was noticed as it should be. With `isWhole` each is run through all stories,
 * and the checks that none has seen fail are listed.
 */
export async function runFaults(
  faults: readonly Fault[],
  say: (line: string) => void,
  isWhole = false,
): Promise<boolean> {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'mcp by hand '));
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  const leave = (): never => process.exit(2);
  process.on('exit', remove);
  for (const signal of SIGNALS) process.once(signal, leave);
  const known: Coverage = new Map();
  let wrong = 0;
  const tell = (name: string, troubles: string[], good: string): string[] => {
    if (troubles.length === 0) return [`PASS  ${name}: ${good}`];
    wrong += 1;
    const lines = troubles.flatMap((trouble) => trouble.split('\n'));
    return [`FAIL  ${name}`, ...lines.map((line) => `      ${line}`)];
  };
  const makeFolder = (name: string): string => {
    mkdirSync(join(folder, name));
    return join(folder, name);
  };
  try {
    await doEach([...new Set(faults.map(pairOf))], say, async (pair) => {
      const { code, passed, failed, left } = await runControl(pair, makeFolder(pair));
      for (const check of passed) note(known, pair, check, false);
      const troubles = failed.map(({ story, label }) => `"${label}" fails in ${story}`);
      if (code !== 0 && troubles.length === 0) troubles.push(`the client ended with ${code}`);
      for (const one of left) troubles.push(`left behind: ${one}`);
      return tell(`${pair}, unedited`, troubles, `all ${passed.length} checks pass`);
    });
    await doEach(faults, say, async (fault) => {
      if (!isPossible(fault)) return [`NOTE  ${fault.name}: Windows has nothing like it`];
      try {
        const run = await runFault(fault, makeFolder(fault.name), isWhole);
        for (const check of run.failed) note(known, pairOf(fault), check, true);
        return tell(fault.name, judge(fault, run), `fails at "${fault.fails}" (${fault.story})`);
      } catch (error) {
        return tell(fault.name, [(error as Error).message], ''); // the edit does not fit
      }
    });
    if (isWhole) {
      await doEach(spread(faults), say, async (fault) => {
        const place = makeFolder(`${pairOf(fault)}-${fault.name}`);
        const { failed } = await runFault(fault, place, true);
        for (const check of failed) note(known, pairOf(fault), check, true);
        return [];
      });
      listUnreached(known, say);
    }
  } finally {
    remove();
    process.off('exit', remove);
    for (const signal of SIGNALS) process.off(signal, leave);
  }
  const verdict = wrong === 0 ? 'each was noticed where it should be' : `FAIL lines: ${wrong}`;
  say(`faults: ${faults.length}, ${verdict}`);
  return wrong === 0;
}

// ---------------------------------------------------------------------------------------------
// What is reached
// ---------------------------------------------------------------------------------------------

/** The checks that there are, by where they stand, and whether one has been seen to fail. */
type Coverage = Map<string, boolean>;

// The plumbing of all clients is the same, so its checks count once for all of them. Their labels
// are read from it; a number at the end of one is a request's.
const PLUMBING = (() => {
  const client = readFileSync(join(KIT, 'clients', 'echo.ts'), 'utf8');
  const [, plumbing = ''] = client.split('// Plumbing:');
  const labels = plumbing.matchAll(/(?:envelope|verdict)\((?:'([^']+)'|`([^`$]+))/g);
  return [...labels].map(([, whole, start]) => (whole ?? start ?? '').trim());
})();

function note(known: Coverage, pair: string, { story, label }: Check, isReached: boolean): void {
  const name = label.replace(/ \d+$/, '');
  const key = PLUMBING.includes(name) ? `every client: ${name}` : `${pair}, ${story}: ${label}`;
  known.set(key, isReached || known.get(key) === true);
}

/**
 * Gives the faults that fit into the other servers too, since they are in what all servers repeat.
 * What the plumbing of a client notices is left out: it is the same in all clients.
 */
function spread(faults: readonly Fault[]): Fault[] {
  return faults.flatMap((fault) => {
    if (!fault.file.startsWith('servers/')) return [];
    if (PLUMBING.includes(fault.fails.replace(/ [\d*]+$/, ''))) return [];
    const files = [...new Set(faults.map(({ file }) => file))];
    const others = files.filter((file) => file.startsWith('servers/') && file !== fault.file);
    return others.map((file) => ({ ...fault, file })).filter((copy) => {
      const text = readFileSync(join(KIT, copy.file), 'utf8').replaceAll('\r\n', '\n');
      return text.split(copy.find).length === 2;
    });
  });
}

/** Lists the checks that no fault that was run, and no replay, has seen fail. */
function listUnreached(known: Coverage, say: (line: string) => void): void {
  for (const name of PLUMBING) note(known, '', { story: '', label: name }, false);
  for (const { fails } of Object.values(DAMAGES)) {
    // scripts/replay.test.ts sees to it that each damage is noticed in the stories of its eras.
    for (const [era, label] of Object.entries(fails)) {
      note(known, '', { story: era, label }, PLUMBING.includes(label.replace(/ \d+$/, '')));
      for (const key of known.keys()) {
        const [place = '', ...rest] = key.split(': ');
        if (place.includes(`, ${era}`) && rest.join(': ') === label) known.set(key, true);
      }
    }
  }
  const names = [...known.keys()].filter((key) => !key.startsWith(','));
  const unreached = names.filter((key) => known.get(key) === false).sort();
  for (const key of unreached) say(`unreached  ${key}`);
  say(`reached: ${names.length - unreached.length} of ${names.length} checks`);
}

// ---------------------------------------------------------------------------------------------
// The command
// ---------------------------------------------------------------------------------------------

const USAGE = `Usage: npx tsx scripts/faults.ts [--only NAME[,NAME…]] [--unreached]
       npx tsx scripts/faults.ts --list
       npx tsx scripts/faults.ts --write NAME FILE`;

function refuse(sentence: string): never {
  console.error(`${sentence}\n\n${USAGE}`);
  process.exit(2);
}

function readArguments() {
  const options = {
    list: { type: 'boolean' }, only: { type: 'string', multiple: true }, help: { type: 'boolean' },
    unreached: { type: 'boolean' }, write: { type: 'string' },
  } as const;
  try {
    return parseArgs({ options, allowPositionals: true });
  } catch (error) {
    return refuse((error as Error).message.replace(/\. [^]*/, '.'));
  }
}

/** Finds a fault by its name, or ends this program. */
function findFault(name: string): Fault {
  const found = FAULTS.find((fault) => fault.name === name);
  if (found !== undefined) return found;
  const pair = name.split('-')[0] ?? '';
  const near = FAULTS.filter((fault) => fault.name.startsWith(`${pair}-`));
  const names = (near.length > 0 ? near : FAULTS).map((fault) => `  ${fault.name}`);
  return refuse(`There is no fault "${name}". There are:\n${names.join('\n')}`);
}

function list(): void {
  for (const { name, file, story, fails, symptom } of FAULTS) {
    console.log(`${name}\n  ${symptom}`);
    console.log(`  ${file}, ${story} story, must fail at "${fails}"\n`);
  }
  console.log(`faults: ${FAULTS.length}`);
}

/** Writes the edited copy of a fault's file, for others to run. */
function write(name: string, file: string): void {
  const text = readEdited(findFault(name));
  if (existsSync(file)) refuse(`${file} is there already: name a new file.`);
  if (!existsSync(dirname(file))) refuse(`There is no folder ${dirname(file)} to write to.`);
  writeFileSync(file, text);
}

async function main(): Promise<void> {
  process.stdout.on('error', () => process.exit(2)); // nobody reads this any more
  const { values, positionals } = readArguments();
  const [file, ...rest] = positionals;
  const isWrite = values.write !== undefined;
  if (values.help) return console.log(USAGE);
  if (isWrite && file === undefined) refuse('After --write NAME comes the FILE to write.');
  if (rest.length > 0 || (!isWrite && file !== undefined)) {
    refuse(`What is this here for: ${isWrite ? rest.join(' ') : file}? Names come after --only.`);
  }
  if (values.write !== undefined && file !== undefined) return write(values.write, file);
  if (values.list) return list();
  const names = values.only && [...new Set(values.only.join(',').split(','))];
  const faults = names?.map(findFault) ?? FAULTS;
  const isWell = await runFaults(faults, (line) => console.log(line), values.unreached);
  process.exitCode = isWell ? 0 : 1;
}

// The tests import this file; then it does nothing by itself. Links are resolved, since a path that
// leads through one is not the file's URL.
if (realpathSync(process.argv[1] ?? '.') === realpathSync(fileURLToPath(import.meta.url))) {
  void main();
}
