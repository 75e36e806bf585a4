import { isGiant } from '../store/claim-refusal.js';
import type { QueueAccess } from '../store/queue-store.js';
import { decodeContent, type ContentRules } from '../codec/codec.js';
import { hidingOf } from '../codec/redact.js';
import type { UsedDefinitions } from '../validation/used-definitions.js';
import { validateWithSchema } from '../validation/validate-with-schema.js';
import type { JobDefinition } from './define-job.js';

/** The queue of a payload, and how it stores and shows content. */
export interface PayloadRules {
  readonly name: string;
  readonly options: Pick<ContentRules, 'codec' | 'redact'>;
  /** The definitions that the queue uses. Absent where nobody compares them. */
  readonly definitions?: UsedDefinitions;
}

/**
 * Checks an encoded payload against the schema of its definition, in the form that the handler will receive. Returns a
 * promise only if the schema needs one.
 *
 * @param json the payload as it is stored
 * @param id the id of the job, or of its schedule
 * @throws InvalidPayloadError with the path of the fault (a rejection, if the schema is asynchronous)
 */
export function checkPayload(
  definition: JobDefinition,
  json: string,
  { name: queue, options: { codec, redact }, definitions }: PayloadRules,
  id: string,
  subject = 'payload',
): unknown {
  const { name, payload: schema } = definition;
  definitions?.use(definition, 'a call that gives a payload');
  const hiding = redact && hidingOf(redact, { part: 'payload', job: { id, name, queue } });
  return validateWithSchema(
    subject,
    schema,
    decodeContent(codec, JSON.parse(json), 'payload', { queue, id }),
    hiding,
  );
}

/**
 * Announces the limit of this process before it sends a giant payload. Then workers with a lower limit run the job too. A
 * purge forgets the limit, so each giant payload announces it again. Other payloads need no call.
 */
export async function announceGiant(queue: QueueAccess, ...payloads: readonly string[]): Promise<void> {
  if (payloads.some((payload) => isGiant(payload))) {
    await queue.exec((calls) => calls.notePayload());
  }
}
