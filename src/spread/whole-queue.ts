// A queue with shards as one object with the verbs of a queue. A verb acts on the shard of its job or group. Or it acts on all shards, if the
// result of all is exact. Each other verb is refused, because it would act on one shard.
import { joinKinds, joinStats } from '../inspect/join-shards.js';
import type { DeadLetters } from '../queue/dead-letters/dead-letters.js';
import { isJobDefinition } from '../queue/enqueue/define-job.js';
import type { JobToEnqueue } from '../queue/enqueue/encode-typed-job.js';
import { enqueueMixed, type MixedJob } from '../queue/enqueue/enqueue-mixed.js';
import { validateBulk } from '../queue/enqueue/validate-bulk.js';
import { InvalidOptionError } from '../queue/errors/errors.js';
import type { JobQueue } from '../queue/job-queue.js';
import type { JobRecord, JobStatus } from '../queue/model/job.js';
import { listSchema } from '../queue/operate/find-jobs.js';
import type { Groups } from '../queue/operate/groups.js';
import { LARGEST_PAGE, YEAR_MS } from '../queue/runtime/bounds.js';
import { checkOptions } from '../queue/validation/validate-options.js';
import { enqueueInShard, itemsOf, type QueueFinder, ShardsOfCall, withShardsOfOthers } from './shard-choice.js';
import type { SpreadQueue } from './spread-queue.js';

/** The shards of a queue, and how the shards of other queues are found. */
interface Whole extends Pick<QueueFinder, 'spreadOf'> {
  spread: SpreadQueue;
}

/** Does a verb. @param on does it on one shard with these arguments, or with others */
type Verb = (whole: Whole, args: readonly unknown[], on: OnShard) => unknown;
type OnShard = (shard: JobQueue, args?: readonly unknown[]) => Promise<unknown>;

/** Acts on the shard that has the job. Its id follows the definition, if there is one. */
const ofJob: Verb = async ({ spread }, args, on) => {
  const id = isJobDefinition(args[0]) ? args[1] : args[0];
  return on(typeof id === 'string' ? await spread.holderOf(id) : spread.shards[0]!); // which refuses what is no id
};

/** Acts on the shard of the group. */
const ofGroup: Verb = ({ spread }, args, on) =>
  on(typeof args[0] === 'string' ? spread.ofKey(args[0]) : spread.shards[0]!);

/** Returns whether a shard has changed. */
const anyChanged: Verb = async ({ spread }, _, on) =>
  (await Promise.all(spread.shards.map((shard) => on(shard)))).includes(true);

const sum: Verb = async ({ spread }, _, on) => added(await Promise.all(spread.shards.map((shard) => on(shard))));

/** Adds the numbers of the shards. With a limit or a rate in the second argument, the shards follow each other. */
const sumWithin: Verb = async (whole, args, on) => {
  const [first, options] = args as [unknown, { limit?: unknown; perSecond?: unknown } | undefined];
  if (typeof options?.limit !== 'number' && options?.perSecond === undefined) {
    return sum(whole, args, on);
  }
  const { clock } = whole.spread.shards[0]!.store;
  const startedAt = clock.monotonic();
  let [total, pauseMs] = [0, 0];
  for (const shard of whole.spread.shards) {
    if (pauseMs > 0) await shard.sleep(pauseMs);
    const rest = typeof options.limit === 'number' ? { limit: options.limit - total } : {};
    const meant = options.perSecond === undefined ? first : sinceThen(first, clock.monotonic() - startedAt);
    const done = (await on(shard, [meant, { ...options, ...rest }])) as number;
    total += done;
    if (rest.limit !== undefined && total >= (options.limit as number)) break;
    if (options.perSecond !== undefined) pauseMs = pauseAfter(done, options.perSecond as number);
  }
  return total;
};

/** Returns a filter of ages that means the same jobs as it did some ms before. */
function sinceThen(filter: unknown, passedMs: number): unknown {
  const passed = Math.floor(passedMs);
  if (passed < 1) {
    return filter;
  }
  const {
    olderThanMs = 0,
    newerThanMs,
    ...others
  } = (filter ?? {}) as { olderThanMs?: number; newerThanMs?: number };
  const later = (ageMs: number) => Math.min(ageMs + passed, YEAR_MS);
  return {
    ...others,
    olderThanMs: later(olderThanMs),
    ...(newerThanMs !== undefined && { newerThanMs: later(newerThanMs) }),
  };
}

