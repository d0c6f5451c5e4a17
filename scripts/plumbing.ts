/**
 * Keeps the promises that every file in servers/ and clients/ makes, tests aside:
 *
 * - Plumbing is repeated, never imported, and must not drift. A region is what stands between
 *   `// #region NAME — …` and `// #endregion NAME`; where the name is the same, so are the bytes.
 * - A file stays short enough to be read at one sitting: see CEILINGS.
 * - A file runs when it is copied alone: it imports `node:` modules and nothing else, and has no
 *   top-level `await`. It names its licence and the command that runs it, in 100 columns.
 *
 * Run: npx tsx scripts/plumbing.ts [--write] [FOLDER]
 *
 * --write copies each region's original over the copies that drifted. FOLDER is the one that holds
 * servers/ and clients/, by default this kit's. Exit code: 0 all is well, 1 something was found,
 * 2 called wrongly.
 */

import { existsSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import { parseRunLine } from './testing.ts';

/** The files' texts by path from the kit's folder, with forward slashes: `servers/echo.ts`. */
export type Files = ReadonlyMap<string, string>;

/** Something that is not as it should be, and where. Lines count from 1. */
export type Finding = { path: string; line: number; message: string };

/** A marked region of one file, its two marker lines included. */
export type Region = { name: string; path: string; line: number; lines: string[] };

/** How many lines of code a file has above the banner `// Plumbing:`, and below it. */
export type Size = { path: string; above: number; below: number; limits: Limits };

type Limits = { above: number; below: number };

// In lines of code, without comments and blank lines. A ceiling is there to make you look for the
// simpler way, never to squeeze lines. Above the banner is a server's idea, or a client's stories.
const SERVER: Limits = { above: Infinity, below: 240 };
const CLIENT: Limits = { above: 130, below: 270 };
const CEILINGS: Record<string, Limits> = {
  'servers/echo.ts': { ...SERVER, above: 70 },
  'servers/notes.ts': { ...SERVER, above: 70 },
  'servers/snapshot.ts': { ...SERVER, above: 80 },
  'servers/atlas.ts': { ...SERVER, above: 110 },
  'servers/files.ts': { ...SERVER, above: 110 },
  'clients/snapshot.ts': { ...CLIENT, above: 190 },
  'clients/atlas.ts': { ...CLIENT, above: 190 },
  'clients/probe.ts': { ...CLIENT, above: 190 },
};

// Where a region's original is; with neither, it is in the first file, by name, that has it.
const ORIGINALS = ['servers/echo.ts', 'clients/echo.ts'];

const COLUMNS = 100;

// ---------------------------------------------------------------------------------------------
// Regions
// ---------------------------------------------------------------------------------------------

/** Finds the regions of one file, and what is wrong with its markers. */
export function findRegions(
  path: string,
  text: string,
): { regions: Region[]; findings: Finding[] } {
  const regions: Region[] = [];
  const findings: Finding[] = [];
  const lines = text.split('\n');
  let open: { name: string; line: number } | undefined;

  for (const [index, content] of lines.entries()) {
    const line = index + 1;
    const report = (message: string): number => findings.push({ path, line, message });
    // Anything that looks like a marker must be one: a misspelt marker would hide its region.
    if (!/^\s*\/\/\s*#\s*(?:end)?region\b/i.test(content)) continue;
    const start = /^\/\/ #region ([a-z0-9-]+) — \S/.exec(content)?.[1];
    const end = /^\/\/ #endregion ([a-z0-9-]+)$/.exec(content)?.[1];
    if (start !== undefined) {
      if (open !== undefined) {
        report(`region ${start} begins inside ${open.name}, which began at line ${open.line}`);
      } else if (regions.some(({ name }) => name === start)) {
        report(`region ${start} is here for the second time`);
      }
      open = { name: start, line };
    } else if (end === undefined) {
      report('a marker is "// #region NAME — what it is" or "// #endregion NAME"; this is neither');
    } else if (open?.name !== end) {
      const expected = open === undefined ? 'no region is open' : `the open region is ${open.name}`;
      report(`region ${end} ends here, but ${expected}`);
      open = undefined;
    } else {
      regions.push({ name: end, path, line: open.line, lines: lines.slice(open.line - 1, line) });
      open = undefined;
    }
  }
  if (open !== undefined) {
    findings.push({ path, line: open.line, message: `region ${open.name} has no end` });
  }
  return { regions, findings };
}

/** Pairs each region that differs from its original with that original. */
export function findDrift(files: Files): { copy: Region; original: Region }[] {
  const all = [...files].flatMap(([path, text]) => findRegions(path, text).regions);
  return all.flatMap((copy) => {
    const original = all.filter(({ name }) => name === copy.name).sort(byAuthority)[0] ?? copy;
    const isSame = copy.lines.join('\n') === original.lines.join('\n');
    return isSame ? [] : [{ copy, original }];
  });
}

function byAuthority(a: Region, b: Region): number {
  const rank = ({ path }: Region): number => [...ORIGINALS, path].indexOf(path);
  if (rank(a) !== rank(b)) return rank(a) - rank(b);
  // By name; and of two with one name, the server's.
  return compare(basename(a.path), basename(b.path)) || compare(b.path, a.path);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Says where a copy differs first, and what to do about it. */
function describeDrift({ copy, original }: { copy: Region; original: Region }): Finding {
  const isOther = (line: string, index: number): boolean => line !== copy.lines[index];
  // Both end with the same marker: where one is shorter, its marker is what differs.
  const offset = original.lines.findIndex(isOther);
  const message = [
    `region ${copy.name} differs from the original, ${original.path}:${original.line + offset}`,
    `  expected: ${JSON.stringify(original.lines[offset])}`, // JSON shows a tab or a CR
    `  found:    ${JSON.stringify(copy.lines[offset])}`,
    '  Put your change, if it is one, into the original; --write copies that over all others.',
  ].join('\n');
  return { path: copy.path, line: copy.line + offset, message };
}

/** Gives the new texts of the files that have drifted copies. */
export function repair(files: Files): Map<string, string> {
  const repaired = new Map<string, string>();
  // From the end of each file, so that line numbers above stay true.
  for (const { copy, original } of findDrift(files).sort((a, b) => b.copy.line - a.copy.line)) {
    const lines = (repaired.get(copy.path) ?? files.get(copy.path) ?? '').split('\n');
    lines.splice(copy.line - 1, copy.lines.length, ...original.lines);
    repaired.set(copy.path, lines.join('\n'));
  }
  return repaired;
}

// ---------------------------------------------------------------------------------------------
// Sizes
// ---------------------------------------------------------------------------------------------

/** Measures a file; undefined if it has no banner. */
export function measure(path: string, files: Files): Size | undefined {
  const text = files.get(path) ?? '';
  const banner = text.split('\n').findIndex((line) => line.startsWith('// Plumbing:'));
  if (banner === -1) return undefined;
  const size: Size = { path, above: 0, below: 0, limits: limitsOf(path) };
  const own = findOwnRegions(path, files);
  for (const [index, line] of blank(text).split('\n').entries()) {
    if (line.trim() === '') continue;
    const isAbove = index < banner;
    const isOwn = own.some((region) => isInside(region, index + 1));
    if (isOwn && (isAbove || path.startsWith('servers/'))) continue;
    size[isAbove ? 'above' : 'below'] += 1;
  }
  return size;
}

function limitsOf(path: string): Limits {
  return CEILINGS[path] ?? (path.startsWith('servers/') ? SERVER : CLIENT);
}

/**
 * The regions that a file adds to the shared ones, which are echo's. They have no ceiling, save that
 * what holds a conversation is the same in all clients: below the banner a client's own count.
 */
function findOwnRegions(path: string, files: Files): Region[] {
  const original = `${path.split('/')[0]}/echo.ts`;
  const echo = files.get(original);
  if (echo === undefined) return [];
  const shared = findRegions(original, echo).regions.map(({ name }) => name);
  const { regions } = findRegions(path, files.get(path) ?? '');
  return regions.filter(({ name }) => !shared.includes(name));
}

function isInside(region: Region, line: number): boolean {
  return line >= region.line && line < region.line + region.lines.length;
}

function checkSize(path: string, files: Files): Finding[] {
  const size = measure(path, files);
  if (size === undefined) {
    const message = 'no banner line "// Plumbing: …" between what is to be read and the plumbing';
    return [{ path, line: 1, message }];
  }
  const { above, below, limits } = size;
  const findings: Finding[] = [];
  const limit = (part: string, lines: number, most: number): void => {
    if (lines <= most) return;
    const message = `${part}: ${lines} lines of code, ${most} at most; look for the simpler way`;
    findings.push({ path, line: 1, message });
  };
  limit(path.startsWith('servers/') ? 'the idea' : 'the stories', above, limits.above);
  limit('the plumbing', below, limits.below);
  return findings;
}

// ---------------------------------------------------------------------------------------------
// The single-file law
// ---------------------------------------------------------------------------------------------

/** Checks what lets a file be copied out alone. */
export function checkLaw(path: string, text: string): Finding[] {
  const findings: Finding[] = [];
  const code = blank(text);
  const report = (offset: number, message: string): void => {
    findings.push({ path, line: text.slice(0, offset).split('\n').length, message });
  };

  const opening = text.slice(0, code.search(/\S|$/)); // the comments above the first line of code
  if (!/SPDX-License-Identifier: MIT\b/.test(opening)) {
    report(0, 'no "SPDX-License-Identifier: MIT" in the opening comment');
  }
  const runs = parseRunLine(text)?.file;
  if (runs !== path) {
    const found = runs === undefined ? 'has no such line' : `has ${runs}`;
    report(0, `"Run: npx tsx ${path}" belongs into the opening comment, which ${found}`);
  }

  // `import … from 'x'`, `export … from 'x'`, `import 'x'`, `import('x')`, `require('x')`; what is
  // imported is read from the text itself, since `code` has strings blanked.
  const imports = /(?<![.\w$])(?:(?:from|import)\s*(?=['"])|(?:import|require)\s*\(\s*)/g;
  for (const { index, 0: keyword } of code.matchAll(imports)) {
    const specifier = text.slice(index + keyword.length);
    if (/^(['"`])node:[\w/]+\1/.test(specifier)) continue;
    report(index, `imports ${firstWord(specifier)}: only node: modules, named outright, may be`);
  }

  for (const offset of findTopLevelAwaits(code)) {
    report(offset, 'await at the top level: CommonJS has none; put it into an async function');
  }

  // Characters, not what a terminal makes of them: there, a Chinese one is two columns wide.
  for (const [index, line] of text.split('\n').entries()) {
    const columns = [...line].length;
    if (columns <= COLUMNS) continue;
    findings.push({ path, line: index + 1, message: `${columns} columns, ${COLUMNS} at most` });
  }
  return findings;
}

function firstWord(text: string): string {
  return /^(?:(['"`]).*?\1|[^\s)]*)/.exec(text)?.[0] ?? '';
}

/**
 * Finds each `await` that no `async` precedes in its top-level statement. An `async` that belongs
 * to another function of that statement deceives it; scripts/alone.test.ts does not let that pass.
 */
function findTopLevelAwaits(code: string): number[] {
  const offsets: number[] = [];
  let depth = 0;
  let isAsync = false;
  for (const { index, 0: token } of code.matchAll(/[([{]|[)\]}]|;|\basync\b|\bawait\b/g)) {
    if (/[([{]/.test(token)) depth += 1;
    else if (/[)\]}]/.test(token)) depth -= 1;
    else if (token === 'async') isAsync = true;
    else if (token === 'await' && !isAsync) offsets.push(index);
    // A statement ends with a semicolon, or with a brace that is the last of its line.
    const isEnd = token === ';' || (token === '}' && /[\r\n]|^$/.test(code.charAt(index + 1)));
    if (isEnd && depth === 0) isAsync = false;
  }
  return offsets;
}

// ---------------------------------------------------------------------------------------------
// A scanner that knows comments, strings, templates and regular expressions, and nothing else
// ---------------------------------------------------------------------------------------------

/**
 * Blanks comments with spaces, and the insides of strings, templates and regular expressions with
 * underscores. Each character keeps its place, and each line its number.
 *
 * It is no parser. Whether a slash divides or opens a regular expression it guesses from what is
 * before it, and it guesses wrong after the `)` of an `if` or a `while`, and after a `}` that ends
 * an object. A regular expression or a quoted string ends with its line at the latest, so that a
 * wrong guess costs that line and no more, save where the line has a backtick or a `/*` in it.
 */
export function blank(text: string): string {
  let code = '';
  let at = 0;
  let before = ''; // the last word or sign that is no space and no comment
  const templates: number[] = []; // the braces open in the `${…}` of each template that is open

  if (text.startsWith('#!')) hide(measureMatch(/.*/y), ' ');
  while (at < text.length) {
    const character = text.charAt(at);
    const depth = templates.at(-1);
    const comment = measureMatch(/\/\/.*|\/\*[^]*?(?:\*\/|$(?![^]))/y);
    const string = measureMatch(/'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/y);
    const expression = ASKS_FOR_VALUE.test(before) ? measureMatch(REGULAR_EXPRESSION) : 0;
    if (comment > 0) hide(comment, ' ');
    else if (string > 0) hideInside(string);
    else if (character === '`') hideTemplate();
    else if (character === '}' && depth === 0) {
      templates.pop();
      hideTemplate();
    } else if (expression > 0) hideInside(expression);
    else {
      if (depth !== undefined && character === '{') templates.splice(-1, 1, depth + 1);
      if (depth !== undefined && character === '}') templates.splice(-1, 1, depth - 1);
      take(measureMatch(/[\w$]+|\s+/y) || 1);
    }
  }
  return code;

  function measureMatch(pattern: RegExp): number {
    pattern.lastIndex = at; // the patterns are sticky: they match here or nowhere
    return pattern.exec(text)?.[0].length ?? 0;
  }

  function take(length: number): void {
    const token = text.slice(at, at + length);
    if (token.trim() !== '') before = token;
    code += token;
    at += length;
  }

  function hide(length: number, filler: string): void {
    code += text.slice(at, at + length).replace(/\S/g, filler);
    at += length;
  }

  function hideInside(length: number): void {
    take(1);
    hide(length - 2, '_');
    take(1);
    before = 'value';
  }

  // From a backtick, or from the brace that closes a `${`, to the next of the two.
  function hideTemplate(): void {
    take(1);
    hide(measureMatch(/(?:\\[^]|\$(?!\{)|[^\\`$])*/y), '_');
    const isOpen = text.charAt(at) === '$';
    take(isOpen ? 2 : 1);
    if (isOpen) templates.push(0);
    before = isOpen ? '{' : 'value';
  }
}

// A slash, then anything up to the next one that is neither escaped nor in [brackets].
const REGULAR_EXPRESSION = /\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\//y;

// What a value follows, so that a slash after it opens one and does not divide.
const ASKS_FOR_VALUE =
  /^(?:|[([{},=;:!&|?+\-*%<>~^]|return|typeof|case|in|of|void|throw|do|else|yield|await)$/;

// ---------------------------------------------------------------------------------------------
// The command
// ---------------------------------------------------------------------------------------------

/** Checks everything; the findings come sorted by file and line. */
export function check(files: Files): Finding[] {
  const findings = findDrift(files).map(describeDrift);
  for (const [path, text] of files) {
    findings.push(...findRegions(path, text).findings);
    findings.push(...checkSize(path, files), ...checkLaw(path, text));
  }
  return findings.sort((a, b) => compare(a.path, b.path) || a.line - b.line);
}

function readFiles(root: string): Map<string, string> {
  const files = new Map<string, string>();
  for (const folder of ['servers', 'clients']) {
    if (!existsSync(join(root, folder))) continue;
    for (const name of readdirSync(join(root, folder)).sort()) {
      if (!name.endsWith('.ts') || name.endsWith('.test.ts')) continue;
      files.set(`${folder}/${name}`, readFileSync(join(root, folder, name), 'utf8'));
    }
  }
  return files;
}

function printSizes(files: Files): void {
  const rows = [['lines of code', 'idea or stories', 'plumbing']];
  for (const path of files.keys()) {
    const size = measure(path, files);
    const { above, below } = size?.limits ?? SERVER;
    const idea = above === Infinity ? `${size?.above}` : `${size?.above} of ${above}`;
    rows.push(size ? [path, idea, `${size.below} of ${below}`] : [path, 'no banner', '']);
  }
  const width = Math.max(...rows.map(([path = '']) => path.length));
  for (const [path = '', idea = '', plumbing = ''] of rows) {
    console.log(`${path.padEnd(width)}  ${idea.padStart(15)}  ${plumbing.padStart(10)}`.trimEnd());
  }
}

function refuse(message: string): never {
  console.error(message);
  console.error('Usage: npm run plumbing -- [--write] [FOLDER that holds servers/ and clients/]');
  process.exit(2);
}

function readArguments(): { write: boolean; root: string } {
  const args = process.argv.slice(2);
  const folders = args.filter((argument) => argument !== '--write');
  const unknown = folders.find((argument) => argument.startsWith('-'));
  if (unknown !== undefined) refuse(`Unknown option ${unknown}.`);
  if (folders.length > 1) refuse(`One folder at most, not ${folders.length}.`);
  const kit = fileURLToPath(new URL('..', import.meta.url));
  return { write: args.includes('--write'), root: resolve(folders[0] ?? kit) };
}

function main(): void {
  process.stdout.on('error', () => process.exit(2)); // nobody reads this any more
  const { write, root } = readArguments();
  let files: Files = readFiles(root);
  if (files.size === 0) refuse(`No *.ts in ${join(root, 'servers')} or ${join(root, 'clients')}.`);

  // While a marker is wrong, nobody knows what a region is, so nothing is written.
  const isSound = [...files].every(([path, text]) => !findRegions(path, text).findings.length);
  if (write && isSound) {
    const repaired = repair(files);
    for (const [path, text] of repaired) {
      writeFileSync(join(root, path), text);
      console.log(`${path}: drifted regions repaired`);
    }
    files = new Map([...files, ...repaired]);
  } else if (write) {
    console.log('Nothing is written while a marker is wrong.');
  }

  const findings = check(files);
  for (const { path, line, message } of findings) console.log(`${path}:${line}: ${message}`);
  printSizes(files);
  const regions = [...files].flatMap(([path, text]) => findRegions(path, text).regions);
  const names = new Set(regions.map(({ name }) => name));
  const verdict = findings.length === 0 ? 'all is well' : `findings: ${findings.length}`;
  const places = `${names.size} regions in ${regions.length} places`;
  console.log(`plumbing: ${files.size} files, ${places}, ${verdict}`);
  process.exitCode = findings.length === 0 ? 0 : 1;
}

// The tests import this file; then it does nothing by itself. Links are resolved, since a path that
// leads through one is not the file's URL.
if (realpathSync(process.argv[1] ?? '.') === realpathSync(fileURLToPath(import.meta.url))) main();
