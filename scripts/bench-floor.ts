/**
 * The floor of the benchmark: the least that any server does. It cuts lines, parses them, and
 * writes the reply that the echo server would write, and it checks nothing at all. No server that
 * is written in JavaScript and answers over stdio can be much faster than this.
 *
 * Run: npx tsx scripts/bench-floor.ts (scripts/bench.ts starts it)
 *
 * SPDX-License-Identifier: MIT
 */

const SERVER_META = {
  'io.modelcontextprotocol/serverInfo': { name: 'echo-server', version: '1.0.0' },
};
let line = '';

/** The reply that servers/echo.ts would give to a call; anything else is a greeting. */
function replyTo(text: string): string {
  const { id, params } = JSON.parse(text);
  const content = [{ type: 'text', text: `echo: ${params?.arguments?.text}` }];
  const isModern = params?._meta !== undefined;
  const result = isModern
    ? { resultType: 'complete', content, _meta: { ...SERVER_META } }
    : { content };
  return JSON.stringify({ jsonrpc: '2.0', id, result });
}

process.stdin.setEncoding('utf8').on('data', (text: string) => {
  const [first = '', ...more] = text.split('\n');
  line += first; // a rope: were it cut anew with each piece, long lines would take quadratic time
  let output = '';
  for (const next of more) {
    output += `${replyTo(line)}\n`;
    line = next;
  }
  if (output !== '') process.stdout.write(output);
});
