/**
 * Do the judges see it? Breaks one rule in a copy of a server, asks the judges about the copy, and
 * prints who caught it. A break that nobody catches, or a copy without one that somebody does not
 * like, is a failure. It takes some minutes, and is run by hand when judges have changed.
 *
 * Run: npm run interop -- --prove
 *
 * SPDX-License-Identifier: MIT
 */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { INTEROP, KIT, run, RUNTIME_ARGUMENTS } from './judging.ts';

/** One broken rule: where the text stands in servers/echo.ts, and what stands there instead. */
type Break = { name: string; find: string; replace: string };

const BREAKS: Break[] = [
  { name: 'nothing (the copy as it is)', find: '', replace: '' },
  {
    name: 'a modern result without resultType',
    find: '{ resultType, ...hints, ...result, _meta }',
    replace: '{ ...hints, ...result, _meta }',
  },
  {
    name: 'a notification is answered',
    find: 'return notified(connection, message);',
    replace: "return refuse(connection, -32601, 'Method not found');",
  },
  {
    name: 'initialize agrees to 2026-07-28 where it is offered',
    find: 'LEGACY_VERSIONS.find((known) => known === asked)',
    replace: '[...LEGACY_VERSIONS, MODERN_VERSION].find((known) => known === asked)',
  },
  {
    name: 'initialize answers 2026-07-28 always',
    find: 'return { protocolVersion, capabilities: CAPABILITIES, serverInfo: SERVER_INFO };',
    replace: 'return { protocolVersion: MODERN_VERSION, capabilities: CAPABILITIES, ' +
      'serverInfo: SERVER_INFO };',
  },
  {
    name: 'a result member of the wrong type: ttlMs is a string',
    find: "return isCacheable ? { ttlMs: 3_600_000, cacheScope: 'public' } : undefined;",
    replace: "return isCacheable ? { ttlMs: '3600000', cacheScope: 'public' } : undefined;",
  },
  {
    name: 'a result member of the wrong type: the description of a tool is a number',
    find: "description: 'Says back the text that it is given.'",
    replace: 'description: 7',
  },
  {
    name: 'the id comes back as a string',
    find: "{ jsonrpc: '2.0', id: request.id, ...outcome }",
    replace: "{ jsonrpc: '2.0', id: String(request.id), ...outcome }",
  },
  {
    name: 'an unsupported version is refused without data.supported',
    find: 'const data = { supported: [MODERN_VERSION], requested };',
    replace: 'const data = { requested };',
  },
  {
    name: 'it does not end with its input',
    find: ".on('end', end)",
    replace: ".on('end', () => setInterval(() => {}, 1000))",
  },
  {
    name: 'it writes a line of its own to stdout',
    find: 'requireNode20();\n  greetTerminal();',
    replace: "requireNode20();\n  console.log('echo is ready');\n  greetTerminal();",
  },
];

/** Asks the judges about one broken copy; gives the names of those who did not agree. */
async function whoSees({ find, replace }: Break): Promise<string[]> {
  const text = readFileSync(join(KIT, 'servers', 'echo.ts'), 'utf8');
  if (!text.includes(find)) throw new Error(`servers/echo.ts no longer has: ${find}`);
  const folder = mkdtempSync(join(tmpdir(), 'interop '));
  try {
    writeFileSync(join(folder, 'echo.ts'), text.replace(find, () => replace));
    const args = [join(INTEROP, 'interop.ts'), '--servers', folder];
    const { stdout } = await run(process.execPath, [...RUNTIME_ARGUMENTS, ...args], {
      deadline: 600_000,
    });
    if (!stdout.includes('\nresult: ')) throw new Error(`the judges did not finish: ${stdout}`);
    return [...stdout.matchAll(/^FAIL +(\S+)/gm)].map(([, name = '']) => name);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Tries every break, and says whether each was seen. */
export async function prove(): Promise<boolean> {
  let isWell = true;
  for (const one of BREAKS) {
    const seenBy = await whoSees(one);
    const isRight = (seenBy.length > 0) === (one.find !== '');
    console.log(`${isRight ? 'PASS' : 'FAIL'}  ${one.name}: ${seenBy.join(', ') || 'nobody'}`);
    isWell &&= isRight;
  }
  return isWell;
}
