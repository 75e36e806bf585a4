// Chooses the shards of calls on a queue with `spread`; see docs/internals/spread.md.
import {
  encodeBatch,
  FOLLOW_UPS,
  jobOfFollowUp,
  type BatchOptions,
  type FindFollowUpQueue,
  refuseUnreachable,
} from '../queue/batches/batch-options.js';
import { Batch } from '../queue/batches/batch.js';
import type { JobDefinition } from '../queue/enqueue/define-job.js';
import { SLICE_JOBS } from '../queue/enqueue/enqueue-batcher.js';
import { InvalidOptionError } from '../queue/errors/errors.js';
import { show } from '../queue/errors/show.js';
import type { JobQueue } from '../queue/job-queue.js';
import type { JobHandle } from '../queue/results/job-handle.js';
import { checkText } from '../queue/validation/names.js';
import { checkObject } from '../queue/validation/validate-options.js';
import type { StandardSchema } from '../queue/validation/validate-with-schema.js';
import { SpreadQueue } from './spread-queue.js';

/** Finds the queue of a call, or its shards. */
export interface QueueFinder {
  find(job: string | JobDefinition, queue: string | undefined): JobQueue | SpreadQueue;
  /** Returns the shards of a queue by its name; undefined for a queue without. */
  spreadOf(queue: string): SpreadQueue | undefined;
}

/** Enqueues one job in its shard. @param add enqueues it in a queue, with options that name the shards of other jobs */
export async function enqueueInShard<Options extends object>(
  finder: Pick<QueueFinder, 'spreadOf'>,
  found: JobQueue | SpreadQueue,
  options: Options,
  add: (target: JobQueue, options: Options) => Promise<JobHandle>,
): Promise<JobHandle> {
  const own = await withShardsOfOthers(finder, found, options);
  if (!(found instanceof SpreadQueue)) {
    return add(found, own);
  }
  const shard = found.ofJob('enqueue', own) ?? found.next();
  return found.follow(shard, () => add(shard, own));
}

/** The shards of the jobs of one call. Jobs without a key share a shard, as many as are one atomic step. */
export class ShardsOfCall {
  private readonly shared = new Map<SpreadQueue, { shard: JobQueue; jobs: number }>();

  /** @param subject how errors name the job */
  shardOf(found: JobQueue | SpreadQueue, subject: string, options: unknown): JobQueue {
    return found instanceof SpreadQueue ? (found.ofJob(subject, options) ?? this.sharedOf(found)) : found;
  }

  private sharedOf(found: SpreadQueue): JobQueue {
    let last = this.shared.get(found);
    if (last === undefined || last.jobs >= SLICE_JOBS) {
      last = { shard: found.next(), jobs: 0 };
      this.shared.set(found, last);
    }
    last.jobs++;
    return last.shard;
  }
}

/**
 * Returns the options of an enqueue. In `after` each job of a queue with shards has the name of its shard. Faults are left to the
 * check of all options.
 *
 * @param home the queue of jobs that are given by their ids
 */
export async function withShardsOfOthers<Options extends object>(
  { spreadOf }: Pick<QueueFinder, 'spreadOf'>,
  home: JobQueue | SpreadQueue,
  options: Options,
): Promise<Options> {
  const { after } = options as { after?: unknown };
  if (!Array.isArray(after)) {
    return options;
  }
  const located = after.map(async (each: unknown) => {
    const other = inSpread(spreadOf, home, each);
    return other ? { queue: (await other.spread.holderOf(other.id)).name, id: other.id } : each;
  });
  return { ...options, after: await Promise.all(located) };
}

/** Returns a job of `after` in a queue with shards; undefined for any other. */
function inSpread(spreadOf: QueueFinder['spreadOf'], home: JobQueue | SpreadQueue, job: unknown) {
  const { queue, id } = (typeof job === 'string' ? { queue: home.name, id: job } : (job ?? {})) as {
    queue?: unknown;
    id?: unknown;
  };
  const spread = typeof queue === 'string' && typeof id === 'string' ? spreadOf(queue) : undefined;
  return spread && { spread, id: id as string };
}

/**
 * Refuses an own id in `after` beside a transaction. That may store the other job too, so no shard has it yet.
 *
 * @throws InvalidOptionError
 */
export function refuseOwnIdOfOthers(
  { spreadOf }: Pick<QueueFinder, 'spreadOf'>,
  home: JobQueue | SpreadQueue,
  subject: string,
  { after }: { readonly after?: unknown },
): void {
  for (const each of Array.isArray(after) ? (after as unknown[]) : []) {
    const other = inSpread(spreadOf, home, each);
    if (other && !other.spread.named(other.id)) {
      throw new InvalidOptionError(
        `${subject}.after`,
        'handles, or generated ids, for a queue with `spread` beside `transaction`',
        show(other.id),
        'An own id does not say which shard will have the job.',
      );
    }
  }
}

/** Reads what a stream brings, once its source is found. */
export async function* itemsOf<Item>(
  find: () => Promise<JobQueue>,
  read: (queue: JobQueue) => AsyncIterable<Item>,
): AsyncGenerator<Item, void, undefined> {
  yield* read(await find());
}

// Chooses the queue of a batch and of its follow-ups; see docs/internals/spread.md for queues with shards.

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
