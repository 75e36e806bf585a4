import { expect, it } from '@jest/globals';
import { checkCorridors, checkEntries, checkSizes, MOST_LINES } from '../../../scripts/check/check-sizes.mjs';
import { folderWith } from '../folder.js';

const linesOf = (count: number) => 'const a = 1;\n'.repeat(count);

it('names a file of src with too many lines', () => {
  const root = folderWith({
    'src/queue/long.ts': linesOf(MOST_LINES + 1),
    'src/queue/full.ts': linesOf(MOST_LINES),
    'src/queue/made.generated.ts': linesOf(MOST_LINES + 1),
  });
  expect(checkSizes(root)).toEqual([
    `src/queue/long.ts: ${MOST_LINES + 1} lines, expected at most 700; part it by its subjects`,
  ]);
});

it('names a file right in src that is no entry point', () => {
  const exports = { '.': { import: { default: './dist/esm/index.js' } }, './package.json': './package.json' };
  const root = folderWith({
    'package.json': JSON.stringify({ exports, bin: { jobs: './dist/esm/cli.js' } }),
    'src/index.ts': '',
    'src/cli.ts': '',
    'src/helper.ts': '',
    'src/queue/job.ts': '',
  });
  expect(checkEntries(root)).toEqual([expect.stringMatching(/^src\/helper\.ts: no entry point/)]);
});

it('names a short file whose only importer is beside it, unless it has a reason', () => {
  const root = folderWith({
    'src/queue/job.ts':
      "import { a } from './short.js';\nimport { b } from './long.js';\nimport { c } from './shared.js';\n",
    'src/queue/short.ts': linesOf(59),
    'src/queue/long.ts': linesOf(60),
    'src/queue/shared.ts': linesOf(10),
    'src/worker/worker.ts': "import { c } from '../queue/shared.js';\nimport { d } from '../queue/room/far.js';\n",
    'src/queue/room/far.ts': linesOf(10),
  });
  expect(checkCorridors(root, {})).toEqual([
    'src/queue/short.ts: under 60 lines, and only src/queue/job.ts imports it; merge it into that file',
  ]);
  expect(checkCorridors(root, { 'queue/short.ts': 'a reason' })).toEqual([]);
  expect(checkCorridors(root, { 'queue/short.ts': 'a reason', 'queue/long.ts': 'merged' })).toEqual([
    'src/queue/long.ts: no corridor any more; remove it from CORRIDORS',
  ]);
});
