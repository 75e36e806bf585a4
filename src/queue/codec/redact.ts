// Hides parts of payloads, results and the like from logs, the dashboard and the command line. Stored values, and those
// in handlers, stay unchanged.
import { types } from 'node:util';
import { nameOfCode, codeOf, type StoredError } from '../errors/stored-error.js';
import type { Hiding } from '../validation/validate-with-schema.js';
import { isEncoded } from './stored-value.js';

/** The text in place of hidden values. */
export const REDACTED = '[redacted]';

/** The deepest level of a value that is shown. No text about a deeper value is shown. */
const DEEPEST = 200;

/** The part of a job that `redact` is asked about. */
export interface RedactedPart {
  /** The part of the job. */
  part: 'payload' | 'result' | 'progress' | 'checkpoint' | 'chunk';
  /** The job of the value. */
  job: { readonly id: string; readonly name: string; readonly queue: string };
}

/** The names of fields to hide at any depth, case-insensitive; or a function that returns the visible part. */
export type Redact = readonly string[] | ((value: unknown, about: RedactedPart) => unknown);

/** Hides a value of which no part is shown. Errors about it name no key of it. */
export const HIDE_ALL: Hiding = {
  mark: REDACTED,
  visible: () => REDACTED,
  look: () => ({ keys: [], isWhole: false }),
  texts: () => () => REDACTED,
};

/** A shorter text may be part of any sentence. */
const SHORTEST_TEXT = 4;
/** The most hidden texts that are searched in another text. A job with more of them shows none. */
const MOST_TEXTS = 2_000;
/** The most characters that are searched for one job, once for each hidden text. Beyond that no text is shown. */
const MOST_SEARCHED = 4_000_000;
/** The length from which a stored text may be cut, also in the middle of a hidden one. */
const SHORTEST_CUT = 500;

/**
 * Returns what may be shown of a value, as plain data; nothing of it where the function throws. Without `redact` it
 * returns the value.
 */
export function redactValue(redact: Redact | undefined, value: unknown, about: RedactedPart): unknown {
  if (redact === undefined || value === undefined) {
    return value;
  }
  if (isEncoded(value)) {
    return REDACTED; // no field of it is known without its codec
  }
  if (typeof redact !== 'function') {
    const names = new Set(redact.map((name) => name.toLowerCase()));
    return visibleForm(value, (key) => names.has(key.toLowerCase()));
  }
  try {
    return visibleForm(redact(value, about));
  } catch {
    return REDACTED;
  }
}

/** Redacts texts: removes the hidden parts of the values that it knows. */
export class TextRedaction {
  /** Undefined: too many to look for, or not known, so no text is shown. */
  private hidden: Set<string> | undefined = new Set();
  /** The hidden texts, the longest first, since one may be a part of another. */
  private sorted: readonly string[] | undefined;
  private left = MOST_SEARCHED;

  /** Hides all texts, because a value is not known. */
  hideAll(): this {
    this.hidden = undefined;
    return this;
  }

  /** Hides the texts of a value that `redact` hides. */
  know(redact: Redact, value: unknown, about: RedactedPart): this {
    if (value === undefined) {
      return this;
    }
    const all = isEncoded(value) ? undefined : textsIn(value);
    if (!all) {
      return this.hideAll();
    }
    const shown = textsIn(redactValue(redact, value, about)) ?? new Set();
    const names = new Set(typeof redact === 'function' ? [] : redact.map((name) => name.toLowerCase()));
    return this.add([...all].filter((text) => !shown.has(text) && !names.has(text.toLowerCase())));
  }

  /** Hides every text of a value, such as the result of a step. */
  knowAll(value: unknown): this {
    const all = isEncoded(value) ? undefined : textsIn(value);
    return all ? this.add(all) : this.hideAll();
  }

  /** Hides what another one hides. */
  include({ hidden }: TextRedaction): this {
    return hidden ? this.add(hidden) : this.hideAll();
  }

  private add(texts: Iterable<string>): this {
    for (const text of texts) {
      this.hidden?.add(text);
    }
    this.sorted = undefined;
    return this.hidden && this.hidden.size > MOST_TEXTS ? this.hideAll() : this;
  }

  /** True if it hides nothing. */
  get isEmpty(): boolean {
    return this.hidden?.size === 0;
  }

  /** True if it shows no text. */
  get hidesAll(): boolean {
    return this.hidden === undefined;
  }

  text(text: string): string {
    if (!this.hidden) {
      return REDACTED;
    }
    this.sorted ??= [...this.hidden].toSorted((a, b) => b.length - a.length);
    this.left -= text.length * this.sorted.length;
    if (this.left < 0) {
      return REDACTED;
    }
    const shown = this.sorted.reduce((rest, each) => rest.replaceAll(each, REDACTED), text);
    return text.length >= SHORTEST_CUT ? this.withoutBegunTexts(shown) : shown;
  }

