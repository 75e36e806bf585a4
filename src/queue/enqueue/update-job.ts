import { encodeContent } from '../codec/codec.js';
import { checkPayload } from './check-payload.js';
import { isJobDefinition, type JobDefinition } from './define-job.js';
import type { UpdateOutcome } from '../store/call-outcomes.js';
import type { QueueAccess } from '../store/queue-store.js';
import { checkText } from '../validation/names.js';

/** Gives a job another payload; see JobQueue.update. @throws InvalidPayloadError */
export async function updateJob(
  queue: Pick<QueueAccess, 'name' | 'options' | 'exec'>,
  first: string | JobDefinition,
  rest: readonly unknown[],
): Promise<UpdateOutcome> {
  const definition = isJobDefinition(first) ? first : undefined;
  const [id, payload] = definition ? rest : [first, ...rest];
  checkText('job id', id);
  const json = encodeContent('payload', payload, queue.options, { queue: queue.name, id });
  if (definition) {
    await checkPayload(definition, json, queue, id);
  }
  return queue.exec((calls) => calls.update(id, json, definition?.name));
}
