// Reads what a running process has recorded so far.
import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import type { Entry } from '../histories/history.js';

const TAIL_BYTES = 65_536;

/** Returns the number of entries of these kinds. */
export function countWritten(file: string, ...kinds: Entry[0][]): number {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => kinds.some((kind) => line.startsWith(`["${kind}",`))).length;
}

/** Returns how many of a producer's jobs have no reply yet. */
export function unanswered(file: string): number {
  let open = 0;
  for (const line of tailOf(file)) {
    if (line.startsWith('["enqueue",')) open = (JSON.parse(line) as Extract<Entry, ['enqueue', ...unknown[]]>)[2];
    else if (/^\["(enqueued|answer)",/.test(line)) open = 0;
  }
  return open;
}

/** Returns the last complete lines. */
function tailOf(file: string): string[] {
  const handle = openSync(file, 'r');
  try {
    const { size } = fstatSync(handle);
    const buffer = Buffer.alloc(Math.min(size, TAIL_BYTES));
    readSync(handle, buffer, 0, buffer.length, size - buffer.length);
    return buffer.toString('utf8').split('\n').slice(0, -1);
  } finally {
    closeSync(handle);
  }
}
