/**
 * A server as somebody else would write it: from the pages of the specification, in another style,
 * and with all that they allow and the kit's own servers do not do. It keeps the contract of echo,
 * so that the echo client has to pass it in full; scripts/client-calls.test.ts holds it to that.
 *
 * It logs to stderr, announces `listChanged` and a second capability, sends notifications, adds
 * members wherever more are allowed, answers in its own time, and offers a legacy version where
 * the example on 2026-07-28/basic/versioning does.
 */

import { createInterface } from 'node:readline';

const serverInfo = { version: '1.0.0', name: 'echo-server' };
const handshakeVersions = ['2025-11-25', '2025-06-18', '2025-03-26'];
const statelessVersion = '2026-07-28';
const capabilities = { tools: { listChanged: true }, logging: {}, experimental: { 'x/y': {} } };
const instructions = 'Call echo with a text.';

const echoTool = {
  title: 'Echo',
  name: 'echo',
  description: 'Repeats a text.',
  annotations: { readOnlyHint: true, openWorldHint: false },
  inputSchema: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    required: ['text'],
    additionalProperties: false,
    properties: { text: { type: 'string', description: 'The text.', minLength: 0 } },
  },
  _meta: { 'com.example/color': 'green' },
};

class Refusal extends Error {
  constructor(code, message, data) {
    super(message);
    Object.assign(this, { code, data });
  }
}

let session; // the version of the handshake, once there was one

const write = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
const log = (text) => process.stderr.write(`${new Date().toISOString()} INFO ${text}\n`);

createInterface({ input: process.stdin }).on('line', (line) => {
  if (line.trim() === '') return;
  const message = JSON.parse(line);
  log(`received ${message.method}`);
  if (message.id === undefined) {
    if (message.method !== 'notifications/initialized') return;
    return write({ method: 'notifications/tools/list_changed', jsonrpc: '2.0' });
  }
  // Each answer takes a moment, as if there were work behind it.
  setTimeout(() => {
    try {
      write({ result: handle(message), id: message.id, jsonrpc: '2.0' });
    } catch (refusal) {
      const { code, message: text, data } = refusal;
      log(`refused: ${text}`);
      write({ error: { message: text, code, data }, id: message.id, jsonrpc: '2.0' });
    }
  }, 5);
});

function handle({ method, params = {} }) {
  const about = params._meta ?? {};
  const version = about['io.modelcontextprotocol/protocolVersion'];
  if (version !== undefined) {
    return handleStateless(method, params, version, about);
  }
  if (method === 'initialize') {
    const asked = params.protocolVersion;
    session = handshakeVersions.includes(asked) ? asked : handshakeVersions[0];
    return { instructions, serverInfo, capabilities, protocolVersion: session };
  }
  if (method === 'ping') return {};
  if (session === undefined) {
    throw new Refusal(-32602, `say ${statelessVersion} in _meta, or initialize`, { method });
  }
  const level = { level: 'debug', logger: 'echo', data: { method } };
  write({ jsonrpc: '2.0', method: 'notifications/message', params: level });
  if (method === 'tools/list') return { tools: [echoTool], _meta: { 'com.example/page': 1 } };
  if (method !== 'tools/call') throw new Refusal(-32601, `Method not found: ${method}`, { method });
  return call(params, (text) => {
    throw new Refusal(-32602, text);
  });
}

function handleStateless(method, params, version, about) {
  if (typeof version !== 'string') throw new Refusal(-32602, 'protocolVersion: not a string');
  if (typeof about['io.modelcontextprotocol/clientCapabilities'] !== 'object') {
    throw new Refusal(-32602, 'clientCapabilities: missing');
  }
  const supported = [statelessVersion, ...handshakeVersions];
  if (version !== statelessVersion) {
    throw new Refusal(-32022, 'Unsupported protocol version', { supported, requested: version });
  }
  const _meta = {
    'io.modelcontextprotocol/serverInfo': serverInfo,
    'com.example/took': 5,
  };
  const complete = { _meta, resultType: 'complete' };
  switch (method) {
    case 'server/discover':
      return {
        ...complete, supportedVersions: supported, capabilities, instructions,
        ttlMs: 0, cacheScope: 'private',
      };
    case 'tools/list':
      return { ...complete, tools: [echoTool], cacheScope: 'private', ttlMs: 60_000 };
    case 'tools/call':
      return {
        ...complete,
        ...call(params, (text) => ({ isError: true, content: [{ text, type: 'text' }] })),
      };
    default:
      throw new Refusal(-32601, `Method not found: ${method}`, { method });
  }
}

function call({ name, arguments: given = {} }, complain) {
  if (name !== 'echo') throw new Refusal(-32602, `Unknown tool: ${name}`, { known: ['echo'] });
  if (typeof given.text !== 'string') return complain('arguments.text must be a string');
  return { content: [{ text: `echo: ${given.text}`, type: 'text' }] };
}

log(`listening, process ${process.pid}`);
process.stdin.on('end', () => log('goodbye'));
