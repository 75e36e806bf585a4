import { endOf, startOf, cut } from '../runtime/cut.js';

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

/** The most items of an array that an error shows. */
const MOST_ITEMS = 3;

/**
 * Returns an address, or a failed try at one, without a possible password or key. A password may be before an @ or in a
 * query. It may also be in place of a port or of the number of a database.
 */
export function withoutPassword(address: string): string {
  return hideKeys(address)
    .replace(/^.*@/s, '…@')
    .replace(/\?.*$/s, '?…')
    .replace(/:(?!\/\/|\d+([/?#]|$)).*$/s, ':…')
    .replace(/^((?:\w*:?\/\/)?[^/#]+[/#])(?!\d*\/?(?:\?…)?$).*$/s, '$1…');
}

/** An address of Redis with something behind the host that is no number of a database. A placeholder of ours is no password. */
const REDIS_PATH = /(rediss?:\/\/[^\s/@#]+[/#])(?!\d*(?:[^\w#-]|$)|<).*$/is;

/** Returns a text in which no address has a password. */
export function withoutPasswords(text: string): string {
  return text.replaceAll(/\S+/g, hidePassword);
}

/** Hides the password of a text that may be an address. It is before its last @, in its query, or in place of a database. */
function hidePassword(text: string): string {
  const at = text.lastIndexOf('@');
  const before = text.slice(0, Math.max(0, at));
  const scheme = before.toLowerCase().indexOf('redis');
  const isAddress = before.includes('//') || (scheme >= 0 && before.includes(':', scheme));
  const shown = isAddress ? `…${text.slice(at)}` : text.replace(REDIS_PATH, '$1…');
  const query = shown.search(/[?&]/);
  const hasPassword = query >= 0 && shown.toLowerCase().includes('password=', query);
  return hasPassword ? `${shown.slice(0, query)}?…` : shown;
}

/** Text that may be a key: base64 of 24 bytes or more, or 32 bytes as hexadecimal digits. Bounded, or the engine gives up on megabytes. */
const KEY_LIKE = /[\w+/-]{32,4096}={0,2}/g;

/** Returns a text without what may be an encryption key. A likely mistake gives one in the place of another option. */
function hideKeys(text: string): string {
  return text.replace(KEY_LIKE, (key) =>
    /^[\da-f]{64}$/i.test(key) || (/[a-z]/.test(key) && /[A-Z]/.test(key) && /[\d+/]/.test(key))
      ? `… (${key.length} characters)`
      : key,
  );
}

/** Returns the name of an option for an error, without a password or a key in its place. */
export function showName(name: string): string {
  return startOf(hidePassword(hideKeys(name)), 80);
}

/** Returns what a value is, and nothing of its content: for options that have secrets. */
export function showKind(value: unknown): string {
  if (typeof value === 'string') {
    return `text of ${value.length} characters`;
  }
  if (Array.isArray(value)) {
    return `an array of ${value.length}`;
  }
  if (ArrayBuffer.isView(value)) {
    return `${value.byteLength} bytes`;
  }
  return value === null || value === undefined ? 'none' : `a value of the type ${typeof value}`;
}

/** Returns a value for an error message: short, on one line, without a password, with its type if that helps. */
export function show(value: unknown): string {
  if (typeof value === 'string') {
    return JSON.stringify(cut(hidePassword(hideKeys(value)), 80));
  }
  if (typeof value === 'function') {
    return `a function${value.name && ` (${showName(value.name)})`}`;
  }
  if (value instanceof Date) {
    return Number.isNaN(value.getTime()) ? 'an invalid Date' : value.toISOString();
  }
  if (typeof value === 'object' && value !== null) {
    return Array.isArray(value)
      ? showArray(value)
      : `an object with ${startOf(Object.keys(value).slice(0, 5).map(showName).join(', '), 80) || 'no keys'}`;
  }
  return typeof value === 'symbol' ? 'a symbol' : String(value);
}

/** Returns a short list of scalars as it is, because a wrong list is found by its items. */
function showArray(items: readonly unknown[]): string {
  const isShort = items.length > 0 && items.length <= MOST_ITEMS;
  const areScalars = items.every((item) => ['string', 'number', 'boolean'].includes(typeof item));
  return isShort && areScalars ? `[${items.map(show).join(', ')}]` : `an array of ${items.length}`;
}