/** Returns how long the next shard waits after the last step of one, in ms. A shard itself waits only between its steps. */
function pauseAfter(done: number, perSecond: number): number {
  return (Math.min(done, perSecond) / perSecond) * 1_000;
}

/** How each verb is done. A verb without a row is refused. */
const VERBS: { readonly [Path in VerbPath]?: Verb } = {
  ...rows(
    ofJob,
    'get',
    'outcome',
    'remove',
    'reschedule',
    'promote',
    'update',
    'signal',
    'setPriority',
    'runAgain',
  ),
  ...rows(ofJob, 'cancel', 'result', 'deadLetters.get', 'deadLetters.redrive', 'deadLetters.redriveAsNew'),
  ...rows(ofJob, 'deadLetters.discard'),
  ...rows(ofGroup, 'groups.get', 'groups.set', 'groups.clear', 'groups.pause', 'groups.resume', 'groups.clean'),
  ...rows(anyChanged, 'pause', 'deadLetters.markKind'),
  ...rows(sum, 'deadLetters.redriveMany', 'deadLetters.discardAll'),
  ...rows(sumWithin, 'clean', 'deadLetters.redriveAll'),
  enqueue: (whole, args) => {
    const { spread } = whole;
    const [first, second, third] = args;
    if (isJobDefinition(first)) {
      return enqueueInShard(whole, spread, third ?? {}, (shard, own) => shard.producer.one(first, second, own));
    }
    return third !== undefined || (typeof first === 'string' && second !== undefined)
      ? methodOf(spread.shards[0]!, 'enqueue')(...args) // which says how to name a job
      : enqueueInShard(whole, spread, named(spread, second ?? {}), (shard, own) =>
          shard.producer.one(undefined, first, own),
        );
  },
  enqueueMany: (whole, [first, second]) =>
    isJobDefinition(first) ? addMany(whole, first, second) : addMany(whole, undefined, first),
  stream: ({ spread }, args) => {
    const [id, options] = args as Parameters<JobQueue['stream']>;
    const read = (shard: JobQueue) => shard.stream(id, options);
    read(spread.shards[0]!); // checks the arguments
    const known = spread.named(id);
    return known ? read(known) : itemsOf(() => spread.holderOf(id), read);
  },
  resume: (whole, args, on) => {
    const [options] = args as [{ first?: unknown; perSecond?: unknown } | undefined];
    const limit = options?.first === undefined ? (options?.perSecond === undefined ? '' : 'perSecond') : 'first';
    return limit ? refuse(whole.spread.name, `resume with \`${limit}\``) : anyChanged(whole, args, on);
  },
  stats: async ({ spread }) => joinStats(await Promise.all(spread.shards.map((shard) => shard.stats()))),
  list: async ({ spread }, args) => {
    const [status, options] = args as Parameters<JobQueue['list']>;
    const { offset, limit } = checkOptions('list', listSchema, options ?? {});
    if (offset + limit > LARGEST_PAGE) {
      refuse(spread.name, `list beyond the first ${LARGEST_PAGE} jobs`);
    }
    const most = { ...options, offset: 0, limit: offset + limit };
    const found = await Promise.all(spread.shards.map((shard) => shard.list(status, most)));
    return merged(found, ORDERS[status]).slice(offset, offset + limit);
  },
  purge: async ({ spread }, args, on) => {
    const [options] = args as Parameters<JobQueue['purge']>;
    if ((options as typeof options | undefined)?.confirm !== spread.name) {
      return on(spread.shards[0]!); // which has the name of the queue, and refuses another one
    }
    return added(await Promise.all(spread.shards.map((shard) => on(shard, [{ ...options, confirm: shard.name }]))));
  },
  'deadLetters.kinds': async ({ spread }, args) => {
    const [options] = args as Parameters<DeadLetters['kinds']>;
    const kinds = await Promise.all(spread.shards.map((shard) => shard.deadLetters.kinds(options)));
    return joinKinds(kinds.flat()).toSorted((a, b) => b.count - a.count);
  },
};

/** What all shards have in common, and what only the first one has. */
const SHARED: ReadonlySet<string> = new Set<keyof JobQueue>([
  'name',
  'options',
  'store',
  'schedules',
  'topics',
  'sharedLimit',
]);

type VerbPath = keyof JobQueue | `deadLetters.${keyof DeadLetters}` | `groups.${keyof Groups}`;

function rows(verb: Verb, ...paths: VerbPath[]): { [Path in VerbPath]?: Verb } {
  return Object.fromEntries(paths.map((path) => [path, verb]));
}

