// No sentence of the README and of the pages in docs is longer than a reader can take in.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';

const MOST_WORDS = 25;
const root = join(import.meta.dirname, '../../..');
const pages = ['README.md'].concat(
  ['docs', 'docs/internals', 'docs/recipes'].flatMap((folder) =>
    readdirSync(join(root, folder))
      .filter((file) => file.endsWith('.md'))
      .map((file) => join(folder, file)),
  ),
);

/** Returns the sentences of a page outside of code, tables, headings and generated parts. */
function sentencesOf(page: string): string[] {
  const text = page
    .replace(/^```[^]*?^```/gm, '\n')
    .replace(/<!-- (bench|nest|observed|growth|pages|flow)[^]*?<!-- \/\1 -->/g, '\n')
    .replace(/^\s*(\||#|<).*$/gm, '\n')
    .replace(/^\s*([-*]|\d+\.) /gm, '\n')
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/`[^`]*`/g, 'code');
  return text.split(/\n\s*\n/).flatMap((paragraph) => paragraph.split(/(?<=[.!?]["”')*]*)\s+/));
}

const wordsOf = (sentence: string) => sentence.split(/\s+/).filter((word) => /\w/.test(word)).length;

it.each(pages)('%s', (page) => {
  const sentences = sentencesOf(readFileSync(join(root, page), 'utf8'));
  expect(sentences.length).toBeGreaterThan(0);
  expect(sentences.filter((sentence) => wordsOf(sentence) > MOST_WORDS)).toEqual([]);
});

it('counts words, but no code and no tables', () => {
  const long = `${'word '.repeat(MOST_WORDS)}end.`;
  expect(sentencesOf(`${long} Short.`).map(wordsOf)).toEqual([MOST_WORDS + 1, 1]);
  expect(sentencesOf(`| ${long} |\n\n\`\`\`ts\n${long}\n\`\`\`\n\n\`${long}\``).map(wordsOf)).toEqual([0, 1]);
});
