/**
 * Prints a configuration with which a host (an editor, a desktop assistant, the Inspector) starts a
 * server of the kit. It only prints: your host's files stay as they are until you change them.
 *
 * Run: npx tsx scripts/host-config.ts claude-code echo
 * With a folder for the files server: npx tsx scripts/host-config.ts cursor files ~/Documents
 * With the tap in front: npx tsx scripts/host-config.ts vscode echo --tap echo.log.jsonl
 * Which hosts there are: npx tsx scripts/host-config.ts --help
 *
 * On stdout is the JSON alone, so that you can copy or redirect it; on stderr is where it belongs,
 * what to do then, and what nobody has tried.
 *
 * A host is no shell. It starts a server in a folder of its own, with few environment variables,
 * and often with another PATH than yours. So every path here is absolute, the program is the very
 * Node that runs this, and neither npx nor a shell comes into it.
 *
 * Exit code: 0 it was printed; 2 called wrongly, or nothing here can run TypeScript.
 *
 * SPDX-License-Identifier: MIT
 */

import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

import { folderOfRun, parseRunLine } from './testing.ts';

/** How a host starts a server: a program and its arguments, with no shell between. */
type Launch = { command: string; args: string[] };

/** What one host wants, and what its documentation says about it. */
type Host = {
  title: string;
  /** The whole content of the host's file, with one server in it. */
  config: (name: string, launch: Launch) => object;
  /** Where the file belongs. */
  places: string[];
  /** What to do then, and how to see that it works. */
  next: (name: string, launch: Launch) => string[];
  /** Which of it was seen to work, and where the rest is from. */
  tried: string;
};

// ---------------------------------------------------------------------------------------------
// The hosts. Each was looked up where it says; nothing here is a guess.
// ---------------------------------------------------------------------------------------------

const inMcpServers = (name: string, launch: Launch) => ({ mcpServers: { [name]: launch } });
const withType = ({ command, args }: Launch) => ({ type: 'stdio', command, args });

