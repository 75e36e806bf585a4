// Chooses the shards of calls on a queue with `spread`; see docs/internals/spread.md.
import { SLICE_JOBS } from '../queue/enqueue/enqueue-batcher.js';
import type { JobDefinition } from '../queue/enqueue/define-job.js';
import { InvalidOptionError } from '../queue/errors/errors.js';
import { show } from '../queue/errors/show.js';
import type { JobQueue } from '../queue/job-queue.js';
import type { JobHandle } from '../queue/results/job-handle.js';
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
