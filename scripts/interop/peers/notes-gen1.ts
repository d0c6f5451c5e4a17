/**
 * The notes server as the first generation of the official SDK has it written: legacy alone.
 *
 * Run: npx tsx scripts/interop/peers/notes-gen1.ts
 *
 * SPDX-License-Identifier: MIT
 */

import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';

import { ALL_NOTES, findNotes } from './notes.ts';

const server = new McpServer({ name: 'notes-server', version: '1.0.0' });

server.registerTool(
  'notes_query',
  { description: 'Lists the notes as JSON.', inputSchema: { tag: z.string().optional() } },
  ({ tag }) => ({ content: [{ type: 'text', text: findNotes(tag) }] }),
);

const mimeType = 'application/json';
server.registerResource('all-notes', 'notes://all', { mimeType }, (uri) => ({
  contents: [{ uri: uri.href, mimeType, text: ALL_NOTES }],
}));

void server.connect(new StdioServerTransport());
