/**
 * The echo server as the first generation of the official SDK has it written: legacy alone.
 *
 * Run: npx tsx scripts/interop/peers/echo-gen1.ts
 *
 * SPDX-License-Identifier: MIT
 */

import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';

const server = new McpServer({ name: 'echo-server', version: '1.0.0' });

server.registerTool(
  'echo',
  { description: 'Says back the text that it is given.', inputSchema: { text: z.string() } },
  ({ text }) => ({ content: [{ type: 'text', text: `echo: ${text}` }] }),
);

void server.connect(new StdioServerTransport());
