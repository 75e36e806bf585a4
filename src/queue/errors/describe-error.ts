import type { StoredError } from './stored-error.js';
import { serializeError } from './serialize-error.js';
import { oneLine } from './one-line.js';
import { cut } from '../runtime/cut.js';

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
