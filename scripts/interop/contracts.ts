/**
 * What each server of the kit promises, as outside clients can ask for it: one conversation for
 * each server, written out here and never learned from the server. Two judges walk through it, the
 * SDKs' clients (every step) and the Inspector (the steps that it can ask, each on a new process).
 *
 * Descriptions are the server's own wording. The rest is compared to the last member, save what the
 * modern era adds to each result, which the schemas judge.
 *
 * SPDX-License-Identifier: MIT
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import {
  type Era, type JsonObject, type Pattern, isObject, KIT, mismatch, optional,
} from './judging.ts';

/** A result with exactly these members, or an error with this code, message and data. */
export type Expected =
  | { result: Pattern }
  | { code: number; message: Pattern; data?: Pattern };

/** One request, and what it must bring in each era. */
export type Step = {
  label: string;
  method: string;
  params: JsonObject;
  legacy: Expected;
  modern: Expected;
  /** The Inspector asks this too. */
  inspector: boolean;
};

/** A server as it is started, what it says of itself, and the conversation with it. */
export type Contract = {
  name: string;
  server: string;
  args: string[];
  serverInfo: { name: string; version: string };
  capabilities: Record<string, Record<string, never>>;
  /** Makes the steps anew, since some compare what earlier ones brought. */
  steps: () => Step[];
};

const DESCRIPTION = optional((value: unknown) => typeof value === 'string' && value !== '');

/** A step that gives the same in both eras. */
function gives(label: string, method: string, params: JsonObject, result: Pattern): Step {
  const expected = { result };
  return { label, method, params, legacy: expected, modern: expected, inspector: false };
}

/** A step that is refused, with the same code in both eras unless another is named for modern. */
function refuses(
  label: string,
  [method, params]: [string, JsonObject],
  code: number,
  message: Pattern,
  modern: Partial<{ code: number; data: Pattern }> = {},
): Step {
  const legacy = { code, message };
  return { label, method, params, legacy, modern: { ...legacy, ...modern }, inspector: false };
}

/** Lets the Inspector ask this too. */
const seen = (step: Step): Step => ({ ...step, inspector: true });

/** What every server refuses, and the answer to `ping`. */
function common(list: string): Step[] {
  return [
    refuses('a cursor that nobody gave', [list, { cursor: 'page 2' }], -32602, /cursor/),
    refuses('an unknown method', ['kit/unknown', {}], -32601, 'Method not found: kit/unknown'),
    {
      ...refuses('ping', ['ping', {}], -32601, 'Method not found: ping'),
      legacy: { result: {} },
    },
  ];
}

const noSuchMethod = (method: string): Step =>
  refuses(`no ${method}`, [method, {}], -32601, `Method not found: ${method}`);

// ---------------------------------------------------------------------------------------------
// echo and notes
// ---------------------------------------------------------------------------------------------

/** A bad argument: an error in legacy, by the contract of these two; modern a result. */
function badArgument(label: string, params: JsonObject, message: string): Step {
  const content = [{ type: 'text', text: message }];
  return {
    ...refuses(label, ['tools/call', params], -32602, message),
    modern: { result: { content, isError: true } },
    inspector: true,
  };
}

const block = (text: string): Pattern => ({ content: [{ type: 'text', text }] });

function echoSteps(): Step[] {
  const call = (args: JsonObject) => ({ name: 'echo', arguments: args });
  const text = { type: 'string', description: DESCRIPTION };
  const inputSchema = { type: 'object', properties: { text }, required: ['text'] };
  const tool = { name: 'echo', description: DESCRIPTION, inputSchema };
  const odd = 'na\u00efve \u4f60\u597d \u{1f44b}\u2028\n';
  return [
    seen(gives('tools/list', 'tools/list', {}, { tools: [tool] })),
    seen(gives('a call', 'tools/call', call({ text: 'hello' }), block('echo: hello'))),
    gives('a call beyond ASCII', 'tools/call', call({ text: odd }), block(`echo: ${odd}`)),
    gives('a call with no text in it', 'tools/call', call({ text: '' }), block('echo: ')),
    badArgument('a text that is no string', call({ text: 42 }), 'arguments.text must be a string'),
    badArgument('no text at all', { name: 'echo' }, 'arguments.text must be a string'),
    refuses('an unknown tool', ['tools/call', { name: 'toString' }], -32602,
      'Unknown tool: toString'),
    noSuchMethod('resources/list'),
    noSuchMethod('prompts/list'),
    ...common('tools/list'),
  ];
}

