import { InvalidPayloadError } from '../errors/errors.js';
import { show } from '../errors/show.js';
import type { SchemaIssue, SchemaOutcome, StandardSchema } from './standard-schema.js';

/**
 * Parses a value with a schema. Returns a promise only if the schema needs one, so that enqueues of one tick stay
 * together.
 *
 * @param subject the name of the value in errors: `payload`, `result`
 * @throws InvalidPayloadError with the path of the first fault (a rejection, if the schema is asynchronous)
 */
export function validateWithSchema<Output>(
  subject: string,
  schema: StandardSchema<unknown, Output>,
  value: unknown,
): Output | Promise<Output> {
  const outcome = schema['~standard'].validate(value);
  return outcome instanceof Promise
    ? outcome.then((settled) => valueOf(subject, settled, value))
    : valueOf(subject, outcome, value);
}

function valueOf<Output>(subject: string, outcome: SchemaOutcome<Output>, value: unknown): Output {
  if (outcome.issues === undefined) {
    return outcome.value;
  }
  const [issue] = outcome.issues;
  const keys = issue ? keysOf(issue) : [];
  const found = keys.reduce<unknown>(
    (each, key) => (each as Record<PropertyKey, unknown> | undefined)?.[key],
    value,
  );
  throw new InvalidPayloadError(keys.reduce(step, subject), expectation(issue), show(found));
}

function keysOf(issue: SchemaIssue): PropertyKey[] {
  return (issue.path ?? []).map((part) => (typeof part === 'object' ? part.key : part));
}

function step(path: string, key: PropertyKey): string {
  return typeof key === 'number' ? `${path}[${key}]` : `${path}.${String(key)}`;
}

/** Returns the expectation of the schema, from its own message. */
function expectation(issue: SchemaIssue | undefined): string {
  const message = issue?.message ?? 'no reason given';
  const wanted = /\bexpected (.+?)(?:(?:,| but) (?:received|got) .*)?$/is.exec(message)?.[1];
  return wanted ?? `what its schema allows (${message})`;
}
