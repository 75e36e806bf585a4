// Hides parts of payloads, results and the like from logs, the dashboard and the command line. Stored values, and those
// in handlers, stay unchanged.
import type { StoredError } from '../errors/stored-error.js';
import { FAILURE_PREFIX } from '../validation/names.js';
import type { Hiding } from '../validation/validate-with-schema.js';
import { parseJson } from './parse-json.js';

/** The part of a job that `redact` is asked about. */
export interface RedactedPart {
  /** The part of the job. */
  part: 'payload' | 'result' | 'progress' | 'checkpoint';
  /** The job of the value. */
  job: { readonly id: string; readonly name: string; readonly queue: string };
}

/** The names of fields to hide at any depth, case-insensitive; or a function that returns the visible part. */
export type Redact = readonly string[] | ((value: unknown, about: RedactedPart) => unknown);

/** The text in place of hidden values. */
export const REDACTED = '[redacted]';

const DEEPEST = 50;
/** A shorter text may be part of any sentence. */
const SHORTEST_TEXT = 4;
/** The most hidden texts that are searched in another text. A job with more hidden texts shows none. */
const MOST_TEXTS = 200;

/** Returns what may be shown of a value; nothing of it where the function throws. */
export function redactValue(redact: Redact | undefined, value: unknown, about: RedactedPart): unknown {
  if (redact === undefined || value === undefined) {
    return value;
  }
  if (typeof redact !== 'function') {
    return withoutFields(value, new Set(redact.map((name) => name.toLowerCase())), 0);
  }
  try {
    return redact(value, about);
  } catch {
    return REDACTED;
  }
}

function withoutFields(value: unknown, names: ReadonlySet<string>, depth: number): unknown {
  if (typeof value !== 'object' || value === null) {
    return value;
  }
  if (depth > DEEPEST) {
    return REDACTED;
  }
  const inner = (each: unknown) => withoutFields(each, names, depth + 1);
  const field = ([key, each]: [unknown, unknown]): [unknown, unknown] => [
    key,
    names.has(String(key).toLowerCase()) ? REDACTED : inner(each),
  ];
  if (Array.isArray(value)) {
    return value.map(inner);
  }
  if (value instanceof Map) {
    return new Map([...value].map(field));
  }
  if (value instanceof Set) {
    return new Set([...value].map(inner));
  }
  return isPlain(value) ? Object.fromEntries(Object.entries(value).map(field)) : value;
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Redacts the texts about one job: removes hidden parts of its payload from them. */
export class TextRedaction {
  /** Undefined: too many to look for, or not known, so no text is shown. */
  private readonly hidden: readonly string[] | undefined;

  /** @param payload undefined where it is not known */
  constructor(redact: Redact, payload: unknown, job: RedactedPart['job'], part: RedactedPart['part'] = 'payload') {
    if (payload === undefined) {
      return;
    }
    const shown = textsIn(redactValue(redact, payload, { part, job }));
    const hidden = [...textsIn(payload)].filter((text) => !shown.has(text));
    // The longest first: one may be a part of another.
    this.hidden = hidden.length > MOST_TEXTS ? undefined : hidden.toSorted((a, b) => b.length - a.length);
  }

  text(text: string): string {
    return this.hidden ? this.hidden.reduce((rest, each) => rest.replaceAll(each, REDACTED), text) : REDACTED;
  }

  /** Redacts all texts in a value. */
  value(value: unknown, depth = 0): unknown {
    if (typeof value === 'string') {
      return this.text(value);
    }
    if (typeof value !== 'object' || value === null || depth > DEEPEST) {
      return value;
    }
    if (Array.isArray(value)) {
      return value.map((each) => this.value(each, depth + 1));
    }
    if (value instanceof Error) {
      const { name, message, stack = '' } = value;
      const shown = { name, message: this.text(message), stack: this.text(stack) };
      return Object.assign(Object.create(Object.getPrototypeOf(value) as object) as Error, shown);
    }
    return isPlain(value)
      ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, this.value(each, depth + 1)]))
      : value;
  }

  error(error: StoredError): StoredError {
    return {
      name: error.name,
      message: this.text(error.message),
      ...(error.stack !== undefined && { stack: this.text(error.stack) }),
      ...(error.cause && { cause: this.error(error.cause) }),
      ...(error.errors && { errors: error.errors.map((each) => this.error(each)) }),
    };
  }
}

/** Returns the texts and long numbers in a value, as a message may quote them. */
function textsIn(value: unknown, found = new Set<string>(), depth = 0): Set<string> {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint') {
    const text = String(value);
    if (text.length >= SHORTEST_TEXT) {
      found.add(text);
      found.add(JSON.stringify(text).slice(1, -1));
    }
  } else if (typeof value === 'object' && value !== null && depth <= DEEPEST + 1) {
    const inner = value instanceof Map || value instanceof Set ? [...value].flat() : Object.values(value);
    inner.forEach((each) => textsIn(each, found, depth + 1));
  }
  return found;
}

/** Returns what may be said about one job. */
export function textRedaction(redact: Redact, job: RedactedPart['job'] & { payload: unknown }): TextRedaction {
  return new TextRedaction(redact, payloadOf(job), job);
}

/** Returns the payload. A failure job has the failed job's payload as text in its own. */
export function payloadOf({ name, payload }: { name: string; payload: unknown }): unknown {
  return name.startsWith(FAILURE_PREFIX) ? parseJson((payload as { payload?: string }).payload).value : payload;
}

/** Returns how an error about a part of a job hides what nobody may see; undefined without `redact`. */
export function hidingOf(redact: Redact | undefined, about: RedactedPart): Hiding | undefined {
  return (
    redact && {
      mark: REDACTED,
      visible: (value) => redactValue(redact, value, about),
      texts: (value) => {
        const texts = new TextRedaction(redact, value, about.job, about.part);
        return (text) => texts.text(text);
      },
    }
  );
}
