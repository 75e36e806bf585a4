// `npm run lint` of a fresh `nest new` runs Prettier, with these options.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';
import { format } from 'prettier';

it('the quickstart of the README has the format of a fresh Nest project', async () => {
  const readme = readFileSync(fileURLToPath(new URL('../../../README.md', import.meta.url)), 'utf8');
  const code = /<!-- quickstart:[^]*?```ts\n([^]*?)```/.exec(readme)![1]!;
  expect(await format(code, { parser: 'typescript', singleQuote: true, trailingComma: 'all' })).toBe(code);
});
