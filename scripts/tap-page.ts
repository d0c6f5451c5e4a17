/**
 * The page that `scripts/tap.ts --html` writes: a sequence diagram of each run, in which every
 * message opens. It is one file that needs nothing from elsewhere, and it works without its script.
 *
 * The diagram is a list: each row has the two lifelines as its borders and an arrow from the one to
 * the other, so it wraps, scales, prints and is read aloud like any text. A message's words are
 * never taken for HTML: all of them pass through `text()`, which also shows what cannot be seen.
 *
 * SPDX-License-Identifier: MIT
 */

import { createHash } from 'node:crypto';

import {
  brief, describeEnd, EVENTS, nameOf, reveal, stringify, summaryOf,
} from './tap.ts';
import type { Happening, Reading, Run } from './tap.ts';

/** How every page begins: by this, and nothing else, may a file be replaced. */
export const PAGE_START = '<!doctype html>\n<!-- made by the tap of MCP by hand -->\n';

/** How much of one message a page shows; the log has the rest. */
const SHOWN = 100_000;

/** A message that is wider than this when pretty-printed shows its exact line alone. */
const DEEPEST = 100;

// ---------------------------------------------------------------------------------------------
// The page
// ---------------------------------------------------------------------------------------------

/** Makes the page, part by part: a whole one could be longer than a string may be. */
export function* renderPage(log: string, runs: Run[], damaged: number[]): Generator<string> {
  const title = `${text(log)}: what crossed the wire`;
  // Nothing is loaded and nothing is sent, whatever a message says.
  const policy = [
    "default-src 'none'", `style-src '${digest(STYLE)}'`, `script-src '${digest(SCRIPT)}'`,
    "base-uri 'none'", "form-action 'none'",
  ].join('; ');
  yield `${PAGE_START}<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
<a class="skip" href="#conversation">Skip to the conversation</a>
<header class="top">
<h1>What crossed the wire</h1>
<p>Log: <code>${text(log)}</code>. Each arrow opens: press Enter, or click.</p>
${damaged.length > 0 ? `<p class="error">${renderDamaged(damaged)}</p>` : ''}
${renderFilters()}
</header>
`;
  if (runs.length > 1) yield renderContents(runs);
  yield '<main id="conversation" tabindex="-1">\n';
  for (const [index, run] of runs.entries()) yield* renderRun(run, index + 1);
  if (runs.length === 0) yield '<p>The log is empty.</p>\n';
  yield `</main>\n<script>${SCRIPT}</script>\n</body>\n</html>\n`;
}

function renderDamaged(damaged: number[]): string {
  const lines = damaged.slice(0, 20).join(', ') + (damaged.length > 20 ? ', …' : '');
  return `<strong>Damaged lines of the log, left out:</strong> ${lines}.`;
}

// Check boxes that the style sheet reads, so that they work without a script.
function renderFilters(): string {
  const box = (id: string, label: string, isOn: boolean): string =>
    `<label><input type="checkbox" id="${id}"${isOn ? ' checked' : ''}> ${label}</label>`;
  return `<fieldset class="filters"><legend>Show</legend>
${box('show-calls', 'requests and answers', true)}
${box('show-notifications', 'notifications', true)}
${box('show-rest', 'stderr and events', true)}
${box('show-errors', 'errors alone', false)}
</fieldset>`;
}

function renderContents(runs: Run[]): string {
  const items = runs.map(({ entries, reader }, index) => {
    const errors = reader.readings.filter(({ isError }) => isError).length;
    const count = `${reader.readings.length} lines${errors > 0 ? `, ${errors} errors` : ''}`;
    const name = `Run ${index + 1}: ${commandOf(entries)}`;
    return `<li><a href="#run-${index + 1}">${name}</a>: ${count}</li>`;
  });
  return `<nav aria-label="Runs"><h2>Runs</h2><ol>\n${items.join('\n')}\n</ol></nav>\n`;
}

