import { InvalidPayloadError } from '../errors/errors.js';
import { show } from '../errors/show.js';
import { serializeError } from '../errors/stored-error.js';
import { cut, startOf } from '../runtime/cut.js';
import type { Redact } from './redact.js';
import { enveloped, type ContentOwner, type ContentRules } from './codec.js';
import type { Sealed } from './sealed.js';

const MAX_DEPTH = 200;

/** The most characters of a path that an error shows. Any caller can choose its keys. */
const LONGEST_PATH = 200;

/**
 * Encodes a payload, result or progress by the codec of its queue.
 *
 * @param owner the job that gets it
 * @param subject the name of the value in errors
 * @throws InvalidPayloadError
 */
export function encodeContent(
  field: 'payload' | 'result' | 'progress' | 'checkpoint' | 'step' | 'signal' | 'chunk',
  value: unknown,
  { maxPayloadBytes, codec, redact }: ContentRules,
  owner: ContentOwner,
  subject: string = field,
): Sealed {
  try {
    return encodeJson(
      subject,
      codec ? enveloped(codec, subject, value, field, owner) : value,
      maxPayloadBytes,
    ) as Sealed;
  } catch (error) {
    throw redact ? withoutQuote(error as Error, subject, redact) : error;
  }
}

/**
 * Removes what an error quotes, because it may be of a hidden part. It quotes in parentheses, and by the keys below a
 * hidden field.
 */
function withoutQuote(error: Error, subject: string, redact: Redact): Error {
  if (!(error instanceof InvalidPayloadError)) {
    return error;
  }
  const { path, expected, found } = error;
  const [shown, quote] = [shownPath(path, subject, redact), / \(.*\)$|(?<=^a reference back to ).*$/s];
  return new InvalidPayloadError(shown, expected, found.replace(quote, ' (hidden by redact)'));
}

/** Returns a path up to its first hidden field. Of a function nobody knows which that is. */
function shownPath(path: string, subject: string, redact: Redact): string {
  const inside = path.slice(subject.length);
  if (typeof redact === 'function') {
    return subject;
  }
  const ends = redact.map((name) => {
    const at = inside.toLowerCase().indexOf(`.${name.toLowerCase()}`);
    return at < 0 ? inside.length : at + 1 + name.length;
  });
  return subject + inside.slice(0, Math.min(inside.length, ...ends));
}

/**
 * Encodes a value as JSON. Refuses values that `JSON.stringify` would change silently: functions,
 * symbols, BigInt, NaN, infinities, invalid dates, cycles, and nesting deeper than 200. It also refuses objects whose
 * content JSON omits: Map, Set, Error, RegExp, typed arrays, URLSearchParams and the like.
 *
 * @param subject the name of the value in errors: `payload`, `result`, `progress`
 * @param maxBytes the largest encoding allowed, in bytes
 * @throws InvalidPayloadError with the path of the fault
 */
export function encodeJson(subject: string, value: unknown, maxBytes: number): string {
  check(subject, value);
  const json = stringify(subject, value);
  // A UTF-16 unit takes at most 3 bytes, so most payloads are known to fit without being measured.
  if (json.length * 3 > maxBytes && Buffer.byteLength(json) > maxBytes) {
    throw fault(subject, `at most ${maxBytes} bytes of JSON`, `${Buffer.byteLength(json)} bytes`);
  }
  return json;
}

/** Checks a value. A getter, a proxy or a `toJSON` of the application may throw anything. */
function check(subject: string, value: unknown): void {
  try {
    checkValue(subject, value, 0);
  } catch (error) {
    if (error instanceof NestingFault) {
      throw error.explained();
    }
    if (isObservable(value)) {
      throw fault(
        subject,
        'a value that JSON can carry',
        'an Observable; pass on the value of await firstValueFrom(observable)',
      );
    }
    throw error instanceof InvalidPayloadError ? error : unreadable(subject, error);
  }
}

/** Returns whether a refused value is an Observable, whose refused fields would say nothing to the caller. */
function isObservable(value: unknown): boolean {
  try {
    const { subscribe, pipe } = value as { subscribe?: unknown; pipe?: unknown };
    return typeof subscribe === 'function' && typeof pipe === 'function';
  } catch {
    return false;
  }
}

function unreadable(subject: string, error: unknown): InvalidPayloadError {
  const { message } = serializeError(error);
  return fault(subject, 'a value that JSON can carry', `one that throws (${startOf(message, 200)})`);
}

function fault(path: string, expected: string, found: string): InvalidPayloadError {
  const shown = cut(path, LONGEST_PATH);
  return new InvalidPayloadError(shown, expected, found);
}

function stringify(subject: string, value: unknown): string {
  let json: string | undefined;
  try {
    json = JSON.stringify(value) as string | undefined;
  } catch (error) {
    throw unreadable(subject, error);
  }
  if (json === undefined) {
    throw fault(subject, 'a value that JSON can carry', show(value));
  }
  return json;
}

