/**
 * The notes that the notes servers of both SDKs serve, and how they are found.
 *
 * SPDX-License-Identifier: MIT
 */

const NOTES = [
  { id: 1, tag: 'release', text: 'v2.1 shipped with streaming fixes' },
  { id: 2, tag: 'incident', text: 'gateway 502 spike traced to upstream pool' },
  { id: 3, tag: 'release', text: 'v2.2 rolled out canary to 5%' },
];

export const ALL_NOTES = JSON.stringify(NOTES);

/** The notes that have the tag, as JSON; all of them without one. */
export function findNotes(tag: string | undefined): string {
  return JSON.stringify(NOTES.filter((note) => !tag || note.tag === tag));
}
