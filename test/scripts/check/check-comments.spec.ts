import { expect, it } from '@jest/globals';
import { checkComments, longSentences, MOST_WORDS } from '../../../scripts/check/check-comments.mjs';
import { folderWith } from '../folder.js';

const LONG = `${'word '.repeat(MOST_WORDS)}end.`;

it('names the file of a long sentence in every kind of source', () => {
  const files = ['src/a.ts', 'src/b.cts', 'lua/c.lua', 'test/d.mts', 'scripts/e.mjs', 'bench/f.js', 'tools/g.cjs'];
  const root = folderWith({
    ...Object.fromEntries(files.map((file) => [file, `${file.endsWith('.lua') ? '--' : '//'} Short. ${LONG}\n`])),
    'src/made.generated.ts': `// ${LONG}\n`,
    'tools/fixtures/h.ts': `// ${LONG}\n`,
  });
  const found = checkComments(root).map((line) => line.slice(0, line.indexOf(':')));
  expect(new Set(found)).toEqual(new Set(files));
});

it('counts the words of prose, also behind Returns and @throws', () => {
  expect(longSentences('a.ts', `/**\n * Short.\n * ${LONG}\n */`)).toHaveLength(1);
  expect(longSentences('a.ts', `/** Returns ${LONG} */`)).toHaveLength(1);
  expect(longSentences('a.ts', `/**\n * Short.\n * @throws ${LONG}\n */`)).toHaveLength(1);
});

it('counts an indented line with the line that it continues', () => {
  const half = 'word '.repeat(MOST_WORDS / 2 + 1);
  expect(longSentences('a.lua', `-- f(id): ${half}\n--   ${half}end.`)).toHaveLength(1);
  expect(longSentences('a.ts', `/**\n * @param id ${half}\n *   ${half}end\n */`)).toHaveLength(1);
  expect(longSentences('a.ts', `/**\n * Short:\n *\n *   ${LONG}\n */`)).toEqual([]);
});

it('counts no words of code, lists and examples', () => {
  const fenced = `/**\n * @example ${LONG}\n *\n * \`\`\`\n * ${LONG}\n * \`\`\`\n */\nconst a = '${LONG}';`;
  expect(longSentences('a.ts', fenced)).toEqual([]);
  expect(longSentences('a.lua', `-- ARGV[1] ${LONG}\n--   ${LONG}`)).toEqual([]);
  expect(longSentences('a.lua', `-- Returns ${LONG}`)).toEqual([]);
});
