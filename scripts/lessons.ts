/**
 * Checks the pages: README.md and all that is in lessons/. What a page shows was run, quoted or
 * drawn just now, or it is an error that names the page and the line. So a page cannot go stale.
 *
 * Each fence says after its backticks what it is. This is the whole grammar of these labels:
 *
 *   sh [exit-N] [node-N | node-N+]     commands that are run; each of them must exit with 0, or N
 *   sh not-run: REASON                 REASON is one of NOT_RUN below, to the letter
 *   text typed | jsonl typed           what is typed into the one command of the `sh` above it,
 *                                      which then sees the end of its input
 *   text | text stderr                 what the last `sh` printed. It may be shown in several
 *                                      parts; each is compared with the whole, so has its `…`
 *   text not-run: REASON               the same of an `sh not-run` with the same reason
 *   ts FILE                            a quotation: the whole file,
 *   ts FILE region NAME                what is between `// #region NAME` and its end,
 *   ts FILE from "TEXT"                the one line that begins with TEXT, indentation aside, and
 *                                      the block that it opens, if it opens one,
 *   ts FILE from "TEXT" to "TEXT"      or up to the next line, as far indented, that begins with
 *                                      the other TEXT. `in "TEXT" from …` looks in that block
 *                                      alone. (All this is the same for json.)
 *   ts instead [FILE]                  a change to try: in FILE, or in the file of the quotation
 *                                      above, put this instead of the lines quoted. (So for json.)
 *   jsonl                              messages, one a line, each with a good envelope
 *   jsonl said SOURCE                  these were said, in this order
 *   json said SOURCE                   one message that was said, spread over lines
 *   mermaid SOURCE                     what was said, drawn,
 *   mermaid SOURCE METHOD METHOD:2     or of that the exchanges with these methods; with a number,
 *                                      only that one of them
 *   mermaid drawn                      a drawing by hand, of anything but a conversation
 *   powershell not-run                 commands of the `sh` fences above, for Windows
 *
 * A SOURCE is a client and its story, `clients/echo.ts legacy`, which is then run; or a transcript
 * that the page's own commands saved, `scratch/echo/legacy.transcript.json`.
 *
 * `…` stands for anything within a line, and alone on a line (`// …` too) for any lines. What is
 * not the same everywhere (a port, a path, a time, a version of Node) must be such a `…`.
 *
 * Commands: one a line, plain, no prompt sign, so that they run in any shell. They run from the top
 * of the kit, in order within a page, in a copy of it that each page gets for itself. So a page may
 * change a file with `instead`; what it lets a program write, it puts below `scratch/`, which git
 * ignores. `npx tsx FILE` and `node FILE` both mean the runtime that runs this check, save where
 * the label names a Node: that fence runs on this Node alone, and there `node` is the bare one. Of
 * other programs there are `npm run NAME`, of which npm's own lines are not shown, `cp FILE FILE`,
 * `mkdir FOLDER` and `git restore FILE`.
 *
 * Besides: links and their anchors lead somewhere inside the kit; a path of the kit in `backticks`
 * exists; each page of lessons/ is linked from the map, lessons/README.md.
 *
 * Run: npx tsx scripts/lessons.ts [--write] [ROOT | PAGE.md…]
 *
 * --write refreshes outputs, quotations and diagrams in place; an empty fence is filled. ROOT is
 * the folder of README.md and lessons/, by default this kit's. With pages, only these are checked,
 * as a writer wants it. Exit code: 0 all is well, 1 something was found, 2 called wrongly.
 *
 * SPDX-License-Identifier: MIT
 */

import { spawn, type ChildProcess } from 'node:child_process';
import {
  copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync,
  realpathSync, rmSync, statSync, symlinkSync, writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, posix, relative, resolve, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

import { isUnderTsx, tsxArguments } from './testing.ts';

/** Why a command is not run: nothing else is a reason. */
const NOT_RUN = ['installing', 'the tests themselves', 'a second terminal'];

const FOLDERS = ['servers', 'clients', 'scripts', 'lessons']; // what a page's copy of the kit has
const AT_ONCE = 2; // pages, so as many commands: more would only take each other's time
const LIMIT_MS = 60_000; // a command that takes longer waits for something
const LIMIT_CHARACTERS = 16 * 1024 * 1024; // a command that prints more prints for ever

/** Something that is not as it should be, and where. Lines count from 1. */
export type Finding = { page: string; line: number; message: string };

/** A fence of a page: its label, the lines in it, the line of its label, and its indentation. */
export type Fence = { label: string; lines: string[]; line: number; indent: string };

/** A page: its path from the root, its lines, its fences, and the lines with all fences blank. */
export type Page = { path: string; lines: string[]; fences: Fence[]; prose: string[] };

// ---------------------------------------------------------------------------------------------
// Pages
// ---------------------------------------------------------------------------------------------

/** Reads a page, and says what is wrong with the fences as such. */
export function parsePage(path: string, text: string): { page: Page; findings: Finding[] } {
  const lines = text.replaceAll('\r\n', '\n').split('\n');
  const page: Page = { path, lines, fences: [], prose: [...lines] };
  const findings: Finding[] = [];
  const report = (line: number, message: string) => findings.push({ page: path, line, message });
  let open: (Fence & { mark: string }) | undefined;
  let margin = ''; // the last line that began at the margin

  for (const [index, content] of lines.entries()) {
    const [, indent = '', mark = '', label = ''] = /^(\s*)(`{3,})(.*)$/.exec(content) ?? [];
    if (open) {
      page.prose[index] = '';
      if (mark.length >= open.mark.length && label.trim() === '') {
        const { mark: _, ...fence } = open;
        page.fences.push(fence);
        open = undefined;
      } else {
        // In a list a fence is indented, and so is what is in it.
        const isIndented = content.startsWith(open.indent);
        open.lines.push(isIndented ? content.slice(open.indent.length) : content.trimStart());
      }
    } else if (mark !== '' && !label.includes('`')) {
      page.prose[index] = '';
      open = { label: label.trim(), lines: [], line: index + 1, indent, mark };
    } else {
      const isCode = /^(?: {4}|\t)/.test(content) && (lines[index - 1] ?? '').trim() === '';
      const isInList = /^ {0,3}(?:[-*+]|\d+[.)])\s/.test(margin);
      if (/^\s*(?:~~~|(?:>\s*)+(?:```|~~~))/.test(content)) {
        report(index + 1, 'a fence is made of backticks, and stands in no quotation');
      } else if (/<pre\b/i.test(content) || (isCode && !isInList && content.trim() !== '')) {
        report(index + 1, 'this is shown as code, which nobody checks: put it into a fence');
      }
    }
    if (/^ {0,3}\S/.test(content)) margin = content;
  }
  if (open) report(open.line, 'this fence has no end');
  return { page, findings };
}

/** Lists all pages, README.md first, as paths from the root with forward slashes. */
function listPages(root: string): string[] {
  const walk = (folder: string): string[] => {
    if (!existsSync(join(root, folder))) return [];
    const entries = readdirSync(join(root, folder), { withFileTypes: true });
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1)).flatMap((entry) => {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : walk(path);
      return entry.name.endsWith('.md') ? [path] : [];
    });
  };
  return ['README.md', ...walk('lessons')];
}

/** Blanks the comments and the code spans of prose; each character keeps its place. */
function blank(prose: string[]): string {
  const hide = (text: string) => text.replace(/[^\n]/g, ' ');
  return prose.join('\n').replace(/<!--[^]*?-->/g, hide).replace(CODE_SPAN, hide);
}

// A code span does not go past the end of its paragraph.
const CODE_SPAN = /(?<!`)(`+)(?!`)((?:[^\n]|\n(?!\s*\n))*?)(?<!`)\1(?!`)/g;

// ---------------------------------------------------------------------------------------------
// Links, anchors, and paths in backticks
// ---------------------------------------------------------------------------------------------

/** Lists the anchors of a page, as GitHub makes them from its headings. */
export function findAnchors({ prose }: Page): Set<string> {
  const anchors = new Set<string>();
  for (const [index, line] of prose.entries()) {
    for (const [, id = ''] of line.matchAll(/<[a-z]+\b[^>]*?\b(?:id|name)="([^"]+)"/gi)) {
      anchors.add(id);
    }
    const next = prose[index + 1] ?? '';
    const isUnderlined = line.trim() !== '' && /^ {0,3}(?:=+|-{2,})\s*$/.test(next);
    const heading = /^ {0,3}#{1,6}\s+(.*?)(?:\s+#+)?\s*$/.exec(line)?.[1];
    if (heading === undefined && !isUnderlined) continue;
    const slug = slugify(heading ?? line.trim());
    let anchor = slug;
    for (let again = 1; anchors.has(anchor); again += 1) anchor = `${slug}-${again}`;
    anchors.add(anchor);
  }
  return anchors;
}

function slugify(heading: string): string {
  const text = heading
    .replace(/!\[[^\]]*\]\([^)]*\)|<[^>]+>/g, '') // pictures and tags have no letters
    .replace(/\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])/g, '$1')
    .replace(/(?<![\p{L}\p{N}])_(.+?)_(?![\p{L}\p{N}])/gu, '$1');
  return text.toLowerCase().replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '').replaceAll(' ', '-');
}