function notesSteps(): Step[] {
  const notes = [
    { id: 1, tag: 'release', text: 'v2.1 shipped with streaming fixes' },
    { id: 2, tag: 'incident', text: 'gateway 502 spike traced to upstream pool' },
    { id: 3, tag: 'release', text: 'v2.2 rolled out canary to 5%' },
  ];
  const all = JSON.stringify(notes);
  const only = (tag: string) => JSON.stringify(notes.filter((note) => note.tag === tag));
  const call = (args?: JsonObject) => ({ name: 'notes_query', ...(args && { arguments: args }) });
  const tag = { type: 'string', description: DESCRIPTION };
  const inputSchema = { type: 'object', properties: { tag } };
  const tool = { name: 'notes_query', description: DESCRIPTION, inputSchema };
  const uri = 'notes://all';
  const mimeType = 'application/json';
  const resource = { uri, name: 'all-notes', description: DESCRIPTION, mimeType };
  const unknown = (other: string) =>
    refuses(`the unknown URI ${other}`, ['resources/read', { uri: other }], -32602,
      `Unknown resource: ${other}`, { data: { uri: other } });
  return [
    seen(gives('tools/list', 'tools/list', {}, { tools: [tool] })),
    seen(gives('all notes', 'tools/call', call(), block(all))),
    gives('all notes, with arguments', 'tools/call', call({}), block(all)),
    gives('an empty tag', 'tools/call', call({ tag: '' }), block(all)),
    seen(gives('one tag', 'tools/call', call({ tag: 'release' }), block(only('release')))),
    gives('the other tag', 'tools/call', call({ tag: 'incident' }), block(only('incident'))),
    gives('a tag that no note has', 'tools/call', call({ tag: 'Release' }), block('[]')),
    badArgument('a tag that is no string', call({ tag: 7 }), 'arguments.tag must be a string'),
    refuses('an unknown tool', ['tools/call', { name: 'echo' }], -32602, 'Unknown tool: echo'),
    seen(gives('resources/list', 'resources/list', {}, { resources: [resource] })),
    seen(gives('the resource', 'resources/read', { uri },
      { contents: [{ uri, mimeType, text: all }] })),
    seen(unknown('notes://none')),
    unknown('notes://ALL'),
    noSuchMethod('resources/templates/list'),
    noSuchMethod('prompts/list'),
    ...common('resources/list'),
  ];
}

// ---------------------------------------------------------------------------------------------
// atlas
// ---------------------------------------------------------------------------------------------

const ATLAS = 'project://atlas/docs/';
const MARKDOWN = 'text/markdown';

/** The documents, and the items that each must have: a line in Chinese, then one in English. */
const DOCUMENTS = [
  { name: 'requirements', uri: `${ATLAS}requirements`, items: ['R1', 'R2', 'R3'] },
  { name: 'design', uri: `${ATLAS}design`, items: ['D1', 'D2', 'D3'] },
  { name: 'release notes', uri: `${ATLAS}release%20notes`, items: ['N1', 'N2', 'N3'] },
];

// Nothing of these is a document; normalising lets none of them in.
const NOT_THERE = [
  'missing', '', '../private', '..%2fdocs%2fdesign', '%2e%2e%2fdesign', '%252e%252e/docs/design',
  'design%2fextra', 'design/extra', '%64esign', 'release+notes', 'design?', 'design?version=1',
  'design#', 'design#D1', 'Design', 'design/', 'toString',
].map((path) => ATLAS + path);