function* renderRun({ name, entries, reader }: Run, number: number): Generator<string> {
  const [client, server] = findNames(reader.readings);
  const started = findEvent(entries, 'started')?.at ?? 'not in the log';
  const end = findEvent(entries, 'ended');
  const ended = end ? `${describeEnd(end)}, after ${duration(end.atMs)}` : 'not in the log';
  const open = reader.open.map((request) => {
    const link = `<a href="#${anchor(number, request.number)}">${text(nameOf(request))}</a>`;
    const asked = `asked by the ${request.from} at ${duration(request.atMs)}`;
    return `<li>${link}, ${asked}${request.isCancelled ? ', cancelled' : ''}</li>`;
  });
  const fact = (term: string, words: string) => `<div><dt>${term}</dt><dd>${words}</dd></div>\n`;
  yield `<section aria-labelledby="run-${number}">
<h2 id="run-${number}">Run ${number}: ${commandOf(entries)}</h2>
<dl class="facts">\n`;
  yield fact('Name in the log', text(name)) + fact('Started', text(started));
  yield fact('Ended', text(ended)) + fact('Sum', summaryOf(reader));
  if (open.length > 0) yield fact('Without an answer', `<ul>${open.join('')}</ul>`);
  yield `</dl>
<div class="actors" aria-hidden="true">
<span><b>Client</b> ${client}</span><span><b>Server</b> ${server}</span>
</div>
<ol class="messages" aria-label="Messages of run ${number}">
`;
  for (const entry of entries) {
    yield 'event' in entry ? renderEvent(entry) : renderReading(entry, number);
  }
  yield '</ol>\n</section>\n';
}

function findEvent(entries: Run['entries'], event: string): Happening | undefined {
  return entries.find((one): one is Happening => 'event' in one && one.event === event);
}

/** What the two sides call themselves, where they do. */
function findNames(readings: Reading[]): [string, string] {
  const meta = 'io.modelcontextprotocol';
  const names = ['', ''] as [string, string];
  for (const { message } of readings) {
    const params = at(message, 'params');
    const result = at(message, 'result');
    names[0] ||= nameAndVersion(
      at(params, 'clientInfo') ?? at(at(params, '_meta'), `${meta}/clientInfo`));
    names[1] ||= nameAndVersion(
      at(result, 'serverInfo') ?? at(at(result, '_meta'), `${meta}/serverInfo`));
    if (names[0] && names[1]) break;
  }
  return names;
}

function nameAndVersion(info: unknown): string {
  const name = at(info, 'name');
  const version = at(info, 'version');
  if (typeof name !== 'string') return '';
  return text(clip(typeof version === 'string' ? `${name} ${version}` : name, 60));
}

function at(value: unknown, key: string): unknown {
  return Object(value)[key];
}

function commandOf(entries: Run['entries']): string {
  const words = [findEvent(entries, 'started')?.command].flat();
  const command = words.filter((word) => typeof word === 'string').join(' ');
  if (command === '') return '(its start is not in the log)';
  return `<code>${text(clip(command, 300))}</code>`;
}

// ---------------------------------------------------------------------------------------------
// One row
// ---------------------------------------------------------------------------------------------

function renderEvent(happening: Happening): string {
  const { event, atMs, signal } = happening;
  if (event === 'started') return '';
  const more = event === 'ended' ? `: ${describeEnd(happening)}` : signal ? `: ${signal}` : '';
  return `<li class="event"><span class="time">${duration(atMs)}</span><div class="lane">` +
    `<p>${text(`${Object.hasOwn(EVENTS, event) ? EVENTS[event] : event}${more}`)}</p></div></li>\n`;
}

function renderReading(reading: Reading, run: number): string {
  const { spoken, number, isError } = reading;
  const time = `<span class="time">${duration(spoken.atMs)}</span>`;
  const id = anchor(run, number);
  if (spoken.from === 'stderr') {
    const words = `<b>stderr</b> <code>${text(clip(spoken.line, SHOWN))}</code>`;
    return `<li class="stderr" id="${id}">${time}<div class="lane"><p>${words}</p>` +
      `${renderNotes(reading.notes)}</div></li>\n`;
  }
  const kind = reading.kind.replace(' ', '-');
  const way = spoken.from === 'client' ? 'Client to server' : 'Server to client';
  const mark = isError ? '<strong class="mark">error</strong> ' : '';
  const target = spoken.from === 'client' ? 'to-server' : 'to-client';
  const spokenAloud = `${number}, ${way}, ${reading.kind}: `;
  return `<li class="${kind} ${target}${isError ? ' error' : ''}" id="${id}">${time}` +
    `<span class="number" aria-hidden="true">${number}</span>` +
    `<details class="lane"><summary><span class="hidden">${spokenAloud}</span>` +
    `<span class="label">${mark}${renderTitle(reading)}</span>` +
    `<span class="arrow" aria-hidden="true"></span></summary>` +
    `<div class="body">${renderBody(reading, run)}</div></details></li>\n`;
}

