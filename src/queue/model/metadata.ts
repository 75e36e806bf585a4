import { z } from 'zod';

/** Small texts that travel with a job: a trace context, the id of a request. */
export type JobMetadata = Readonly<Record<string, string>>;

/** The metadata of a job without any. */
export const NO_METADATA: JobMetadata = Object.freeze({});

/**
 * The start of the stored options of a job with metadata and no other option. Such a job is plain; see
 * lua/lib/enqueue/leave_plain.
 */
const PLAIN_MARK = '{"plain":true,';

/** Returns the stored options of a job with metadata and no other option. */
export function encodePlainOptions(metadata: JobMetadata): string {
  return `${PLAIN_MARK}"metadata":${JSON.stringify(metadata)}}`;
}

/** Returns whether stored options are metadata alone, so that their job is plain. */
export function arePlainOptions(options: string): boolean {
  return options.startsWith(PLAIN_MARK);
}

/** Returns the stored options of a job that is no longer plain. */
export function withoutPlainMark(options = '{}'): string {
  return arePlainOptions(options) ? `{${options.slice(PLAIN_MARK.length)}` : options;
}

const MAX_ENTRIES = 32;
const MAX_KEY_LENGTH = 128;
const MAX_CHARACTERS = 8_192;

const EXPECTED = 'expected an object of texts';

/** The metadata of an enqueue, with its bounds. */
export const metadataSchema = z
  .custom<JobMetadata>(isObject, { error: EXPECTED })
  .superRefine((metadata, context) => {
    const entries = Object.entries(metadata);
    const fault = (message: string, path: string[] = []) => context.addIssue({ code: 'custom', message, path });
    if (entries.length > MAX_ENTRIES) {
      fault(`expected at most ${MAX_ENTRIES} entries`);
    }
    for (const [key, value] of entries) {
      if (!/^[\w.:/@-]+$/.test(key) || key.length > MAX_KEY_LENGTH || key === '__proto__') {
        fault(`expected keys of 1 to ${MAX_KEY_LENGTH} of A-Z a-z 0-9 _ . : / @ -`);
      } else if (typeof value !== 'string' || /\p{Surrogate}/u.test(value)) {
        fault('expected well-formed text', [key]);
      }
    }
    const length = entries.reduce((sum, [key, value]) => sum + key.length + String(value).length, 0);
    if (length > MAX_CHARACTERS) {
      fault(`expected at most ${MAX_CHARACTERS.toLocaleString('en')} characters in all`);
    }
  });

/** Returns the metadata of a stored job; undefined if there is none, or if no enqueue could have stored it. */
export function readMetadata(value: unknown): JobMetadata | undefined {
  if (!isObject(value) || Object.values(value).some((text) => typeof text !== 'string')) {
    return undefined;
  }
  return Object.freeze({ ...value });
}

function isObject(value: unknown): value is JobMetadata {
  if (typeof value !== 'object' || value === null) {
    return false;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}
