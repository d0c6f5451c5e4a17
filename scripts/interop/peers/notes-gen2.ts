/**
 * The notes server as the second generation of the official SDK has it written. Its `serveStdio`
 * settles on one era with the first message, and keeps to it for the life of the process.
 *
 * Run: npx tsx scripts/interop/peers/notes-gen2.ts
 *
 * SPDX-License-Identifier: MIT
 */

import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

import { ALL_NOTES, findNotes } from './notes.ts';

const mimeType = 'application/json';

serveStdio(() => {
  const server = new McpServer({ name: 'notes-server', version: '1.0.0' });
  server.registerTool(
    'notes_query',
    {
      description: 'Lists the notes as JSON.',
      inputSchema: z.object({ tag: z.string().optional() }),
    },
    ({ tag }) => ({ content: [{ type: 'text', text: findNotes(tag) }] }),
  );
  server.registerResource('all-notes', 'notes://all', { mimeType }, (uri) => ({
    contents: [{ uri: uri.href, mimeType, text: ALL_NOTES }],
  }));
  return server;
});