/** Which of two shards has the next job of a page. Pending jobs of different shards have no order, so the longest wait is first. */
const ORDERS: Readonly<Record<JobStatus, (a: JobRecord, b: JobRecord) => number>> = {
  pending: (a, b) => b.priority - a.priority || Number(a.enqueuedAt) - Number(b.enqueuedAt),
  scheduled: (a, b) => Number(a.dueAt ?? 0) - Number(b.dueAt ?? 0),
  processing: (a, b) => Number(a.claimedAt ?? 0) - Number(b.claimedAt ?? 0),
  completed: (a, b) => Number(b.completedAt ?? 0) - Number(a.completedAt ?? 0),
  failed: (a, b) => Number(b.failedAt ?? 0) - Number(a.failedAt ?? 0),
  cancelled: (a, b) => Number(b.cancelledAt ?? 0) - Number(a.cancelledAt ?? 0),
};

/** Returns a queue with shards as one queue. @param spreadOf finds the shards of other queues, for `after` */
export function wholeQueue(spread: SpreadQueue, spreadOf: QueueFinder['spreadOf']): JobQueue {
  return partOf({ spread, spreadOf }, spread.shards[0]!, '', (shard) => shard);
}

/** Returns the queue, or a part of it such as `deadLetters`. @param of returns the same part of a shard */
function partOf<Part extends object>(
  whole: Whole,
  first: Part,
  prefix: string,
  of: (shard: JobQueue) => Part,
): Part {
  return new Proxy(first, {
    get: (_, property) => {
      const value: unknown = Reflect.get(first, property);
      if (typeof property === 'symbol' || value === undefined || property in Object.prototype) {
        return value;
      }
      const path = `${prefix}${property}`;
      const verb = VERBS[path as VerbPath];
      if (verb) {
        return (...args: unknown[]) =>
          verb(whole, args, async (shard, own = args) => methodOf(of(shard), property)(...own));
      }
      if (SHARED.has(path)) {
        return typeof value === 'function' ? methodOf(first, property) : value;
      }
      return typeof value === 'object' && value !== null && prefix === ''
        ? partOf(whole, value, `${path}.`, (shard) => Reflect.get(shard, property) as object)
        : () => refuse(whole.spread.name, path);
    },
  });
}

/** Merges lists of which each keeps its own order. So the first jobs are the same, however many follow. */
function merged(lists: readonly JobRecord[][], order: (a: JobRecord, b: JobRecord) => number): JobRecord[] {
  const [result, places] = [[] as JobRecord[], lists.map(() => 0)];
  for (;;) {
    let next: number | undefined;
    lists.forEach((list, i) => {
      const head = list[places[i]!];
      if (head && (next === undefined || order(head, lists[next]![places[next]!]!) < 0)) next = i;
    });
    if (next === undefined) return result;
    result.push(lists[next]![places[next]!++]!);
  }
}

function methodOf(part: object, name: string): (...args: readonly unknown[]) => unknown {
  const method = Reflect.get(part, name) as (...args: readonly unknown[]) => unknown;
  return method.bind(part);
}

/** @throws InvalidOptionError */
function refuse(queue: string, verb: string): never {
  throw new InvalidOptionError(
    `${verb} of queue "${queue}"`,
    'one of its shards',
    'the queue with all of them',
    `Use \`jobs.shards('${queue}')\`, or \`jobs.shardOf\` for the shard of a job.`,
  );
}

function added(numbers: readonly unknown[]): number {
  return (numbers as number[]).reduce((total, each) => total + each, 0);
}

/** Returns options with the name of the queue, which is the default of a job's name. In a shard it would be the name of that. */
function named(spread: SpreadQueue, options: object): object {
  return { name: spread.name, ...options };
}

/** Adds many jobs, each to its shard; see JobQueue.enqueueMany. */
async function addMany(whole: Whole, definition: MixedJob['definition'], given: unknown) {
  const { spread } = whole;
  const shards = new ShardsOfCall();
  const mixed: MixedJob[] = [];
  for (const [i, { payload, ...options }] of validateBulk(given as readonly JobToEnqueue[]).entries()) {
    const subject = `enqueueMany[${i}]`;
    const own = await withShardsOfOthers(whole, spread, definition ? options : named(spread, options));
    mixed.push({
      subject,
      target: shards.shardOf(spread, subject, own),
      spread,
      definition,
      payload,
      options: own,
    });
  }
  return enqueueMixed(mixed);
}