/** Finds where the links of a page lead, with the line of each. */
function findLinks(page: Page): { target: string; line: number }[] {
  const text = blank(page.prose);
  const forms = [
    /\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g, // [words](target)
    /^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+)/gm, // [name]: target
    /<(?:a|img)\b[^>]*?\b(?:href|src)="([^"]*)"/gi,
  ];
  return forms.flatMap((form) => [...text.matchAll(form)].map(({ 1: target = '', index }) => (
    { target, line: text.slice(0, index).split('\n').length })));
}

/** Is there such a file or folder, spelt like this? (Windows and macOS forgive the case.) */
function exists(root: string, path: string): boolean {
  let folder = root;
  for (const name of path.split('/').filter((part) => part !== '' && part !== '.')) {
    if (!existsSync(folder) || !statSync(folder).isDirectory()) return false;
    if (!readdirSync(folder).includes(name)) return false;
    folder = join(folder, name);
  }
  return true;
}

/** Follows a link; gives the path it leads to, or what is wrong; undefined if it leaves the kit. */
function follow(root: string, page: Page, target: string): { path: string } | string | undefined {
  if (/^(?:[a-z][a-z0-9+.-]*:|\/\/)/i.test(target)) return undefined;
  const [file = '', anchor] = target.split('#').map(decode);
  const base = file.startsWith('/') ? '' : posix.dirname(page.path);
  let path = file === '' ? page.path : posix.normalize(posix.join(base, file)).replace(/\/$/, '');
  if (path.startsWith('..')) return `the link ${target} leads out of the kit`;
  if (!exists(root, path)) return `the link ${target} leads nowhere: there is no ${path}`;
  if (statSync(join(root, path)).isDirectory()) {
    const readme = posix.join(path, 'README.md');
    if (anchor === undefined && !exists(root, readme)) return { path };
    path = readme; // what GitHub shows below the folder
  }
  if (anchor === undefined) return { path };
  if (!path.endsWith('.md')) return `the link ${target}: lines drift, so link the file alone`;
  if (!exists(root, path)) return `the link ${target} leads nowhere: there is no ${path}`;
  const anchors = findAnchors(parsePage(path, readFileSync(join(root, path), 'utf8')).page);
  const list = [...anchors].join(', ') || 'none';
  return anchors.has(anchor) ? { path } : `no heading makes the anchor #${anchor} of ${path}: `
    + `there are ${list}`;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Checks links, and gives the paths that they lead to. */
function checkLinks(root: string, page: Page, report: Report): string[] {
  const text = blank(page.prose);
  const definitions = text.matchAll(/^ {0,3}\[([^\]]+)\]:/gm);
  const defined = [...definitions].map(([, name]) => name?.toLowerCase());
  for (const found of text.matchAll(/\[([^\]]+)\]\[([^\]]*)\]/g)) {
    if (defined.includes((found[2] || found[1])?.toLowerCase())) continue;
    const line = text.slice(0, found.index).split('\n').length;
    report(line, `${found[0]}: nothing says where this leads`);
  }
  return findLinks(page).flatMap(({ target, line }) => {
    const found = follow(root, page, target);
    if (typeof found === 'string') report(line, found);
    return typeof found === 'object' ? [found.path] : [];
  });
}

/** Checks the words of the prose that name a file or a script of the kit. */
function checkNames(root: string, page: Page, scripts: Scripts, report: Report): void {
  const text = page.prose.join('\n');
  for (const { 2: span = '', index } of text.matchAll(CODE_SPAN)) {
    const line = text.slice(0, index).split('\n').length;
    for (const word of span.split(/\s+/)) checkPath(root, word, (message) => report(line, message));
    const script = /\bnpm run (?:--silent )?([\w:-]+)/.exec(span)?.[1];
    if (script !== undefined && scripts[script] === undefined) {
      report(line, `package.json has no script ${script}`);
    }
  }
}

