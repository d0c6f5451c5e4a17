/**
 * Stands between a client and a server, passes every byte on unchanged, and writes down what
 * crossed. The SDKs' clients and the Inspector start this program in the server's place: what they
 * sent and were sent is then known to the byte, and so is how the server ended.
 *
 * Run: npx tsx scripts/interop/tap.ts RECORD SERVER.ts ARGS…
 *
 * It leaves RECORD-PID.transcript.json and RECORD-PID.cleanup.json, in the shape that `--save` of
 * the kit's clients has, and ends as the server did.
 *
 * SPDX-License-Identifier: MIT
 */

import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';

import type { Crossing, Ending } from './judging.ts';

function main(): void {
  const [record = '', ...command] = process.argv.slice(2);
  const crossings: Crossing[] = [];
  const startedAt = performance.now();
  let stderrBytes = 0;
  let wasTerminated = false;

  // The server runs as this program does: with tsx, or on a Node that drops the types itself.
  const child = spawn(process.execPath, [...process.execArgv, ...command], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });

  /** Cuts a stream into lines at byte 10; gives what to call for each piece, and the rest. */
  function lines(from: 'client' | 'server') {
    const decoder = new StringDecoder('utf8');
    let rest = '';
    return {
      add(chunk: Buffer): void {
        const pieces = (rest + decoder.write(chunk)).split('\n');
        rest = pieces.pop() ?? '';
        const atMs = Math.round(performance.now() - startedAt);
        for (const line of pieces) crossings.push({ from, atMs, expectsRefusal: null, line });
      },
      rest: () => rest,
    };
  }
  const [asked, said] = [lines('client'), lines('server')];

  process.stdin.on('data', (chunk: Buffer) => asked.add(chunk)).pipe(child.stdin);
  child.stdout.on('data', (chunk: Buffer) => said.add(chunk)).pipe(process.stdout);
  child.stderr.on('data', (chunk: Buffer) => (stderrBytes += chunk.length)).pipe(process.stderr);
  child.stdin.on('error', () => {}); // the server went first; its end is what counts
  process.stdout.on('error', () => {}); // the client went first
  process.on('SIGTERM', () => {
    wasTerminated = true;
    child.kill('SIGTERM');
  });

  child.on('close', (exitCode, signal) => {
    // A line that never ended is no message, and neither is one that is not JSON.
    const stray = crossings.filter(({ from, line }) => from === 'server' && !isJson(line));
    const text = stray.map(({ line }) => line).join('') + said.rest();
    const strayStdoutBytes = Buffer.byteLength(text);
    const ending: Ending = { exitCode, signal, strayStdoutBytes, stderrBytes, wasTerminated };
    writeFileSync(`${record}-${process.pid}.transcript.json`, JSON.stringify(crossings, null, 2));
    writeFileSync(`${record}-${process.pid}.cleanup.json`, JSON.stringify(ending, null, 2));
    process.exit(exitCode ?? 1);
  });
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

main();