function atlasSteps(): Step[] {
  // What was read first: each later reading, and each prompt, must bring the same.
  const texts = new Map<string, unknown>();
  const keep = (uri: string, items: string[]) => (text: unknown) => {
    texts.set(uri, text);
    const pairs = items.map((item) => new RegExp(`^${item}\uff1a.+\\n${item}: .+$`, 'm'));
    return pairs.every((pair) => pair.test(String(text)));
  };
  const kept = (uri: string) => (text: unknown) => text !== undefined && text === texts.get(uri);
  const contents = (uri: string, text: Pattern): Pattern => ({ uri, mimeType: MARKDOWN, text });
  const read = (uri: string) => ['resources/read', { uri }] as [string, JsonObject];

  const first = DOCUMENTS.map(({ name, uri, items }) =>
    seen(gives(name, ...read(uri), { contents: [contents(uri, keep(uri, items))] })));
  const design = `${ATLAS}design`;
  const aliases = [
    [`${ATLAS}../docs/design`, design],
    [`${ATLAS}%2e%2e/docs/design`, design],
    [`${ATLAS}release notes`, `${ATLAS}release%20notes`],
  ].map(([alias = '', uri = '']) =>
    gives(`${alias}, which is normalised`, ...read(alias),
      { contents: [contents(uri, kept(uri))] }));

  const lost = [...NOT_THERE, 'file:///etc/passwd', 'no URI', ''].map((uri) =>
    refuses(`no document: ${uri.replace(ATLAS, '')}`, read(uri), -32002, 'Resource not found',
      { code: -32602, data: { uri } }));

  const resources = DOCUMENTS.map(({ name, uri }) =>
    ({ uri, name, description: DESCRIPTION, mimeType: MARKDOWN }));
  const template = {
    uriTemplate: `${ATLAS}{name}`,
    name: 'atlas-document',
    description: /^(?=[^]*requirements)(?=[^]*design)(?=[^]*release notes)(?=[^]*%20)/,
    mimeType: MARKDOWN,
  };
  const prompt = {
    name: 'review-project',
    description: DESCRIPTION,
    arguments: [
      { name: 'focus', description: DESCRIPTION, required: true },
      { name: 'document', description: DESCRIPTION, required: false },
    ],
  };

  /** The prompt: a text that opens with its focus, then documents as `resources/read` has them. */
  const review = (args: JsonObject, opening: RegExp, names: string[]) => {
    const attached = DOCUMENTS.filter(({ name }) => names.includes(name)).map(({ uri }) => ({
      role: 'user',
      content: { type: 'resource', resource: contents(uri, kept(uri)) },
    }));
    const text = { role: 'user', content: { type: 'text', text: opening } };
    const result = { description: DESCRIPTION, messages: [text, ...attached] };
    return gives(`review ${JSON.stringify(args)}`, 'prompts/get', asking(args), result);
  };
  const asking = (args: JsonObject, name = 'review-project') => ({ name, arguments: args });
  const every = DOCUMENTS.map(({ name }) => name);
  const noPrompt = (args: JsonObject, message: string, name?: string) =>
    refuses(`no review ${JSON.stringify(args)}`, ['prompts/get', asking(args, name)], -32602,
      message);

  return [
    seen(gives('resources/list', 'resources/list', {}, { resources })),
    seen(gives('resources/templates/list', 'resources/templates/list', {},
      { resourceTemplates: [template] })),
    ...first,
    ...aliases,
    ...lost.map((step, index) => (index === 0 ? seen(step) : step)),
    seen(gives('prompts/list', 'prompts/list', {}, { prompts: [prompt] })),
    seen(review({ focus: 'consistency' }, /contradict/i, every)),
    review({ focus: 'consistency', document: 'all' }, /contradict/i, every),
    review({ focus: 'test-gaps', document: 'design' }, /scenario/i, ['design']),
    seen(review({ focus: 'test-gaps', document: 'release notes' }, /scenario/i, ['release notes'])),
    noPrompt({ focus: 'haste' }, 'Unknown prompt', 'toString'),
    noPrompt({ focus: 'haste', depth: '2' }, 'Unknown prompt argument'),
    noPrompt({}, 'focus must be consistency or test-gaps'),
    noPrompt({ focus: 'haste', document: 'none' }, 'focus must be consistency or test-gaps'),
    noPrompt({ focus: 'consistency', document: 'release%20notes' }, 'Unknown document'),
    noSuchMethod('tools/list'),
    ...common('prompts/list'),
    refuses('a cursor for templates', ['resources/templates/list', { cursor: '' }], -32602,
      /cursor/),
  ];
}

