import type { StoredError } from './job.js';

const LONGEST_MESSAGE = 2_000;
const LONGEST_STACK = 4_000;

/**
 * Anything that was thrown, as it is kept with the job: bounded, so that a huge message cannot fill the server. Never
 * throws itself, whatever an application's error does when it is read.
 */
export function storeError(thrown: unknown): StoredError {
  try {
    if (thrown instanceof Error) {
      const { name, message, stack } = thrown;
      const stored = { name: text(name, LONGEST_MESSAGE), message: text(message, LONGEST_MESSAGE) };
      return stack ? { ...stored, stack: text(stack, LONGEST_STACK) } : stored;
    }
    return { name: 'Error', message: text(thrown, LONGEST_MESSAGE) };
  } catch {
    return { name: 'Error', message: 'an error that cannot be read' };
  }
}

/** A message of our own, within the length that is kept of one. */
export function cutMessage(message: string): string {
  return cut(message, LONGEST_MESSAGE);
}

function text(value: unknown, length: number): string {
  return cut(typeof value === 'string' ? value : safeString(value), length);
}

function safeString(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return Object.prototype.toString.call(value);
  }
}

function cut(whole: string, length: number): string {
  // Redis keeps UTF-8, which has no half of a character.
  return (whole.length > length ? `${whole.slice(0, length)}…` : whole).replace(/\p{Surrogate}/gu, '\uFFFD');
}
