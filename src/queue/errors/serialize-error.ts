import { types } from 'node:util';
import { codeOf, type StoredError } from './stored-error.js';
import { cut, wellFormed } from '../runtime/cut.js';

const LONGEST_MESSAGE = 2_000;
const LONGEST_STACK = 4_000;

/**
 * The most levels of causes and AggregateErrors that are kept. Below: the most errors of each, and the total
 * characters.
 */
const DEEPEST = 5;
const MOST_ERRORS = 10;
const LONGEST_INNER_MESSAGE = 500;
const LONGEST_CAUSE_STACK = 2_000;
const LONGEST_INNER_STACK = 600;
const MOST_INNER_CHARACTERS = 8_000;
const LEAST_INNER_CHARACTERS = 100;

const UNREADABLE: StoredError = { name: 'Error', message: 'an error that cannot be read' };

/**
 * Returns any thrown value in its stored form, with its `cause` and the `errors` of an AggregateError. Its size is
 * bounded, so that a huge message cannot fill the server. Never throws, even if reading an application's error fails.
 *
 * @param hide removes from a text what nobody may see, before the text is cut
 */
export function serializeError(thrown: unknown, hide: (text: string) => string = (text) => text): StoredError {
  try {
    const own = readError(thrown, LONGEST_MESSAGE, LONGEST_STACK, hide);
    return { ...own, ...readInner(thrown, 1, { left: MOST_INNER_CHARACTERS, hide }) };
  } catch {
    return { ...UNREADABLE };
  }
}

/** Cuts a message of this library to the stored length. */
export function cutMessage(message: string): string {
  return cut(message, LONGEST_MESSAGE);
}

function readError(
  thrown: unknown,
  longestMessage: number,
  longestStack: number,
  hide: (text: string) => string,
): StoredError {
  const text = (value: unknown, length: number) => wellFormed(cut(hide(textOf(value)), length));
  if (!isError(thrown)) {
    return { name: 'Error', message: text(thrown, longestMessage) };
  }
  const { name, message, stack, code } = thrown as Error & { code?: unknown };
  const stored = {
    name: text(name, longestMessage),
    ...codeOf(typeof code === 'string' ? hide(code) : code),
    message: text(message, longestMessage),
  };
  return stack ? { ...stored, stack: text(stack, longestStack) } : stored;
}

/** The number of characters of inner errors that may still be kept. */
interface Budget {
  left: number;
  readonly hide: (text: string) => string;
}

type Inner = Pick<StoredError, 'cause' | 'errors'>;

/** Returns the inner errors of an error, as far as they can be read. */
function readInner(thrown: unknown, depth: number, budget: Budget): Inner {
  const kept: Inner = {};
  if (!isError(thrown) || depth > DEEPEST || budget.left <= 0) {
    return kept;
  }
  try {
    const { cause } = thrown;
    if (cause !== undefined && cause !== null) {
      kept.cause = readBehind(cause, depth, budget, LONGEST_CAUSE_STACK);
    }
    const { errors } = thrown as { errors?: unknown };
    if (Array.isArray(errors) && errors.length > 0) {
      kept.errors = readErrors(errors, depth, budget);
    }
  } catch {
    // A getter threw; the error itself was read.
  }
  return kept;
}

function readErrors(errors: readonly unknown[], depth: number, budget: Budget): StoredError[] {
  const kept: StoredError[] = [];
  while (kept.length < Math.min(errors.length, MOST_ERRORS) && budget.left > 0) {
    kept.push(readBehind(errors[kept.length], depth, budget, LONGEST_INNER_STACK));
  }
  const left = errors.length - kept.length;
  return left > 0 ? [...kept, { name: 'Error', message: `and ${left} more` }] : kept;
}

function readBehind(thrown: unknown, depth: number, budget: Budget, longestStack: number): StoredError {
  try {
    const own = readError(thrown, LONGEST_INNER_MESSAGE, longestStack, budget.hide);
    budget.left -= LEAST_INNER_CHARACTERS + own.message.length + (own.stack?.length ?? 0);
    return { ...own, ...readInner(thrown, depth + 1, budget) };
  } catch {
    return { ...UNREADABLE };
  }
}

/** Accepts an error of another realm too, such as that of a `vm`. */
function isError(thrown: unknown): thrown is Error {
  return thrown instanceof Error || types.isNativeError(thrown);
}

function textOf(value: unknown): string {
  if (typeof value === 'string') {
    return value;
  }
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return Object.prototype.toString.call(value);
  }
}
