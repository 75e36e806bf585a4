import { endOf, startOf } from '../runtime/cut.js';

/** The most characters of one line of a log, or of an error's message. */
const LONGEST_LINE = 2_000;

/** Line breaks, control characters, halves of characters, and marks that turn the direction of writing. */
export const UNPRINTABLE = /[\p{Cc}\p{Surrogate}\u061C\u200E\u200F\u2028\u2029\u202A-\u202E\u2066-\u2069]/gu;

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/**
 * Returns text as one line of bounded length. Any client may choose ids, names and messages. A line break in an id must
 * not forge a line of the log. A long id must not hide the rest. A longer text loses its middle.
 *
 * @param longest how many characters are kept, before unprintable ones are escaped (`\x1b`)
 */
export function oneLine(text: string, longest = LONGEST_LINE): string {
  return cutMiddle(text, longest).replace(UNPRINTABLE, (character) => SHORT[character] ?? spelledOut(character));
}

function cutMiddle(text: string, longest: number): string {
  if (text.length <= longest) {
    return text;
  }
  const length = Math.ceil(longest * 0.75);
  const [head, tail] = [startOf(text, length), endOf(text, longest - length)];
  return `${head}… (${text.length - head.length - tail.length} characters left out) …${tail}`;
}

function spelledOut(character: string): string {
  const code = character.charCodeAt(0);
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16)}`;
}

/** Counts things in words: `1 job`, `3 jobs`. */
export function counted(number: number, thing: string): string {
  return `${number} ${thing}${number === 1 ? '' : 's'}`;
}