const HOSTS: Record<string, Host> = {
  // https://modelcontextprotocol.io/docs/2026-07-28/develop/connect-local-servers (of 2026-07-28):
  // the shape, the two places, the restart, the logs. That page knows macOS and Windows alone.
  'claude-desktop': {
    title: 'Claude Desktop',
    config: inMcpServers,
    places: [
      'macOS:   ~/Library/Application Support/Claude/claude_desktop_config.json',
      'Windows: %APPDATA%\\Claude\\claude_desktop_config.json',
      'Linux:   its documentation names no place. Everywhere, Settings > Developer > Edit Config',
      '         opens the file, and makes it if there is none.',
    ],
    next: (name) => [
      'Quit Claude Desktop wholly (closing its window is not enough) and start it again. The',
      'button for files and connectors, below the conversation, then lists the server. Its stderr',
      `is in mcp-server-${name}.log, in ~/Library/Logs/Claude or %APPDATA%\\Claude\\logs.`,
    ],
    tried: 'Not tried in Claude Desktop. From a page of 2026-07-28:\n' +
      'modelcontextprotocol.io/docs/2026-07-28/develop/connect-local-servers',
  },
  // https://code.claude.com/docs/en/mcp (as of 2026-02-06): `.mcp.json`, `claude mcp add` with its
  // options before the name and the command after --, `claude mcp list`, /mcp; ${VAR} in the file
  // is replaced. https://github.com/anthropics/claude-code, CHANGELOG.md (of 2026-08-22): servers
  // of `.mcp.json` wait for an approval; the key `servers` of VS Code there is an error.
  'claude-code': {
    title: 'Claude Code',
    config: inMcpServers,
    places: [
      'Every system: .mcp.json in the root of the project in which you start claude.',
    ],
    next: (name, { command, args }) => [
      'Start claude in that project, and approve the server; `claude mcp list` or, inside, /mcp',
      'says whether it is connected.',
      // Whether a second -- comes through, as the tap needs it, is not documented.
      ...(args.includes('--') ? [] : [
        'Or add it for yourself alone, without the file (in a shell of Linux or macOS; those of',
        'Windows quote otherwise, so that there the file is surer):',
        `  claude mcp add ${name} -- ${[command, ...args].map(quote).join(' ')}`,
      ]),
    ],
    tried: 'Not tried in Claude Code. From its documentation, as of 2026-02-06:\n' +
      'code.claude.com/docs/en/mcp',
  },
  // https://code.visualstudio.com/docs/agents/reference/mcp-configuration (approved 2026-05-28, and
  // seen again on 2026-11-30): `servers`, `type` is required, ${…} is replaced.
  // https://code.visualstudio.com/docs/agent-customization/mcp-servers (approved 2026-06-03): the
  // places, trust, MCP: List Servers and its output. For the user's file it names a command alone.
  vscode: {
    title: 'VS Code',
    config: (name, launch) => ({ servers: { [name]: withType(launch) } }),
    places: [
      'Every system: .vscode/mcp.json in the folder that you open; or, for all folders, the file',
      'that the command "MCP: Open User Configuration" opens.',
    ],
    next: () => [
      'Run "MCP: List Servers" in the Command Palette, start the server, and say that you trust',
      'it. "Show Output" is there, too. After a change start it again in the same place.',
    ],
    tried: 'Not tried in VS Code. From a page of 2026-05-28:\n' +
      'code.visualstudio.com/docs/agents/reference/mcp-configuration',
  },
  // https://cursor.com/docs/mcp (looked up 2026-11-30): the shape, as its example has it, and the
  // two places; ${…} is replaced. What it says of Customize and of the logs was read in reports of
  // 2026-10-20 and 2026-10-22, which quote that page.
  cursor: {
    title: 'Cursor',
    config: inMcpServers,
    places: [
      'Every system: .cursor/mcp.json in a project, or ~/.cursor/mcp.json for all of them.',
    ],
    next: () => [
      'Start Cursor again. Customize, in its sidebar, lists the server under MCPs: turn it on.',
      'Where it does not start, the output "MCP Logs" says why.',
    ],
    tried: 'Not tried in Cursor. From its documentation, looked up on 2026-11-30:\n' +
      'cursor.com/docs/mcp',
  },
  // https://github.com/modelcontextprotocol/inspector, docs/mcp-server-configuration.md and README
  // (looked up 2026-11-30), and the --help of 2.12.0: --config is read and never written, --server
  // chooses; `protocolEra` is legacy unless it is said; Node 22.19 or later.
  inspector: {
    title: 'the MCP Inspector',
    config: (name, launch) => ({ mcpServers: { [name]: withType(launch) } }),
    places: [
      'Every system: any file, say inspector.json, which you name on its command line.',
    ],
    next: (name) => [
      'It needs Node 22.19 or later, which need not be the Node of the server:',
      `  npx @modelcontextprotocol/inspector --config inspector.json --server ${name}`,
      'For a terminal instead of a browser: --cli before --config, --method tools/list at the end.',
      'It speaks the legacy era, unless "protocolEra": "modern" (or "auto") is beside "command".',
    ],
    tried: 'Tried with the command line (--cli) of the Inspector 2.12.0, not with its web page.',
  },
  // The shape that the pages of Claude Desktop, Claude Code and Cursor above have in common.
  generic: {
    title: 'a host that reads mcpServers',
    config: inMcpServers,
    places: [
      'Your host\'s documentation says which file it is, and whether the key is mcpServers.',
    ],
    next: () => ['Then start the host again, unless its documentation says that it need not be.'],
    tried: 'No standard says this: the specification leaves it to hosts how they are configured.',
  },
};

/** Quotes one argument for the shells of Linux and macOS. */
function quote(argument: string): string {
  if (/^[\w@%+=:,./-]+$/.test(argument)) return argument;
  return `'${argument.replaceAll("'", "'\\''")}'`;
}

// ---------------------------------------------------------------------------------------------
// The command that starts a server
// ---------------------------------------------------------------------------------------------

const KIT = fileURLToPath(new URL('..', import.meta.url));
const SCRIPT = /\.m?[jt]s$/;

