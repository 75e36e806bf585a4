// Checks that no sentence of a comment is longer than a reader can take in. Code, lists and examples do not count.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join, sep } from 'node:path';

/** The most words of a sentence. */
export const MOST_WORDS = 20;

const TREES = ['src', 'lua', 'test', 'tools', 'bench', 'examples', 'scripts', 'codemod'];
const SOURCE = /\.(ts|tsx|mts|cts|js|mjs|cjs|lua)$/;
const MADE = /(^|\/)(node_modules|dist|fixtures|results)\/|\.generated\./;

/** Paragraphs without prose: in a docstring, and in Lua headers the lists of arguments, keys, replies and needs. */
const LISTS = { lua: /^(KEYS|ARGV|Returns|Needs:)/, other: /^@example/ };

/** Returns a line for each long sentence in a comment under `root`. */
export function checkComments(root) {
  return sourcesOf(root).flatMap((file) =>
    longSentences(file, readFileSync(join(root, file), 'utf8')).map(
      (sentence) => `${file}: a sentence of more than ${MOST_WORDS} words; make two of it: ${sentence}`,
    ),
  );
}

/** Returns the long sentences in a file's comments. */
export function longSentences(file, source) {
  return paragraphsOf(file, source)
    .flatMap((paragraph) => paragraph.split(/(?<=[.!?][)`'"]*)\s+/))
    .filter((sentence) => sentence.split(/\s+/).filter((word) => /\w/.test(word)).length > MOST_WORDS);
}

/** Returns the paragraphs of a file's comments. An indented line continues the line above it, or else is an example. */
function paragraphsOf(file, source) {
  const isLua = file.endsWith('.lua');
  const mark = isLua ? /^\s*--(.*)$/ : /^\s*(?:\/\/|\/?\*\*?(?!\/))(.*?)(?:\*\/)?$/;
  const list = isLua ? LISTS.lua : LISTS.other;
  let fenced = false;
  let above = '';
  return source
    .split('\n')
    .map((line) => {
      const text = mark.exec(line)?.[1]?.replace(/^ /, '') ?? '';
      if (text.startsWith('```')) fenced = !fenced;
      const isExample = fenced || /^(\||```)/.test(text) || (/^ {2}/.test(text) && above === '');
      above = isExample ? '' : text;
      return above;
    })
    .map((text) => (/^([-*] |\w+\(|[A-Z]{4}|Returns|Needs:|@)/.test(text) ? `\n${text}` : text))
    .join('\n')
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.trim())
    .filter((paragraph) => !list.test(paragraph));
}

/** Returns the paths of the hand-written sources under `root`. */
export function sourcesOf(root) {
  return TREES.flatMap((tree) => filesOf(root, tree));
}

function filesOf(root, tree) {
  if (!existsSync(join(root, tree))) return [];
  return readdirSync(join(root, tree), { recursive: true })
    .map((file) => `${tree}/${String(file).split(sep).join('/')}`)
    .filter((file) => SOURCE.test(file) && !MADE.test(file))
    .toSorted();
}