/** What stands over the arrow. */
function renderTitle(reading: Reading): string {
  const { message, kind, request } = reading;
  const chip = (words: string) => ` <span class="chip">${words}</span>`;
  const id = at(message, 'id');
  const idChip = id === undefined ? '' : chip(`id ${text(clip(stringify(id), 60))}`);
  const method = `<code>${text(brief(at(message, 'method')))}</code>`;
  if (kind === 'request') {
    const { name, uri } = Object(at(message, 'params')) as { name?: unknown; uri?: unknown };
    const about = [name, uri].find((one) => typeof one === 'string');
    const detail = about === undefined ? '' : ` ${text(brief(about))}`;
    const isOpen = request?.answer === undefined;
    const state = isOpen ? (request?.isCancelled ? 'cancelled, no answer' : 'no answer') : '';
    return `${method}${detail}${idChip}${state ? ` <strong class="mark">${state}</strong>` : ''}`;
  }
  if (kind === 'notification') {
    return `${method}${request ? ` <i>of</i> ${text(nameOf(request))}` : ''}`;
  }
  if (kind === 'answer') {
    const error = at(message, 'error');
    const words = error === undefined
      ? at(at(message, 'result'), 'isError') === true ? 'the tool failed' : 'result'
      : text(`${brief(at(error, 'code'))} ${brief(at(error, 'message'))}`);
    const of = request ? `<code>${text(brief(request.method))}</code>` : 'nothing that is open';
    const after = request?.answer ? chip(`after ${duration(request.answer.afterMs)}`) : '';
    return `${words} <span class="of">of ${of}</span>${idChip}${after}`;
  }
  const notes = reading.notes.join('; ').replace('ERROR: ', ''); // it is marked already
  return `${text(notes)}: <code>${text(clip(reading.spoken.line, 60))}</code>`;
}

/** What an open row shows: what it answers, the value spread out, and the line as it crossed. */
function renderBody({ spoken, message, notes, request, number }: Reading, run: number): string {
  const { line } = spoken;
  const parts = [renderNotes(notes)];
  const other = request?.number === number ? request.answer?.number : request?.number;
  if (request && other !== undefined) {
    const words = request.number === number ? 'Its answer' : 'The request';
    parts.push(`<p><a href="#${anchor(run, other)}">${words}: line ${other}</a></p>`);
  }
  const pretty = line.length <= SHOWN ? spreadOut(message) : undefined;
  if (pretty !== undefined) {
    parts.push(`<figure><figcaption>Spread out</figcaption><pre>${lines(pretty)}</pre></figure>`);
  }
  const cut = line.length > SHOWN
    ? `, the first ${SHOWN} of its ${line.length} characters (the log has the rest)` : '';
  parts.push(`<figure><figcaption>The exact line${cut}</figcaption>` +
    `<pre class="exact">${text(clipped(line, SHOWN))}</pre></figure>`);
  return parts.join('');
}

function renderNotes(notes: string[]): string {
  return notes.length > 0 ? `<p class="notes">${notes.map(text).join('<br>')}</p>` : '';
}