// ---------------------------------------------------------------------------------------------
// snapshot
// ---------------------------------------------------------------------------------------------

const TEXTS: Record<string, string> = {
  'r1/requirements': 'R2: cancellation visible within 300 seconds.\n',
  'r1/design': 'D3: availability cache refreshes every 300 seconds.\n',
  'r2/requirements': 'R2: cancellation visible immediately.\n',
  'r2/design': 'D3: cancellation invalidates availability cache immediately.\n',
};
const MANIFEST = 'project://atlas/manifest';
const UNAVAILABLE = 'Snapshot unavailable; reacquire the whole bundle';

const snapshotUri = (path: string) => `project://atlas/${path}`;
const plain = (path: string, text = path): Pattern =>
  ({ uri: snapshotUri(path), mimeType: 'text/plain', text: TEXTS[text] });

/** The steps that both scenarios have: what may be asked at any time, with the same answer. */
function snapshotFrame(): Step[] {
  const resource = {
    uri: MANIFEST, name: 'Current bundle', description: DESCRIPTION, mimeType: 'application/json',
  };
  const prompt = { name: 'review-snapshot', arguments: [{ name: 'revision', required: true }] };
  const wrong = (label: string, params: JsonObject) =>
    refuses(label, ['prompts/get', params], -32602, 'Supply exactly one revision');
  const uri = snapshotUri('r9/design');
  return [
    seen(gives('resources/list', 'resources/list', {}, { resources: [resource] })),
    seen(gives('prompts/list', 'prompts/list', {}, { prompts: [prompt] })),
    ...['project://atlas/r9/design', 'project://atlas/r1/', 'project://atlas/r1/../manifest']
      .map((other) => refuses(`no resource ${other}`, ['resources/read', { uri: other }], -32002,
        'Resource not found', { code: -32602, data: { uri: other } }))
      .map((step) => (step.params.uri === uri ? seen(step) : step)),
    wrong('another prompt', { name: 'toString', arguments: { revision: 'r1' } }),
    wrong('a prompt without its argument', { name: 'review-snapshot' }),
    wrong('a prompt with another argument',
      { name: 'review-snapshot', arguments: { revision: 'r1', focus: 'all' } }),
    noPromptFor('r9'),
    noSuchMethod('resources/templates/list'),
    noSuchMethod('tools/list'),
    ...common('resources/list'),
  ];
}

const readSnapshot = (path: string, text = path) =>
  gives(`${path}, which is ${text}`, 'resources/read', { uri: snapshotUri(path) },
    { contents: [plain(path, text)] });

function manifestOf(revision: string): Step {
  const uris = ['requirements', 'design'].map((name) => snapshotUri(`${revision}/${name}`));
  const isBundle = (text: unknown) =>
    mismatch({ revision, uris }, JSON.parse(String(text))) === undefined;
  const contents = [{ uri: MANIFEST, mimeType: 'application/json', text: isBundle }];
  return gives(`the manifest of ${revision}`, 'resources/read', { uri: MANIFEST }, { contents });
}

const reviewing = (revision: string): [string, JsonObject] =>
  ['prompts/get', { name: 'review-snapshot', arguments: { revision } }];

