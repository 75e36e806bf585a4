import type { StoredError } from './job.js';

const LONGEST_MESSAGE = 2_000;
const LONGEST_STACK = 4_000;

/** Anything that was thrown, as it is kept with the job: bounded, so that a huge message cannot fill the server. */
export function storeError(thrown: unknown): StoredError {
  if (thrown instanceof Error) {
    const stored: StoredError = { name: thrown.name, message: cut(thrown.message, LONGEST_MESSAGE) };
    return thrown.stack ? { ...stored, stack: cut(thrown.stack, LONGEST_STACK) } : stored;
  }
  return { name: 'Error', message: cut(typeof thrown === 'string' ? thrown : safeString(thrown), LONGEST_MESSAGE) };
}

function safeString(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return Object.prototype.toString.call(value);
  }
}

function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}…` : text;
}
