/**
 * The echo server as the second generation of the official SDK has it written. Its `serveStdio`
 * settles on one era with the first message, and keeps to it for the life of the process.
 *
 * Run: npx tsx scripts/interop/peers/echo-gen2.ts
 *
 * SPDX-License-Identifier: MIT
 */

import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

serveStdio(() => {
  const server = new McpServer({ name: 'echo-server', version: '1.0.0' });
  server.registerTool(
    'echo',
    {
      description: 'Says back the text that it is given.',
      inputSchema: z.object({ text: z.string() }),
    },
    ({ text }) => ({ content: [{ type: 'text', text: `echo: ${text}` }] }),
  );
  return server;
});