  /** Removes the begin of a hidden text from the end of a text, which may have been cut there. */
  private withoutBegunTexts(text: string): string {
    const end = text.endsWith('…') ? text.length - 1 : text.length;
    for (const each of this.sorted ?? []) {
      for (let length = each.length - 1; length >= SHORTEST_TEXT; length--) {
        if (text.endsWith(each.slice(0, length), end)) {
          return `${text.slice(0, end - length)}${REDACTED}${text.slice(end)}`;
        }
      }
    }
    return text;
  }

  /** Redacts all texts in a value, its keys too, and returns it as plain data. An error stays one. */
  value(value: unknown): unknown {
    if (typeof value === 'string') {
      return this.text(value);
    }
    if (value instanceof Error) {
      const { name, message, stack = '' } = value;
      const shown = { name: this.text(name), message: this.text(message), stack: this.text(stack) };
      return Object.assign(Object.create(Error.prototype) as Error, shown);
    }
    return typeof value === 'object' && value !== null ? this.inside(visibleForm(value)) : value;
  }

  private inside(value: unknown): unknown {
    if (typeof value === 'string') {
      return this.text(value);
    }
    if (typeof value === 'number') {
      return this.hidden?.has(String(value)) === false ? value : REDACTED;
    }
    if (Array.isArray(value)) {
      return value.map((each) => this.inside(each));
    }
    return typeof value === 'object' && value !== null
      ? Object.fromEntries(Object.entries(value).map(([key, each]) => [this.text(key), this.inside(each)]))
      : value;
  }

  error(error: StoredError): StoredError {
    return {
      name: this.hidden ? this.text(error.name) : nameOfCode(error.name),
      ...(error.code !== undefined && codeOf(this.text(error.code))),
      message: this.text(error.message),
      ...(error.stack !== undefined && { stack: this.text(error.stack) }),
      ...(error.cause && { cause: this.error(error.cause) }),
      ...(error.errors && { errors: error.errors.map((each) => this.error(each)) }),
    };
  }
}

