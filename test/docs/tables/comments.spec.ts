// No sentence of a comment is longer than a reader can take in.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';

const MOST_WORDS = 30;
const root = join(import.meta.dirname, '../../..');
const folders = ['src', 'lua', 'test', 'tools', 'bench', 'examples', 'scripts'];

/** Lists of arguments, keys, replies and needs in the headers of Lua scripts, and what is no prose in a docstring. */
const LIST = /^(KEYS|ARGV|Returns|Needs:|@example|@throws)/;

/** Returns the paragraphs of a file's comments: lines with more than one blank before their text are lists. */
function paragraphsOf(file: string, source: string): string[] {
  const mark = file.endsWith('.lua') ? /^\s*--(.*)$/ : /^\s*(?:\/\/|\/?\*\*?(?!\/))(.*?)(?:\*\/)?$/;
  let fenced = false;
  return source
    .split('\n')
    .map((line) => {
      const text = mark.exec(line)?.[1]?.replace(/^ /, '') ?? '';
      if (text.startsWith('```')) fenced = !fenced;
      return fenced || /^( {2}|\||```)/.test(text) ? '' : text;
    })
    .map((text) => (/^([-*] |\w+\(|[A-Z]{4}|Returns|Needs:|@)/.test(text) ? `\n${text}` : text))
    .join('\n')
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.trim())
    .filter((paragraph) => !LIST.test(paragraph));
}

const sentencesOf = (paragraph: string) => paragraph.split(/(?<=[.!?][)`'"]*)\s+/);
const wordsOf = (sentence: string) => sentence.split(/\s+/).filter((word) => /\w/.test(word)).length;

function longOf(file: string, source: string): string[] {
  return paragraphsOf(file, source)
    .flatMap(sentencesOf)
    .filter((sentence) => wordsOf(sentence) > MOST_WORDS);
}

it.each(folders)('%s', (folder) => {
  const files = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).filter(
    (file) => /\.(ts|tsx|mjs|lua)$/.test(file) && !/node_modules|generated|fixtures|dist/.test(file),
  );
  expect(files.length).toBeGreaterThan(0);
  const found = files.flatMap((file) =>
    longOf(file, readFileSync(join(root, folder, file), 'utf8')).map((sentence) => `${file}: ${sentence}`),
  );
  expect(found).toEqual([]);
});

it('counts the words of prose, but of no code, list or example', () => {
  const long = `${'word '.repeat(MOST_WORDS)}end.`;
  expect(longOf('a.ts', `/**\n * Short.\n * ${long}\n */`)).toHaveLength(1);
  expect(longOf('a.lua', `-- ${long}\nlocal a = 1`)).toHaveLength(1);
  expect(
    longOf('a.ts', `/**\n * @example ${long}\n *\n * \`\`\`\n * ${long}\n * \`\`\`\n */\nconst a = '${long}';`),
  ).toEqual([]);
  expect(longOf('a.lua', `-- ARGV[1] ${long}\n--   ${long}`)).toEqual([]);
});
