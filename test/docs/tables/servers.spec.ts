// The page of Redis names each server on which the core specs last ran, and all of them passed there.
import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { fillServers, type TestedServer } from '../../../scripts/redis/servers-table.mjs';

const { tested } = JSON.parse(readFileSync('docs/internals/figures/servers.json', 'utf8')) as {
  tested: TestedServer[];
};
const page = readFileSync('docs/redis.md', 'utf8');

it('docs/redis.md has the table of docs/internals/figures/servers.json', () => {
  expect(page).toContain('<!-- servers -->');
  expect(fillServers(page, tested)).toBe(page);
});

it.each(tested)('$product $version', ({ product, version, passed, failed, date }) => {
  expect(page).toContain(`| ${product} ${version} | ${date} | ${passed.toLocaleString('en')} |`);
  expect(passed).toBeGreaterThan(0);
  expect(failed).toBe(0);
});
