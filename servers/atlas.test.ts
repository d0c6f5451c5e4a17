/**
 * What the story of clients/atlas.ts does not ask of servers/atlas.ts: every spelling that the
 * normalisation of a URI lets in or keeps out, prompts with odd arguments, and the wording that
 * its contract fixes but a client in any language cannot judge.
 */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';

import { isUnderTsx, KIT, runNode, tsxArguments } from '../scripts/testing.ts';

const DOCS = 'project://atlas/docs/';
const DESIGN = `${DOCS}design`;
const RELEASE_NOTES = `${DOCS}release%20notes`;

/** What comes to a document, and to which: meant to, up to the first comment; let in, below it. */
const LET_IN: [uri: string, canonical: string][] = [
  [`${DOCS}requirements`, `${DOCS}requirements`], [DESIGN, DESIGN], [RELEASE_NOTES, RELEASE_NOTES],
  [`${DOCS}../docs/design`, DESIGN], [`${DOCS}%2e%2E/docs/design`, DESIGN],
  [`${DOCS}./design`, DESIGN], [`${DOCS}x/../design`, DESIGN], [`${DOCS}../../docs/design`, DESIGN],
  [`${DOCS}release notes`, RELEASE_NOTES],
  // Spaces and control characters at the edges; a tab, CR or LF anywhere
  [` ${DESIGN}`, DESIGN], [`${DESIGN}  `, DESIGN], [`\0${DESIGN}\x1f`, DESIGN],
  [`${DOCS}des\nign`, DESIGN], [`${DOCS}des\tign`, DESIGN], [`${DOCS}des\rign`, DESIGN],
  [`pro\nject://atlas/docs/design`, DESIGN], [`${DOCS}release \tnotes`, RELEASE_NOTES],
  // The scheme's case; an empty port; an empty user
  ['PROJECT://atlas/docs/design', DESIGN], ['project://atlas:/docs/design', DESIGN],
  ['project://@atlas/docs/design', DESIGN], ['project://:@atlas/docs/design', DESIGN],
];

const KEPT_OUT = [
  `${DOCS}missing`, DOCS, 'project://atlas/docs', `${DOCS}../private`, `${DOCS}%2e%2e/private`,
  // Encoded, once and twice
  'project://atlas/docs%2Fdesign', `${DOCS}..%2fdocs%2fdesign`, `${DOCS}%252e%252e/docs/design`,
  'project://atlas/docs%252Fdesign', `${DOCS}%64esign`, 'project://%61tlas/docs/design',
  `${DOCS}release%2520notes`, `${DOCS}release+notes`, `${DOCS}release\u00a0notes`,
  `${DOCS}release\u3000notes`, `${DOCS}des\0ign`, `${DESIGN}%00`, `${DESIGN}\u00a0`,
  // More, less and other than the URI
  `${DESIGN}/`, `${DESIGN}/extra`, `${DESIGN}/extra/..`, `${DESIGN}?`, `${DESIGN}?x`, `${DESIGN}#`,
  `${DESIGN}#x`, `${DOCS}Design`, 'project://ATLAS/docs/design', 'project://atlas:80/docs/design',
  'project://user@atlas/docs/design', 'project://atlas//docs/design', 'project:/atlas/docs/design',
  'project:atlas/docs/design', 'project:///atlas/docs/design', 'project:\\\\atlas\\docs\\design',
  'file:///etc/passwd', 'https://atlas/docs/design', 'notes://all',
  // What `new URL` refuses
  '', ' ', 'design', '/docs/design', '//atlas/docs/design', '::', `\ufeff${DESIGN}`,
  'project://atlas\\docs\\design', 'project://atlas:x/docs/design', 'project://[/docs/design',
];

const PROMPT = 'Unknown prompt';
const KEY = 'Unknown prompt argument';
const FOCUS = 'focus must be consistency or test-gaps';
const DOCUMENT = 'Unknown document';
const review = (args: unknown): unknown => ({ name: 'review-project', arguments: args });
const focused = (document: unknown): unknown => review({ focus: 'test-gaps', document });

