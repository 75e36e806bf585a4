// The page of Redis names each server on which the specs last ran, and all of them passed there.
import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';

interface Tested {
  product: string;
  version: string;
  passed: number;
  failed: number;
}

const { tested } = JSON.parse(readFileSync('docs/internals/figures/servers.json', 'utf8')) as { tested: Tested[] };
const [row] = /^\|.*\| tested \|.*$/m.exec(readFileSync('docs/redis.md', 'utf8'))!;

it.each(tested)('$product $version', ({ product, version, passed, failed }) => {
  expect(row).toMatch(new RegExp(`${product}[^A-Z]*\\b${version.replaceAll('.', '\\.')}\\b`));
  expect(passed).toBeGreaterThan(0);
  expect(failed).toBe(0);
});