/** What starts a script from any folder; ends this program where nothing can. */
function launchScript(file: string, args: string[]): Launch {
  const needsTsx = /\.m?ts$/.test(file) && !runsTypeScript(process.versions.node);
  const loader = needsTsx ? ['--import', findTsx()] : [];
  return { command: process.execPath, args: [...loader, file, ...args] };
}

/**
 * Does plain `node` of this version run a .ts file? From 22.18.0 and from 23.6.0 on it drops the
 * types by itself (nodejs.org/api/typescript.html, "History").
 */
export function runsTypeScript(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major === 22 ? minor >= 18 : major === 23 ? minor >= 6 : major > 23;
}

/** The URL of the kit's own tsx, which works from every folder; ends this program without one. */
function findTsx(): string {
  try {
    return pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
  } catch {
    return leave(2, `Node ${process.versions.node} needs tsx to run TypeScript, and the kit has ` +
      `none yet: run npm ci in ${KIT} first (or use Node 22.18 or later, which needs none).`);
  }
}

/** Puts the tap in front of a server: it passes all on, and writes it down. */
function tapped(launch: Launch, log: string): Launch {
  const file = resolve(log);
  if (existsSync(file) && statSync(file).isDirectory()) {
    leave(2, `--tap ${log} is a folder: name a file in it, such as ${join(log, 'tap.jsonl')}.`);
  }
  if (!existsSync(dirname(file))) leave(2, `--tap ${log}: there is no folder ${dirname(file)}.`);
  const tap = join(KIT, 'scripts', 'tap.ts');
  return launchScript(tap, [file, '--', launch.command, ...launch.args]);
}

/** Finds a server by its name in the kit, or by its path. */
function findServer(server: string): string {
  const names = readdirSync(join(KIT, 'servers'))
    .filter((name) => /(?<!\.test)\.ts$/.test(name)).map((name) => basename(name, '.ts')).sort();
  if (names.includes(server)) return join(KIT, 'servers', `${server}.ts`);
  const isFile = existsSync(server) && !statSync(server).isDirectory();
  if (isFile && SCRIPT.test(server)) return resolve(server);
  if (isFile) {
    leave(2, `${server} is no script: it must end in .ts, .mts, .js or .mjs. For a server in ` +
      'another language, print the configuration of echo; at command put the full path of the ' +
      'program that runs yours, and in args, behind a -- if there is one, that of your file.');
  }
  return leave(2, `There is no server ${server}. The kit has ${names.join(', ')}; or pass the ` +
    'path of your own.');
}

/** The server's arguments: those that were given, or those of its `Run:` line. */
function findArguments(file: string, given: string[]): string[] {
  const isFiles = file === join(KIT, 'servers', 'files.ts');
  const run = given.length > 0 ? undefined : parseRunLine(readFileSync(file, 'utf8'));
  // The line is meant in a folder of its own; what you give means the folder where you are.
  const base = run === undefined ? '' : folderOfRun(file, run.file) ?? dirname(file);
  return (run?.args ?? given).map((argument) => {
    // A folder for the files server, and what says itself that it is a path, must be absolute.
    if (!isFiles && !/^\.{1,2}([\\/]|$)/.test(argument)) return argument;
    const path = resolve(base, argument.replace(/^~(?=[\\/]|$)/, () => homedir()));
    if (isFiles && !(existsSync(path) && statSync(path).isDirectory())) {
      leave(2, `There is no folder ${path}: the files server serves folders that there are.`);
    }
    return path;
  });
}

// ---------------------------------------------------------------------------------------------
// The command
// ---------------------------------------------------------------------------------------------

const TITLES = Object.entries(HOSTS).map(([name, { title }]) => ' '.repeat(13) +
  `${name.padEnd(15)} ${title}`);
const USAGE = `Usage: npx tsx scripts/host-config.ts HOST SERVER [ARGS] [--tap LOG]
       npx tsx scripts/host-config.ts HOST SERVER [--tap LOG] -- ARGS that begin with -
  HOST       one of these:
${TITLES.join('\n')}
  SERVER     a name in servers/, such as echo, or the path of a script; without ARGS it gets
             those of its Run: line
  --tap LOG  put scripts/tap.ts in front, which writes what is said to LOG
  --help     print this`;

