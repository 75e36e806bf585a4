// Escapes text for the terminal. Any client can choose the texts of a job. So each part of an output is escaped where
// it is inserted.
import { count, duration, relative } from '../inspect/words.js';
import { oneLine, UNPRINTABLE } from '../queue/errors/show.js';

/** The default limit of a part, in characters. */
export const LONGEST_PART = 2_000;

/** Output that is safe as it is. Only the functions of this file make one. */
export class Text {
  declare private readonly isText: true;

  /** @internal */
  constructor(readonly value: string) {}
}

/** A part of an output: a string is escaped, a Text is not. A number has its thousands set apart. */
export type Part = string | number | Text;

/** Puts parts into words of ours: `` text`job ${id}` ``. */
export function text(words: TemplateStringsArray, ...parts: readonly Part[]): Text {
  return new Text(words.reduce((done, word, i) => `${done}${valueOf(parts[i - 1]!)}${word}`));
}

/** Returns a part as one line of bounded length. */
export function clipped(part: string, longest: number): Text {
  return new Text(oneLine(part, longest));
}

/** Parts below one another. */
export function lines(parts: readonly Part[]): Text {
  return joined(parts, '\n');
}

/** Parts beside one another. */
export function joined(parts: readonly Part[], between: string): Text {
  return new Text(parts.map((part) => valueOf(part)).join(between));
}

/** Returns a part with blanks behind it. */
export function padded(part: Part, width: number): Text {
  return new Text(valueOf(part).padEnd(width));
}

/** Returns a part as it is shown. */
export function valueOf(part: Part, longest: number = LONGEST_PART): string {
  if (part instanceof Text) {
    return part.value;
  }
  return typeof part === 'number' ? count(part) : oneLine(String(part), longest);
}

/** Returns a text of several lines without a character that steers a terminal. */
export function printableText(value: string): string {
  return value.replaceAll(UNPRINTABLE, spelledOut);
}

/** Returns JSON whose strings have the same value, but no character that steers a terminal. */
export function printableJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replaceAll(UNPRINTABLE, spelledOut);
}

/** Escapes a character, except for a line break: it separates the values, whose own line breaks are escaped. */
function spelledOut(character: string): string {
  return character === '\n' ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Returns an instant in ISO 8601; `–` for an unknown one, as in a broken hash. */
export function instant(at: Date | null | undefined): string {
  return isKnown(at) ? at.toISOString() : '–';
}

/** Returns an instant relative to now in words; `–` for an unknown one. @param nowMs the time of the server */
export function ago(at: Date | null | undefined, nowMs: number): string {
  return isKnown(at) ? relative(at.getTime(), nowMs) : '–';
}

/** Returns an instant in words and exactly: `in 3 h (2026-11-26T22:00:00.000Z)`. */
export function when(at: Date | null | undefined, nowMs: number): string {
  return isKnown(at) ? `${ago(at, nowMs)} (${instant(at)})` : '–';
}

/** Returns a duration in words; `–` for an unknown one. */
export function age(ms: number | null | undefined): string {
  return Number.isFinite(ms) ? duration(ms!) : '–';
}

/** Returns whether a time is known. A record has 1970 if its hash has no time, or no readable one. */
function isKnown(at: Date | null | undefined): at is Date {
  return at !== null && at !== undefined && at.getTime() > 0;
}