/** Returns the texts and long numbers in a value, as a message may quote them. Undefined where it is too deep. */
function textsIn(value: unknown): Set<string> | undefined {
  const found = new Set<string>();
  const seen = new Set<object>();
  const add = (text: string) => {
    if (text.length >= SHORTEST_TEXT) {
      found.add(text);
      found.add(JSON.stringify(text).slice(1, -1));
    }
  };
  /** Returns false where a value is too deep. */
  const walk = (each: unknown, depth: number): boolean => {
    if (typeof each === 'string' || typeof each === 'number' || typeof each === 'bigint') {
      add(String(each));
      return true;
    }
    if (typeof each !== 'object' || each === null || seen.has(each)) {
      return true;
    }
    if (depth > DEEPEST) {
      return false;
    }
    seen.add(each);
    if (each instanceof Date && !Number.isNaN(each.getTime())) {
      add(String(each));
      add(each.toISOString());
      return true;
    }
    const entries = each instanceof Map || each instanceof Set ? [...each.entries()] : Object.entries(each);
    const isList = Array.isArray(each) || each instanceof Set;
    return entries.every(([key, inner]) => {
      if (!isList) add(keyText(key));
      return (isList || typeof key === 'string' || walk(key, depth + 1)) && walk(inner, depth + 1);
    });
  };
  try {
    // What a toJSON returns may differ from the fields.
    return walk(value, 0) && walk(visibleForm(value), 0) ? found : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the visible keys of the way to a place. Tells whether the value there is shown whole. */
function lookAlong(value: unknown, visible: unknown, keys: readonly PropertyKey[]): ReturnType<Hiding['look']> {
  let [here, shown] = [value, visible];
  for (const [i, key] of keys.entries()) {
    const isThere = typeof here === 'object' && here !== null && Object.hasOwn(here, key);
    if (typeof shown !== 'object' || shown === null || (isThere && !Object.hasOwn(shown, key))) {
      return { keys: keys.slice(0, i), isWhole: false };
    }
    if (!isThere) {
      return { keys, isWhole: true }; // the schema names what is missing
    }
    here = (here as Record<PropertyKey, unknown>)[key];
    shown = (shown as Record<PropertyKey, unknown>)[key];
  }
  return { keys, isWhole: quoted(visibleForm(here)) === quoted(shown) };
}

/** Returns what an error quotes of a value: of an object its keys. */
function quoted(value: unknown): string {
  const isFields = typeof value === 'object' && value !== null && !Array.isArray(value);
  return JSON.stringify(isFields ? Object.keys(value) : value) ?? '';
}

/** Returns how an error about a part of a job hides what nobody may see; undefined without `redact`. */
export function hidingOf(redact: Redact | undefined, about: RedactedPart): Hiding | undefined {
  return (
    redact && {
      mark: REDACTED,
      visible: (value) => redactValue(redact, value, about),
      look: (value, keys) => lookAlong(value, redactValue(redact, value, about), keys),
      texts: (value) => {
        const texts = new TextRedaction().know(redact, value, about);
        return (text) => texts.text(text);
      },
    }
  );
}

/** A value as JSON could carry it. Printing it runs no code of the app, and never fails. */
type Visible = null | boolean | number | string | Visible[] | { [key: string]: Visible };

/** Returns whether the value of a key is hidden. */
type HidesKey = (key: string) => boolean;

const hidesNone: HidesKey = () => false;

/**
 * Returns a value as plain data, whatever a codec or an app made of it. It has the fields of instances, the entries of
 * maps, the items of sets, and the result of each `toJSON`. A value that cannot be read is hidden.
 *
 * @param hides returns whether the value of a key is hidden
 */
export function visibleForm(value: unknown, hides: HidesKey = hidesNone): Visible | undefined {
  if (value === undefined) {
    return undefined;
  }
  try {
    return new Walk(hides).of(value, 0);
  } catch {
    return REDACTED; // a getter, a proxy or a toJSON of the app threw
  }
}

/** Returns the text of a key, also of one of a map. */
function keyText(key: unknown): string {
  return typeof key === 'string' ? key : (JSON.stringify(visibleForm(key)) ?? 'undefined');
}

class Walk {
  private readonly around = new Set<object>();

  constructor(private readonly hides: HidesKey) {}

  of(value: unknown, depth: number): Visible {
    switch (typeof value) {
      case 'string':
      case 'boolean':
        return value;
      case 'number':
        return Number.isFinite(value) ? value : String(value);
      case 'bigint':
        return String(value);
      case 'undefined':
        return null;
      case 'object':
        return value === null ? null : this.inside(value, depth);
      default:
        return `[${typeof value}]`;
    }
  }

  private inside(value: object, depth: number): Visible {
    if (this.around.has(value)) {
      return '[circular]';
    }
    if (depth > DEEPEST) {
      return REDACTED;
    }
    this.around.add(value);
    const form = this.object(value, depth + 1);
    this.around.delete(value);
    return form;
  }

  private object(value: object, depth: number): Visible {
    if (Array.isArray(value)) {
      return value.map((each) => this.of(each, depth));
    }
    if (types.isMap(value)) {
      return this.fields(value, depth);
    }
    if (types.isSet(value)) {
      return [...value].map((each) => this.of(each, depth));
    }
    if (types.isDate(value)) {
      return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
    }
    if (ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value)) {
      return `[${value.byteLength} bytes]`;
    }
    if (types.isRegExp(value) || types.isBoxedPrimitive(value)) {
      return this.of(types.isRegExp(value) ? String(value) : value.valueOf(), depth);
    }
    if (types.isNativeError(value) || value instanceof Error) {
      const { name, message, stack, cause } = value;
      const own = Object.entries(value).filter(([key]) => !['name', 'message', 'stack', 'cause'].includes(key));
      const whole = Object.entries({ name, message, stack, cause }).filter(([, each]) => each !== undefined);
      return this.fields([...whole, ...own], depth);
    }
    const { toJSON } = value as { toJSON?: unknown };
    const converted: unknown = typeof toJSON === 'function' ? toJSON.call(value, '') : value;
    if (converted !== value) {
      return typeof converted === 'object' && converted !== null && !this.around.has(converted)
        ? this.fieldsOf(converted, depth)
        : this.of(converted, depth);
    }
    return this.fieldsOf(value, depth);
  }

  /** Returns the fields of what a `toJSON` returned, whose own `toJSON` JSON does not call. */
  private fieldsOf(value: object, depth: number): Visible {
    const isFields = !Array.isArray(value) && !types.isMap(value) && !types.isSet(value) && !types.isDate(value);
    return isFields ? this.fields(Object.entries(value), depth) : this.object(value, depth);
  }

  private fields(entries: Iterable<[unknown, unknown]>, depth: number): Visible {
    const form: { [key: string]: Visible } = Object.create(null) as { [key: string]: Visible };
    for (const [key, value] of entries) {
      const text = keyText(key);
      if (this.hides(text)) {
        form[text] = REDACTED;
      } else if (value !== undefined && typeof value !== 'function' && typeof value !== 'symbol') {
        form[text] = this.of(value, depth);
      }
    }
    return { ...form };
  }
}