function promptFor(revision: string): Step {
  const attached = ['requirements', 'design'].map((name) => ({
    role: 'user',
    content: { type: 'resource', resource: plain(`${revision}/${name}`) },
  }));
  const text = `Review only this snapshot: ${revision}`;
  const messages = [{ role: 'user', content: { type: 'text', text } }, ...attached];
  return gives(`the review of ${revision}`, ...reviewing(revision), { messages });
}

const noPromptFor = (revision: string) =>
  refuses(`no review of ${revision}`, reviewing(revision), -32002, UNAVAILABLE,
    { code: -32602, data: { reason: 'snapshot-unavailable' } });

function noSnapshot(path: string): Step {
  const uri = snapshotUri(path);
  return refuses(`${path}, which is gone`, ['resources/read', { uri }], -32002, UNAVAILABLE,
    { code: -32602, data: { reason: 'snapshot-unavailable', uri } });
}

function mixedSteps(): Step[] {
  return [
    ...snapshotFrame(),
    seen(manifestOf('r1')),
    seen(readSnapshot('r1/requirements')),
    readSnapshot('r1/design'),
    seen(promptFor('r1')),
    readSnapshot('latest/requirements', 'r1/requirements'),
    // Now r2 is current: the second half of the bundle is of another revision than the first.
    readSnapshot('latest/design', 'r2/design'),
    manifestOf('r2'),
    ...Object.keys(TEXTS).map((path) => readSnapshot(path)),
    promptFor('r1'),
    promptFor('r2'),
  ];
}

function expiredSteps(): Step[] {
  return [
    ...snapshotFrame(),
    readSnapshot('r1/design'),
    seen(promptFor('r1')),
    seen(manifestOf('r1')),
    // Now r1 is gone, and r2 is current.
    noSnapshot('r1/requirements'),
    noSnapshot('r1/design'),
    noPromptFor('r1'),
    manifestOf('r2'),
    readSnapshot('r2/requirements'),
    readSnapshot('r2/design'),
    readSnapshot('latest/requirements', 'r2/requirements'),
    readSnapshot('latest/design', 'r2/design'),
    promptFor('r2'),
  ];
}

// ---------------------------------------------------------------------------------------------
// files, with the folder of the lessons for its root
// ---------------------------------------------------------------------------------------------

const LESSONS = join(KIT, 'lessons');
const REFUSED = 'Not found below the roots';
const lessonUri = (path: string) => `${pathToFileURL(LESSONS).href}/${path}`;

function filesSteps(): Step[] {
  const path = { type: 'string', description: DESCRIPTION };
  const schema = (required: JsonObject) => ({ type: 'object', properties: { path }, ...required });
  const tools: Pattern = [
    { name: 'read_file_summary', inputSchema: schema({ required: ['path'] }) },
    { name: 'list_files', inputSchema: schema({}) },
  ].map((tool) => ({ ...tool, description: DESCRIPTION }));
  const call = (name: string, args: JsonObject): [string, JsonObject] =>
    ['tools/call', { name, arguments: args }];
  const fails = (label: string, name: string, args: JsonObject, text: string) => gives(
    label, ...call(name, args), { content: [{ type: 'text', text }], isError: true });
  const readme = readFileSync(join(LESSONS, 'README.md'), 'utf8');
  const uri = lessonUri('README.md');
  const isListed = (value: unknown) => Array.isArray(value) &&
    value.some((one) => isObject(one) && one.uri === uri && one.name === 'README.md') &&
    value.every((one) => isObject(one) && String(one.uri).startsWith(lessonUri('')));
  const hasReadme = (text: unknown) =>
    String(text).includes('{"name":"README.md","type":"file"}');
  const template = { uriTemplate: lessonUri('{+path}'), name: 'file', description: DESCRIPTION };
  const lost = ['../README.md', '%2e%2e/README.md', '..%2fREADME.md', 'no-such.md', 'README.md?']
    .map(lessonUri).concat('file:///etc/passwd', 'https://files.example.invalid/README.md')
    .map((other) => refuses(`no file ${other}`, ['resources/read', { uri: other }], -32002,
      REFUSED, { code: -32602, data: { uri: other } }));
  return [
    seen(gives('tools/list', 'tools/list', {}, { tools })),
    seen(gives('a summary', ...call('read_file_summary', { path: 'README.md' }),
      block([...readme].slice(0, 100).join('')))),
    seen(gives('a folder', ...call('list_files', {}),
      { content: [{ type: 'text', text: hasReadme }] })),
    seen(fails('a path that leads out', 'read_file_summary', { path: '../README.md' }, REFUSED)),
    fails('another path that leads out', 'list_files', { path: '/' }, REFUSED),
    fails('a path that is no string', 'list_files', { path: 7 }, 'arguments.path must be a string'),
    fails('no path at all', 'read_file_summary', {}, 'arguments.path must be a string'),
    refuses('an unknown tool', ['tools/call', { name: 'echo' }], -32602, 'Unknown tool: echo'),
    seen(gives('resources/list', 'resources/list', {}, { resources: isListed })),
    seen(gives('resources/templates/list', 'resources/templates/list', {},
      { resourceTemplates: [template] })),
    seen(gives('the resource', 'resources/read', { uri },
      { contents: [{ uri, mimeType: MARKDOWN, text: readme }] })),
    ...lost.map((step, index) => (index === 0 ? seen(step) : step)),
    noSuchMethod('prompts/list'),
    ...common('tools/list'),
    refuses('a cursor for resources', ['resources/list', { cursor: 'page 2' }], -32602, /cursor/),
  ];
}

