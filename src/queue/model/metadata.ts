import { z } from 'zod';

/** Small texts that travel with a job: a trace context, the id of a request. */
export type JobMetadata = Readonly<Record<string, string>>;

/** The metadata of a job without any. */
export const NO_METADATA: JobMetadata = Object.freeze({});

/**
 * The start of the stored options of a plain job: with metadata, an id of the caller's or both. See
 * lua/lib/enqueue/leave_plain.
 */
const PLAIN_MARK = '{"plain":true,';

/**
 * Returns the stored options of a job with metadata and no other option.
 *
 * @param own whether the caller chose its id
 */
export function encodePlainOptions(metadata: JobMetadata, own = false): string {
  return `${PLAIN_MARK}"metadata":${JSON.stringify(metadata)}${own ? ',"own":true' : ''}}`;
}

/** Returns whether stored options are metadata alone, so that their job is plain. */
export function arePlainOptions(options: string): boolean {
  return options.startsWith(PLAIN_MARK);
}

const MAX_ENTRIES = 32;
const MAX_KEY_LENGTH = 128;
const MAX_CHARACTERS = 8_192;

const EXPECTED = 'expected an object of texts';

/** An error in metadata, and the key of its entry. */
interface Fault {
  message: string;
  key?: string;
}

/** The metadata of an enqueue, with its bounds. */
export const metadataSchema = z
  .custom<JobMetadata>(isObject, { error: EXPECTED })
  .superRefine((metadata, context) => {
    const fault = faultOf(metadata);
    if (fault) {
      const { message, key } = fault;
      context.addIssue({ code: 'custom', message, path: key === undefined ? [] : [key] });
    }
  });

/** Returns whether the schema takes a value. Traced enqueues ask for each job, and the schema costs several times as much. */
export function isMetadata(value: unknown): value is JobMetadata {
  return isObject(value) && faultOf(value) === undefined;
}

function faultOf(metadata: JobMetadata): Fault | undefined {
  let entries = 0;
  let length = 0;
  for (const key of Object.keys(metadata)) {
    const value: unknown = metadata[key];
    if (++entries > MAX_ENTRIES) {
      return { message: `expected at most ${MAX_ENTRIES} entries` };
    }
    if (!/^[\w.:/@-]+$/.test(key) || key.length > MAX_KEY_LENGTH || key === '__proto__') {
      return { message: `expected keys of 1 to ${MAX_KEY_LENGTH} of A-Z a-z 0-9 _ . : / @ -` };
    }
    if (typeof value !== 'string' || /\p{Surrogate}/u.test(value)) {
      return { message: 'expected well-formed text', key };
    }
    length += key.length + value.length;
  }
  return length > MAX_CHARACTERS
    ? { message: `expected at most ${MAX_CHARACTERS.toLocaleString('en')} characters in all` }
    : undefined;
}

/**
 * Returns the metadata of a stored job, frozen in place. Undefined if it has none, or none that an enqueue could have
 * stored.
 */
export function readMetadata(value: unknown): JobMetadata | undefined {
  if (!isObject(value) || Object.values(value).some((text) => typeof text !== 'string')) {
    return undefined;
  }
  return Object.freeze(value);
}

function isObject(value: unknown): value is JobMetadata {
  if (typeof value !== 'object' || value === null) {
    return false;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}
