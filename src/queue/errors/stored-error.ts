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
    return { name: 'Error', message: textOf(stored) };
  }
  const { name, code, message, stack, cause, errors } = stored as Partial<Record<keyof StoredError, unknown>>;
  const inner = (each: unknown) => decodeStoredError(each, depth + 1);
  return {
    name: typeof name === 'string' ? name : 'Error',
    ...codeOf(code),
    message: textOf(message),
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

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}
