// The page of invariants leads to tests that name them.
import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';

const rows = [...readFileSync('docs/proof.md', 'utf8').matchAll(/^\| (I\d) \| .* \| (.*) \| [^|]* \| [^|]* \|$/gm)];

it('the page of invariants lists I1 to I8', () => {
  expect(rows.map(([, name]) => name)).toEqual(['I1', 'I2', 'I3', 'I4', 'I5', 'I6', 'I7', 'I8']);
});

it.each(
  rows.map(([, name, files]) => [name!, [...files!.matchAll(/`([^`]+)`/g)].map(([, file]) => file!)] as const),
)('%s is named in each of its specs', (name, files) => {
  expect(files.length).toBeGreaterThan(0);
  for (const file of files) expect([file, readFileSync(file, 'utf8')]).toEqual([file, expect.stringMatching(name)]);
});
