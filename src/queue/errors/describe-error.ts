import { createHash } from 'node:crypto';
import type { StoredError } from './stored-error.js';
import { serializeError } from './serialize-error.js';
import { oneLine } from './one-line.js';
import { cut, startOf } from '../runtime/cut.js';

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

/** The most characters of the kind of an error. */
const KEY_LENGTH = 200;
/** The characters of a message that decide its kind. */
const LOOKED_AT = 1_000;

/**
 * Returns the kind of an error: its message without numbers, ids and quoted text, which differ between jobs.
 */
export function errorKey(message: string): string {
  const kind = startOf(message, LOOKED_AT)
    .replaceAll(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi, '…')
    .replaceAll(/"[^"]{0,200}"|'[^']{0,200}'|`[^`]{0,200}`/g, '…')
    .replaceAll(/\b(?=[\da-z]*\d)[\da-z]{8,}\b/gi, '…')
    .replaceAll(/\d+([.,]\d+)*/g, '…')
    .replaceAll(/\s+/g, ' ')
    .trim();
  return startOf(kind, KEY_LENGTH);
}

const FINGERPRINT_LENGTH = 10;

/** Returns the fingerprint of the kind of an error. It shows nothing of the message. */
export function errorFingerprint({ name, message }: Pick<StoredError, 'name' | 'message'>): string {
  return createHash('sha1')
    .update(`${name}\n${errorKey(message)}`)
    .digest('hex')
    .slice(0, FINGERPRINT_LENGTH);
}
