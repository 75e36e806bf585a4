import { ANY_PAYLOAD, decodeContent, decodeText, type ContentContext, type JobCodec } from './codec.js';
import { FAILURE_PREFIX } from '../validation/names.js';
import { parseJson } from './parse-json.js';

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
interface StoredFailure {
  id: string;
  name: string;
  payload?: string;
  error: string;
  attempts: string;
  failedAtMs: string;
}

/** Returns the name of the failure jobs for the dead letters of a name. */
export function failureJobName(name: string): string {
  return FAILURE_PREFIX + name;
}

/** Reads the stored payload of a failure job. */
export function readFailure(queue: string, codec: JobCodec | undefined, stored: unknown): JobFailure {
  const { id, name, payload, error, attempts, failedAtMs } = stored as StoredFailure;
  return {
    id,
    name,
    queue,
    payload: decodeContent(codec, parseJson(payload).value, 'payload', { queue, id, payloadId: ANY_PAYLOAD }),
    error: readError(codec, error, { queue, field: 'error', id }),
    attempts: Number(attempts),
    failedAt: new Date(Number(failedAtMs)),
  };
}

/** Reads the error. A secret codec stores the whole error in the place of its message. */
function readError(codec: JobCodec | undefined, stored: string, context: ContentContext): string {
  const text = decodeText(codec, stored, context);
  return text === stored ? text : (JSON.parse(text) as { message: string }).message;
}