function checkPath(root: string, word: string, report: (message: string) => void): void {
  const form = /^(?:\.\/)?((?:servers|clients|scripts|lessons|\.ci|\.github)\/[^\s,;:()"'#]*)/;
  const path = form.exec(word)?.[1];
  // A pattern, or a place holder: `servers/NAME.ts`.
  const isOpen = /[*…<>{}]|\b(?:NAME|FILE|SERVER|CLIENT|LESSON|STORY|DIR)\b/.test(word);
  if (path === undefined || isOpen) return;
  if (!exists(root, path.replace(/[.!?]$/, ''))) report(`there is no ${path}`);
  if (/^[^\s:]+:\d/.test(word)) report(`${word}: line numbers drift; name what stands there`);
}

// ---------------------------------------------------------------------------------------------
// What is shown against what came
// ---------------------------------------------------------------------------------------------

const HOLE = '…';
const isHoleLine = (line: string): boolean => /^\s*(?:\/\/ )?…\s*$/.test(line);

/** Says whether a line is as shown: `…` there stands for anything. */
export function isLineAsShown(shown: string, came: string): boolean {
  const parts = shown.trimEnd().split(HOLE);
  const line = came.trimEnd();
  if (parts.length === 1) return parts[0] === line;
  const [first = '', last = ''] = [parts[0], parts.at(-1)];
  let at = first.length;
  const end = line.length - last.length;
  if (!line.startsWith(first) || !line.endsWith(last) || end < at) return false;
  for (const part of parts.slice(1, -1)) {
    const found = line.indexOf(part, at); // the first place leaves most room for the others
    if (found === -1 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}

/** Where what is shown and what came part ways: an index into both. */
type Difference = { shown: number; came: number };

/** Compares lines; undefined if they are as shown. Blank lines at both ends do not count. */
export function compare(shown: string[], came: string[]): Difference | undefined {
  const pieces: { start: number; lines: string[] }[] = [{ start: 0, lines: [] }];
  for (const [index, line] of shown.entries()) {
    if (isHoleLine(line)) pieces.push({ start: index + 1, lines: [] });
    else pieces.at(-1)?.lines.push(line);
  }
  let at = 0; // of what came, all before this is accounted for
  for (const [number, { start, lines }] of pieces.entries()) {
    const matchAt = (place: number): number => { // how many lines match there
      const count = lines.findIndex((line, k) => !isLineAsShown(line, came[place + k] ?? '\0'));
      return count === -1 ? lines.length : count;
    };
    const isLast = number === pieces.length - 1;
    const places: number[] = [];
    if (number === 0) places.push(0);
    else if (isLast) places.push(Math.max(at, came.length - lines.length));
    else for (let place = at; place <= came.length; place += 1) places.push(place);
    const found = places.find((place) => matchAt(place) === lines.length);
    if (found === undefined) {
      const best = places.reduce((a, b) => (matchAt(b) > matchAt(a) ? b : a), places[0] ?? at);
      const count = matchAt(best);
      const isNearest = count === 0 && number > 0 && !isLast;
      const nearest = isNearest ? mostSimilar(lines[0] ?? '', came, at) : best + count;
      return { shown: start + count, came: nearest };
    }
    at = found + lines.length;
    if (isLast && at !== came.length) return { shown: shown.length, came: at };
  }
  return undefined;
}

function mostSimilar(shown: string, came: string[], from: number): number {
  const rest = came.slice(from).map((line) => similarity(shown, line));
  return from + Math.max(0, rest.indexOf(Math.max(...rest)));
}

const WORDS = /[\p{L}\p{N}_]+|\s+|[^]/gu;

/** How much two lines have in common, words or both ends: 0 nothing, 1 all. */
function similarity(a: string, b: string): number {
  const words = (text: string) => text.match(/[\p{L}\p{N}_]+/gu) ?? [];
  const [left, right] = [words(a), new Set(words(b))];
  const common = left.filter((word) => right.has(word)).length;
  const [least, most] = [Math.min(a.length, b.length), Math.max(a.length, b.length)];
  let [head, end] = [0, 0];
  while (head < least && a[head] === b[head]) head += 1;
  while (end < least - head && a.at(-1 - end) === b.at(-1 - end)) end += 1;
  return Math.max((2 * common) / (left.length + right.size || 1), (head + end) / (most || 1));
}

/**
 * Writes anew what is shown so that it fits what came, and keeps its holes where they were. Lines,
 * and the words of a line that has changed, are aligned at the least cost; a hole swallows anything
 * for nothing.
 */
export function refresh(shown: string[], came: string[]): string[] {
  return align(shown, came, isHoleLine, (a, b) => {
    const common = similarity(a, b);
    if (isLineAsShown(a, b)) return { cost: 0, write: () => a };
    if (common < 0.4) return undefined;
    const words = (line: string) => line.match(WORDS) ?? [];
    const sameWord = (x: string, y: string) => (x === y ? { cost: 0, write: () => x } : undefined);
    const anew = () => align(words(a), words(b), (word) => word === HOLE, sameWord).join('');
    return { cost: 1 - common / 2, write: anew };
  });
}

/** What it costs to let one token stand for another, and what is then written. */
type Exchange = { cost: number; write: () => string };

function align(
  shown: string[],
  came: string[],
  isHole: (token: string) => boolean,
  exchange: (old: string, now: string) => Exchange | undefined,
): string[] {
  // costs[i][j]: of the best way from there to the end, where i of shown and j of came are done.
  const costs = Array.from({ length: shown.length + 1 }, () => new Float64Array(came.length + 1));
  const cost = (i: number, j: number): number => costs[i]?.[j] ?? 0;
  const best = (i: number, j: number) => {
    const [old, now] = [shown[i], came[j]];
    const ways: { cost: number; i: number; j: number; write?: () => string }[] = [];
    const isSwallowed = old !== undefined && isHole(old);
    if (isSwallowed) {
      ways.push({ cost: cost(i + 1, j), i: i + 1, j, write: () => old });
      if (now !== undefined) ways.push({ cost: cost(i, j + 1), i, j: j + 1 });
    } else if (old !== undefined) {
      const change = now === undefined ? undefined : exchange(old, now);
      if (change) {
        const { cost: price, write } = change;
        ways.push({ cost: cost(i + 1, j + 1) + price, i: i + 1, j: j + 1, write });
      }
      ways.push({ cost: cost(i + 1, j) + 1, i: i + 1, j });
    }
    if (now !== undefined) ways.push({ cost: cost(i, j + 1) + 1, i, j: j + 1, write: () => now });
    return ways.sort((a, b) => a.cost - b.cost)[0];
  };
  for (let i = shown.length; i >= 0; i -= 1) {
    for (let j = came.length; j >= 0; j -= 1) costs[i]?.fill(best(i, j)?.cost ?? 0, j, j + 1);
  }
  const written: string[] = [];
  for (let way = best(0, 0); way; way = best(way.i, way.j)) {
    if (way.write) written.push(way.write());
  }
  return written;
}

// What another machine, another Node or another day would print otherwise. A number that the page's
// own command names, such as a port, is no accident.
const VOLATILE: [name: string, pattern: RegExp][] = [
  ['a port', /(?<=(?:localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0):|\bport )\d{2,5}\b/gi],
  ['an absolute path',
    /(?<![\w.…/])\/(?:home|Users|root|tmp|private|var|opt|usr|mnt|work)\/[^\s"'`),]*/g],
  ['an absolute path',
    /(?<=file:\/\/)\/(?:home|Users|root|tmp|private|var|[A-Za-z]:)\/[^\s"'`),]*/g],
  ['an absolute path', /\b[A-Za-z]:\\[^\s"'`),]*/g],
  ['a time', /\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d[\d:.]*Z?|\b\d\d:\d\d:\d\d(?:\.\d+)?\b/g],
  ['a time', /\b\d+\.\d+(?= ?(?:ms|s|seconds)\b)|(?<=\bduration_ms )[\d.]+/g],
  ['a time', /\b(?!\d*00 ?ms)\d+(?= ?ms\b)/g], // a time that was measured is hardly a round one
  ['a version', /\bv\d+\.\d+\.\d+|(?<=\bNode(?:\.js)? )v?\d+\.\d+[\d.]*/g],
  ['a process id', /(?<=\(node:)\d+(?=\))|(?<=\bpid )\d+/gi],
];

/** Finds what is not the same everywhere. */
export function findVolatile(line: string, commands = ''): { name: string; text: string }[] {
  const isNamed = (text: string) => /^\d+$/.test(text) && commands.split(/\D+/).includes(text);
  return VOLATILE.flatMap(([name, pattern]) => (line.match(pattern) ?? [])
    .filter((text) => !isNamed(text)).map((text) => ({ name, text })));
}

function maskVolatile(line: string, commands: string): string {
  return findVolatile(line, commands).reduce((text, found) => text.replace(found.text, HOLE), line);
}

// ---------------------------------------------------------------------------------------------
// Commands
// ---------------------------------------------------------------------------------------------

// What a shell would do something with, or one of the shells. Inside double quotes only the last
// three are refused.
const SHELL: [pattern: RegExp, what: string, instead: string][] = [
  [/\|/, 'a pipe', 'run the command alone, and leave out lines of its output with …'],
  [/>/, 'a redirection', 'let the program write its file (--save scratch/NAME), or show its output '
    + 'in a text fence'],
  [/</, 'a redirection', 'put what is typed into a "text typed" fence below this one'],
  [/[&;]/, 'a second command', 'one command a line'],
  [/[*?[\]]/, 'a pattern of file names', 'name the files'],
  [/'/, 'a single quote', 'use double quotes: not every shell knows the others'],
  [/(?:^|\s)~/, "a shell's name for a folder", 'write a path from the top of the kit'],
  [/^\w+=/, 'a variable for one command', 'use an option: no way to do this works in all shells'],
  [/\s#/, 'a comment after a command', 'give it a line of its own'],
  [/[(){},]/, 'a bracket or a comma', 'put the word into double quotes'],
  [/…/, 'a hole', 'commands are run, so write it out'],
  [/[$`%]/, 'a variable or a substitution', 'write out what it stands for'],
  [/\\/, 'a backslash', 'one line a command, and forward slashes in paths'],
  [/!/, 'an exclamation mark', 'leave it out: some shells put old commands in its place'],
];

/** Splits a plain command into words; a text says what is not plain in it. */
export function parseCommand(line: string): string[] | string {
  if (/^(?:[$%>]|PS\b[^>]*>|[A-Za-z]:\\[^>]*>)\s/.test(line)) {
    return `a prompt sign (${line.split(' ')[0]}): leave it out, since people copy what is here`;
  }
  const pieces = line.split('"');
  if (pieces.length % 2 === 0) return 'a double quote without its partner: give it one';
  for (const [index, piece] of pieces.entries()) {
    for (const [pattern, what, instead] of index % 2 === 0 ? SHELL : SHELL.slice(-3)) {
      if (pattern.test(piece)) return `${what}: ${instead}`;
    }
  }
  return (line.match(/(?:[^\s"]|"[^"]*")+/g) ?? []).map((word) => word.replaceAll('"', ''));
}

/** A command as it is run: what Node is to run, or what is done here without a program. */
type Command =
  | { node: string[]; isNode?: boolean } // isNode: called `node`, not `npx tsx`
  | { copy: [from: string, to: string] }
  | { restore: string }
  | { mkdir: string };

type Scripts = Record<string, string | undefined>;

/** Maps a command to what is run; a text says why it cannot be. */
function mapCommand(words: string[], scripts: Scripts): Command | string {
  const [program = '', ...args] = words;
  const rest = args.filter((word, index) => !(index === 0 && /^(?:-y|--yes)$/.test(word)));
  if (program === 'npx' && rest[0] === 'tsx' && rest.length > 1) return { node: rest.slice(1) };
  if (program === 'node' && args.length > 0) return { node: args, isNode: true };
  if (program === 'npm' && (args[0] === 'run' || args[0] === 'start')) {
    const after = args.slice(args[0] === 'run' ? 1 : 0);
    if (after[0] === '--silent') after.shift();
    const [name = '', dashes = '--', ...more] = after;
    const script = parseCommand(scripts[name] ?? '');
    if (script[0] !== 'tsx') return `no script ${name} of package.json is a plain "tsx FILE"`;
    if (dashes !== '--') return 'npm run NAME -- ARGUMENTS: the "--" is missing';
    return { node: [...script.slice(1), ...more] };
  }
  const [first, second] = args;
  if (program === 'mkdir' && first && args.length === 1) return { mkdir: first };
  if (program === 'cp' && first && second && args.length === 2) return { copy: [first, second] };
  if (program === 'git' && first === 'restore' && second && args.length === 2) {
    return { restore: second };
  }
  return `"${words.slice(0, 3).join(' ')}" is none of: npx tsx FILE, node FILE, npm run NAME, `
    + 'cp FILE FILE, mkdir FOLDER, git restore FILE; else say why it is not run';
}

type Outcome = { code: number | null; stdout: string; stderr: string; problem?: string };

/** Runs programs in copies of the kit, in a temporary folder that goes when this program ends. */
type Bench = ReturnType<typeof makeBench>;

function makeBench(root: string) {
  // The real path, since macOS's temp folder is a link; with a space, since many folders have one.
  const base = mkdtempSync(join(realpathSync(tmpdir()), 'mcp lessons '));
  const children = new Set<ChildProcess>();
  const remove = () => {
    for (const child of children) child.kill('SIGKILL');
    rmSync(base, { recursive: true, force: true, maxRetries: 5 });
  };
  process.on('exit', remove);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(2));
  const [home, temp] = [join(base, 'home'), join(base, 'temp')];
  mkdirSync(home);
  mkdirSync(temp);
  const shared = new Map<string, Promise<Outcome>>();
  let [copies, runs] = [0, 0];

  /** Makes a copy of the kit, without what git ignores, and lists what is in it. */
  function copyKit() {
    const copy = join(base, `kit ${(copies += 1)}`);
    const isKept = (path: string) => !/^(?:node_modules|\.git|scratch)$/.test(basename(path));
    mkdirSync(copy);
    for (const entry of readdirSync(root, { withFileTypes: true })) {
      const [from, to] = [join(root, entry.name), join(copy, entry.name)];
      if (entry.isFile()) copyFileSync(from, to);
      else if (FOLDERS.includes(entry.name)) cpSync(from, to, { recursive: true, filter: isKept });
    }
    // The installed tsx, which some commands look up. A junction is a link that Windows allows.
    const modules = join(root, 'node_modules');
    if (existsSync(modules)) symlinkSync(modules, join(copy, 'node_modules'), 'junction');
    return { folder: copy, files: new Set(listFiles(copy)) };
  }

  function start(cwd: string, args: string[], input: string, isBare: boolean): Promise<Outcome> {
    const isPassed = /^(?:PATH|PATHEXT|COMSPEC|WINDIR|SYSTEM(?:ROOT|DRIVE))$/i;
    const env: NodeJS.ProcessEnv = {
      ...Object.fromEntries(Object.entries(process.env).filter(([name]) => isPassed.test(name))),
      HOME: home, USERPROFILE: home, TMPDIR: temp, TMP: temp, TEMP: temp,
    };
    // Some Nodes warn that they drop the types themselves. It is true, and on no page.
    if (!isBare) env.NODE_NO_WARNINGS = '1';
    runs += 1;
    const child = spawn(process.execPath, args, { cwd, env, windowsHide: true });
    const outcome: Outcome = { code: null, stdout: '', stderr: '' };
    const stop = (problem: string) => {
      outcome.problem ??= problem;
      child.kill('SIGTERM'); // a client sees its server out
      setTimeout(() => {
        child.kill('SIGKILL');
        for (const pipe of child.stdio) pipe?.destroy(); // what it started may still hold them
      }, 3000).unref();
    };
    const timer = setTimeout(() => stop(`did not end within ${LIMIT_MS / 1000} s`), LIMIT_MS);
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (text: string) => {
        if (outcome[name].length < LIMIT_CHARACTERS) outcome[name] += text;
        else stop('prints without end');
      });
    }
    child.stdin.on('error', () => {}); // it may end before it has read all
    child.stdin.end(input);
    children.add(child);
    return new Promise((done, fail) => {
      child.on('error', fail);
      child.on('close', (code) => {
        clearTimeout(timer);
        children.delete(child);
        for (const name of ['stdout', 'stderr'] as const) outcome[name] = hide(outcome[name], cwd);
        done({ ...outcome, code });
      });
    });
  }

  // Where the copy is, no page knows: hence a hole, in which each page may show its own.
  function hide(text: string, cwd: string): string {
    const spellings = [cwd, temp].flatMap((path) => (
      [pathToFileURL(path).href, JSON.stringify(path).slice(1, -1), path]));
    const hidden = spellings.reduce((all, path) => all.replaceAll(path, HOLE), text);
    return hidden.replaceAll('\r\n', '\n');
  }

  /** Runs Node in a copy of the kit, or gives what the same command did in another copy. */
  function run(cwd: string, args: string[], input: string, isBare: boolean, isOwn: boolean) {
    const key = JSON.stringify([args, input, isBare]);
    const known = isOwn ? undefined : shared.get(key);
    const outcome = known ?? start(cwd, args, input, isBare);
    if (!isOwn) shared.set(key, outcome);
    return outcome;
  }

  let kit: string | undefined; // for what belongs to no page
  /** Runs a client of the kit, and gives the folder where it saved what was said. */
  async function record(client: string): Promise<string | { problem: string }> {
    kit ??= copyKit().folder;
    const folder = join(kit, 'scratch', client);
    const args = [...runtime(), client, '--save', folder];
    const { code, stdout, stderr, problem } = await run(kit, args, '', false, false);
    const how = problem ?? `ended with exit code ${code}`;
    return code === 0 ? folder : { problem: `${client} ${how}${tail(stdout + stderr)}` };
  }

  return { copyKit, run, record, countRuns: () => runs };
}

/** What comes before a file, so that it is run by what runs this program. */
function runtime(): string[] {
  return isUnderTsx() ? tsxArguments() : [];
}

/** The last lines of an output, each on a line of its own and indented. */
function tail(text: string): string {
  const lines = text.trim() === '' ? [] : text.trimEnd().split('\n').slice(-8);
  return lines.map((line) => `\n    ${line}`).join('');
}

// ---------------------------------------------------------------------------------------------
// Quotations
// ---------------------------------------------------------------------------------------------

/** What of a file is quoted; each narrows what the one before has left. */
type Selection = { region?: string; within?: string; from?: string; to?: string };

/** Takes the quoted lines out of a file's text; a text says why that cannot be done. */
export function select(text: string, selection: Selection): string[] | string {
  const { region, within, from, to } = selection;
  let lines = text.replace(/\n$/, '').split('\n');
  if (region !== undefined) {
    const isMark = (line: string, word: string) => (
      new RegExp(`^\\s*//\\s*#${word}\\s+${region}(?![\\w-])`).test(line));
    const start = lines.findIndex((line) => isMark(line, 'region'));
    const end = lines.findIndex((line) => isMark(line, 'endregion'));
    const mark = /^\s*\/\/\s*#region\s+([\w-]+)/;
    const names = lines.flatMap((line) => mark.exec(line)?.[1] ?? []);
    if (start === -1 || end < start) return `no region ${region}: there are ${names.join(', ')}`;
    lines = lines.slice(start + 1, end);
  }
  for (const begin of [within, from]) {
    if (begin === undefined) continue;
    const starts = lines.flatMap((line, k) => (line.trimStart().startsWith(begin) ? [k] : []));
    const [start = 0] = starts;
    if (starts.length === 0) return `no line begins with ${JSON.stringify(begin)}`;
    if (starts.length > 1) {
      return `${starts.length} lines begin with ${JSON.stringify(begin)}: name more of the line, `
        + 'or the block that it is in: in "TEXT" from "TEXT"';
    }
    const isLast = (line: string, k: number) => (
      k > start && depth(line) === depth(lines[start]) && line.trimStart().startsWith(to ?? ''));
    const isWhole = begin !== from || to === undefined;
    const end = isWhole ? findBlockEnd(lines, start) : lines.findIndex(isLast) + 1;
    if (end === 0) return `no line after it, as far indented, begins with ${JSON.stringify(to)}`;
    lines = lines.slice(start, end);
  }
  return lines;
}

/** How far a line is indented. */
function depth(line = ''): number {
  return line.length - line.trimStart().length;
}

/** Finds the line after the block that a line opens; the next line, if it opens none. */
function findBlockEnd(lines: string[], start: number): number {
  const isInside = (line: string) => line.trim() === '' || depth(line) > depth(lines[start]);
  for (let end = start + 1; ; end += 1) {
    const inside = lines.slice(end).findIndex((line) => !isInside(line));
    end = inside === -1 ? lines.length : end + inside;
    const line = lines[end] ?? '';
    const isClosed = depth(line) === depth(lines[start]) && /^\s*[)\]}]/.test(line);
    if (isClosed && /[([{]$/.test(line)) continue; // `) {`: closed and opened again
    if (isClosed) return end + 1;
    while (lines[end - 1]?.trim() === '') end -= 1;
    return end;
  }
}

/** Takes away the indentation that all lines have in common, holes aside. */
function dedent(lines: string[]): { lines: string[]; indent: string } {
  const some = lines.filter((line) => line.trim() !== '' && !isHoleLine(line));
  const width = Math.min(...some.map(depth));
  const indent = some.length === 0 ? '' : (some[0] ?? '').slice(0, width);
  const cut = (line: string) => (line.startsWith(indent) ? line.slice(indent.length) : line.trim());
  return { lines: lines.map(cut), indent };
}

// ---------------------------------------------------------------------------------------------
// Messages
// ---------------------------------------------------------------------------------------------

type JsonObject = Record<string, unknown>;

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Puts something that JSON allows into the holes of a message, so that it can be parsed. */
function fillHoles(line: string): string {
  const open: string[] = [];
  let [before, holes] = ['', 0];
  return line.replace(/"(?:\\.|[^"\\])*"|[^\s]/g, (token) => {
    const isMember = open.at(-1) === '{' && before !== ':';
    if (token === '{' || token === '[') open.push(token);
    if (token === '}' || token === ']') open.pop();
    before = token;
    if (token !== HOLE) return token;
    return isMember ? `"…${(holes += 1)}":"…"` : '"…"';
  });
}

/** Says what is wrong with the envelope of a message (2025-11-25/basic/index, "Messages"). */
export function checkEnvelope(line: string): string | undefined {
  let message: unknown;
  try {
    message = JSON.parse(fillHoles(line));
  } catch {
    return 'this is no JSON';
  }
  if (!isObject(message)) return 'a message is a JSON object';
  const { jsonrpc, id, method, params, result, error } = message;
  const isKnown = (name: string) => /^(?:jsonrpc|id|method|params|result|error|…\d+)$/.test(name);
  const stranger = Object.keys(message).find((name) => !isKnown(name));
  const has = (name: string) => Object.hasOwn(message, name);
  const isOpen = Object.keys(message).some((name) => name.startsWith(HOLE));
  const isThing = (value: unknown) => isObject(value) || value === HOLE;
  if (stranger !== undefined) return `the envelope has no member "${stranger}"`;
  if (jsonrpc !== '2.0' && !(isOpen && jsonrpc === undefined)) return 'jsonrpc must be "2.0"';
  if (has('id') && typeof id !== 'string' && !Number.isSafeInteger(id)) {
    return 'the id must be a string or an integer';
  }
  if (has('method') && (has('result') || has('error'))) {
    return 'a request has a method, a response a result or an error: not both';
  }
  if (has('method') && typeof method !== 'string') return 'the method must be a string';
  if (has('params') && (!has('method') && !isOpen)) return 'params without a method';
  if (has('params') && !isThing(params)) return 'params must be an object';
  if (has('result') && has('error')) return 'a response has a result or an error: not both';
  if (has('result') && !isThing(result)) return 'the result must be an object';
  if (has('result') && !has('id') && !isOpen) return 'a result without an id answers nothing';
  const { code, message: text } = isObject(error) ? error : {};
  const isHoled = isObject(error) && Object.keys(error).some((name) => name.startsWith(HOLE));
  const isWhole = (Number.isInteger(code) || code === HOLE) && typeof text === 'string';
  if (has('error') && error !== HOLE && !isWhole && !isHoled) {
    return 'an error is an object with an integer code and a string message';
  }
  const isEmpty = !has('method') && !has('result') && !has('error') && !isOpen;
  return isEmpty ? 'a message has a method, a result or an error' : undefined;
}

/** Lists the messages of all `jsonl` fences that are shown whole, for whoever has the schema. */
export function readMessages(root: string): { page: string; line: number; text: string }[] {
  return listPages(root).flatMap((path) => {
    const { page } = parsePage(path, readFileSync(join(root, path), 'utf8'));
    return page.fences.filter(({ label }) => /^jsonl\b/.test(label)).flatMap(({ lines, line }) => (
      lines.map((text, index) => ({ page: path, line: line + 1 + index, text }))
    )).filter(({ text }) => text.trim() !== '' && !text.includes(HOLE));
  });
}

// ---------------------------------------------------------------------------------------------
// What was said, and its drawing
// ---------------------------------------------------------------------------------------------

/** A message of a transcript that a client saved. */
export type Entry = { from: 'client' | 'server'; line: string; expectsRefusal?: string | null };

/** Reads a transcript; a text says what is wrong with it. */
function readTranscript(file: string, name: string): Entry[] | string {
  if (!existsSync(file)) {
    const others = existsSync(dirname(file)) ? readdirSync(dirname(file)) : [];
    const stories = others.flatMap((other) => /^(.+)\.transcript\.json$/.exec(other)?.[1] ?? []);
    return `there is no ${name}; saved were: ${stories.join(', ') || 'none'}`;
  }
  try {
    const entries: unknown = JSON.parse(readFileSync(file, 'utf8'));
    const isEntry = (entry: unknown) => isObject(entry) && typeof entry.line === 'string';
    if (Array.isArray(entries) && entries.every(isEntry)) return entries as Entry[];
  } catch {
    // It is said below.
  }
  return `${name} is no transcript: an array of {"from", "line"} was expected`;
}

/**
 * Draws what was said as a Mermaid sequence diagram: all of it, or the exchanges with some methods;
 * `tools/call:2` is the second with that method. A text says which method there is not.
 */
export function draw(entries: Entry[], methods: string[] = []): string[] | string {
  const lines = ['sequenceDiagram', '    participant C as client', '    participant S as server'];
  const counts = new Map<string, number>();
  const drawn = new Set<string>(); // the requests that are, by who asked and the id
  const found = new Set<string>();
  for (const { from, line, expectsRefusal } of entries) {
    const [me, you] = from === 'client' ? 'CS' : 'SC';
    const message = parse(line);
    const { id, method } = message ?? {};
    if (typeof method === 'string') {
      const count = (counts.get(method) ?? 0) + 1;
      counts.set(method, count);
      const wanted = methods.filter((one) => one === method || one === `${method}:${count}`);
      if (methods.length > 0 && wanted.length === 0) continue;
      for (const one of wanted) found.add(one);
      if (expectsRefusal) lines.push(`    Note over C,S: to be refused: ${escape(expectsRefusal)}`);
      if (id !== undefined) drawn.add(`${from} ${JSON.stringify(id)}`);
      // A request waits for its answer, a notification for nothing: hence the open arrow.
      lines.push(`    ${me}${id === undefined ? '-)' : '->>'}${you}: ${describe(message ?? {})}`);
    } else {
      const asked = `${from === 'client' ? 'server' : 'client'} ${JSON.stringify(id)}`;
      if (methods.length > 0 && !drawn.has(asked)) continue;
      lines.push(`    ${me}-->>${you}: ${message ? describe(message) : 'no JSON'}`);
    }
  }
  const missing = methods.find((one) => !found.has(one));
  if (missing === undefined) return lines;
  const said = [...counts].map(([method, count]) => `${method} (${count})`);
  return `${missing} was not said; what was: ${said.join(', ')}`;
}

function parse(line: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Says a message in a few words. */
function describe({ id, method, params, result, error }: JsonObject): string {
  const number = id === undefined ? '' : ` (id ${JSON.stringify(id)})`;
  if (typeof method === 'string') {
    const { name, uri, protocolVersion, requestId, _meta } = isObject(params) ? params : {};
    const about = [name, uri, protocolVersion, requestId].find((one) => one !== undefined);
    const what = about === undefined ? method : `${method} ${text(about)}`;
    return escape(`${shorten(what)}${_meta === undefined ? '' : ' + _meta'}${number}`);
  }
  if (isObject(error)) return escape(shorten(`error ${error.code}${number}: ${error.message}`));
  const { isError } = isObject(result) ? result : {};
  const members = isObject(result) ? Object.keys(result).join(', ') : text(result);
  const what = isError === true ? 'result, isError' : 'result';
  return escape(shorten(`${what}${number}: ${members || 'empty'}`));

  function text(value: unknown): string {
    return typeof value === 'string' ? value : JSON.stringify(value) ?? 'nothing';
  }
}

function shorten(text: string): string {
  return text.length > 72 ? `${text.slice(0, 69)}...` : text;
}

/** Writes a text so that Mermaid reads nothing into it: what it might, as the number of a sign. */
function escape(text: string): string {
  const isPlain = /[\p{L}\p{N} _.,:()'+*=?!@/-]/u;
  return [...text].map((sign) => (isPlain.test(sign) ? sign : `#${sign.codePointAt(0)};`)).join('');
}

// ---------------------------------------------------------------------------------------------
// A page, fence by fence
// ---------------------------------------------------------------------------------------------

type Report = (line: number, message: string) => void;

/** What the last `sh` fence did. */
type Shell = {
  commands: string[];
  reason?: string; // why it was not run
  isElsewhere?: boolean; // it is for another Node
  isBroken?: boolean; // it is reported already
  stdout: string;
  stderr: string;
};

const TEXT = '"(?:[^"\\\\]|\\\\.)*"';
const SOURCE = '(?<source>clients/\\S+\\.ts \\S+|scratch/\\S+\\.transcript\\.json)';
const QUOTATION = 'instead(?: (?<target>\\S+))?|(?<file>[^\\s/]*[./]\\S+)'
  + `(?: region (?<region>[\\w-]+))?(?: in (?<within>${TEXT}))?`
  + `(?: from (?<from>${TEXT})(?: to (?<to>${TEXT}))?)?`;

// What may come after the kind of a fence, and how to say so.
const LABELS: Record<string, [form: RegExp, expected: string]> = {
  sh: [
    /^(?:not-run: (?<reason>.+)|(?:exit-(?<exit>[1-9]\d*))?(?:(?:^| )(?<node>node-\d+\+?))?)$/,
    'sh [exit-N] [node-N], or sh not-run: REASON',
  ],
  text: [
    /^(?:not-run: (?<reason>.+)|(?<how>stderr|typed)?)$/,
    'text, text stderr, text typed, or text not-run: REASON',
  ],
  ts: [
    new RegExp(`^(?:${QUOTATION})$`),
    'ts FILE, with region NAME or [in "TEXT"] from "TEXT" [to "TEXT"] after it, or ts instead',
  ],
  json: [
    new RegExp(`^(?:said ${SOURCE}|${QUOTATION})$`),
    'json FILE, with from "TEXT" [to "TEXT"] after it, json instead, or json said SOURCE',
  ],
  jsonl: [
    new RegExp(`^(?:(?<how>typed)|said ${SOURCE})?$`),
    'jsonl, jsonl typed, or jsonl said SOURCE',
  ],
  mermaid: [
    new RegExp(`^(?:drawn|${SOURCE}(?<methods>(?: \\S+)*))$`),
    'mermaid clients/NAME.ts STORY, with METHOD… after it, or mermaid drawn',
  ],
  powershell: [/^not-run$/, 'powershell not-run'],
};

const COUNTED = {
  commands: 'command', outputs: 'output', quotations: 'quotation', messages: 'message',
  diagrams: 'diagram', links: 'link', notRun: 'not run', elsewhere: 'for another Node',
};

type Counts = Record<keyof typeof COUNTED, number>;

/** What became of a page. */
type Result = {
  page: Page;
  findings: Finding[];
  counts: Counts;
  linked: string[]; // where its links lead
  refreshed: number;
};

async function checkPage(
  root: string, path: string, scripts: Scripts, bench: Bench, write: boolean,
): Promise<Result> {
  const original = readFileSync(join(root, path), 'utf8');
  const { page, findings } = parsePage(path, original);
  const counts = Object.fromEntries(Object.keys(COUNTED).map((name) => [name, 0])) as Counts;
  const report: Report = (line, message) => findings.push({ page: path, line, message });
  const edits: { fence: Fence; lines: string[] }[] = [];
  const known: string[] = []; // the commands of the page so far
  let shell: Shell | undefined;
  let quotation: { file: string; lines: string[]; indent: string; isWhole: boolean } | undefined;
  let hasChanged = false; // is the page's copy other than the kit?
  let copy: ReturnType<Bench['copyKit']> | undefined;
  const folder = () => (copy ??= bench.copyKit()).folder;

  const linked = checkLinks(root, page, report);
  counts.links = findLinks(page).length;
  checkNames(root, page, scripts, report);
  for (const [index, fence] of page.fences.entries()) {
    const [kind = '', ...words] = fence.label.split(' ');
    const [form, expected] = Object.hasOwn(LABELS, kind) ? LABELS[kind] ?? [] : [];
    const groups = form?.exec(words.join(' '));
    if (!groups) {
      const kinds = `a fence is one of ${Object.keys(LABELS).join(', ')}`;
      if (fence.label === '') report(fence.line, `this fence has no label: ${kinds}`);
      else if (!expected) report(fence.line, `no fence is labelled "${kind}": ${kinds}`);
      else report(fence.line, `"${fence.label}" is no label; expected: ${expected}`);
      if (kind === 'sh') shell = { commands: [], isBroken: true, stdout: '', stderr: '' };
      continue;
    }
    const label = groups.groups ?? {};
    if (kind === 'sh') shell = await checkShell(fence, label, page.fences[index + 1]);
    else if (kind === 'text') checkText(fence, label, page.fences[index - 1]);
    else if (kind === 'powershell') checkPowershell(fence);
    else if (kind === 'jsonl') await checkMessages(fence, label, page.fences[index - 1]);
    else if (kind === 'mermaid') await checkDiagram(fence, label);
    else if (label.source) await checkSaid(fence, label.source);
    else if (words[0] === 'instead') change(fence, label.target);
    else checkQuotation(fence, label);
  }
  const isSame = readFileSync(join(root, path), 'utf8') === original;
  if (!isSame) report(1, 'this page was changed while it was checked: start again');
  if (isSame && edits.length > 0) writeFileSync(join(root, path), applyEdits(page, edits));
  return { page, findings, counts, linked, refreshed: edits.length };

  // --- sh, powershell ---

  async function checkShell(fence: Fence, label: Groups, next?: Fence): Promise<Shell> {
    const { reason, exit = '0', node } = label;
    const commands = readCommands(fence, reason);
    const texts = commands.map(({ text }) => text);
    const done: Shell = { commands: texts, stdout: '', stderr: '', ...(reason ? { reason } : {}) };
    const isTyped = /^(?:text|jsonl) typed$/.test(next?.label ?? '');
    if (reason !== undefined) return done;
    if (commands.some(({ command }) => !command)) return { ...done, isBroken: true };
    if (isTyped && commands.length !== 1) {
      report(fence.line, 'what is typed goes into one command: give that a fence of its own');
      return { ...done, isBroken: true };
    }
    if (node !== undefined && !isThisNode(node)) {
      counts.elsewhere += commands.length;
      return { ...done, isElsewhere: true };
    }
    for (const { line, text, words, command } of commands) {
      if (!command) continue;
      const input = isTyped ? `${next?.lines.join('\n')}\n` : '';
      const outcome = await perform(command, words, input, node !== undefined);
      counts.commands += 1;
      done.stdout += normalise(outcome.stdout, words, node !== undefined);
      done.stderr += outcome.stderr;
      if (outcome.problem !== undefined || outcome.code !== Number(exit)) {
        const how = outcome.problem ?? `ended with exit code ${outcome.code}, not ${exit}`;
        const hint = outcome.problem ? ': what it waits for goes into a "text typed" fence' : '';
        report(line, `${text}: ${how}${hint}${tail(outcome.stdout + outcome.stderr)}`);
        return { ...done, isBroken: true };
      }
    }
    const added = copy ? listFiles(copy.folder).filter((file) => !copy?.files.has(file)) : [];
    for (const file of added) {
      report(fence.line, `this leaves ${file} in the kit: write it below scratch/`);
      copy?.files.add(file);
    }
    return done;
  }

  /** Reads the commands of a fence; one that cannot be run is reported, and has no `command`. */
  function readCommands(fence: Fence, reason?: string) {
    if (reason !== undefined && !NOT_RUN.includes(reason)) {
      report(fence.line, `not-run: "${reason}" is no reason; there are: ${NOT_RUN.join(', ')}`);
    }
    const lines = [...fence.lines.entries()].filter(([, line]) => /^\s*[^\s#]/.test(line));
    if (lines.length === 0) report(fence.line, 'there is no command in this fence');
    return lines.map(([offset, content]) => {
      const [line, text] = [fence.line + 1 + offset, content.trim()];
      const parsed = parseCommand(text);
      known.push(text);
      const words = typeof parsed === 'string' ? [] : parsed;
      if (typeof parsed === 'string') {
        report(line, parsed);
      } else if (reason !== undefined) {
        counts.notRun += 1;
        for (const word of parsed) checkPath(root, word, (message) => report(line, message));
      } else {
        const command = mapCommand(parsed, scripts);
        if (typeof command !== 'string') return { line, text, words, command };
        report(line, command);
      }
      return { line, text, words, command: undefined };
    });
  }

  async function perform(
    command: Command, words: string[], input: string, isBare: boolean,
  ): Promise<Outcome> {
    if ('node' in command) {
      const isOwn = hasChanged || words.some((word) => /\bscratch\b/.test(word));
      const loader = isBare ? (command.isNode ? [] : tsxArguments()) : runtime();
      return bench.run(folder(), [...loader, ...command.node], input, isBare, isOwn);
    }
    const done = { code: 0, stdout: '', stderr: '' };
    const inside = (path: string) => join(folder(), path);
    hasChanged = true;
    try {
      if ('mkdir' in command) mkdirSync(inside(command.mkdir));
      else if ('restore' in command) {
        copyFileSync(join(root, command.restore), inside(command.restore));
      } else {
        const [from, to] = command.copy;
        const isFolder = existsSync(inside(to)) && statSync(inside(to)).isDirectory();
        copyFileSync(inside(from), isFolder ? join(inside(to), basename(from)) : inside(to));
      }
      return done;
    } catch (error) {
      return { ...done, code: 1, stderr: (error as Error).message };
    }
  }

  function checkPowershell(fence: Fence): void {
    for (const [offset, line] of fence.lines.entries()) {
      if (!/^\s*[^\s#]/.test(line)) continue;
      const plain = line.trim().replaceAll('\\', '/')
        .replace(/^(np[mx]|node)\.(?:cmd|exe)\b/, '$1')
        .replace(/^Copy-Item\b/, 'cp')
        .replace(/^New-Item -ItemType Directory\b/, 'mkdir');
      counts.notRun += 1;
      const message = 'no sh fence above says this; powershell only repeats what one does';
      if (!known.includes(plain)) report(fence.line + 1 + offset, message);
    }
  }

  // --- text ---

  function checkText(fence: Fence, label: Groups, previous?: Fence): void {
    const { reason, how } = label;
    if (how === 'typed') return checkTyped(fence, previous);
    if (reason !== undefined) {
      const isSame = shell !== undefined && shell.reason === reason;
      if (!isSame) report(fence.line, `there is no "sh not-run: ${reason}" above this fence`);
      return;
    }
    if (!shell) return report(fence.line, 'an output, but of what? There is no sh fence above it');
    if (shell.reason) return report(fence.line, `not run, so: text not-run: ${shell.reason}`);
    if (shell.isElsewhere || shell.isBroken) return;
    const commands = shell.commands.join('\n');
    const came = trim((how === 'stderr' ? shell.stderr : shell.stdout).split('\n')).lines;
    const mask = (line: string) => maskVolatile(line, commands);
    counts.outputs += 1;
    if (fence.lines.length > 0 && fence.lines.every(isHoleLine)) {
      return report(fence.line, 'an output of which nothing is shown');
    }
    if (!compareFence(fence, came, 'output', mask)) return;
    const found = fence.lines.map((line) => findVolatile(line, commands)[0]);
    if (write) return found.some((one) => one) ? edit(fence, fence.lines.map(mask)) : undefined;
    for (const [offset, one] of found.entries()) {
      const message = `${one?.name}, ${one?.text}, is not the same everywhere: write …`;
      if (one) report(fence.line + 1 + offset, message);
    }
  }

  function checkTyped(fence: Fence, previous?: Fence): void {
    if (/^sh(?: (?!not-run)|$)/.test(previous?.label ?? '')) return;
    report(fence.line, 'typed into what? This stands right below an sh fence that is run');
  }

  function edit(fence: Fence, lines: string[]): void {
    edits.push({ fence, lines });
  }

  /** Compares a fence with what came, and says whether it is right; --write mends it. */
  function compareFence(
    fence: Fence, came: string[], what: string, mask = (line: string) => line,
  ): boolean {
    const shown = trim(fence.lines);
    const difference = compare(shown.lines, came);
    if (!difference) return true;
    if (write) {
      const lines = refresh(shown.lines, came).map(mask);
      edit(fence, compare(lines, came) ? came.map(mask) : lines);
      return false;
    }
    const quote = (line?: string) => (line === undefined ? 'nothing more' : JSON.stringify(line));
    const line = fence.line + 1 + shown.offset + difference.shown;
    report(line, [
      `this ${what} has drifted; --write refreshes it`,
      `    shown: ${quote(shown.lines[difference.shown])}`,
      `    came:  ${quote(came[difference.came])}`,
    ].join('\n'));
    return false;
  }

  // --- ts, json ---

  function checkQuotation(fence: Fence, label: Groups): void {
    const { file = '', region, within, from, to } = label;
    quotation = undefined;
    counts.quotations += 1;
    if (!exists(root, file)) return report(fence.line, `there is no ${file}`);
    const text = readFileSync(join(root, file), 'utf8').replaceAll('\r\n', '\n');
    const words = Object.entries({ within, from, to }).flatMap(([name, word]) => (
      word === undefined ? [] : [[name, JSON.parse(word) as string]]));
    const lines = select(text, { ...(region ? { region } : {}), ...Object.fromEntries(words) });
    if (typeof lines === 'string') return report(fence.line, `${file}: ${lines}`);
    const came = dedent(trim(lines).lines);
    const isWhole = !fence.lines.some((line) => line.includes(HOLE));
    quotation = { file, lines: trim(lines).lines, indent: came.indent, isWhole };
    const shown = { ...fence, lines: dedent(fence.lines).lines };
    compareFence(shown, came.lines, 'quotation');
  }

  function change(fence: Fence, target?: string): void {
    if (!quotation) return report(fence.line, 'instead of what? There is no quotation above');
    if (!quotation.isWhole) return report(fence.line, 'instead of a quotation that has holes');
    const name = target ?? quotation.file;
    const path = join(folder(), name);
    if (!existsSync(path)) return report(fence.line, `there is no ${name}: copy it there first`);
    const text = readFileSync(path, 'utf8').replaceAll('\r\n', '\n');
    const pieces = `\n${text}`.split(`\n${quotation.lines.join('\n')}\n`);
    const times = pieces.length - 1;
    if (times !== 1) return report(fence.line, `${name} has the lines quoted ${times} times`);
    const { indent } = quotation;
    const lines = dedent(fence.lines).lines.map((line) => (line.trim() ? indent + line : ''));
    writeFileSync(path, pieces.join(`\n${lines.join('\n')}\n`).slice(1));
    counts.quotations += 1;
    hasChanged = true;
  }

  // --- jsonl, json said, mermaid ---

  async function checkMessages(fence: Fence, label: Groups, previous?: Fence): Promise<void> {
    if (label.how === 'typed') checkTyped(fence, previous);
    const said = label.source ? await readSource(fence, label.source) : undefined;
    let at = 0;
    for (const [offset, line] of fence.lines.entries()) {
      if (isHoleLine(line)) continue;
      counts.messages += 1;
      const problem = line.trim() === '' ? 'a blank line is no message' : checkEnvelope(line);
      if (problem !== undefined) report(fence.line + 1 + offset, problem);
      if (problem !== undefined || !said) continue;
      const found = said.slice(at).findIndex((entry) => isLineAsShown(line, entry.line));
      if (found === -1) reportUnsaid(fence.line + 1 + offset, line, said.slice(at));
      else at += found + 1;
    }
  }

  async function checkSaid(fence: Fence, source: string): Promise<void> {
    const line = fence.lines.join('\n').replace(/("(?:\\.|[^"\\])*")|\s+/g, '$1');
    const problem = checkEnvelope(line);
    counts.messages += 1;
    if (problem !== undefined) return report(fence.line, problem);
    const said = await readSource(fence, source);
    if (said && !said.some((entry) => isLineAsShown(line, entry.line))) {
      reportUnsaid(fence.line, line, said);
    }
  }

  function reportUnsaid(line: number, shown: string, said: Entry[]): void {
    const nearest = said[mostSimilar(shown, said.map((entry) => entry.line), 0)]?.line ?? 'nothing';
    report(line, `this was not said here; most like it was\n    ${nearest}`);
  }

  async function checkDiagram(fence: Fence, { source, methods = '' }: Groups): Promise<void> {
    counts.diagrams += 1;
    if (source === undefined) {
      const isKnown = /^\s*(?:flowchart|stateDiagram-v2|timeline)\b/.test(fence.lines[0] ?? '');
      if (isKnown) return;
      return report(fence.line, 'what is drawn by hand is a flowchart, a stateDiagram-v2 or a '
        + 'timeline; a sequenceDiagram is drawn from a transcript');
    }
    const said = await readSource(fence, source);
    if (!said) return;
    const lines = draw(said, methods.split(' ').filter((method) => method !== ''));
    if (typeof lines === 'string') report(fence.line, lines);
    else if (fence.lines.some(isHoleLine)) report(fence.line, 'a diagram has no …: name METHODs');
    else compareFence(fence, lines, 'diagram');
  }

  /** Reads what was said; reports it if that cannot be had. */
  async function readSource(fence: Fence, source: string): Promise<Entry[] | undefined> {
    const [file = '', story] = source.split(' ');
    let path = join(folder(), file);
    if (story !== undefined) {
      if (!exists(root, file)) return void report(fence.line, `there is no ${file}`);
      const recorded = await bench.record(file);
      if (typeof recorded !== 'string') return void report(fence.line, recorded.problem);
      path = join(recorded, `${story}.transcript.json`);
    }
    const entries = readTranscript(path, source);
    return typeof entries === 'string' ? void report(fence.line, entries) : entries;
  }
}

type Groups = Record<string, string | undefined>;

/** Is this process run by the Node that a label names, `node-20` or `node-22+`? */
function isThisNode(name: string): boolean {
  const major = Number.parseInt(process.versions.node, 10);
  const named = Number.parseInt(name.replace('node-', ''), 10);
  return major === named || (name.endsWith('+') && major > named);
}

/**
 * Makes an output the same on every Node: a client says by which runtime it starts its server, and
 * here that is the one of this check. The page has the one of its own command.
 */
function normalise(stdout: string, words: string[], isBare: boolean): string {
  const shown = words[0] === 'node' ? '$ node ' : '$ npx tsx ';
  return isBare ? stdout : stdout.replace(/^\$ (?:node|npx tsx) /gm, shown);
}

/** Takes the blank lines off both ends. */
function trim(lines: string[]): { lines: string[]; offset: number } {
  const offset = lines.findIndex((line) => line.trim() !== '');
  const end = lines.findLastIndex((line) => line.trim() !== '') + 1;
  return { lines: offset === -1 ? [] : lines.slice(offset, end), offset: Math.max(offset, 0) };
}

function applyEdits({ lines }: Page, edits: { fence: Fence; lines: string[] }[]): string {
  const all = [...lines];
  // From the end, so that the lines above keep their numbers.
  for (const edit of edits.toReversed()) {
    const { indent, line, lines: { length } } = edit.fence;
    all.splice(line, length, ...edit.lines.map((text) => (text === '' ? '' : indent + text)));
  }
  return all.join('\n');
}

/** Lists the files of a copy, without what the page may write. */
function listFiles(folder: string, below = ''): string[] {
  return readdirSync(join(folder, below), { withFileTypes: true }).flatMap((entry) => {
    const path = posix.join(below, entry.name);
    if (!entry.isDirectory()) return [path];
    return path === 'scratch' ? [] : listFiles(folder, path);
  });
}

function readScripts(root: string): Scripts {
  const file = join(root, 'package.json');
  if (!existsSync(file)) return {};
  const content = parse(readFileSync(file, 'utf8'));
  return content ? (content as { scripts?: Scripts }).scripts ?? {} : refuse(`${file} is no JSON.`);
}

// ---------------------------------------------------------------------------------------------
// The command
// ---------------------------------------------------------------------------------------------

function refuse(message: string): never {
  console.error(message);
  console.error('Usage: npx tsx scripts/lessons.ts [--write] [FOLDER of README.md | PAGE.md…]');
  process.exit(2);
}

/** Reads how this was called: the folder of the kit, and its pages, all or those that are named. */
function readArguments(): { write: boolean; root: string; paths: string[]; isAll: boolean } {
  let call;
  try {
    const options = { write: { type: 'boolean', default: false } } as const;
    call = parseArgs({ options, allowPositionals: true });
  } catch (error) {
    return refuse((error as Error).message);
  }
  const { values: { write }, positionals } = call;
  const kit = fileURLToPath(new URL('..', import.meta.url));
  const isAll = !positionals.some((name) => name.endsWith('.md'));
  if (isAll && positionals.length > 1) refuse(`One folder at most, not ${positionals.length}.`);
  const folder = resolve(isAll ? positionals[0] ?? kit : kit);
  if (!existsSync(join(folder, 'README.md'))) refuse(`There is no README.md in ${folder}.`);
  const root = realpathSync(folder);
  const all = listPages(root);
  if (isAll) return { write, root, paths: all, isAll };
  const paths = positionals.map((name) => relative(root, resolve(name)).split(sep).join('/'));
  const stranger = paths.find((path) => !all.includes(path));
  if (stranger !== undefined) refuse(`${stranger} is no page. There are:\n  ${all.join('\n  ')}`);
  return { write, root, paths, isAll };
}

/** Checks that each page of lessons/ can be reached from the map. */
function checkMap(results: Result[]): void {
  const map = results.find(({ page }) => page.path === 'lessons/README.md');
  for (const { page, findings } of results) {
    if (!page.path.startsWith('lessons/') || page === map?.page) continue;
    const message = map ? 'no link of the map, lessons/README.md, leads to this page'
      : 'there is no map, lessons/README.md, that leads to this page';
    const isFolder = posix.basename(page.path) === 'README.md';
    const ways = isFolder ? [page.path, posix.dirname(page.path)] : [page.path];
    if (map && ways.some((way) => map.linked.includes(way))) continue;
    findings.push({ page: page.path, line: 1, message });
  }
}

/** Says how many, such as `1 page` and `2 pages`; words that are no noun stay as they are. */
function count(number: number, words: string): string {
  return `${number} ${words}${number === 1 || words.includes(' ') ? '' : 's'}`;
}

async function main(): Promise<void> {
  process.stdout.on('error', () => process.exit(2)); // nobody reads this any more
  const { write, root, paths, isAll } = readArguments();
  const scripts = readScripts(root);
  const bench = makeBench(root);
  const results: Result[] = [];
  const waiting = [...paths.entries()];
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      results[next[0]] = await checkPage(root, next[1], scripts, bench, write);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));

  if (isAll) checkMap(results);
  const verdict = (findings: number) => (findings ? `findings: ${findings}` : 'all is well');
  let [total, commands] = [0, 0];
  for (const { page, findings, counts, refreshed } of results) {
    for (const { line, message } of findings.sort((a, b) => a.line - b.line)) {
      console.log(`${page.path}:${line}: ${message}`);
    }
    const parts = (Object.keys(COUNTED) as (keyof Counts)[]).flatMap((name) => (
      counts[name] > 0 ? [count(counts[name], COUNTED[name])] : []));
    if (refreshed > 0) parts.push(`${refreshed} refreshed`);
    console.log(`${page.path}: ${[...parts, verdict(findings.length)].join(', ')}`);
    total += findings.length;
    commands += counts.commands;
  }
  const ran = `${count(commands, 'command')} in ${count(bench.countRuns(), 'run')}`;
  console.log(`lessons: ${count(results.length, 'page')}, ${ran}, ${verdict(total)}`);
  process.exitCode = total === 0 ? 0 : 1;
}

// The tests import this file; then it does nothing by itself. Links are resolved, since a path that
// leads through one is not the file's URL.
if (realpathSync(process.argv[1] ?? '.') === realpathSync(fileURLToPath(import.meta.url))) {
  void main();
}
