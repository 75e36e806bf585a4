// The table of docs/testing.md names every member of JobQueueTesting.
import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';

it('names every member of JobQueueTesting', () => {
  const doc = readFileSync(new URL('../../../docs/testing.md', import.meta.url), 'utf8');
  for (const member of ['drain(', 'advance(', 'now', 'enqueued(', 'errors', 'transaction(', 'clear()']) {
    expect(doc).toContain(`| \`${member}`);
  }
});
