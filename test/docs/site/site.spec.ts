// The site has each page of docs once, and leads links of the forge to its own pages.
import { readdirSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { GROUPS } from '../../../site/.vitepress/groups.mjs';
import { siteLink } from '../../../site/.vitepress/links.mjs';

it('lists each page in one group', () => {
  const docs = new URL('../../../docs/', import.meta.url);
  const pages = [...readdirSync(docs), ...readdirSync(new URL('site', docs))]
    .filter((file) => file.endsWith('.md') && !['README.md', 'index.md'].includes(file))
    .map((file) => `/${file.slice(0, -'.md'.length)}`);
  expect(GROUPS.flatMap(({ items }) => items.map(({ link }) => link)).toSorted()).toEqual(pages.toSorted());
});

it.each([
  ['jobs.md#retries', 'jobs.md#retries'],
  ['docs/options.md', '/options.md'],
  ['../README.md#health', '/guide.md#health'],
  ['../README.md#quickstart', '/start.md#quickstart'],
  ['internals/words.md', 'https://github.com/nest-job-queue/nest-job-queue/blob/main/docs/internals/words.md'],
  ['../examples/shop', 'https://github.com/nest-job-queue/nest-job-queue/blob/main/examples/shop'],
  ['https://keda.sh', 'https://keda.sh'],
  ['#how', '#how'],
])('%s leads to %s', (href, link) => {
  expect(siteLink(href)).toBe(link);
});
