// What a person may see of any value: plain data, whatever a codec or an app made of it.
import { types } from 'node:util';

/** A value as JSON could carry it. Printing it runs no code of the app, and never fails. */
type Visible = null | boolean | number | string | Visible[] | { [key: string]: Visible };

/** The text in place of hidden values. */
export const REDACTED = '[redacted]';

const MAX_DEPTH = 200;

/** Returns whether the value of a key is hidden. */
type HidesKey = (key: string) => boolean;

const hidesNone: HidesKey = () => false;

/**
 * Returns a value as plain data. It has the fields of instances, the entries of maps, the items of sets, and the result of
 * each `toJSON`. A value that cannot be read is hidden.
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
export function keyText(key: unknown): string {
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
    if (depth > MAX_DEPTH) {
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
