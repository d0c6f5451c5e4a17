/**
 * The servers that the tests of the tap put behind it. They know nothing of MCP: what counts is how
 * they treat bytes, ends of streams and signals.
 *
 * Run: node scripts/tap-fakes.mjs NAME ARGS
 *
 * Into the folder that the variable TAP_DIARY names goes an empty file with the process's id, so
 * that a test can see whether anything is left.
 */

import { spawn } from 'node:child_process';
import { closeSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';

const [name = '', ...args] = process.argv.slice(2);
if (process.env.TAP_DIARY) writeFileSync(join(process.env.TAP_DIARY, `${process.pid}.pid`), '');
// Taken where it is needed: a stream that was looked at once is no longer closed by its number.
const stdin = () => process.stdin;
const { stdout, stderr } = process;
const atEnd = (action) => stdin().resume().on('end', action);

/** Writes a long line in pieces as fast as it is taken, and notes in a file how far it came. */
function flood(bytes, count, piece = Buffer.alloc(64 * 1024, 'x')) {
  let written = 0;
  stdout.on('error', () => process.exit(5)); // nobody reads it
  const go = () => {
    while (written < bytes) {
      written += piece.length;
      const isTaken = stdout.write(piece);
      writeFileSync(count, String(written));
      if (!isTaken) return stdout.once('drain', go);
    }
    stdout.end();
  };
  go();
}

const FAKES = {
  /** Gives back what comes, byte for byte. */
  mirror: () => stdin().pipe(stdout),

  /** Tells on both streams that it is done, and with what it ends. */
  exit: (code) => atEnd(() => {
    stdout.write('the last line, without a line feed');
    stderr.write('a word on stderr\n');
    process.exitCode = Number(code);
  }),

  /** Ends at once, and reads nothing. */
  early: () => process.exit(9),

  /** Is ended by a signal once its input has ended. */
  killed: (signal) => atEnd(() => process.kill(process.pid, signal)),

  /** Answers only when nothing more can come: the streams end one by one. */
  late: () => atEnd(() => setTimeout(() => stdout.write('after the end\n'), 100)),

  /** Tells each signal, and ends with the last. */
  signals: () => {
    for (const signal of ['SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGTERM']) {
      process.on(signal, () => {
        stdout.write(`${signal}\n`);
        if (signal === 'SIGTERM') process.exitCode = 7;
        if (signal === 'SIGTERM') stdin().destroy();
      });
    }
    stdin().resume();
    stdout.write('ready\n');
  },

  /** Has no more to say, and lives on until its input ends. */
  'close-stdout': () => {
    writeSync(1, 'goodbye\n');
    closeSync(1);
    atEnd(() => process.exit(4));
  },

  /** Takes no input, and lives on until a signal. */
  'close-stdin': () => {
    closeSync(0);
    stdout.write('ready\n');
    setInterval(() => {}, 1000);
  },

  flood: (bytes, count) => flood(Number(bytes), count),

  /** Reads nothing. */
  deaf: () => setInterval(() => {}, 1000),

  /** Heeds neither the end of its input, nor SIGTERM, nor a broken pipe. */
  stubborn: () => {
    process.on('SIGTERM', () => {});
    stdout.on('error', () => {});
    setInterval(() => stdout.write('more\n'), 20);
  },

  /** Ends, while a process that it started holds its pipes. */
  orphan: () => {
    const code = 'setTimeout(() => {}, 20_000)';
    const child = spawn(process.execPath, ['-e', code], { stdio: 'inherit', detached: true });
    writeFileSync(join(process.env.TAP_DIARY, `${child.pid}.pid`), '');
    child.unref();
    atEnd(() => process.exit(6));
  },

  /** Ends, while a process that it started goes on writing, to stdout (1) or stderr (2). */
  chatter: (descriptor) => {
    const code = `setInterval(() => require('fs').writeSync(${descriptor}, 'and\\n'), 100);
      setTimeout(() => process.exit(), 90_000);`;
    const child = spawn(process.execPath, ['-e', code], { stdio: 'inherit', detached: true });
    writeFileSync(join(process.env.TAP_DIARY, `${child.pid}.pid`), '');
    child.unref();
    atEnd(() => process.exit(6));
  },

  /** Says how it was started. */
  self: (...rest) => {
    const { TAP_TEST } = process.env;
    stdout.write(`${JSON.stringify({ rest, folder: process.cwd(), TAP_TEST })}\n`);
  },

  /** Says some lines, one for each argument. */
  say: (...texts) => {
    stdout.write(texts.map((text) => `${text}\n`).join(''));
    stdin().resume();
  },
};

FAKES[name](...args);
