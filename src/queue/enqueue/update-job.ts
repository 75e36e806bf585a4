import { encodeContent } from '../codec/encode-content.js';
import { announceGiant, checkPayload } from './encode-job.js';
import { isJobDefinition, type JobDefinition } from './define-job.js';
import type { UpdateOutcome } from '../store/call-outcomes.js';
import type { QueueAccess } from '../store/queue-store.js';
import { checkText } from '../validation/names.js';

/** Gives a job another payload; see JobQueue.update. @throws InvalidPayloadError */
export async function updateJob(
  queue: QueueAccess & EditedQueue,
  first: string | JobDefinition,
  rest: readonly unknown[],
): Promise<UpdateOutcome> {
  const given = isJobDefinition(first) ? first : undefined;
  const [id, payload] = given ? rest : [first, ...rest];
  checkText('job id', id);
  const definition = given ?? (await handlerDefinition(queue, id));
  const json = encodeContent('payload', payload, queue.options, { queue: queue.name, id });
  if (definition) {
    await checkPayload(definition, json, queue, id);
  }
  await announceGiant(queue, json);
  return queue.exec((calls) => calls.update({ id, payload: json, name: definition?.name }));
}

/** A queue whose process may know the definition of a job's handler. */
export interface EditedQueue {
  get(id: string): Promise<{ name?: string | undefined; movedTo?: string } | null>;
  definitionOf?: ((job: string) => JobDefinition | undefined) | undefined;
}

/** Returns the definition of the handler of a job in this process, or undefined. */
export async function handlerDefinition(queue: EditedQueue, id: string): Promise<JobDefinition | undefined> {
  const name = queue.definitionOf && (await queue.get(id))?.name;
  return name === undefined ? undefined : queue.definitionOf!(name);
}