/** A value pretty-printed; undefined where there is none, or it is too deep to be read that way. */
function spreadOut(message: unknown): string | undefined {
  if (typeof message !== 'object' || message === null) return undefined;
  return isDeeper(message, DEEPEST) ? undefined : JSON.stringify(message, null, 2);
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

// ---------------------------------------------------------------------------------------------
// Words
// ---------------------------------------------------------------------------------------------

const ENTITIES: Record<string, string> =
  { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Makes text of anything: no tag, no attribute, and nothing that cannot be seen. */
function text(words: string): string {
  const plain = words.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
  return reveal(plain);
}

/** The same for a text of several lines, whose line feeds are our own. */
function lines(words: string): string {
  return words.split('\n').map(text).join('\n');
}

function clip(words: string, length: number): string {
  return words.length > length ? `${clipped(words, length)}…` : words;
}

/** The start of a text, not cut inside a character. */
function clipped(words: string, length: number): string {
  return words.slice(0, length).replace(/[\ud800-\udbff]$/, words.length > length ? '' : '$&');
}

function duration(ms: number): string {
  if (ms < 1000) return `${ms} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(2)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1000)} s`;
}

function anchor(run: number, number: number): string {
  return `r${run}-${number}`;
}

function digest(content: string): string {
  return `sha256-${createHash('sha256').update(content).digest('base64')}`;
}

// ---------------------------------------------------------------------------------------------
// Style and script
// ---------------------------------------------------------------------------------------------

// Lines and arrows are borders, since printers leave backgrounds out. Requests are drawn solid and
// answers dashed, as sequence diagrams do; an error has its word, and not its colour alone.
const STYLE = `
:root { color-scheme: light dark; --page: #fff; --ink: #1c2127; --soft: #57606a; --line: #8c959f;
  --panel: #f3f5f7; --client: #0a58a8; --server: #1a6b3c; --error: #b3261e; --side: 6rem; }
@media (prefers-color-scheme: dark) {
  :root { --page: #14171b; --ink: #e7eaee; --soft: #a6afb9; --line: #6d7782;
    --panel: #20252b; --client: #82bbff; --server: #74d19a; --error: #ff9d93; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 64rem; background: var(--page); color: var(--ink);
  font: 1rem/1.45 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; margin: 0; }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
code, pre { font: .875em/1.45 ui-monospace, "DejaVu Sans Mono", Consolas, monospace; }
a { color: var(--client); }
p { margin: .4rem 0; }
:focus-visible { outline: 3px solid var(--client); outline-offset: 2px; }
main:focus { outline: none; }
.skip { position: absolute; left: -100vw; }
.skip:focus { left: 1rem; top: 1rem; padding: .5rem 1rem; background: var(--page); z-index: 3; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
  white-space: nowrap; }
.filters { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; align-items: center;
  margin: .75rem 0 0; border: 1px solid var(--line); border-radius: .4rem;
  padding: .4rem .8rem .5rem; }
.filters button { font: inherit; padding: .2rem .8rem; color: inherit; background: var(--panel);
  border: 1px solid var(--line); border-radius: .3rem; }
input { accent-color: var(--client); }
.facts { margin: 0 0 1rem; display: grid; gap: .15rem; }
.facts div { display: grid; grid-template-columns: 10rem 1fr; }
.facts dt { color: var(--soft); }
.facts dd { margin: 0; }
.facts ul { margin: 0; padding-left: 1.1rem; }
.actors { display: flex; justify-content: space-between; position: sticky; top: 0; z-index: 2;
  background: var(--page); padding-top: .35rem; }
.actors span { width: calc(2 * var(--side)); padding: .3rem .4rem; text-align: center;
  border: 2px solid var(--line); border-radius: .4rem; background: var(--panel);
  font-size: .875rem; max-height: 5rem; overflow: hidden; }
.actors b { display: block; font-size: 1rem; }
.messages { position: relative; list-style: none; margin: 0 0 2rem; padding: 0 0 1rem; }
.messages::before { content: ""; position: absolute; inset: 0 calc(var(--side) - 1px);
  border: solid var(--line); border-width: 0 2px; }
.messages li { position: relative; padding: 0 var(--side); content-visibility: auto;
  contain-intrinsic-size: auto 3.4rem; scroll-margin-top: 5.6rem; }
summary { scroll-margin-top: 5.6rem; }
.lane { padding: .3rem 1px; min-height: 2.2rem; }
.messages li:first-child .lane { padding-top: .9rem; }
.time, .number { position: absolute; top: .45rem; font-size: .8rem; color: var(--soft);
  font-variant-numeric: tabular-nums; }
.messages li:first-child :is(.time, .number) { top: 1.05rem; }
.time { left: 0; width: calc(var(--side) - .6rem); text-align: right; }
.number { right: 0; width: calc(var(--side) - .6rem); }
summary { display: block; cursor: pointer; padding: .1rem 0 .45rem; }
summary::-webkit-details-marker { display: none; }
summary:focus-visible { outline-offset: -3px; }
summary:hover .label { text-decoration: underline; text-underline-offset: .2em; }
.label { display: block; padding: 0 1.2rem .3rem; text-align: center; }
.label::before { content: "\\25b8"; display: inline-block; width: 1.1em; color: var(--soft); }
details[open] .label::before { content: "\\25be"; }
@supports (content: "x" / "") { /* the triangles are not to be read aloud */
  .label::before { content: "\\25b8" / ""; }
  details[open] .label::before { content: "\\25be" / ""; }
}
.of { color: var(--soft); }
.chip { font-size: .8rem; border: 1px solid var(--line); border-radius: .8rem; padding: 0 .5rem;
  white-space: nowrap; display: inline-block; max-width: 100%; overflow: hidden;
  text-overflow: ellipsis; vertical-align: bottom; }
.mark { color: var(--error); border: 1px solid; border-radius: .2rem; padding: 0 .35rem;
  font-size: .8rem; display: inline-block; line-height: 1.35; }
.to-server { --way: var(--client); }
.to-client { --way: var(--server); }
.error { --way: var(--error); }
.arrow { display: block; position: relative; border-top: 2px solid var(--way); }
.answer .arrow { border-top-style: dashed; }
.error .arrow { border-top-width: 3px; }
.arrow::after { content: ""; position: absolute; top: -1px; transform: translateY(-50%);
  border: .4rem solid transparent; }
.to-server .arrow::after { right: 0; border-right-width: 0; border-left: .7rem solid var(--way); }
.to-client .arrow::after { left: 0; border-left-width: 0; border-right: .7rem solid var(--way); }
.notification .arrow::after { border: solid var(--way); border-width: 2px 2px 0 0; width: .6rem;
  height: .6rem; transform: translateY(-50%) rotate(45deg); }
.notification.to-server .arrow::after { right: 2px; border: solid var(--way);
  border-width: 2px 2px 0 0; }
.notification.to-client .arrow::after { left: 2px; border: solid var(--way);
  border-width: 2px 2px 0 0; transform: translateY(-50%) rotate(-135deg); }
.body { margin: .2rem .8rem .8rem; }
.notes { color: var(--soft); font-size: .9rem; }
figure { margin: .5rem 0; }
figcaption { font-size: .85rem; color: var(--soft); }
pre { margin: .15rem 0 0; padding: .6rem .8rem; background: var(--panel);
  border: 1px solid var(--line); border-radius: .3rem; white-space: pre-wrap;
  overflow-wrap: anywhere; direction: ltr; unicode-bidi: isolate; }
.label, .stderr code { unicode-bidi: isolate; }
.event p { margin: .2rem auto; width: fit-content; max-width: calc(100% - 2rem);
  padding: .1rem .8rem; border: 1px dashed var(--line); border-radius: 1rem; font-size: .875rem;
  color: var(--soft); text-align: center; }
.stderr p { margin: .1rem .8rem .1rem auto; padding: .2rem .6rem; width: fit-content;
  max-width: 75%; border-right: .35rem double var(--line); font-size: .875rem; }
.stderr b { font-size: .8rem; color: var(--soft); font-weight: 600; }
body:has(#show-calls:not(:checked)) :is(.request, .answer),
body:has(#show-notifications:not(:checked)) .notification,
body:has(#show-rest:not(:checked)) :is(.stderr, .event),
body:has(#show-errors:checked) .messages li:not(.error) { display: none; }
@media (max-width: 40rem) {
  :root { --side: 3.4rem; }
  body { padding: .6rem; }
  .time, .number { font-size: .7rem; }
  .time { width: calc(var(--side) - .35rem); }
  .number { width: calc(var(--side) - .35rem); }
  .label { padding: 0 .5rem .3rem; font-size: .9rem; }
  .facts div { grid-template-columns: 1fr; }
  .facts dt { font-size: .85rem; }
  .stderr p { max-width: calc(100% - 1.6rem); }
  .body { margin: .2rem .4rem .6rem; }
}
@media print {
  :root { --page: #fff; --ink: #000; --soft: #444; --line: #777; --panel: #fff; --client: #0a4a8c;
    --server: #14532d; --error: #8c1d18; color-scheme: light; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  .skip, .filters { display: none; }
  .actors { position: static; }
  .messages li { content-visibility: visible; }
  .messages li:not(:has([open])), summary { break-inside: avoid; }
  h2 { break-after: avoid; }
  a { color: inherit; }
}
@media (prefers-reduced-motion: no-preference) { html { scroll-behavior: smooth; } }
`;

// A link to a message opens it. Prints what is open: to have all of it, open all first.
const SCRIPT = `
const bar = document.querySelector('.filters');
for (const [words, open] of [['Open all', true], ['Close all', false]]) {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = words;
  button.onclick = () => {
    for (const one of document.querySelectorAll('details')) one.open = open;
  };
  bar.append(button);
}
const openTarget = () => {
  const target = document.getElementById(location.hash.slice(1));
  const details = target && target.querySelector('details');
  if (details) { details.open = true; details.querySelector('summary').focus(); }
};
addEventListener('hashchange', openTarget);
openTarget();
`;
