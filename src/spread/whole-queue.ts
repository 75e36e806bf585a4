// A queue with shards as one object with the verbs of a queue. A table says for each verb how the shards do it.
import { joinActions, joinKinds, joinReports, joinStats, joinWorkers } from '../inspect/join-shards.js';
import type { ActionLog } from '../queue/actions/action-log.js';
import type { DeadLetters } from '../queue/dead-letters/dead-letters.js';
import type { ErrorKind } from '../queue/dead-letters/error-kinds.js';
import { isJobDefinition } from '../queue/enqueue/define-job.js';
import type { JobToEnqueue } from '../queue/enqueue/encode-job.js';
import { validateBulk } from '../queue/enqueue/validate-bulk.js';
import { enqueueMixed, type MixedJob } from '../queue/enqueue/enqueue-mixed.js';
import { InvalidOptionError } from '../queue/errors/errors.js';
import type { JobQueue } from '../queue/job-queue.js';
import type { BatchRecord } from '../queue/model/batch.js';
import type { GroupStats } from '../queue/model/group.js';
import type { JobRecord, JobStatus } from '../queue/model/job.js';
import { markOfShard } from '../queue/model/spread.js';
import { listSchema } from '../queue/operate/find-jobs.js';
import type { Groups } from '../queue/operate/groups.js';
import { LARGEST_PAGE, YEAR_MS } from '../queue/runtime/bounds.js';
import { checkCount, checkOptions } from '../queue/validation/validate-options.js';
import {
  batchIn,
  findBatchIn,
  type FindMembers,
  shardsOfMembers,
  type QueueFinder,
  enqueueInShard,
  itemsOf,
  ShardsOfCall,
  withShardsOfOthers,
} from './shard-choice.js';
import { SpreadQueue } from './spread-queue.js';

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

// How the shards of a queue do each of its verbs, for an app and for the command line. A verb acts on the shard of its job or
// group. Or it acts on all shards, if the result of all is exact. Each other verb is refused, because it would act on one shard.

/** The shards of a queue, and how the shards of other queues are found. */
interface Whole extends Pick<QueueFinder, 'spreadOf'> {
  spread: SpreadQueue;
  /** Returns the shards that a verb on all of them asks. */
  asked(): readonly JobQueue[];
  /** Takes the error of one of them. Throws it, or lets the verb go on with the others. */
  failed(shard: JobQueue, error: unknown): void;
  /** The next step where a verb is refused. */
  advice: string;
}

/** Asks all shards. */
async function replies<Reply>(whole: Whole, ask: (shard: JobQueue) => Promise<Reply>): Promise<Reply[]> {
  return (await Promise.all(whole.asked().map((shard) => reply(whole, shard, ask)))).flat();
}

