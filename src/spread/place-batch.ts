// Chooses the queue of a batch and of its follow-ups; see docs/internals/spread.md for queues with shards.
import { Batch } from '../queue/batches/batch.js';
import {
  encodeBatch,
  FOLLOW_UPS,
  jobOfFollowUp,
  type BatchOptions,
  type FindFollowUpQueue,
  refuseUnreachable,
} from '../queue/batches/batch-options.js';
import type { JobDefinition } from '../queue/enqueue/define-job.js';
import { InvalidOptionError } from '../queue/errors/errors.js';
import type { JobQueue } from '../queue/job-queue.js';
import { checkText } from '../queue/validation/names.js';
import { checkObject } from '../queue/validation/validate-options.js';
import type { StandardSchema } from '../queue/validation/validate-with-schema.js';
import { ShardsOfCall } from './shard-choice.js';
import { SpreadQueue } from './spread-queue.js';

/** Options of a batch of the service. */
export interface JobBatchOptions<
  Then extends StandardSchema = StandardSchema,
  OnFailure extends StandardSchema = StandardSchema,
  Finally extends StandardSchema = StandardSchema,
> extends BatchOptions<Then, OnFailure, Finally> {
  /** The queue of the batch. @default that of its first follow-up, by its queue, name or definition */
  queue?: string | undefined;
}

/** A queue, or one with shards. */
type AnyQueue = JobQueue | SpreadQueue;

/** How a batch finds the queues of its jobs. */
interface BatchQueues<Queue> {
  /** Returns the queue of a follow-up. Undefined for the queue of the batch, and for one that the app does not know. */
  ofFollowUp(job: string | JobDefinition | undefined, queue: string | undefined): AnyQueue | undefined;
  ofMembers: FindMembers<Queue>;
}

/** Returns the queue of members by their job and their queue, or the shard of each. */
export type FindMembers<Queue> = (
  job: string | JobDefinition,
  queue: Queue | undefined,
  members: readonly object[],
) => JobQueue | readonly JobQueue[];

/**
 * Makes a batch in a queue. Without one it is in the queue of its first follow-up. In a queue with shards the batch has one of them,
 * which a generated id names.
 *
 * @throws InvalidOptionError if no queue is known, or a follow-up's queue is on another Redis; InvalidPayloadError
 */
export function batchIn<Queue>(
  queue: AnyQueue | undefined,
  options: BatchOptions,
  { ofFollowUp, ofMembers }: BatchQueues<Queue>,
): Batch<Queue> {
  checkObject('batch', 'an object with then, onFailure, finally, failFast', options);
  const asked = FOLLOW_UPS.flatMap((kind) => {
    const followUp = options[kind];
    const job = followUp && jobOfFollowUp(`batch.${kind}`, followUp);
    return followUp ? [{ kind, followUp, found: ofFollowUp(job, followUp.queue) }] : [];
  });
  const own = queue ?? asked.find(({ found }) => found)?.found;
  if (!own) {
    throw new InvalidOptionError('batch', 'a follow-up with a name or a definition, or `queue`', 'neither');
  }
  const home = own instanceof SpreadQueue ? own.ofBatch(options.id) : own;
  const batch = { ...options };
  const queues = new Map([[own.name, own]]);
  for (const { kind, followUp, found } of asked) {
    if (found) {
      refuseUnreachable(`batch.${kind}.queue`, home, found instanceof SpreadQueue ? found.shards[0]! : found);
      queues.set(found.name, found);
    }
    batch[kind] = { ...followUp, queue: found?.name ?? followUp.queue ?? own.name };
  }
  const targetOf: FindFollowUpQueue = (name, followUp) => {
    const found = queues.get(name);
    return found instanceof SpreadQueue
      ? (found.ofJob('batch', followUp) ?? (found === own ? home : found.next()))
      : found;
  };
  return new Batch<Queue>(home, encodeBatch(home, batch, targetOf), ofMembers);
}

/** Returns a batch by its id. In a queue with shards an own id names none: then the first call looks for the batch. */
export function findBatchIn<Queue>(queue: AnyQueue, id: string, ofMembers: FindMembers<Queue>): Batch<Queue> {
  checkText('batch id', id);
  if (!(queue instanceof SpreadQueue)) {
    return new Batch<Queue>(queue, id, ofMembers);
  }
  const named = queue.named(id);
  return new Batch<Queue>(
    named ?? queue.ofKey(id),
    id,
    ofMembers,
    named ? {} : { locate: () => queue.holderOfBatch(id) },
  );
}

/** Returns the queue of members, or the shard of each. */
export function shardsOfMembers(found: AnyQueue, members: readonly object[]): JobQueue | readonly JobQueue[] {
  const shards = new ShardsOfCall();
  return found instanceof SpreadQueue
    ? members.map((member, i) => shards.shardOf(found, `batch.addMany[${i}]`, member))
    : found;
}
