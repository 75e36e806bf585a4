// docs/internals/peers-bugs.md names the test of each bug that other queues had: each of them exists.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');

/** The bugs with the tests that are named for them: file and title. */
const bugs = read('docs/internals/peers-bugs.md')
  .split('\n')
  .filter((line) => line.startsWith('|'))
  .slice(2)
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .map(([, bug, here, tests]) => ({ bug: bug!, here: here!, tests: testsOf(tests!) }));

/** Parses `file`: title; title; `file`: title. A title may itself have a semicolon. */
function testsOf(cell: string): { file: string; titles: string }[] {
  return [...cell.matchAll(/`(test\/[^`]+)`: (.*?)(?=; `test\/|$)/g)].map(([, file, titles]) => ({
    file: file!,
    titles: titles!,
  }));
}

/** Removes the longest known title from the front of the text until none is left. Returns the rest. */
function unknownOf(titles: string, source: string): string {
  const parts = titles.split('; ');
  for (let length = parts.length; length > 0; length--) {
    const title = parts.slice(0, length).join('; ');
    // The whole title, but for what it shows of its parameters at the end.
    if ([`'${title}'`, `'${title} (`].some((quoted) => source.includes(quoted))) {
      return length === parts.length ? '' : unknownOf(parts.slice(length).join('; '), source);
    }
  }
  return titles;
}

describe('the bugs that other queues had', () => {
  it.each(bugs)('$bug', ({ here, tests }) => {
    expect(tests.length > 0 || here === 'not yet').toBe(true);
    for (const { file, titles } of tests) {
      expect({ file, unknown: unknownOf(titles, read(file)) }).toEqual({ file, unknown: '' });
    }
  });

  it('are all there', () => {
    expect(bugs.length).toBeGreaterThan(40);
  });
});