/** What prompts/get refuses, and with which message: of several mistakes, that of the first. */
const BAD_PROMPTS: [params: unknown, message: string][] = [
  [{}, 'params.name must be a string'], [{ name: 7 }, 'params.name must be a string'],
  [review(null), 'params.arguments must be an object'],
  [review(['consistency']), 'params.arguments must be an object'],
  [{ name: 'toString', arguments: { depth: '2' } }, PROMPT], [{ name: 'Review-Project' }, PROMPT],
  [review({ depth: '2' }), KEY], [review({ focus: 'style', depth: '2', document: 'x' }), KEY],
  [review({ focus: 'consistency', Focus: 'x' }), KEY], [review({ '': 'x' }), KEY],
  [review({ focus: 'consistency', toString: 'x' }), KEY],
  [review(JSON.parse('{"focus":"consistency","__proto__":"x"}')), KEY],
  [review(JSON.parse('{"focus":"consistency","__proto__":{"document":"design"}}')), KEY],
  [review(undefined), FOCUS], [review({}), FOCUS], [review({ document: 'design' }), FOCUS],
  ...['', 'style', 'Consistency', ' consistency', 'toString', '__proto__', 7, null, true,
    ['consistency'], { focus: 'consistency' }]
    .map((focus): [unknown, string] => [review({ focus, document: 'none' }), FOCUS]),
  ...['', 'none', 'All', 'Design', ' design', 'release%20notes', 'release+notes', '../design',
    DESIGN, RELEASE_NOTES, 'toString', 'length', '0', 1, 0, null, true, ['design'], { a: 'all' }]
    .map((document): [unknown, string] => [focused(document), DOCUMENT]),
];

/** What it gives: the documents that come with it. */
const GOOD_PROMPTS: [params: unknown, names: string[]][] = [
  [focused(undefined), ['requirements', 'design', 'release notes']],
  [focused('all'), ['requirements', 'design', 'release notes']],
  ...['requirements', 'design', 'release notes']
    .map((name): [unknown, string[]] => [review({ focus: 'consistency', document: name }), [name]]),
];

// ---------------------------------------------------------------------------------------------
// Two conversations, one in each era, hold what all tests ask
// ---------------------------------------------------------------------------------------------

type Era = 'legacy' | 'modern';
type Reply = { id?: number; result?: any; error?: { code: number; message: string; data?: any } };

const ERAS = ['legacy', 'modern'] as const;
const requests: [method: string, params: unknown][] = [];
const replies: Record<Era, Reply[]> = { legacy: [], modern: [] };
// They begin when this file has been read to its end, and so each request is known.
const held = Promise.resolve().then(holdConversations);

/** Has a request sent in both eras; gives a function that gives an era's reply to it. */
function ask(method: string, params: unknown = {}): (era: Era) => Reply {
  const id = requests.push([method, params]);
  return (era) => replies[era].find((reply) => reply.id === id) ?? {};
}

/** Looks at the replies, once they are there. */
function judge(name: string, look: () => void): void {
  test(name, async () => {
    await held;
    look();
  });
}

async function holdConversations(): Promise<void> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const hello = { id: 0, method: 'initialize', params: { protocolVersion: '2025-11-25' } };
  const legacy = requests.map(([method, params], index) => ({ id: index + 1, method, params }));
  const modern = legacy.map(({ params, ...others }) =>
    ({ ...others, params: { ...(params as object), _meta } }));
  replies.legacy = await converse([hello, ...legacy]);
  replies.modern = await converse(modern);
}

async function converse(messages: object[]): Promise<Reply[]> {
  const file = join(KIT, 'servers', 'atlas.ts');
  const lines = messages.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const args = [...(isUnderTsx() ? tsxArguments() : []), file];
  const { code, stdout } = await runNode(args, { input: lines.join('') });
  assert.equal(code, 0);
  return stdout.trimEnd().split('\n').map((line) => JSON.parse(line) as Reply);
}

// ---------------------------------------------------------------------------------------------
// Resources
// ---------------------------------------------------------------------------------------------

const reads = [`${DOCS}requirements`, DESIGN, RELEASE_NOTES]
  .map((uri) => ask('resources/read', { uri }));
const textOf = (index: number): string => reads[index]?.('legacy').result.contents[0].text;

const spelled = LET_IN.map(([uri, canonical]) =>
  ({ uri, canonical, reply: ask('resources/read', { uri }) }));
judge('the spellings that come to a document, and what they give', () => {
  for (const { uri, canonical, reply } of spelled) {
    const index = [`${DOCS}requirements`, DESIGN, RELEASE_NOTES].indexOf(canonical);
    for (const era of ERAS) {
      const { contents } = reply(era).result ?? {};
      assert.deepEqual(contents, reads[index]?.(era).result.contents, JSON.stringify(uri));
      assert.deepEqual(Object.keys(contents[0]), ['uri', 'mimeType', 'text']);
      assert.equal(contents[0].uri, canonical);
    }
  }
});

