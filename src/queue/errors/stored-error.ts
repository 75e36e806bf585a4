import { types } from 'node:util';
import { cut, wellFormed } from '../runtime/cut.js';
import { oneLine } from './show.js';

/** An error as stored with a job. */
export interface StoredError {
  /** The name of the error, such as `TypeError`. */
  name: string;
  /** Its `code`, such as `ECONNREFUSED` or `P2002`. Absent unless it has the form of one. */
  code?: string;
  /** Its message, at most 2,000 characters. */
  message: string;
  /** Its stack, at most 4,000 characters. */
  stack?: string;
  /** Its `cause`, if it has one. */
  cause?: StoredError;
  /** The errors of an AggregateError, at most ten. */
  errors?: StoredError[];
}

/** The most levels of causes and errors that this library stores. */
const DEEPEST = 5;

/** Decodes a stored error. Another program may have written any JSON in its place. */
export function decodeStoredError(stored: unknown, depth = 0): StoredError {
  if (typeof stored !== 'object' || stored === null || Array.isArray(stored)) {
    return { name: 'Error', message: messageOf(stored) };
  }
  const { name, code, message, stack, cause, errors } = stored as Partial<Record<keyof StoredError, unknown>>;
  const inner = (each: unknown) => decodeStoredError(each, depth + 1);
  return {
    name: typeof name === 'string' ? name : 'Error',
    ...codeOf(code),
    message: messageOf(message),
    ...(typeof stack === 'string' && { stack }),
    ...(cause !== undefined && cause !== null && depth < DEEPEST && { cause: inner(cause) }),
    ...(Array.isArray(errors) && depth < DEEPEST && { errors: errors.map(inner) }),
  };
}

/** The form of a code that a program has chosen. An account or a telephone number has more digits in a row. */
const CODE = /^(?!.*\d{6})[A-Za-z0-9][\w.:/-]{0,63}$/;

/** Returns the code of an error as a field, if it has the form of one. */
export function codeOf(code: unknown): { code?: string } {
  const text = typeof code === 'number' ? String(code) : code;
  return typeof text === 'string' && CODE.test(text) ? { code: text } : {};
}

function messageOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

const LONGEST_MESSAGE = 2_000;
const LONGEST_STACK = 4_000;

/** The most errors of an AggregateError that are kept, and the total characters. */
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
  const text = (value: unknown, length: number) => wellFormed(cut(hide(shownText(value)), length));
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

function shownText(value: unknown): string {
  if (typeof value === 'string') {
    return value;
  }
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return Object.prototype.toString.call(value);
  }
}

/** The most characters of an error in a log, its stack and its causes included. */
const LONGEST_DESCRIPTION = 8_000;
const LONGEST_FRAME = 300;
const FRAME = /^\s*at /;

/**
 * Returns an error as a log shows it. The first line has its name and message. The next lines have its stack and
 * its causes. Accepts any value, and never throws.
 */
export function describeError(thrown: unknown): string {
  return describeStored(serializeError(thrown));
}

/** Does the same for an error stored with a job. */
export function describeStored(error: StoredError): string {
  return cut(linesOf(error, '').join('\n'), LONGEST_DESCRIPTION);
}

function linesOf({ name, message, stack, cause, errors = [] }: StoredError, indent: string): string[] {
  const frames = stack?.split('\n').filter((line) => FRAME.test(line)) ?? [];
  const nested = (label: string, error: StoredError) => {
    const [first, ...rest] = linesOf(error, `${indent}  `);
    return [`${indent}  [${label}] ${first!}`, ...rest];
  };
  return [
    oneLine(`${name}: ${message}`),
    ...frames.map((frame) => `${indent}    ${oneLine(frame.trim(), LONGEST_FRAME)}`),
    ...(cause ? nested('cause', cause) : []),
    ...errors.flatMap((error, i) => nested(`error ${i + 1}`, error)),
  ];
}

/** The form of the name of a class. An account or a telephone number has more digits in a row. */
const NAME_OF_CODE = /^(?!.*\d{4})[A-Za-z_$][\w$]{0,63}$/;

/** Returns the name of an error, if code chose it. A handler may set any text, such as one of its payload. */
export function nameOfCode(name: string): string {
  return NAME_OF_CODE.test(name) ? name : 'Error';
}
