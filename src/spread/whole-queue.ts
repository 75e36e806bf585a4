// A queue with shards as one object with the verbs of a queue, by the table of whole-verbs.ts.
import type { JobQueue } from '../queue/job-queue.js';
import { markOfShard } from '../queue/model/spread.js';
import type { QueueFinder } from './shard-choice.js';
import { SpreadQueue } from './spread-queue.js';
import { isOfFirst, methodOf, refusal, replies, verbOf, type Whole } from './whole-verbs.js';

/** What is known of the queues that were made here. */
const WHOLES = new WeakMap<JobQueue, Whole>();

/** How a window asks the shards. Without it a verb fails where one shard does. */
export type WindowOnShards = Pick<Whole, 'asked' | 'failed' | 'advice'>;

/** How the queues of other shards and names are found. */
interface OtherQueues extends Pick<QueueFinder, 'spreadOf'> {
  /** Returns the queue of a shard beyond the known ones, which another process may have. */
  reference(shard: number): JobQueue;
}

/** Makes one queue of its shards. */
export function spreadOver(
  name: string,
  shards: readonly JobQueue[],
  { reference, spreadOf }: OtherQueues,
  window?: WindowOnShards,
): SpreadQueue {
  const spread = new SpreadQueue(name, shards, reference);
  shards.forEach((shard, i) => {
    shard.idMark = markOfShard(i);
    shard.allShards = shards;
    shard.follow = (call) => spread.follow(shard, call);
    shard.shardOfJob = (subject, options) => spread.ofJob(subject, options);
  });
  const whole: Whole = { spread, spreadOf, ...(window ?? ofApp(spread)) };
  spread.whole = partOf(whole, shards[0]!, '', (shard) => shard);
  WHOLES.set(spread.whole, whole);
  return spread;
}

function ofApp({ name, shards }: SpreadQueue): WindowOnShards {
  return {
    asked: () => shards,
    failed: (_, error) => {
      throw error;
    },
    advice: `Use \`jobs.shards('${name}')\`, or \`jobs.shardOf\` for the shard of a job.`,
  };
}

/** Returns the shards of a queue; the queue itself if it has none. */
export function shardsOf(queue: JobQueue): readonly [JobQueue, ...JobQueue[]] {
  return (WHOLES.get(queue)?.spread.shards as [JobQueue, ...JobQueue[]] | undefined) ?? [queue];
}

/** Asks all shards of a queue, or the queue itself. A shard that fails is treated as by the verbs of the queue. */
export async function eachShard<Reply>(
  queue: JobQueue,
  ask: (shard: JobQueue) => Promise<Reply>,
): Promise<[Reply, ...Reply[]]> {
  const whole = WHOLES.get(queue);
  return (whole ? await replies(whole, ask) : [await ask(queue)]) as [Reply, ...Reply[]];
}

/**
 * Returns the queue, or a part of it such as `deadLetters`. What a test puts in place of a verb stays in the object here.
 *
 * @param of returns the same part of a shard
 */
function partOf<Part extends object>(
  whole: Whole,
  first: Part,
  prefix: string,
  of: (shard: JobQueue) => Part,
): Part {
  const parts = new Map<string, object>();
  return new Proxy(Object.create(first) as Part, {
    get: (own, property) => {
      const value: unknown = Reflect.get(Object.hasOwn(own, property) ? own : first, property);
      if (
        typeof property === 'symbol' ||
        value === undefined ||
        property in Object.prototype ||
        Object.hasOwn(own, property)
      ) {
        return value;
      }
      const path = `${prefix}${property}`;
      const verb = verbOf(path);
      if (verb) {
        return (...args: unknown[]) =>
          verb(whole, args, async (shard, changed = args) => methodOf(of(shard), property)(...changed));
      }
      if (isOfFirst(path)) {
        return typeof value === 'function' ? methodOf(first, property) : value;
      }
      if (typeof value !== 'object' || value === null || prefix !== '') {
        return refusal(whole, path);
      }
      const part =
        parts.get(path) ?? partOf(whole, value, `${path}.`, (shard) => Reflect.get(shard, property) as object);
      parts.set(path, part);
      return part;
    },
  });
}