/** Ends this program with a sentence and the usage: code 0 for --help, 2 for a wrong call. */
function leave(code: 0 | 2, sentence: string): never {
  (code === 0 ? console.log : console.error)(show(`${sentence}\n\n${USAGE}`));
  process.exit(code);
}

/** Writes control characters, and what turns the direction of a text round, as JSON's \u…. */
function show(text: string): string {
  const strange = /[\0-\t\v-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
  return text.replace(strange, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function readArguments(argv: string[]) {
  const cut = argv.includes('--') ? argv.indexOf('--') : argv.length;
  const options = { tap: { type: 'string' }, help: { type: 'boolean' } } as const;
  const call = parseArgs({ args: argv.slice(0, cut), options, allowPositionals: true });
  const [name, server, ...args] = call.positionals;
  if (call.values.help) leave(0, 'Prints a configuration with which a host starts a server.');
  if (name === undefined) leave(2, 'For which HOST, and which SERVER?');
  const host = Object.hasOwn(HOSTS, name) ? HOSTS[name] : undefined;
  if (host === undefined) {
    leave(2, `There is no host ${name} here. There are ${Object.keys(HOSTS).join(', ')}.`);
  }
  if (server === undefined) leave(2, `After ${name} comes the SERVER, such as echo.`);
  if (call.values.tap === '') leave(2, '--tap: the name of the log is empty.');
  return { host, server, given: [...args, ...argv.slice(cut + 1)], log: call.values.tap };
}

/** What a person should know about the configuration that was printed. */
function explain(
  host: Host, name: string, plain: Launch, launch: Launch, moved: string[], log?: string,
): string {
  const how = plain.args[0] === '--import' ? 'with the tsx of the kit' : 'without tsx';
  const texts = [launch.command, ...launch.args];
  return [
    `This is a whole configuration for ${host.title}. It belongs here:`,
    ...host.places.map((line) => `  ${line}`),
    'Is the file there already? Then put the entry alone beside those that it has, and a comma',
    'between them; a comma too many, and some hosts read nothing at all.',
    '',
    ...host.next(name, launch),
    ...(log === undefined ? [] : [
      '', 'The tap writes what is said to the log. Look at it in another terminal:',
      `  npx tsx scripts/tap.ts --show ${quote(resolve(log))} --follow`,
    ]),
    '',
    'All paths are absolute, since a host works in a folder of its own.' +
      (moved.length > 0 ? ` Made absolute: ${moved.join(', ')}.` : ''),
    `The server is run by Node ${process.versions.node}, ${how}. If you move the kit or replace`,
    'that Node, print this again. The paths are those of this machine: do not commit them.',
    ...(texts.some((text) => text.includes('${')) ? [
      'Mind the ${ in a path: several hosts replace ${…} by a variable. Move the kit elsewhere.',
    ] : []),
    host.tried,
  ].join('\n');
}

function main(): void {
  // Nobody reads this any more: there is no one to tell, either.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => process.exit(2));
  const { host, server, given, log } = readArguments(process.argv.slice(2));
  const file = findServer(server);
  const args = findArguments(file, given);
  const plain = launchScript(file, args);
  const launch = log === undefined ? plain : tapped(plain, log);
  // Hosts take a name of letters, digits, - and _; Claude Code refuses others.
  const plainName = basename(file).replace(SCRIPT, '').replace(/[^\w-]+/g, '-');
  const name = plainName.replace(/^-+|-+$/g, '') || 'server';
  process.stdout.write(`${show(JSON.stringify(host.config(name, launch), null, 2))}\n`);
  const moved = given.filter((argument) => !args.includes(argument));
  console.error(`\n${show(explain(host, name, plain, launch, moved, log))}`);
}

// The tests import this file; then it does nothing by itself. Links are resolved, since a path that
// leads through one is not the file's URL.
if (realpathSync(process.argv[1] ?? '.') === realpathSync(fileURLToPath(import.meta.url))) {
  try {
    main();
  } catch (error) {
    leave(2, (error as Error).message.replace(/\. [^]*/, '.')); // an option that there is not
  }
}
