// Checks replies where they enter. A proxy that mixes the replies of two calls must not end in an error without a name.
import type { Replied } from '../codec/sealed.js';
import type { CleanReply } from '../store/call-outcomes.js';
import { UnexpectedReply } from '../store/store-call.js';

/** Returns a decoder of one of these words. */
export function oneOf<const Word extends string>(...words: readonly Word[]): (reply: unknown) => Word {
  return (reply) => {
    if (!words.includes(reply as Word)) {
      throw new UnexpectedReply(words.join(', '), reply);
    }
    return reply as Word;
  };
}

/** Returns a decoder of a list with one of these words for each job. */
export function oneOfEach<const Word extends string>(
  count: number,
  ...words: readonly Word[]
): (reply: unknown) => Word[] {
  return (reply) => {
    if (!Array.isArray(reply) || reply.length !== count || !reply.every((word) => words.includes(word as Word))) {
      throw new UnexpectedReply(`${count} of ${words.join(', ')}`, reply);
    }
    return reply as Word[];
  };
}

/** Returns a whole number; some clients give numbers as text. */
export function wholeNumberOf(reply: unknown): number {
  const value = typeof reply === 'string' && reply !== '' ? Number(reply) : reply;
  if (!Number.isInteger(value)) {
    throw new UnexpectedReply('a whole number', reply);
  }
  return value as number;
}

export function listOf(reply: unknown): unknown[] {
  if (!Array.isArray(reply)) {
    throw new UnexpectedReply('a list', reply);
  }
  return reply;
}

/** Returns a list of texts in rows of `size`. A number becomes a text. */
export function rowsOf(reply: unknown, size: number): Replied[][] {
  const fields = listOf(reply);
  if (fields.length % size !== 0 || !fields.every(isScalar)) {
    throw new UnexpectedReply(`texts in rows of ${size}`, reply);
  }
  const texts = fields.map((field) => String(field) as Replied);
  return Array.from({ length: texts.length / size }, (_, i) => texts.slice(size * i, size * (i + 1)));
}

function isScalar(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}

/** Returns rows, each a list of `size` values. A missing value is null. */
export function listsOf(reply: unknown, size: number): (string | number | null)[][] {
  return listOf(reply).map((row) => fieldsOf(row, size));
}

/** Returns a list of `size` values. A missing value is null. */
export function fieldsOf(reply: unknown, size: number): (string | number | null)[] {
  const fields = listOf(reply);
  if (fields.length !== size || !fields.every((field) => field === null || isScalar(field))) {
    throw new UnexpectedReply(`a list of ${size} texts`, reply);
  }
  return fields;
}

/** Returns `count` whole numbers. */
export function wholeNumbersOf(reply: unknown, count: number): number[] {
  const numbers = listOf(reply);
  if (numbers.length !== count) {
    throw new UnexpectedReply(`${count} whole numbers`, reply);
  }
  return numbers.map(wholeNumberOf);
}

/** Returns true for 1 and false for 0. */
export function flagOf(reply: unknown): boolean {
  const flag = wholeNumberOf(reply);
  if (flag !== 0 && flag !== 1) {
    throw new UnexpectedReply('0 or 1', reply);
  }
  return flag === 1;
}

/** Returns a text of a reply behind so many of its line feeds. Empty if it has fewer. */
export function behindLines(text: Replied, feeds: number): Replied {
  return text.split('\n').slice(feeds).join('\n') as Replied;
}

export function textOf(reply: unknown): string {
  if (!isScalar(reply)) {
    throw new UnexpectedReply('a text', reply);
  }
  return String(reply);
}

/** Decodes an instant in ms since 1970. Returns undefined if it is invalid, because a broken hash must not break a reader. */
export function decodeDate(ms: unknown): Date | undefined {
  const isInstant = typeof ms === 'string' || typeof ms === 'number' || ms instanceof Date;
  const at = new Date(isInstant ? Number(ms) : Number.NaN);
  return Number.isNaN(at.getTime()) ? undefined : at;
}

/** Decodes an instant that every record has; 1970 if it is unknown. */
export function decodeKnownDate(ms: unknown): Date {
  return decodeDate(ms) ?? new Date(0);
}

/** Decodes the reply of `lua/queue/clean.lua` and `lua/group/clean.lua`. */
export function decodeClean(reply: unknown): CleanReply {
  const [deleted, next] = wholeNumbersOf(reply, 2);
  return { deleted: deleted!, next: next === -1 ? undefined : next };
}
