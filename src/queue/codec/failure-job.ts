import { ANY_PAYLOAD, decodeContent, decodeText, type ContentContext, type JobCodec } from './codec.js';
import { z } from 'zod';
import { decodeStoredError } from '../errors/stored-error.js';
import { NonRetryableError } from '../errors/errors.js';
import { FAILURE_PREFIX } from '../validation/names.js';
import { parseJson } from './stored-value.js';

/** A permanently failed job, as the payload of its failure job. */
export interface JobFailure<Payload = unknown> {
  /** The id of the failed job. It is a dead letter until it is redriven, discarded or aged out. */
  id: string;
  /** The name of the job. */
  name: string;
  /** The queue of the job. */
  queue: string;
  /** The stored payload. Undefined if it is not JSON. */
  payload: Payload;
  /** The message of its last error. */
  error: string;
  /** The number of its attempts. */
  attempts: number;
  /** The time of its final failure. */
  failedAt: Date;
}

/** The payload that `lua/lib/settle/report_failure.lua` writes. */
const failureSchema = z.looseObject({
  id: z.string(),
  name: z.string().default(''),
  payload: z.string().optional(),
  error: z.string(),
  attempts: z.string(),
  failedAtMs: z.string(),
});
type StoredFailure = z.output<typeof failureSchema>;

/** Returns the name of the failure jobs for the dead letters of a name. */
export function failureJobName(name: string): string {
  return FAILURE_PREFIX + name;
}

/** Returns a stored failure; undefined for what no failure job of this library has. */
export function storedFailure(stored: unknown): StoredFailure | undefined {
  return failureSchema.safeParse(stored).data;
}

/**
 * Returns the payload of the failed job in each form that a failure job has it in. None if it is not known, undefined for
 * the job of another name.
 */
export function failedPayloads(name: string, payload: unknown): unknown[] | undefined {
  if (!name.startsWith(FAILURE_PREFIX)) {
    return undefined;
  }
  if (typeof payload !== 'object' || payload === null || !('payload' in payload)) {
    return [];
  }
  const { payload: failed } = payload;
  const { value, broken } = typeof failed === 'string' ? parseJson(failed) : {};
  return broken === undefined ? [failed, value] : [failed];
}

/**
 * Reads the stored payload of a failure job.
 *
 * @throws NonRetryableError for one that this library has not written
 */
export function readFailure(queue: string, codec: JobCodec | undefined, stored: unknown): JobFailure {
  const failure = storedFailure(stored);
  if (!failure) {
    throw new NonRetryableError(
      'The payload of this failure job is not that of a failure: another program wrote it. Discard the job.',
    );
  }
  const { id, name, payload, error, attempts, failedAtMs } = failure;
  return {
    id,
    name,
    queue,
    payload: decodeContent(codec, parseJson(payload).value, 'payload', { queue, id, payloadId: ANY_PAYLOAD }),
    error: readErrorMessage(codec, error, { queue, field: 'error', id }),
    attempts: Number(attempts),
    failedAt: new Date(Number(failedAtMs)),
  };
}

/** Returns the message of a stored error. A secret codec stores the whole error in its place. */
export function readErrorMessage(codec: JobCodec | undefined, stored: string, context: ContentContext): string {
  const text = decodeText(codec, stored, context);
  return text === stored ? text : decodeStoredError(parseJson(text).value).message;
}
