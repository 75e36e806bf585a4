// The kind of an error: which failures have the same cause.
import { createHash } from 'node:crypto';
import type { StoredError } from './stored-error.js';
import { errorKey } from './error-text.js';

const FINGERPRINT_LENGTH = 10;
/** The most kinds of inner errors of an AggregateError that name its kind. */
const MOST_INNER = 3;
/** The start of a kind that joins all errors of one name and place. */
export const JOINED = '~';
const FRAME = /^\s*at /;
/** A frame of Node, of a dependency or of this library, which says nothing about the place in the app. */
const FOREIGN_FRAME = /node:|node_modules|<anonymous>|\(native\)|\(index \d+\)/;

/**
 * Returns the app's own words for the kind of an error, as a field. A function that throws or returns no text leaves it to
 * the default: it must not cost the failure.
 */
export function ownKindOf(
  thrown: unknown,
  errorKind: ((error: unknown) => string) | undefined,
): { ownKind?: string } {
  try {
    const ownKind: unknown = errorKind?.(thrown);
    return typeof ownKind === 'string' && ownKind !== '' ? { ownKind } : {};
  } catch {
    return {};
  }
}

/** Returns the error at the end of the chain of causes; the error itself without a cause. */
function rootOf(error: StoredError): StoredError {
  let root = error;
  while (root.cause) {
    root = root.cause;
  }
  return root;
}

/** Returns the text that makes the kind of an error: name, code and message, also of its root cause. */
export function kindText(error: StoredError): string {
  const root = rootOf(error);
  const inner = root.errors?.map((each) => partOf(rootOf(each))) ?? [];
  const parts = [partOf(error), ...(root === error ? [] : [partOf(root)])];
  return [...parts, ...[...new Set(inner)].toSorted().slice(0, MOST_INNER)].join('\n');
}

function partOf({ name, code, message }: StoredError): string {
  return `${name}\n${code ?? ''}\n${errorKey(message)}`;
}

/**
 * Returns the kind of an error, and the kind that joins it with others in a flood. Neither shows anything of the
 * message.
 *
 * @param keyed a digest with a key, for an error that is stored encrypted. A plain one would confirm a guess of its text
 * @param own the app's own words for the kind, by `errorKind`
 */
export function errorFingerprint(error: StoredError, keyed = (text: string) => text, own?: string): string {
  const digest = (text: string) => digestOf(keyed(text));
  return own === undefined
    ? `${digest(kindText(error))} ${JOINED}${digest(`${error.name}\n${ownFrame(error)}`)}`
    : digest(`own\n${own}`);
}

function digestOf(text: string): string {
  return createHash('sha1').update(text).digest('hex').slice(0, FINGERPRINT_LENGTH);
}

/** Returns the first frame of the app's own code, also of a cause; empty if there is none. */
function ownFrame({ stack, cause }: StoredError): string {
  const frame = stack?.split('\n').find((line) => FRAME.test(line) && !FOREIGN_FRAME.test(line));
  return frame?.trim() ?? (cause ? ownFrame(cause) : '');
}

/** The address of a service in a message: a host with a port, a domain, or an IP address. */
const ADDRESS =
  /(?<![\w@./-])(?:\[[\da-f:]+\]:\d+|[\w-]+(?:\.[\w-]+)*:\d{2,5}(?!\d)|(?:[\w-]+\.)+[a-z]{2,}(?![\w(])|(?:\d+\.){3}\d+)/i;

/** The cause at the end of the chain of an error, which errors of several queues may have in common. */
export interface RootCause {
  /** A digest that all errors with this cause have. */
  key: string;
  /** The cause in words. */
  words: string;
}

/** Returns the root cause of an error. Its address is part of the key, because two services that are down are two causes. */
export function rootCauseOf(error: StoredError): RootCause {
  const root = rootOf(error);
  const inner = root.message === '' && root.errors?.[0] ? rootOf(root.errors[0]) : root;
  const { name, code, message } = inner;
  const text = [code ?? name, errorKey(message), ADDRESS.exec(message)?.[0] ?? ''].join('\n');
  return { key: digestOf(text), words: errorWords(inner) };
}

/** Returns the words for an error: its message, that of its root cause, and its code where neither has it. */
export function errorWords(error: StoredError): string {
  const root = rootOf(error);
  const inner = root.message === '' ? (root.errors?.[0] ?? root) : root;
  const parts = [error.message, ...(error.message.includes(inner.message) ? [] : [inner.message])];
  const words = parts.filter((part) => part !== '').join(': ') || error.name;
  const { name, code } = error.code === undefined ? root : error;
  return code === undefined || words.includes(code) || isNamed(name, code) ? words : `${words} (${code})`;
}

/** Returns whether the name of an error says its code, as HandlerTimeoutError says HANDLER_TIMEOUT. */
function isNamed(name: string, code: string): boolean {
  return name
    .replaceAll(/\B[A-Z]/g, '_$&')
    .toUpperCase()
    .startsWith(code);
}
