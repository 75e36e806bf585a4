import { expect, it } from '@jest/globals';
import { checkEntries, checkFolders, MOST_FILES } from '../../../scripts/check/check-folders.mjs';
import { folderWith } from '../folder.js';

const files = (folder: string, count: number, ending = 'ts') =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`${folder}/file-${i}.${ending}`, '']));

it('names a folder with too many files', () => {
  const root = folderWith({ ...files('src/queue/store', MOST_FILES + 1), ...files('src/queue', MOST_FILES) });
  expect(checkFolders(root)).toEqual(['src/queue/store: 17 files, expected at most 16; make rooms of them']);
});

it('counts scripts, and nothing that was made or installed', () => {
  const root = folderWith({
    ...files('lua/queue', MOST_FILES + 1, 'lua'),
    ...files('bench/node_modules/a', MOST_FILES + 1, 'mjs'),
    ...files('src/made', MOST_FILES + 1, 'generated.ts'),
    ...files('test/pictures', MOST_FILES + 1, 'png'),
  });
  expect(checkFolders(root)).toEqual([expect.stringMatching(/^lua\/queue: 17 files/)]);
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
