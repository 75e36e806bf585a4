// The first page of the site has five numbers, each of which stands in the section that it links.
import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { rowsOf } from '../table.js';

const read = (page: string) => readFileSync(new URL(`../../../docs/${page}`, import.meta.url), 'utf8');
const numbers = [...read('site/index.md').matchAll(/<a href="\/([\w-]+)#([\w-]+)"><b>([^<]+)<\/b> ([^<]+)</g)].map(
  ([, page, anchor, number, text]) => [number!, page!, anchor!, text!] as const,
);

/** Returns the anchor of the heading that begins a section. */
const slug = (section: string) => section.split('\n')[0]!.replace(/^#+ /, '').toLowerCase().replaceAll(' ', '-');

/** Returns the section of a page under an anchor. */
function sectionOf(page: string, anchor: string): string {
  const sections = read(`${page}.md`).split(/^(?=## |### )/m);
  return sections.find((section) => slug(section) === anchor) ?? '';
}

it('has five', () => expect(numbers).toHaveLength(5));

it.each(numbers)('%s', (number, page, anchor) => {
  const section = sectionOf(page, anchor);
  expect(section).not.toBe('');
  const mark = ['faults', 'invariants'].find((name) => name === anchor);
  if (mark) {
    expect(rowsOf(mark, `docs/${page}.md`).length - 2).toBe(Number(number));
  } else {
    expect(section).toContain(`| ${number} |`);
  }
});
