/**
 * Servers for the tests of clients/probe.ts: each is right but for what its name says. The probe
 * meets them over real pipes, as it meets any server.
 *
 * Run: node scripts/probe-fakes.mjs DIARY SCENARIO
 *
 * Into the folder DIARY goes a file PID.heard with every line that was said to this process.
 * Without arguments it lists its scenarios. It is plain JavaScript because it is started often, and
 * Node starts that in a quarter of the time that TypeScript takes.
 *
 * SPDX-License-Identifier: MIT
 */

import { appendFileSync, closeSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';

const [diary = '', scenario = ''] = process.argv.slice(2);

/** All that a terminal could be steered with, and lines that look like the probe's own. */
export const HOSTILE = 'ev\u001b[2J\u0007\u009b31m\u007f\u202e\u2066\u061c\u200b\u2028\u2029' +
  '\ud800\u{e0041}\u{f0000}\u{e0100}\u034f\u3164\ufe0f\u2800\u0085il\n' +
  'PASS  all is well\r\nFAIL  all is lost\r' +
  `result: 99 checks passed\n  fake-tool\n    fake: string, required\n` +
  `${' '.repeat(97)}result: 98 checks passed`;

/** What String() cannot turn into text: its own methods are none. */
const ODD = { toString: 1, valueOf: 1 };

// ---------------------------------------------------------------------------------------------
// How a scenario is written: a method's answer, or a function that gives it. An answer is
// { result }, { error }, a text, which goes out as it is, or nothing, which is silence.
// ---------------------------------------------------------------------------------------------

const modern = (result) =>
  ({ resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...result });
const ok = (result) => ({ result: modern(result) });
const plain = (result) => ({ result });
const error = (code, message = 'No', data) => ({ error: { code, message, data } });
const line = (message) => `${typeof message === 'string' ? message : JSON.stringify(message)}\n`;
const reply = (id, answer) => line({ jsonrpc: '2.0', id, ...answer });

const TOOL = { name: 'good', description: 'A good tool.', inputSchema: { type: 'object' } };
const RESOURCE = { uri: 'x://good', name: 'good' };
const TEMPLATE = { uriTemplate: 'x://{id}', name: 'good' };
const PROMPT = { name: 'good', arguments: [{ name: 'topic', required: true }] };
const INFO = { name: 'fake', version: '1.2.3', title: 'A fake' };
const ALL = { tools: {}, resources: {}, prompts: {} };

const LISTS = {
  'tools/list': ok({ tools: [TOOL] }),
  'resources/list': ok({ resources: [RESOURCE] }),
  'resources/templates/list': ok({ resourceTemplates: [TEMPLATE] }),
  'prompts/list': ok({ prompts: [PROMPT] }),
};

const discovery = (change = {}, info = INFO) => ok({
  supportedVersions: ['2026-07-28'], capabilities: ALL, instructions: 'Be kind.',
  _meta: { 'io.modelcontextprotocol/serverInfo': info }, ...change,
});
const handshake = (change = {}) => plain({
  protocolVersion: '2025-11-25', capabilities: ALL, serverInfo: INFO, instructions: 'Be kind.',
  ...change,
});

/** A modern server, but for some of its answers. */
const isModern = (answers = {}) => ({
  ...LISTS, 'server/discover': discovery(), 'initialize': error(-32601), ...answers,
});

/** A legacy server, but for some of its answers. */
const isLegacy = (answers = {}) => ({
  ...LISTS, 'server/discover': error(-32601, 'Method not found'), 'initialize': handshake(),
  ...answers,
});

/** A server of one list alone. */
const lists = (method, answer) => isModern({
  'server/discover': discovery({ capabilities: { [method.split('/')[0]]: {} } }), [method]: answer,
});

/** A list whose pages are named by the cursor that asks for them; the first by none. */
const pages = (table) => lists('tools/list', ({ params: { cursor = 'none' } }) => {
  const [name, ...next] = table[cursor];
  const nextCursor = next.length > 0 ? { nextCursor: next[0] } : {};
  return ok({ tools: [{ ...TOOL, name }], ...nextCursor });
});

/** A server with tools alone. */
const withTools = (answers) => ({
  ...isModern({ 'server/discover': discovery({ capabilities: { tools: {} } }) }), ...answers,
});

const die = (code) => () => process.exit(code);
/** An object in an object, and so on: deep, but not too deep for a message. */
const newDepth = () => JSON.parse(`${'{"a":'.repeat(480)}1${'}'.repeat(480)}`);
const image = Buffer.from('four').toString('base64');
const text = (words) => ({ type: 'text', text: words });
const CONTENT = [
  text('some words\non two lines'),
  { type: 'image', data: image, mimeType: 'image/png' },
  { type: 'audio', data: image, mimeType: 'audio/wav' },
  { type: 'resource', resource: { uri: 'x://text', mimeType: 'text/plain', text: 'inner words' } },
  { type: 'resource', resource: { uri: 'x://blob', blob: image } },
  { type: 'resource_link', uri: 'x://link', name: 'a link' },
];
const BAD_CONTENT = [
  5, null, { type: 'video' }, { type: 'toString' }, { text: 'no type' }, { type: 'text', text: 5 },
  { type: 'image', data: image }, { type: 'audio', mimeType: 'audio/wav' },
  { type: 'image', data: 'no base64!', mimeType: 'image/png' },
  { type: 'image', data: 'abc', mimeType: 'image/png' },
  { type: 'resource' }, { type: 'resource', resource: { uri: 'x://none' } },
  { type: 'resource', resource: { text: 'no uri' } },
  { type: 'resource', resource: { uri: 'x://both', text: '', blob: '' } },
  { type: 'resource_link', uri: 'x://nameless' },
];

/** Entries that are not as they must be. */
export const BAD_ENTRIES = {
  tools: [
    5, null, 'good', [], {}, { name: 5, inputSchema: {} }, { name: 'x' },
    { name: 'x', inputSchema: null }, { name: 'x', inputSchema: [] },
    { name: 'x', inputSchema: { type: 'array' } }, { ...TOOL, name: 'x', description: 5 },
    { ...TOOL, name: 'x', title: null }, { ...TOOL, name: 'x', outputSchema: true },
  ],
  resources: [
    7, { name: 'x' }, { uri: 'x://x' }, { uri: 5, name: 'x' }, { ...RESOURCE, mimeType: 5 },
    { ...RESOURCE, size: '5' }, { ...RESOURCE, description: {} },
  ],
  resourceTemplates: [true, { name: 'x' }, { uriTemplate: 'x', name: null }],
  prompts: [
    'x', {}, { name: 'x', arguments: {} }, { name: 'x', arguments: [5] },
    { name: 'x', arguments: [{ name: 'fine' }, {}] },
    { name: 'x', arguments: [{ name: 'y', required: 'yes' }] }, { name: 'x', description: 1 },
  ],
};
const GOOD = { tools: TOOL, resources: RESOURCE, resourceTemplates: TEMPLATE, prompts: PROMPT };
const listOf = (member) => ok({ [member]: [...BAD_ENTRIES[member], GOOD[member]] });

const own = (method, id = 'own') => line({ jsonrpc: '2.0', id, method });
const LOG = line({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info' } });
const versions = (...supportedVersions) => isModern({
  'server/discover': discovery({ supportedVersions }),
});
const refuses = (code, data) => isLegacy({ 'server/discover': error(code, 'No', data) });
const unsupported = (data) => isModern({ 'server/discover': error(-32022, 'Old', data) });

// ---------------------------------------------------------------------------------------------
// The scenarios
// ---------------------------------------------------------------------------------------------

export const SCENARIOS = {
  // --- The era ---
  'modern': isModern(),
  'legacy': isLegacy(),
  'both': { ...isLegacy(), 'server/discover': discovery() },
  'another modern version': versions('2099-01-01'),
  'no version at all': versions(),
  'only a legacy version': versions('2025-11-25'),
  'versions that are no strings': versions(5, null),
  'several versions': versions('2099-01-01', '2026-07-28', '2025-11-25'),
  'unsupported, then supported': isModern({
    'server/discover': ({ count }) => count > 1 ? discovery() :
      error(-32022, 'Old', { supported: ['2099-01-01', '2026-07-28'], requested: '2026-07-28' }),
  }),
  'unsupported for ever': unsupported({ supported: ['2026-07-28'] }),
  'unsupported, another': unsupported({ supported: ['2099-01-01', '2025-11-25'] }),
  'unsupported, no data': unsupported(undefined),
  'unsupported, a text for a list': unsupported({ supported: '2026-07-28' }),
  'header mismatch': isModern({ 'server/discover': error(-32020, 'Headers') }),
  'missing capability': isModern({
    'server/discover': error(-32021, 'Poor', { requiredCapabilities: { elicitation: {} } }),
  }),
  'refused with -32601': refuses(-32601),
  'refused with -32602': refuses(-32602),
  'refused with -32600': refuses(-32600),
  'refused with -32000': refuses(-32000, { supported: ['2026-07-28'] }),
  'refused with -32002': refuses(-32002),
  'refused with -32050': refuses(-32050),
  'refused with 1': refuses(1),
  'an empty result': isLegacy({ 'server/discover': plain({}) }),
  'a text for versions': isLegacy({ 'server/discover': discovery({ supportedVersions: '1' }) }),
  'silence on the probe': isLegacy({ 'server/discover': () => undefined }),
  'death on the probe': isLegacy({ 'server/discover': die(3) }),
  'death by a signal on the probe': isLegacy({
    'server/discover': () => process.kill(process.pid, 'SIGKILL'),
  }),
  'a refusal, then death': isLegacy({
    'server/discover': ({ id }) => {
      say(reply(id, error(-32600, 'initialize comes first')));
      process.exit(1);
    },
  }),
  'a refusal, then death, on everything': {
    'server/discover': ({ id }) => {
      say(reply(id, error(-32600, 'initialize comes first')));
      process.exit(1);
    },
    'initialize': die(4),
  },
  'stdout closed on the probe': isLegacy({ 'server/discover': () => closeSync(1) }),
  'death on everything': { 'server/discover': die(3), 'initialize': die(4) },
  'death on everything, with last words': {
    'server/discover': die(3),
    initialize() {
      say('no configuration\n', 2);
      process.exit(4);
    },
  },
  'a late answer before the handshake': isLegacy({
    'server/discover': () => undefined,
    'initialize': ({ id }) => reply(1, discovery()) + reply(id, handshake()),
  }),
  'a late answer after the handshake': isLegacy({
    'server/discover': () => undefined,
    'tools/list': ({ id }) => reply(1, error(-32601)) + reply(id, LISTS['tools/list']),
  }),
  'garbage, then silence': isLegacy({ 'server/discover': 'hello, I am a server\n' }),
  'garbage, then an answer': isModern({
    'server/discover': ({ id }) => `[1,\nhello\n${reply(id, discovery())}`,
  }),
  'a banner': { ...isLegacy(), start: () => say('fake server 1.0\n') },
  'a wrong id': isLegacy({ 'server/discover': () => reply(99, discovery()) }),
  'a string id': isLegacy({ 'server/discover': ({ id }) => reply(`${id}`, discovery()) }),
  'result and error': isLegacy({
    'server/discover': ({ id }) => reply(id, { ...discovery(), ...error(-32601) }),
  }),
  'jsonrpc 1.0': isLegacy({
    'server/discover': ({ id }) => line({ jsonrpc: '1.0', id, ...discovery() }),
  }),
  'a result beside a null': isLegacy({
    'server/discover': ({ id }) => reply(id, { ...discovery(), error: null }),
  }),
  'unsupported, a message that is no text': isLegacy({
    'server/discover': error(-32022, 5, { supported: ['2026-07-28'] }),
  }),
  'unsupported, no message': isLegacy({
    'server/discover': { error: { code: -32022, data: { supported: ['2026-07-28'] } } },
  }),
  'a broken code': isLegacy({ 'server/discover': error(-32022.5) }),
  'an error without a code': isLegacy({ 'server/discover': { error: { message: 'No' } } }),
  'a result that is an array': isLegacy({ 'server/discover': { result: [] } }),
  'a second answer': isModern({
    'server/discover': ({ id }) => reply(id, discovery()) + reply(id, discovery()),
  }),
  'deep nesting': isLegacy({
    'server/discover': ({ id }) =>
      `{"jsonrpc":"2.0","id":${id},"result":${'{"a":'.repeat(900)}1${'}'.repeat(900)}}\n`,
  }),
  'notifications at any time': isModern({
    'server/discover': ({ id }) => LOG + reply(id, discovery()) + LOG,
    'tools/list': ({ id }) => LOG + reply(id, LISTS['tools/list']),
  }),
  'a last line without an end': { ...isModern(), end: () => say('bye') },

  // --- Requests of the server's own ---
  'legacy, asks': isLegacy({
    'server/discover': ({ id }) => own('ping', 'early') + reply(id, error(-32601)),
    'tools/list': ({ id }) => own('ping') + own('roots/list', 5) + reply(id, LISTS['tools/list']),
  }),
  'modern, asks': isModern({
    'tools/list': ({ id }) => own('ping') + reply(id, LISTS['tools/list']),
  }),

  // --- What it says of itself ---
  'an old legacy version': isLegacy({ 'initialize': handshake({ protocolVersion: '2024-11-05' }) }),
  'an unknown legacy version': isLegacy({ 'initialize': handshake({ protocolVersion: '1999' }) }),
  'a modern version in the handshake': isLegacy({
    'initialize': handshake({ protocolVersion: '2026-07-28' }),
  }),
  'no version in the handshake': isLegacy({
    'initialize': handshake({ protocolVersion: undefined }),
  }),
  'a refused handshake': isLegacy({ 'initialize': error(-32603, 'Broken') }),
  'a silent handshake': isLegacy({ 'initialize': () => undefined }),
  'nobody': isModern({ 'server/discover': discovery({ _meta: {} }) }),
  'half a name': isModern({ 'server/discover': discovery({}, { name: 'half' }) }),
  'no serverInfo in legacy': isLegacy({ 'initialize': handshake({ serverInfo: undefined }) }),
  'capabilities in a list': isModern({ 'server/discover': discovery({ capabilities: ['tools'] }) }),
  'a capability that is true': isModern({
    'server/discover': discovery({ capabilities: { tools: true, prompts: {} } }),
  }),
  'instructions in a number': isModern({ 'server/discover': discovery({ instructions: 5 }) }),
  'no capability': isModern({ 'server/discover': discovery({ capabilities: {} }) }),
  'no resultType': lists('tools/list', plain({ ttlMs: 0, cacheScope: 'public', tools: [TOOL] })),
  'an unknown resultType': lists('tools/list', ok({ resultType: 'partial', tools: [TOOL] })),
  'a list that wants input': lists('tools/list', ok({ resultType: 'input_required' })),
  'an unknown resultType on the probe': isModern({
    'server/discover': discovery({ resultType: 'partial' }),
  }),
  'no cache hints': lists('tools/list', plain({ resultType: 'complete', tools: [TOOL] })),
  'half a millisecond': lists('tools/list', ok({ ttlMs: 0.5, tools: [TOOL] })),
  'odd cache hints': lists('tools/list', ok({ ttlMs: -1, cacheScope: 'all', tools: [TOOL] })),

  // --- Pages ---
  'three pages, one with an empty cursor': pages({
    'none': ['one', ''], '': ['two', 'b'], 'b': ['three'],
  }),
  'a null cursor': pages({ none: ['one', null] }),
  'a cursor in a number': pages({ none: ['one', 5] }),
  'the same cursor again': pages({ none: ['one', 'a'], a: ['two', 'a'] }),
  'cursors in a circle': pages({ none: ['one', 'a'], a: ['two', 'b'], b: ['three', 'a'] }),
  'ever new cursors': lists('tools/list', ({ count }) =>
    ok({ tools: [{ ...TOOL, name: `t${count}` }], nextCursor: `${count}` })),
  'ever more entries': lists('tools/list', ({ count }) => ok({
    tools: Array.from({ length: 60_000 }, (_, index) => ({ ...TOOL, name: `${count}.${index}` })),
    nextCursor: `${count}`,
  })),
  'ever larger pages': lists('tools/list', ({ count }) => ok({
    tools: [{ ...TOOL, name: `t${count}`, description: 'x'.repeat(2 ** 25) }],
    nextCursor: `${count}`,
  })),
  'tools in an object': lists('tools/list', ok({ tools: { good: TOOL } })),
  'no tools member': lists('tools/list', ok({})),
  'an error on the second page': isModern({
    'tools/list': ({ params }) => params.cursor === undefined
      ? ok({ tools: [TOOL], nextCursor: 'b' }) : error(-32602, 'Invalid cursor'),
  }),
  'an error to each list': isModern(Object.fromEntries(Object.keys(LISTS)
    .map((method) => [method, error(-32603, `Broken ${method}`)]))),
  'no such methods': isModern(Object.fromEntries(Object.keys(LISTS)
    .map((method) => [method, error(-32601)]))),
  'silence on one list': isModern({ 'tools/list': () => undefined }),
  'a late list': isModern({
    'tools/list': () => undefined,
    'resources/list': ({ id }) =>
      reply(2, LISTS['tools/list']) + reply(id, LISTS['resources/list']),
  }),
  'death on one list': isModern({ 'tools/list': die(5) }),
  'an endless line': isModern({
    'tools/list': () => {
      for (let megabytes = 0; megabytes < 100; megabytes += 1) say('x'.repeat(2 ** 20));
    },
  }),
  'bad entries': isModern({
    'tools/list': listOf('tools'), 'resources/list': listOf('resources'),
    'resources/templates/list': listOf('resourceTemplates'), 'prompts/list': listOf('prompts'),
  }),
  'twins': isModern({
    'tools/list': ok({ tools: [TOOL, TOOL] }),
    'resources/list': ok({ resources: [RESOURCE, RESOURCE] }),
    'resources/templates/list': ok({ resourceTemplates: [TEMPLATE, TEMPLATE] }),
    'prompts/list': ok({ prompts: [PROMPT, PROMPT] }),
  }),
  'twins on two pages': lists('tools/list', ({ count }) =>
    ok({ tools: [TOOL], ...(count === 1 ? { nextCursor: 'b' } : {}) })),
  'a million bad entries': lists('tools/list', ok({ tools: Array(1e6).fill(1) })),
  'many kinds of arguments': lists('tools/list', ok({
    tools: [{
      ...TOOL,
      inputSchema: {
        type: 'object',
        required: ['a', 'h'],
        properties: {
          a: { type: 'string', description: 'The\n  first.' }, b: { enum: ['x', 1] },
          c: { const: 5 }, d: { type: 'array', items: { type: ['string', 'null'] } },
          e: true, f: {},
          g: { anyOf: [{ type: 'string' }, { type: 'number' }] }, h: { $ref: '#/$defs/h' },
          'two words': { type: 'boolean' }, i: { oneOf: 5, type: 'integer' }, toString: 5,
        },
      },
    }],
  })),
  'odd schemas': lists('tools/list', ok({
    tools: [
      { ...TOOL, name: 'one', inputSchema: { type: 'object', properties: 'abc', required: 5 } },
      { ...TOOL, name: 'two', inputSchema: { type: 'object', properties: [1], required: {} } },
      { ...TOOL, name: 'three', inputSchema: { type: 'object', properties: null } },
    ],
  })),

  // --- Values that are more than they seem ---
  'a toString of their own': isModern({
    'server/discover': discovery({
      supportedVersions: ['2026-07-28', ODD],
      capabilities: { ...ALL, ...ODD, toString: {}, valueOf: ODD },
    }, { name: ODD, version: '1' }),
    'tools/list': ok({
      tools: [{
        ...TOOL,
        inputSchema: {
          type: 'object', required: [ODD],
          properties: {
            a: { type: ODD }, b: { type: ['string', ODD] }, c: { type: 'array', items: ODD },
            d: { $ref: ODD, description: ODD },
          },
        },
      }],
    }),
    'prompts/list': ok({ prompts: [{ name: 'good', arguments: [{ name: 'e', type: ODD }] }] }),
    'tools/call': plain({ resultType: 'complete', content: [{ type: ODD }, text('the end')] }),
    'prompts/get': plain({
      resultType: 'complete', messages: [{ role: ODD, content: { type: ODD } }],
    }),
  }),
  'a legacy version with a toString': isLegacy({
    'initialize': handshake({ protocolVersion: ODD }),
  }),
  'deep and many': withTools({
    'tools/list': () => ok({
      tools: Array.from({ length: 1500 }, (_, index) => ({
        ...TOOL, name: `t${index}`, inputSchema: { type: 'object', x: newDepth() },
      })),
    }),
    'tools/call': () => plain({
      resultType: 'complete', content: [],
      structuredContent: { all: Array.from({ length: 1500 }, newDepth) },
    }),
  }),

  // --- Calls, reads, prompts ---
  'every content': withTools({
    'tools/call': plain({
      resultType: 'complete', content: CONTENT, isError: false, structuredContent: { sum: [1, 2] },
    }),
  }),
  'bad content': withTools({
    'tools/call': plain({ resultType: 'complete', content: [...BAD_CONTENT, text('the end')] }),
  }),
  'a failed tool': withTools({
    'tools/call': plain({ resultType: 'complete', content: [text('out of eggs')], isError: true }),
  }),
  'isError in a text': withTools({
    'tools/call': plain({ resultType: 'complete', content: [], isError: 'yes' }),
  }),
  'no content': withTools({ 'tools/call': plain({ resultType: 'complete' }) }),
  'empty content': withTools({ 'tools/call': plain({ resultType: 'complete', content: [] }) }),
  'an echo of what came': withTools({
    'tools/call': ({ params: { name, arguments: args } }) => plain({
      resultType: 'complete', content: [text(`${name} ${JSON.stringify(args)}`)],
    }),
  }),
  'wants input': withTools({
    'tools/call': plain({ resultType: 'input_required', requestState: 'abc' }),
  }),
  'wants input unasked': withTools({
    'tools/call': plain({
      resultType: 'input_required', inputRequests: { who: { method: 'elicitation/create' } },
    }),
  }),
  'a strange result': withTools({ 'tools/call': plain({ resultType: 'partial', content: [] }) }),
  'an unknown tool': withTools({ 'tools/call': error(-32602, 'Unknown tool: x') }),
  'a silent tool': withTools({ 'tools/call': () => undefined }),
  'a resource': isModern({
    'resources/read': ({ params: { uri } }) => ok({
      contents: [{ uri, mimeType: 'text/plain', text: 'All of it.' }, { uri, blob: image }],
    }),
  }),
  'bad contents': isModern({
    'resources/read': ok({ contents: [5, { text: 'x' }, { uri: 'x' }, { uri: 'x', blob: '?' }] }),
  }),
  'contents in an object': isModern({ 'resources/read': ok({ contents: {} }) }),
  'modern, not found': isModern({
    'resources/read': error(-32602, 'Resource not found', { uri: 'x' }),
  }),
  'modern, not found with -32002': isModern({ 'resources/read': error(-32002, 'Gone') }),
  'legacy, not found': isLegacy({ 'resources/read': error(-32002, 'Resource not found') }),
  'legacy, not found with -32602': isLegacy({ 'resources/read': error(-32602, 'Gone') }),
  'a broken read': isModern({ 'resources/read': error(-32603, 'Internal error') }),
  'a prompt': isModern({
    'prompts/get': ({ params: { name, arguments: args } }) => plain({
      resultType: 'complete', description: 'What is asked.',
      messages: [
        { role: 'user', content: text(`${name} ${JSON.stringify(args)}`) },
        ...CONTENT.map((content) => ({ role: 'assistant', content })),
      ],
    }),
  }),
  'bad messages': isModern({
    'prompts/get': plain({
      resultType: 'complete',
      messages: [{ role: 'system', content: text('x') }, 5, { role: 'user', content: [text('x')] }],
    }),
  }),

  // --- Text that is meant to deceive ---
  'hostile': isModern({
    'start': () => say(`${HOSTILE}\n`, 2),
    'server/discover': discovery({
      supportedVersions: ['2026-07-28', HOSTILE], instructions: HOSTILE,
      capabilities: { ...ALL, [HOSTILE]: {}, [`${HOSTILE}!`]: 5 },
    }, { name: HOSTILE, version: HOSTILE, title: HOSTILE }),
    'tools/list': ({ id, count }) => own(HOSTILE) + HOSTILE.replaceAll('\n', ' ') + '\n' +
      reply(id, ok({
        tools: [
          {
            name: `${HOSTILE}${count}`, title: HOSTILE, description: HOSTILE,
            inputSchema: {
              type: 'object', required: [HOSTILE],
              properties: {
                [HOSTILE]: { type: HOSTILE, description: HOSTILE }, e: { enum: [HOSTILE] },
                c: { const: HOSTILE }, r: { $ref: HOSTILE },
              },
            },
          },
          { name: HOSTILE },
        ],
        nextCursor: HOSTILE,
      })),
    'resources/list': ok({
      resources: [
        { uri: HOSTILE, name: HOSTILE, title: HOSTILE, description: HOSTILE, mimeType: HOSTILE },
        { uri: HOSTILE, name: HOSTILE },
      ],
    }),
    'resources/templates/list': error(-32603, HOSTILE, { [HOSTILE]: HOSTILE }),
    'prompts/list': ok({
      prompts: [{
        name: HOSTILE, title: HOSTILE, description: HOSTILE,
        arguments: [{ name: HOSTILE, description: HOSTILE }],
      }],
    }),
    'tools/call': plain({
      resultType: 'complete',
      structuredContent: { [HOSTILE]: HOSTILE },
      content: [
        text(HOSTILE), { type: HOSTILE }, { type: 'image', data: HOSTILE, mimeType: HOSTILE },
        { type: 'resource_link', uri: HOSTILE, name: HOSTILE },
        { type: 'resource', resource: { uri: HOSTILE, mimeType: HOSTILE, text: HOSTILE } },
      ],
    }),
    'resources/read': error(-32602, HOSTILE, { uri: HOSTILE }),
    'prompts/get': plain({
      resultType: 'complete', description: HOSTILE,
      messages: [{ role: HOSTILE, content: text(HOSTILE) }],
    }),
  }),
  'hostile versions': versions(HOSTILE),
  'hostile refusal': isLegacy({ 'initialize': error(-32000, HOSTILE, HOSTILE) }),
  'hostile legacy version': isLegacy({ 'initialize': handshake({ protocolVersion: HOSTILE }) }),
  'wide characters': isModern({
    'tools/list': ok({ tools: [{ ...TOOL, description: '\u4f60\u597d'.repeat(300) }] }),
  }),
  'quotation marks and dots': isModern({
    'tools/list': ok({ tools: [{ ...TOOL, description: '\u201cso\u201d\u2026 '.repeat(60) }] }),
  }),
  'a long line on stderr': {
    ...isModern(),
    start: () => say(`${'x'.repeat(20 * 2 ** 20)}\nthe next\r\n`, 2),
    end: () => {
      say('its last words', 2);
      process.exit(0);
    },
  },
  'a megabyte of description': isModern({
    'tools/list': ok({ tools: [{ ...TOOL, description: 'word '.repeat(2e5) }] }),
  }),
  'many lines of description': isModern({
    'tools/list': ok({ tools: [{ ...TOOL, description: 'a\n'.repeat(500) }] }),
  }),

  // --- The end ---
  'no exit': { ...isModern(), end: () => setInterval(() => {}, 1e3) },
  'no exit, and no ear for SIGTERM': {
    ...isModern(),
    start: () => process.on('SIGTERM', () => {}), end: () => setInterval(() => {}, 1e3),
  },
  'the exit code 3': { ...isModern(), end: () => process.exit(3) },
  'its environment': withTools({
    'tools/call': () => plain({
      resultType: 'complete', content: [text(Object.keys(process.env).sort().join(' '))],
    }),
  }),
};

// ---------------------------------------------------------------------------------------------
// The wire
// ---------------------------------------------------------------------------------------------

/** Writes at once, so that nothing is lost by an exit after it. */
function say(bytes, descriptor = 1) {
  try {
    let rest = Buffer.from(bytes);
    while (rest.length > 0) rest = rest.subarray(writeSync(descriptor, rest));
  } catch {
    // The probe reads no more.
  }
}

const counts = new Map(); // how often each method was asked for

function hear(heard) {
  appendFileSync(join(diary, `${process.pid}.heard`), `${heard}\n`);
  const { id, method, params = {} } = JSON.parse(heard);
  if (id === undefined || method === undefined) return;
  const count = (counts.get(method) ?? 0) + 1;
  counts.set(method, count);
  const found = SCENARIOS[scenario][method] ?? error(-32601, 'Method not found');
  const answer = typeof found === 'function' ? found({ id, params, count }) : found;
  if (typeof answer === 'string') say(answer);
  else if (answer?.result !== undefined || answer?.error !== undefined) say(reply(id, answer));
}

function main() {
  if (scenario === '') return console.log(Object.keys(SCENARIOS).join('\n'));
  if (!Object.hasOwn(SCENARIOS, scenario)) throw new Error(`There is no scenario "${scenario}".`);
  const { start = () => {}, end = () => process.exit(0) } = SCENARIOS[scenario];
  writeFileSync(join(diary, `${process.pid}.heard`), '');
  setTimeout(() => process.exit(9), 6e4).unref(); // whatever becomes of the probe
  start();
  let rest = '';
  process.stdin.setEncoding('utf8').on('data', (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop();
    for (const each of lines) hear(each);
  });
  process.stdin.on('end', end);
}

// The tests import this file for its texts.
if (process.argv[1]?.endsWith('probe-fakes.mjs')) main();
