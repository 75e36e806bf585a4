// Writes the changed files.
import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Change } from './convert.js';

/** Writes the changes. Throws an error that names the files written before the failure. */
export function write(changes: readonly Pick<Change, 'path' | 'after'>[]): void {
  for (const [index, { path, after }] of changes.entries()) {
    try {
      writeFileSync(path, after);
    } catch (error) {
      const written = changes.slice(0, index).map((change) => relative('.', change.path));
      const before =
        written.length > 0 ? `Written before it: ${written.join(', ')}` : 'Nothing was written before it';
      const failure = `Could not write ${relative('.', path)}: ${(error as Error).message}`;
      throw new Error(`${failure}. ${before}`, { cause: error });
    }
  }
}