const lost = KEPT_OUT.map((uri) => ({ uri, reply: ask('resources/read', { uri }) }));
judge('the spellings that come to none, and their errors in each era', () => {
  for (const { uri, reply } of lost) {
    const message = 'Resource not found';
    assert.deepEqual(reply('legacy').error, { code: -32002, message }, JSON.stringify(uri));
    assert.deepEqual(reply('modern').error, { code: -32602, message, data: { uri } });
  }
});

const HAN = '[\\u4e00-\\u9fff]';
judge('the documents: a heading, then four items, each in Chinese and then in English', () => {
  const kinds = ['requirements R Acceptance', 'design D Open', 'release notes N Condition'];
  for (const [index, kind] of kinds.entries()) {
    const [, name, letter, last] = /^(.+) (.) (.+)$/.exec(kind) ?? [];
    const [heading = '', ...items] = textOf(index).replace(/\n$/, '').split('\n\n');
    assert.match(heading, new RegExp(`^# .*${name} v1$`));
    assert.equal(items.length, 4);
    for (const [place, item] of items.entries()) {
      const [chinese = '', english = '', ...more] = item.split('\n');
      assert.deepEqual(more, []);
      const mark = place < 3 ? `${letter}${place + 1}` : undefined;
      assert.match(chinese, new RegExp(`^${mark ?? `${HAN}+`}\uff1a.*${HAN}`));
      assert.match(english, new RegExp(`^${mark ?? last}: [ -~]+\\.$`));
    }
  }
});

const templates = ask('resources/templates/list');
judge('the template says which names there are, and how a space is written', () => {
  const [{ description }] = templates('legacy').result.resourceTemplates;
  for (const part of ['requirements', 'design', 'release notes', '%20']) {
    assert.ok(description.includes(part), part);
  }
});

const cursors = ['resources/list', 'resources/templates/list', 'prompts/list']
  .flatMap((method) => ['', 'page-2'].map((cursor) => ask(method, { cursor })));
judge('a list of one page refuses any cursor', () => {
  for (const reply of cursors) for (const era of ERAS) assert.equal(reply(era).error?.code, -32602);
});

// ---------------------------------------------------------------------------------------------
// The prompt
// ---------------------------------------------------------------------------------------------

const refused = BAD_PROMPTS.map(([params, message]) =>
  ({ params, message, reply: ask('prompts/get', params) }));
judge('prompts that are refused: the first mistake is named, in both eras alike', () => {
  for (const { params, message, reply } of refused) {
    for (const era of ERAS) {
      assert.deepEqual(reply(era).error, { code: -32602, message }, JSON.stringify(params));
    }
  }
});

const filled = GOOD_PROMPTS.map(([params, names]) =>
  ({ names, reply: ask('prompts/get', params) }));
judge('prompts that are given: a text, then the documents, as they are read', () => {
  const all = ['requirements', 'design', 'release notes'];
  for (const { names, reply } of filled) {
    for (const era of ERAS) {
      const { description, messages } = reply(era).result;
      assert.equal(typeof description, 'string');
      const [task, ...material] = messages;
      assert.deepEqual([task.role, task.content.type], ['user', 'text']);
      const resources = names.map((name) => reads[all.indexOf(name)]?.(era).result.contents[0]);
      assert.deepEqual(material, resources.map((resource) =>
        ({ role: 'user', content: { type: 'resource', resource } })));
    }
  }
});

const consistency = ask('prompts/get', review({ focus: 'consistency' }));
const testGaps = ask('prompts/get', review({ focus: 'test-gaps' }));
judge('the text opens with its focus, and then asks for the same in both', () => {
  const texts = [consistency, testGaps]
    .map((reply): string => reply('legacy').result.messages[0].content.text);
  const [first, second] = texts.map((text) => text.split('\n\n'));
  assert.match(first?.[0] ?? '', /^Focus: consistency\. .*contradictions/);
  assert.match(second?.[0] ?? '', /^Focus: test-gaps\. .*scenarios.*no evidence covers/);
  assert.equal(first?.[1], second?.[1]);
  const parts = ['only by what is attached', 'URI', 'item number', 'lacking', 'order',
    'Change nothing', 'call nothing', 'approve nothing'];
  for (const part of parts) assert.ok(first?.[1]?.includes(part), part);
});