/** Asks one shard of all. Returns its reply, or nothing if the verb goes on without it. */
async function reply<Reply>(
  whole: Whole,
  shard: JobQueue,
  ask: (shard: JobQueue) => Promise<Reply>,
): Promise<Reply[]> {
  try {
    return [await ask(shard)];
  } catch (error) {
    whole.failed(shard, error);
    return [];
  }
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
const anyChanged: Verb = async (whole, _, on) => (await replies(whole, (shard) => on(shard))).includes(true);

const sum: Verb = async (whole, _, on) => added(await replies(whole, (shard) => on(shard)));

/** Joins the replies of all shards. */
function joined(join: (replies: readonly never[]) => unknown): Verb {
  return async (whole, _, on) => join((await replies(whole, (shard) => on(shard))) as never[]);
}

/** Adds the numbers of the shards. With a limit or a rate in the second argument, the shards follow each other. */
const sumWithin: Verb = async (whole, args, on) => {
  const [first, options] = args as [unknown, { limit?: unknown; perSecond?: unknown } | undefined];
  if (typeof options?.limit !== 'number' && options?.perSecond === undefined) {
    return sum(whole, args, on);
  }
  const { clock } = whole.spread.shards[0]!.store;
  const startedAt = clock.monotonic();
  let [total, pauseMs] = [0, 0];
  for (const shard of whole.asked()) {
    if (pauseMs > 0) await shard.sleep(pauseMs);
    const rest = typeof options.limit === 'number' ? { limit: options.limit - total } : {};
    const meant = options.perSecond === undefined ? first : sinceThen(first, clock.monotonic() - startedAt);
    const done = added(await reply(whole, shard, () => on(shard, [meant, { ...options, ...rest }])));
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
  ...sameRows(
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
  ...sameRows(ofJob, 'cancel', 'result', 'deadLetters.get', 'deadLetters.redrive', 'deadLetters.redriveAsNew'),
  ...sameRows(ofJob, 'deadLetters.discard'),
  ...sameRows(ofGroup, 'groups.get', 'groups.set', 'groups.clear', 'groups.pause', 'groups.resume', 'groups.clean'),
  ...sameRows(anyChanged, 'pause', 'deadLetters.markKind'),
  ...sameRows(sum, 'deadLetters.redriveMany', 'deadLetters.discardAll'),
  ...sameRows(sumWithin, 'clean', 'deadLetters.redriveAll'),
  ...sameRows(
    joined((each) => joinStats(each)),
    'stats',
  ),
  ...sameRows(
    joined((each) => joinWorkers(each)),
    'workers',
  ),
  ...sameRows(
    joined((each) => joinReports(each)),
    'doctor',
  ),
  ...sameRows(joined(kindsOfAll), 'deadLetters.kinds'),
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
  resume: async (whole, args, on) => {
    const [options] = args as [{ first?: unknown; perSecond?: unknown } | undefined];
    const limit = options?.first === undefined ? (options?.perSecond === undefined ? '' : 'perSecond') : 'first';
    return limit ? refuse(whole, `resume with \`${limit}\``) : anyChanged(whole, args, on);
  },
  list: async (whole, args) => {
    const [status, options] = args as Parameters<JobQueue['list']>;
    const { all, pageOf } = pageOfAll(whole, 'list', checkOptions('list', listSchema, options ?? {}));
    const found = await replies(whole, (shard) => shard.list(status, { ...options, ...all }));
    return pageOf(merged(found, JOB_ORDERS[status]));
  },
  'groups.list': async (whole, args) => {
    const [options = {}] = args as Parameters<Groups['list']>;
    const { all, pageOf } = pageOfAll(whole, 'groups.list', options);
    const found = await replies(whole, (shard) => shard.groups.list({ ...options, ...all }));
    return pageOf(merged(found, GROUP_ORDERS[options.by ?? 'depth']));
  },
  batch: ({ spread, spreadOf }, args) => {
    const [options = {}] = args as Parameters<JobQueue['batch']>;
    const ofFollowUp = (_job: unknown, queue: string | undefined) =>
      queue === undefined ? undefined : spreadOf(queue);
    return batchIn<JobQueue>(spread, options, { ofFollowUp, ofMembers: membersOf(spread) });
  },
  findBatch: ({ spread }, args) => {
    const [id] = args as Parameters<JobQueue['findBatch']>;
    return findBatchIn(spread, id, membersOf(spread));
  },
  listBatches: async (whole, args) => {
    const [options = {}] = args as Parameters<JobQueue['listBatches']>;
    const { all, pageOf } = pageOfAll(whole, 'listBatches', options);
    const found = await replies(whole, (shard) => shard.listBatches({ ...options, ...all }));
    return pageOf(merged(found, options.ended === true ? BATCHES_BY_END : BATCHES_BY_AGE));
  },
  purge: async (whole, args, on) => {
    const [options] = args as Parameters<JobQueue['purge']>;
    if ((options as typeof options | undefined)?.confirm !== whole.spread.name) {
      return on(whole.spread.shards[0]!); // which has the name of the queue, and refuses another one
    }
    return added(await replies(whole, (shard) => on(shard, [{ ...options, confirm: shard.name }])));
  },
  'actionLog.latest': async (whole, args) => {
    const [{ limit = 100, ...options } = {}] = args as Parameters<ActionLog['latest']>;
    if (options.before !== undefined) refuse(whole, 'actionLog.latest with `before`');
    const entries = await replies(whole, (shard) => shard.actionLog.latest({ limit, ...options }));
    return joinActions(entries).slice(0, limit);
  },
};

/** Returns the page that each shard is asked for. `pageOf` takes the page of all from their records. */
function pageOfAll(
  whole: Whole,
  verb: string,
  { offset = 0, limit = 50 }: { offset?: number | undefined; limit?: number | undefined },
) {
  checkCount('offset', offset, 0, Number.MAX_SAFE_INTEGER);
  checkCount('limit', limit, 1, LARGEST_PAGE);
  if (offset + limit > LARGEST_PAGE) {
    refuse(whole, `${verb} beyond the first ${LARGEST_PAGE}`);
  }
  return {
    all: { offset: 0, limit: offset + limit },
    pageOf: <Each>(all: readonly Each[]) => all.slice(offset, offset + limit),
  };
}

const GROUP_ORDERS = {
  depth: (a: GroupStats, b: GroupStats) => b.pending - a.pending,
  age: (a: GroupStats, b: GroupStats) => b.oldestPendingAgeMs - a.oldestPendingAgeMs,
} as const;

const BATCHES_BY_AGE = (a: BatchRecord, b: BatchRecord) => Number(a.createdAt) - Number(b.createdAt);
const BATCHES_BY_END = (a: BatchRecord, b: BatchRecord) => Number(b.endedAt ?? 0) - Number(a.endedAt ?? 0);

/** Returns how a batch finds its members: in the shards of the queue, unless the caller names another one. */
function membersOf(spread: SpreadQueue): FindMembers<JobQueue> {
  return (job, queue, members) =>
    queue ? spread.shards[0]!.queueOfMember(job, queue, members) : shardsOfMembers(spread, members);
}

/** Returns the kinds of error of all shards, the most frequent first. */
function kindsOfAll(kinds: readonly (readonly ErrorKind[])[]): ErrorKind[] {
  return joinKinds(kinds.flat()).toSorted((a, b) => b.count - a.count);
}

/** What all shards have in common, and what only the first one has. */
const SHARED = [
  'name',
  'options',
  'store',
  'schedules',
  'topics',
  'sharedLimit',
] as const satisfies (keyof JobQueue)[];

type VerbPath =
  | keyof JobQueue
  | `deadLetters.${keyof DeadLetters}`
  | `groups.${keyof Groups}`
  | `actionLog.${keyof ActionLog}`;

/** The methods that return no promise. */
type AtOnce = {
  [Name in keyof JobQueue]-?: JobQueue[Name] extends (...args: never[]) => infer Reply
    ? Reply extends Promise<unknown>
      ? never
      : Name
    : never;
}[keyof JobQueue];

/** The refused methods that return no promise, so that a refusal is thrown. */
const THROWN_AT_ONCE: Readonly<
  Record<Exclude<AtOnce, 'stream' | 'batch' | 'findBatch' | (typeof SHARED)[number]>, true>
> = {
  as: true,
  close: true,
  onCancelled: true,
  outbox: true,
  queueOfFollowUp: true,
  queueOfMember: true,
  readStream: true,
  refuse: true,
  storedStream: true,
  uncheckedCalls: true,
};

/** Returns how the shards do a verb; undefined for one that is refused. */
function verbOf(path: string): Verb | undefined {
  return VERBS[path as VerbPath];
}

/** Returns whether a part or verb is that of the first shard, which has it for all. */
function isOfFirst(path: string): boolean {
  return (SHARED as readonly string[]).includes(path);
}

/** Returns a method that refuses a verb, as the verb itself fails: by a promise, or at once. */
function refusal(whole: Whole, path: string): () => unknown {
  return Object.hasOwn(THROWN_AT_ONCE, path) ? () => refuse(whole, path) : async () => refuse(whole, path);
}

function sameRows(verb: Verb, ...paths: VerbPath[]): { [Path in VerbPath]?: Verb } {
  return Object.fromEntries(paths.map((path) => [path, verb]));
}

/** Which of two shards has the next job of a page. Pending jobs of different shards have no order, so the longest wait is first. */
const JOB_ORDERS: Readonly<Record<JobStatus, (a: JobRecord, b: JobRecord) => number>> = {
  pending: (a, b) => b.priority - a.priority || Number(a.enqueuedAt) - Number(b.enqueuedAt),
  scheduled: (a, b) => Number(a.dueAt ?? 0) - Number(b.dueAt ?? 0),
  processing: (a, b) => Number(a.claimedAt ?? 0) - Number(b.claimedAt ?? 0),
  completed: (a, b) => Number(b.completedAt ?? 0) - Number(a.completedAt ?? 0),
  failed: (a, b) => Number(b.failedAt ?? 0) - Number(a.failedAt ?? 0),
  cancelled: (a, b) => Number(b.cancelledAt ?? 0) - Number(a.cancelledAt ?? 0),
};

/** Merges lists of which each keeps its own order. So the first entries are the same, however many follow. */
function merged<Each>(lists: readonly (readonly Each[])[], order: (a: Each, b: Each) => number): Each[] {
  const [result, places] = [[] as Each[], lists.map(() => 0)];
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
function refuse({ spread, advice }: Whole, verb: string): never {
  const subject = `${verb} of queue "${spread.name}"`;
  throw new InvalidOptionError(subject, 'one of its shards', 'the queue with all of them', advice);
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
      definition,
      payload,
      options: own,
    });
  }
  return enqueueMixed(mixed);
}
