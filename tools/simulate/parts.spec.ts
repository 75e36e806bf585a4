// The parts of a run that docs/internals/reliability-evidence.md lists.
import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { PARTS } from './parts.js';

it('every part', () => {
  const text = readFileSync('docs/internals/reliability-evidence.md', 'utf8');
  const [, table] = /^\| part \|.*\n((?:\|.*\n)+)/m.exec(text)!;
  const listed = [...table!.matchAll(/^\| `(\w+)` \|/gm)].map(([, part]) => part);
  expect(new Set(listed)).toEqual(new Set(PARTS));
});
