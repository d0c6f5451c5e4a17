/**
 * Judge: the command line of the MCP Inspector asks every server of the kit, in both eras: what it
 * says of itself, every list, and of each kind of request at least one. Each question is a process
 * of its own. It needs a newer Node than the kit: the one from the npm package `node` runs it.
 * Each server is also started as scripts/host-config.ts has it configured.
 *
 * What the Inspector cannot ask, by its own `--help` and messages (2.12.0): `ping`,
 * `server/discover` on its own, methods that it does not know, a second page, or a tool that is not
 * in the list (it says so itself, and asks nobody). It shows an error's message, not its code: the
 * code is read from the wire.
 *
 * SPDX-License-Identifier: MIT
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import {
  type Contract, type Step, CONTRACTS, mismatchOfError, mismatchOfResult,
} from './contracts.ts';
import {
  type Era, type JsonObject, type Pattern, type Stand, type Verdict,
  freshFolder, INTEROP, inPairs, isJudged, isObject, KIT, mismatch, nodeOf, readRecords, run,
  RUNTIME_ARGUMENTS, serverFile,
} from './judging.ts';

const NODE = 'node24';
const SCRIPT = join(
  INTEROP, 'node_modules', '@modelcontextprotocol', 'inspector', 'clients', 'launcher', 'build',
  'index.js',
);

/** How the Inspector is told which era to speak, and what it then speaks with our servers. */
const MODES: { option: string; era: Era; version: string }[] = [
  { option: 'legacy', era: 'legacy', version: '2025-11-25' },
  { option: 'modern', era: 'modern', version: '2026-07-28' },
  { option: 'auto', era: 'modern', version: '2026-07-28' },
];

/** Writes a request as the Inspector's options. */
function optionsOf({ method, params }: Step): string[] {
  const { name, arguments: args = {}, uri } = params as Record<string, string | JsonObject>;
  const options = ['--method', method];
  if (method === 'tools/call') options.push('--tool-args-json', JSON.stringify(args));
  if (method === 'tools/call') options.push('--tool-name', String(name));
  if (method === 'prompts/get') options.push('--prompt-name', String(name));
  if (method === 'resources/read') options.push('--uri', String(uri));
  if (method !== 'prompts/get') return options;
  const pairs = Object.entries(args as JsonObject).map(([key, value]) => `${key}=${value}`);
  return pairs.length > 0 ? [...options, '--prompt-args', ...pairs] : options;
}

/** Asks one question, and judges the answer, the wire, and how the servers ended. */
async function ask(
  stand: Stand,
  verdict: Verdict,
  folder: string,
  contract: Contract,
  [option, era]: [string, Era],
  [label, options]: [string, string[]],
  judgeAnswer: (answer: JsonObject, error: unknown) => string | undefined,
): Promise<void> {
  const name = `${option}/${contract.name}: ${label}`;
  const record = join(folder, `${era}-${label.replace(/[^\w-]+/g, '_')}`);
  const node = nodeOf(NODE);
  const tap = [join(INTEROP, 'tap.ts'), record, serverFile(stand, contract.server)];
  const outcome = await run(node, [
    SCRIPT, '--cli', '--protocol-era', option, '--format', 'json', '--quiet', ...options,
    '--', node, ...tap, ...contract.args,
  ]);
  // The result is the first line of stdout; what failed is said on stderr.
  const text = outcome.stdout.trim() || outcome.stderr.trim();
  const answer: unknown = parse(text.split('\n')[0] ?? '');
  const records = readRecords(folder).filter((one) => one.file.startsWith(`${record}-`));
  const wire = records.flatMap(({ crossings }) => crossings).map(({ line }) => parse(line));
  const error = wire.map((message) => isObject(message) && message.error).find((one) => one);
  const problem = isObject(answer) ? judgeAnswer(answer, error) : `no JSON: ${text}`;
  verdict.check(name, problem);
  verdict.that(`${name}: a record`, records.length > 0, outcome.stderr);
  for (const { ending } of records) {
    const { exitCode, strayStdoutBytes, stderrBytes, wasTerminated } = ending;
    const isSilent = strayStdoutBytes + stderrBytes === 0;
    const isClean = exitCode === 0 && isSilent && !wasTerminated;
    verdict.that(`${name}: a clean end`, isClean, ending);
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Compares an answer, in the shape that the Inspector prints, with what a step must bring. */
function mismatchOfAnswer(step: Step, era: Era, answer: JsonObject, error: unknown) {
  const expected = step[era];
  if ('result' in expected) return mismatchOfResult(expected, answer.result);
  return mismatchOfError(expected, error, era) ??
    mismatch(expected.message, isObject(answer.error) ? answer.error.message : answer);
}

/** Lets the Inspector start a server by the configuration that the kit prints for it. */
async function askByConfig(verdict: Verdict, folder: string, contract: Contract): Promise<void> {
  const { name, server, args, serverInfo, capabilities } = contract;
  const script = join(KIT, 'scripts', 'host-config.ts');
  const printed = await run(
    process.execPath, [...RUNTIME_ARGUMENTS, script, 'inspector', server, ...args]);
  const file = join(folder, `${name}.json`);
  writeFileSync(file, printed.stdout);
  const options = ['--method', 'initialize', '--format', 'json', '--quiet'];
  const outcome = await run(
    nodeOf(NODE), [SCRIPT, '--cli', '--config', file, '--server', server, ...options],
    { cwd: folder });
  const answer: unknown = parse(outcome.stdout.trim().split('\n')[0] ?? '');
  // Without a word about the era, in the file or beside it, the Inspector speaks legacy.
  const protocolVersion = '2025-11-25';
  const hello: Pattern = { result: { serverInfo, protocolVersion, capabilities } };
  const came = outcome.stdout + outcome.stderr + printed.stderr;
  verdict.check(
    `the printed configuration of ${name}`,
    isObject(answer) ? mismatch(hello, answer) : `no JSON: ${came}`);
}

export async function judge(stand: Stand, verdict: Verdict): Promise<void> {
  const folder = freshFolder(stand, 'inspector');
  let questions = 0;
  // The questions about one server come one after the other, since some compare two answers.
  const contracts = CONTRACTS.filter(({ server }) => isJudged(stand, server));
  const jobs = MODES.flatMap(({ option, era, version }) => contracts.map((contract) => async () => {
    const { serverInfo, capabilities } = contract;
    const hello: Pattern = { result: { serverInfo, protocolVersion: version, capabilities } };
    const isHello = (answer: JsonObject) => mismatch(hello, answer);
    const about = ['initialize', ['--method', 'initialize']] as [string, string[]];
    // A folder of their own, so that nobody reads what another one is still writing.
    const own = join(folder, `${option}-${contract.name}`);
    mkdirSync(own);
    const put = ask.bind(undefined, stand, verdict, own, contract, [option, era]);
    await put(about, isHello);
    questions += 1;
    // What `auto` finds out is the era; the questions are those of modern.
    const steps = option === 'auto' ? [] : contract.steps().filter(({ inspector }) => inspector);
    for (const step of steps) {
      await put([step.label, optionsOf(step)], (answer, error) =>
        mismatchOfAnswer(step, era, answer, error));
      questions += 1;
    }
  }));
  await inPairs(jobs);
  // An edited copy is elsewhere, and no name in the kit.
  const configs = join(folder, 'configs');
  mkdirSync(configs);
  const configured = stand.isEdited ? [] : contracts;
  await inPairs(configured.map((contract) => () => askByConfig(verdict, configs, contract)));
  questions += configured.length;
  verdict.counted = `${questions} questions, each a process of its own`;
}
