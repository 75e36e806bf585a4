// docs/security.md names a test for each line of its threat model.
import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';

const root = new URL('../../../', import.meta.url);
const [, model = ''] = readFileSync(new URL('docs/security.md', root), 'utf8').split('\n## Threat model\n');
const [table = ''] = model.split('\n### ');
const rows = table
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .slice(1);

it.each(rows)('%s', (row) => {
  const tests = [...row.matchAll(/`(test\/[^`]+\.spec\.ts)`/g)].map(([, path]) => path!);
  expect(tests.filter((path) => existsSync(new URL(path, root)))).toEqual(tests);
  expect(tests.length).toBeGreaterThan(0);
});

it('is part of the package', () => {
  const { files } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as { files: string[] };
  expect(files).toContain('SECURITY.md');
});
