import { decodeContent, type JobCodec } from '../codec/codec.js';
import { validateWithSchema } from '../validation/validate-with-schema.js';
import type { JobDefinition } from './define-job.js';

/**
 * Checks an encoded payload against the schema of its definition, in the form that the handler will receive. Returns a
 * promise only if the schema needs one.
 *
 * @param json the payload as it is stored
 * @throws InvalidPayloadError with the path of the fault (a rejection, if the schema is asynchronous)
 */
export function checkPayload(
  { payload: schema }: JobDefinition,
  json: string,
  codec: JobCodec | undefined,
  subject = 'payload',
): unknown {
  return validateWithSchema(subject, schema, decodeContent(codec, JSON.parse(json)));
}