// ---------------------------------------------------------------------------------------------

export const CONTRACTS: Contract[] = [
  {
    name: 'echo', server: 'echo', args: [], steps: echoSteps,
    serverInfo: { name: 'echo-server', version: '1.0.0' },
    capabilities: { tools: {} },
  },
  {
    name: 'notes', server: 'notes', args: [], steps: notesSteps,
    serverInfo: { name: 'notes-server', version: '1.0.0' },
    capabilities: { tools: {}, resources: {} },
  },
  {
    name: 'atlas', server: 'atlas', args: [], steps: atlasSteps,
    serverInfo: { name: 'atlas-reading-room', version: '1.0.0' },
    capabilities: { resources: {}, prompts: {} },
  },
  ...(['mixed', 'expired'] as const).map((scenario) => ({
    name: `snapshot-${scenario}`, server: 'snapshot', args: [scenario],
    steps: scenario === 'mixed' ? mixedSteps : expiredSteps,
    serverInfo: { name: 'snapshot-fixture', version: '1.0' },
    capabilities: { resources: {}, prompts: {} },
  })),
  {
    name: 'files', server: 'files', args: [LESSONS], steps: filesSteps,
    serverInfo: { name: 'files-server', version: '1.0.0' },
    capabilities: { tools: {}, resources: {} },
  },
];

// What the modern era adds to a result. The SDKs hide some of it from their callers; the schemas
// judge it on the wire.
const ERA_MEMBERS = ['resultType', 'ttlMs', 'cacheScope', '_meta'];

/** Compares a result, as a client hands it to its caller, with what is expected of it. */
export function mismatchOfResult(expected: Expected, result: unknown): string | undefined {
  if (!('result' in expected)) return `a result came, not error ${expected.code}`;
  if (!isObject(result)) return `the result is no object: ${result}`;
  const kept = Object.entries(result).filter(([name]) => !ERA_MEMBERS.includes(name));
  return mismatch(expected.result, Object.fromEntries(kept));
}

/** Compares an error, as it crossed the wire, with what is expected of it. */
export function mismatchOfError(expected: Expected, error: unknown, era: Era): string | undefined {
  if ('result' in expected) return `an error came, not a result: ${JSON.stringify(error)}`;
  const { code, message, data } = expected;
  // In legacy `data` is the server's own business.
  const pattern = { code, message, data: era === 'modern' ? data : optional(() => true) };
  return mismatch(pattern, error, 'error');
}