/** Thrown where a value is nested too deep. It collects the objects on its way out, which cost nothing before. */
class NestingFault extends Error {
  /** The objects around the place, the innermost first. */
  readonly outwards: { path: string; value: object }[] = [];

  constructor(private readonly path: string) {
    super();
  }

  /** Names a cycle by its first repeat, because the path to the place repeats it many times. */
  explained(): InvalidPayloadError {
    const known = new Map<object, string>();
    for (const { path, value } of this.outwards.toReversed()) {
      const first = known.get(value);
      if (first !== undefined) {
        return fault(path, 'a value without cycles', `a reference back to ${first}`);
      }
      known.set(value, path);
    }
    return fault(this.path, `nesting of at most ${MAX_DEPTH}`, 'a deeper one, or a cycle');
  }
}

function checkValue(path: string, value: unknown, depth: number): void {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'undefined':
      return;
    case 'number':
      if (!Number.isFinite(value)) {
        throw fault(path, 'a finite number', String(value));
      }
      return;
    case 'object':
      if (value !== null && typeof (value as { toJSON?: unknown }).toJSON !== 'function') {
        checkObject(path, value, depth);
      } else if (value !== null) {
        checkConverted(path, value as { toJSON(key: string): unknown }, depth);
      }
      return;
    default:
      throw fault(path, 'a value that JSON can carry', describe(value));
  }
}

/** Checks the result of `toJSON`. JSON takes it without calling a `toJSON` of that result. */
function checkConverted(path: string, value: { toJSON(key: string): unknown }, depth: number): void {
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) {
      throw fault(path, 'a valid Date', 'an invalid one');
    }
    return;
  }
  const converted = value.toJSON('');
  if (typeof converted === 'object' && converted !== null) {
    checkObject(path, converted, depth);
  } else {
    checkValue(path, converted, depth);
  }
}

function checkObject(path: string, value: object, depth: number): void {
  if (depth === MAX_DEPTH) {
    throw new NestingFault(path);
  }
  try {
    checkContent(path, value, depth);
  } catch (error) {
    if (error instanceof NestingFault) {
      error.outwards.push({ path, value });
    }
    throw error;
  }
}

function checkContent(path: string, value: object, depth: number): void {
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      checkValue(`${path}[${i}]`, value[i], depth + 1);
    }
    return;
  }
  const keys = Object.keys(value);
  const loses = losingType(value, keys.length === 0);
  if (loses !== undefined) {
    throw fault(
      path,
      'a plain object or array, or what has a toJSON',
      `${article(loses)} ${loses}, which JSON would lose`,
    );
  }
  for (const key of keys) {
    const field = (value as Record<string, unknown>)[key];
    // Builds the path only if it may be needed, because it is most of the cost of a flat payload.
    if (typeof field !== 'string' && !Number.isFinite(field)) {
      checkValue(`${path}.${key}`, field, depth + 1);
    }
  }
}

/** Objects whose content JSON omits, although some have enumerable keys. */
const LOSING = /^(Map|Set|Error|RegExp|ArrayBuffer|SharedArrayBuffer|DataView|\w+Array)$/;

/** JSON keeps the content of these. */
const BOXED = /^(Object|Number|String|Boolean|Arguments)$/;

/**
 * Returns the type of an object that JSON would change. A Map, an Error or an instance with private fields becomes an
 * empty object. A Uint8Array becomes an object of numbers. JSON keeps the fields of other instances.
 */
function losingType(value: object, isEmpty: boolean): string | undefined {
  const prototype = Object.getPrototypeOf(value) as object | null;
  if (prototype === Object.prototype || prototype === null) {
    return undefined;
  }
  const tag = Object.prototype.toString.call(value).slice('[object '.length, -1);
  if (LOSING.test(tag) || value instanceof Error) {
    return value instanceof Error ? nameOf(value) : tag;
  }
  if (isEmpty && !BOXED.test(tag)) {
    return tag;
  }
  return isEmpty && hasGetters(prototype) ? nameOf(prototype) : undefined;
}

/** Returns whether an instance has its content behind getters of its class, such as those of private fields. */
function hasGetters(prototype: object): boolean {
  const isRoot = Object.getPrototypeOf(prototype) === null; // the Object.prototype of another realm
  return !isRoot && Object.values(Object.getOwnPropertyDescriptors(prototype)).some(({ get }) => get !== undefined);
}

function nameOf(prototype: object): string {
  return String(prototype.constructor.name);
}

function article(noun: string): string {
  return /^[AEIO]/.test(noun) ? 'an' : 'a';
}

function describe(value: unknown): string {
  return typeof value === 'bigint' ? `a BigInt (${value}n)` : show(value);
}
