// Patterns of Lua as regular expressions.
import { LuaError, LuaSubsetError } from './values.js';

interface Pattern {
  /** Searches from `lastIndex` on. Sticky if the pattern is anchored. */
  readonly regex: RegExp;
  readonly isAnchored: boolean;
  readonly captures: number;
}

/** What a class such as `%a` has, as the inside of a set. */
const CLASSES: Readonly<Record<string, string>> = {
  a: 'A-Za-z',
  c: '\\x00-\\x1f\\x7f',
  d: '0-9',
  l: 'a-z',
  p: '!-\\/:-@\\[-`{-~',
  s: '\\t-\\r ',
  u: 'A-Z',
  w: 'A-Za-z0-9',
  x: '0-9A-Fa-f',
  z: '\\x00',
};

const MOST_KEPT = 1_000;
const kept = new Map<string, Pattern>();

/**
 * Returns a pattern, translated once.
 *
 * @throws LuaSubsetError for `%b`, `%f`, back references, positions and complements in sets; LuaError for a malformed one
 */
export function patternOf(text: string): Pattern {
  let pattern = kept.get(text);
  if (!pattern) {
    if (kept.size >= MOST_KEPT) kept.clear(); // some patterns have ids in them
    pattern = translate(text);
    kept.set(text, pattern);
  }
  return pattern;
}

/** Yields the captures of each match. A match without captures is its own. */
export function* matchesOf(text: string, pattern: string): Generator<string[]> {
  const { regex, captures, isAnchored } = patternOf(pattern);
  if (isAnchored) throw new LuaSubsetError(`the anchor of ${JSON.stringify(pattern)} in gmatch`);
  let at = 0;
  while (at <= text.length) {
    regex.lastIndex = at;
    const found = regex.exec(text);
    if (!found) return;
    at = found.index + (found[0].length || 1);
    yield captures === 0 ? [found[0]] : found.slice(1);
  }
}

/** Returns the first match from a place on, counted from 0. */
export function matchFrom(text: string, pattern: string, from: number): RegExpExecArray | null {
  const { regex } = patternOf(pattern);
  regex.lastIndex = from;
  return regex.exec(text);
}

function translate(text: string): Pattern {
  const isAnchored = text.startsWith('^');
  let source = '';
  let captures = 0;
  let open = 0;
  for (let at = isAnchored ? 1 : 0; at < text.length;) {
    const char = text[at]!;
    if (char === '(') {
      if (text[at + 1] === ')') refuse(text, 'a position capture');
      captures++;
      open++;
      source += char;
      at++;
    } else if (char === ')') {
      if (--open < 0) throw new LuaError('invalid pattern capture');
      source += char;
      at++;
    } else if (char === '$' && at === text.length - 1) {
      source += char;
      at++;
    } else {
      const end = itemEnd(text, at);
      source += itemOf(text, at, end);
      at = end;
      const repeats = text[at];
      if (repeats === '*' || repeats === '+' || repeats === '?') source += repeats;
      else if (repeats === '-') source += '*?';
      else continue;
      at++;
    }
  }
  if (open > 0) throw new LuaError('unfinished capture');
  return { regex: new RegExp(source, isAnchored ? 'y' : 'g'), isAnchored, captures };
}

function refuse(text: string, what: string): never {
  throw new LuaSubsetError(`${what} in the pattern ${JSON.stringify(text)}`);
}

/** Returns where the class, set or character ends that begins at a place. */
function itemEnd(text: string, at: number): number {
  const char = text[at];
  if (char === '\0') refuse(text, 'a zero byte');
  if (char === '%') {
    if (at + 1 >= text.length) throw new LuaError("malformed pattern (ends with '%')");
    if (/[bf\d]/.test(text[at + 1]!)) refuse(text, text.slice(at, at + 2));
    return at + 2;
  }
  if (char !== '[') return at + 1;
  let end = at + 1;
  if (text[end] === '^') end++;
  do {
    if (text[end] === '%') end++;
    if (++end >= text.length) throw new LuaError("malformed pattern (missing ']')");
  } while (text[end] !== ']');
  return end + 1;
}

function itemOf(text: string, at: number, end: number): string {
  const char = text[at]!;
  if (char === '.') return '[^]';
  if (char === '[') return setOf(text, at + 1, end - 1);
  if (char !== '%') return literal(char);
  const letter = text[at + 1]!;
  const chars = CLASSES[letter.toLowerCase()];
  if (chars === undefined) return literal(letter);
  return letter === letter.toLowerCase() ? `[${chars}]` : `[^${chars}]`;
}

function setOf(text: string, from: number, to: number): string {
  const isNegated = text[from] === '^';
  let source = isNegated ? '[^' : '[';
  for (let at = isNegated ? from + 1 : from; at < to;) {
    const char = text[at]!;
    if (char === '%') {
      const letter = text[at + 1]!;
      const chars = CLASSES[letter.toLowerCase()];
      if (chars !== undefined && letter !== letter.toLowerCase()) refuse(text, `%${letter} in a set`);
      source += chars ?? literal(letter);
      at += 2;
    } else if (text[at + 1] === '-' && at + 2 < to) {
      if (char > text[at + 2]!) refuse(text, 'an empty range');
      source += `${literal(char)}-${literal(text[at + 2]!)}`;
      at += 3;
    } else {
      source += literal(char);
      at++;
    }
  }
  return `${source}]`;
}

function literal(char: string): string {
  return /[\\^$.*+?()[\]{}|/-]/.test(char) ? `\\${char}` : char;
}
