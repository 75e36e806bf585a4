import { InvalidPayloadError } from '../errors/errors.js';
import { show } from '../errors/show.js';

/** A schema of any library that follows Standard Schema (https://standardschema.dev), such as zod, valibot or arktype. */
export interface StandardSchema<Input = unknown, Output = Input> {
  /** The interface of Standard Schema. */
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaOutcome<Output> | Promise<SchemaOutcome<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** The result of a schema: the parsed value, or the issues. */
export type SchemaOutcome<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

/** An error that a schema found. */
export interface SchemaIssue {
  /** The issue in words. */
  readonly message: string;
  /** The path of the issue; absent for the value itself. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** The input of a schema. */
export type InputOf<Schema extends StandardSchema> = NonNullable<Schema['~standard']['types']>['input'];

/** The output of a schema. */
export type OutputOf<Schema extends StandardSchema> = NonNullable<Schema['~standard']['types']>['output'];

/** The schema of values that were checked before, such as in the thread that sent them. It accepts anything. */
export const CHECKED: StandardSchema = {
  '~standard': { version: 1, vendor: 'nest-job-queue', validate: (value) => ({ value }) },
};

/** Hides parts of a value in an error about it. */
export interface Hiding {
  /** The text in place of a hidden value. */
  readonly mark: string;
  /** Returns the visible part of the value. */
  visible(value: unknown): unknown;
  /** Returns the visible keys of the way to a place in the value. Tells whether the value there is shown whole. */
  look(value: unknown, keys: readonly PropertyKey[]): { keys: readonly PropertyKey[]; isWhole: boolean };
  /** Returns a function that removes the hidden parts of the value from a text. */
  texts(value: unknown): (text: string) => string;
}

/**
 * Parses a value with a schema. Returns a promise only if the schema needs one, so that enqueues of one tick stay
 * together.
 *
 * @param subject the name of the value in errors: `payload`, `result`
 * @param hiding hides parts of the value in the error
 * @throws InvalidPayloadError with the path of the first fault (a rejection, if the schema is asynchronous)
 */
export function validateWithSchema<Output>(
  subject: string,
  schema: StandardSchema<unknown, Output>,
  value: unknown,
  hiding?: Hiding,
): Output | Promise<Output> {
  const outcome = schema['~standard'].validate(value);
  return outcome instanceof Promise
    ? outcome.then((settled) => valueOf(subject, settled, value, hiding))
    : valueOf(subject, outcome, value, hiding);
}

function valueOf<Output>(
  subject: string,
  outcome: SchemaOutcome<Output>,
  value: unknown,
  hiding: Hiding | undefined,
): Output {
  if (outcome.issues === undefined) {
    return outcome.value;
  }
  const [issue] = outcome.issues;
  const keys = issue ? keysOf(issue) : [];
  const found = show(at(value, keys));
  if (!hiding) {
    throw new InvalidPayloadError(keys.reduce(step, subject), expectation(issue), found);
  }
  const hide = hiding.texts(value);
  const shown = hiding.look(value, keys);
  const path = shown.keys.reduce(step, subject);
  // Texts hide no short value, so an error about a hidden one leaves out the message of the schema too.
  throw shown.isWhole
    ? new InvalidPayloadError(path, hide(expectation(issue)), hide(found))
    : new InvalidPayloadError(path, 'what its schema allows', hiding.mark);
}

function at(value: unknown, keys: readonly PropertyKey[]): unknown {
  return keys.reduce<unknown>(
    (each, key) => (each as Record<PropertyKey, unknown> | null | undefined)?.[key],
    value,
  );
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
