// The site has each page of docs once, and leads links of the forge to its own pages.
import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { GROUPS } from '../../../site/.vitepress/groups.mjs';
import { contents } from '../../../site/.vitepress/contents.mjs';
import { siteLink } from '../../../site/.vitepress/links.mjs';

const WORDS_A_MINUTE = 200;
/** The pages of the sidebar that are made from docs. */
const items = GROUPS.flatMap((group) => group.items).filter(({ target }) => !target);

it('lists each page in one group', () => {
  const docs = new URL('../../../docs/', import.meta.url);
  const recipes = readdirSync(new URL('recipes', docs)).map((file) => `recipes/${file}`);
  const pages = [...readdirSync(docs), ...readdirSync(new URL('site', docs)), ...recipes]
    .filter((file) => file.endsWith('.md') && !['README.md', 'index.md'].includes(file))
    .map((file) => `/${file.slice(0, -'.md'.length)}`);
  expect(items.map(({ link }) => link).toSorted()).toEqual(pages.toSorted());
});

it.each(items)('$link has a sentence for search engines, and stands in llms.txt', ({ text, link, description }) => {
  expect(description).toMatch(/^[A-Z].{30,120}\.$/);
  expect(contents()).toContain(`- [${text}](${link}.md): ${description}\n`);
});

it.each(items)('$link takes at most a quarter of an hour to read', ({ link }) => {
  const path =
    { '/start': 'README.md', '/guide': 'README.md', '/playground': 'docs/site/playground.md' }[link] ??
    `docs${link}.md`;
  const text = readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')
    .replace(/^```[^]*?^```/gm, '')
    .replace(/^\|.*$/gm, ''); // code and tables are looked up, not read
  const words = text.split(/\s+/).filter((word) => /\w/.test(word)).length;
  expect(words).toBeLessThan(15 * WORDS_A_MINUTE);
});

it.each([
  ['jobs.md#retries', 'jobs.md#retries'],
  ['docs/options.md', '/options.md'],
  ['../limits.md#set-them', '/limits.md#set-them'],
  ['../README.md#health', '/guide.md#health'],
  ['../README.md#quickstart', '/start.md#quickstart'],
  ['internals/words.md', 'https://github.com/nest-job-queue/nest-job-queue/blob/main/docs/internals/words.md'],
  ['../examples/shop', 'https://github.com/nest-job-queue/nest-job-queue/blob/main/examples/shop'],
  ['monitoring/alerts.yml', '/files/alerts.yml'],
  ['https://keda.sh', 'https://keda.sh'],
  ['#how', '#how'],
])('%s leads to %s', (href, link) => {
  expect(siteLink(href)).toBe(link);
});

it('leads a link of a part of the README to the page that has the other part', () => {
  expect(siteLink('#health', 'start')).toBe('/guide.md#health');
  expect(siteLink('#quickstart', 'start')).toBe('#quickstart');
});
