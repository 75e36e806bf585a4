import type { z } from 'zod';
import { InvalidOptionError } from '../errors/errors.js';
import { show, showKind, showName } from '../errors/show.js';
import { own } from '../runtime/collections.js';
import { numberHint } from './numbers.js';
import { suggest } from './suggest.js';

/** Without it zod compiles a function for each schema, which takes longer than the few checks of a schema. */
const ONCE = { jitless: true };

/**
 * Checks options against their schema and fills in defaults.
 *
 * @param subject what the options belong to, such as `forRoot` or `@JobHandler('email')`
 * @throws InvalidOptionError that names the option, the expected and the found value. For an unknown option it suggests
 *   the probable one
 */
export function checkOptions<Schema extends z.ZodType>(
  subject: string,
  schema: Schema,
  options: unknown,
): z.output<Schema> {
  const parsed = schema.safeParse(options, ONCE);
  if (parsed.success) {
    return parsed.data;
  }
  const issue = deepest(mostTelling(parsed.error.issues));
  const path = issue.path.reduce<string>(
    (before, key) => (typeof key === 'number' ? `${before}[${key}]` : `${before}.${showName(String(key))}`),
    subject,
  );
  if (issue.code === 'unrecognized_keys') {
    const key = issue.keys[0]!;
    throw new InvalidOptionError(
      `${path}.${showName(key)}`,
      'a known option',
      show(key),
      suggest(key, knownKeys(schema, issue.path)),
    );
  }
  const found = issue.path.reduce<unknown>((value, key) => (value as Record<PropertyKey, unknown>)?.[key], options);
  const expected = issue.message.replace(/^.*?expected /, '');
  if (hasSecret(schema, issue.path)) {
    throw new InvalidOptionError(path, expected, showKind(found));
  }
  refuse(path, expected, found);
}

/** @throws InvalidOptionError, with the way to write a number that was given as text */
function refuse(subject: string, expected: string, found: unknown): never {
  throw new InvalidOptionError(subject, expected, show(found), numberHint(expected, found));
}

/**
 * Checks that an argument is an object without unknown options, because a misspelled option must not count as absent.
 * Their values are checked at their use.
 *
 * @throws InvalidOptionError
 */
export function checkKnown(subject: string, options: unknown, known: readonly string[]): asserts options is object {
  checkObject(subject, `an object with ${known.join(', ')}`, options);
  const other = Object.keys(options).find((key) => !known.includes(key));
  if (other !== undefined) {
    throw new InvalidOptionError(
      `${subject}.${showName(other)}`,
      'a known option',
      show(other),
      suggest(other, known),
    );
  }
}

/** Checks that an argument is an object. Its content is checked at its use. */
export function checkObject(subject: string, expected: string, value: unknown): asserts value is object {
  if (typeof value !== 'object' || value === null) {
    throw new InvalidOptionError(subject, expected, show(value));
  }
}

/** Checks modules or providers for Nest, whose own errors would quote a text in their place. @throws InvalidOptionError */
export function checkNestModules(subject: string, list: unknown): void {
  const isList =
    Array.isArray(list) && list.every((each) => ['object', 'function', 'undefined'].includes(typeof each));
  if (list !== undefined && !isList) {
    throw new InvalidOptionError(subject, 'an array of classes or objects', show(list));
  }
}

/** Checks a length of time given to a call, in ms. */
export function checkMs(subject: string, value: number, min: number, max: number): void {
  if (typeof value !== 'number' || !(value >= min && value <= max)) {
    refuse(subject, `a number of ms from ${min} to ${max}`, value);
  }
}

/** Checks a boolean option of a call; undefined if it is absent. */
export function checkFlag(subject: string, value: boolean | undefined): void {
  if (value !== undefined && typeof value !== 'boolean') {
    throw new InvalidOptionError(subject, 'true or false', show(value));
  }
}

/** Checks a whole number given to a call. */
export function checkCount(subject: string, value: number, min: number, max: number): void {
  if (!Number.isInteger(value) || value < min || value > max) {
    refuse(subject, `a whole number from ${min} to ${max}`, value);
  }
}

/** Returns the first unknown option, because a missing option may be its right name. Else the first issue. */
function mostTelling(issues: readonly z.core.$ZodIssue[]): z.core.$ZodIssue {
  return issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0]!;
}

/** Returns the issue of the closest branch of a union, which says more than "invalid input". */
function deepest(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  if (issue.code !== 'invalid_union') {
    return issue;
  }
  const inner = branchesOf(issue).filter((each) => each.path.length > 0 || each.code === 'unrecognized_keys');
  return inner.length > 0 ? deepest(atPath(issue.path, mostTelling(inner))) : issue;
}

/** Returns the issues of all branches of a union, those of unions within it too. */
function branchesOf({ errors }: z.core.$ZodIssueInvalidUnion): z.core.$ZodIssue[] {
  return errors
    .flat()
    .flatMap((each) => (each.code === 'invalid_union' && each.path.length === 0 ? branchesOf(each) : [each]));
}

function atPath(path: PropertyKey[], issue: z.core.$ZodIssue): z.core.$ZodIssue {
  return { ...issue, path: [...path, ...issue.path] };
}

const secrets = new WeakSet<z.ZodType>();

/** Marks an option whose value no error quotes, because it may be a key or a password. */
export function secretOption<Schema extends z.ZodType>(schema: Schema): Schema {
  secrets.add(schema);
  return schema;
}

/** Returns whether the option at a path is secret, or an option around it. */
function hasSecret(schema: z.ZodType, path: readonly PropertyKey[]): boolean {
  let current: unknown = schema;
  for (const key of path) {
    current = own(shapeOf(current), String(key)) ?? valueOf(current);
    if (isSecret(current)) {
      return true;
    }
  }
  return false;
}

function isSecret(schema: unknown): boolean {
  const inner = innerOf(schema);
  return secrets.has(schema as z.ZodType) || (inner !== undefined && isSecret(inner));
}

const unlisted = new WeakSet<z.ZodType>();

/** Marks an option of the library's own, which no error suggests. */
export function notSuggested<Schema extends z.ZodType>(schema: Schema): Schema {
  unlisted.add(schema);
  return schema;
}

function knownKeys(schema: z.ZodType, path: PropertyKey[]): string[] {
  let current: unknown = schema;
  for (const key of path) {
    current = own(shapeOf(current), String(key)) ?? valueOf(current);
  }
  return Object.entries(shapeOf(current) ?? {})
    .filter(([, field]) => !unlisted.has(field as z.ZodType))
    .map(([key]) => key);
}

function unwrap(schema: unknown): unknown {
  const inner = innerOf(schema);
  return inner ? unwrap(inner) : schema;
}

/** Returns the schema without its default, or without that it may be absent. */
function innerOf(schema: unknown): unknown {
  return (schema as { def?: { innerType?: unknown } })?.def?.innerType;
}

/** Returns the fields of an object; of a union those of its first object. */
function shapeOf(schema: unknown): Record<string, unknown> | undefined {
  const inner = unwrap(schema) as { shape?: Record<string, unknown>; options?: readonly unknown[] } | undefined;
  return inner?.shape ?? inner?.options?.map(shapeOf).find((shape) => shape !== undefined);
}

function valueOf(schema: unknown): unknown {
  return (unwrap(schema) as { def?: { valueType?: unknown } })?.def?.valueType;
}
