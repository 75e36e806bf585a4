import { announceGiant } from '../enqueue/encode-job.js';
import { validateBulk } from '../enqueue/validate-bulk.js';
import {
  type ChunkFor,
  type JobDefinition,
  type PayloadFor,
  type ResultFor,
  isJobDefinition,
} from '../enqueue/define-job.js';
import { DurabilityTimeoutError } from '../enqueue/enqueue-batcher.js';
import type { EnqueueFields, StartTime } from '../enqueue/enqueue-options.js';
import type { Producer } from '../enqueue/producer.js';
import { BatchNotFoundError, BatchSealedError, ClaimLostError, InvalidOptionError } from '../errors/errors.js';
import { EnqueueError, type EnqueueItem, QueueFullError } from '../errors/enqueue-errors.js';
import { SafeLogger } from '../errors/safe-logger.js';
import { show } from '../errors/show.js';
import { deliverPosted, maintainBatches } from '../operate/maintain-batches.js';
import { registerQueues } from '../register/register-queues.js';
import type { JobHandle } from '../results/job-handle.js';
import { groupBy, keptIn } from '../runtime/collections.js';
import { withCaller } from '../runtime/with-caller.js';
import { refTo } from '../store/job-ref.js';
import type { QueueStore, SleepingQueue } from '../store/queue-store.js';
import type { BatchAdder } from '../verbs/batch.js';
import { checkKnown, checkObject } from '../validation/validate-options.js';
import { type CheckedBatch, refuseUnreachable } from './batch-options.js';
import { BatchReader } from './batch-reader.js';

/** The most members that one call makes join. */
const SLICE = 500;

/** The queues whose batches got members without an id, although a repeat is expected. Each is logged once. */
const warned = new WeakMap<QueueStore, Set<string>>();

/** A queue that members are enqueued to. */
interface BatchTarget extends SleepingQueue {
  readonly producer: Producer;
}

/** The options of a member: those of an enqueue without `unique`. */
export type BatchJobOptions<Queue = unknown> = Omit<EnqueueFields, 'name' | 'unique' | 'batch'> &
  StartTime & {
    /** The queue of the member. @default as of an enqueue */
    queue?: Queue | undefined;
  };

/** A running member that adds others to its batch. */
interface RunningMember {
  /** Its queue. */
  queue: string;
  id: string;
  token: string;
  /** @throws ClaimLostError if its claim is no longer current */
  check(): Promise<void>;
}

/** Finds the queue of members of one name. A queue with shards has one for each member. */
type FindTarget<Queue> = (
  job: string | JobDefinition,
  queue: Queue | undefined,
  members: readonly object[],
) => BatchTarget | readonly BatchTarget[];

/**
 * Jobs that end together, with one job after them. Add the jobs, then seal the batch. When the last member has ended in
 * any state, the follow-ups are enqueued exactly once. Created in Redis by the first `add`, `addMany` or `seal`.
 *
 * @example
 * const batch = jobs.batch({ then: { name: 'report', payload: { month } } });
 * await batch.addMany('page', pages.map((page) => ({ payload: { page } })));
 * await batch.seal();
 */
export class Batch<Queue = unknown> extends BatchReader {
  readonly #find: FindTarget<Queue>;
  /** Absent for a caller that is no running member. */
  readonly #adder: RunningMember | undefined;
  /** Absent of a batch that exists. */
  readonly #definition: CheckedBatch | undefined;
  #ready: Promise<void> | undefined;

  /** @internal Made by `batch` and `findBatch` of a queue. */
  constructor(
    home: SleepingQueue,
    batch: CheckedBatch | string,
    find: FindTarget<Queue>,
    { adder, locate }: { adder?: RunningMember; locate?: () => Promise<SleepingQueue> } = {},
  ) {
    super(home, typeof batch === 'string' ? batch : batch.id, locate);
    this.#adder = adder;
    this.#definition = typeof batch === 'string' ? undefined : batch;
    this.#find = find;
  }

  /**
   * Enqueues a job as a member.
   *
   * @param job its name, or its definition
   * @throws BatchSealedError, BatchNotFoundError, and the errors of an enqueue
   * @example await batch.add('page', { page: 1 }, { maxAttempts: 5 });
   */
  async add<Result = unknown, Job extends string | JobDefinition = string | JobDefinition>(
    job: Job,
    payload: PayloadFor<Job>,
    options: BatchJobOptions<Queue> = {},
  ): Promise<JobHandle<ResultFor<Job, Result>, ChunkFor<Job>>> {
    checkObject('batch.add', 'an object of enqueue options', options);
    const { queue, ...rest } = options;
    await this.located();
    const [target] = this.targetsOf(job, queue, [rest]) as [BatchTarget];
    const memberOptions = this.memberOptions('batch.add', target, job, rest);
    await this.ready();
    const definition = isJobDefinition(job) ? job : undefined;
    const [handle] = await this.enqueue(target, idsIn([memberOptions]), async () => [
      await target.producer.one(definition, payload, memberOptions),
    ]);
    return handle as JobHandle<ResultFor<Job, Result>, ChunkFor<Job>>;
  }

  /**
   * Enqueues many jobs of one name as members, at most 500 in one atomic step. Jobs of a queue with shards go to one shard after
   * another.
   *
   * @throws BatchSealedError, BatchNotFoundError, and the errors of enqueueMany
   * @example await batch.addMany('page', pages.map((page) => ({ payload: { page } })));
   */
  async addMany<Job extends string | JobDefinition>(
    job: Job,
    jobs: readonly ({ payload: PayloadFor<Job> } & Omit<BatchJobOptions, 'queue'>)[],
    options: Pick<BatchJobOptions<Queue>, 'queue'> = {},
  ): Promise<JobHandle<ResultFor<Job, unknown>, ChunkFor<Job>>[]> {
    checkKnown('batch.addMany', options, ['queue']);
    const asked = validateBulk(jobs);
    await this.located();
    const targets = this.targetsOf(job, options.queue, asked);
    const members = asked.map(({ payload, ...rest }, i) => ({
      payload: payload as unknown,
      ...this.memberOptions(`batch.addMany[${i}]`, targets[i]!, job, rest),
    }));
    await this.ready();
    const definition = isJobDefinition(job) ? job : undefined;
    const handles: JobHandle[] = [];
    for (const [target, places] of groupBy([...members.keys()], (place) => targets[place]!)) {
      const own = places.map((place) => members[place]!);
      try {
        const added = await this.enqueue(target, idsIn(own), () => target.producer.many(definition, own));
        places.forEach((place, i) => (handles[place] = added[i]!));
      } catch (error) {
        throw places.length === members.length ? error : ofAll(error, { target, places, handles, members });
      }
    }
    return handles;
  }

  /**
   * Closes the batch to further members. A batch without open members fires at once, even an empty one.
   *
   * @throws BatchNotFoundError
   */
  async seal(): Promise<void> {
    await this.ready();
    const reply = await this.home.exec((calls) => calls.batches.seal({ id: this.id }));
    if (reply === 'missing') {
      throw new BatchNotFoundError(this.id);
    }
    await deliverPosted(this.home, reply, 'sealed');
  }

  /**
   * Cancels the members that have not ended, in bounded slices. A waiting one ends at once, and a running one gets an
   * aborted signal. Then the batch fires `onFailure` and `finally`, once it is sealed. `then` does not follow, even if
   * all members have completed.
   *
   * @returns `fired` if all members had ended
   * @throws BatchNotFoundError
   */
  async cancel(): Promise<'stopped' | 'fired'> {
    await this.ready();
    const reply = await this.home.exec((calls) => calls.batches.stop({ id: this.id }));
    if (reply === 'missing') {
      throw new BatchNotFoundError(this.id);
    }
    await maintainBatches(this.home);
    return reply;
  }

  /** @internal */
  protected override async ready(): Promise<void> {
    try {
      await (this.#ready ??= this.open());
    } catch (error) {
      this.#ready = undefined;
      throw withCaller(error);
    }
  }

  private async open(): Promise<void> {
    if (this.#definition) {
      const { checked, ...definition } = this.#definition;
      await checked;
      await announceGiant(this.home, ...definition.followUps.map(({ payload }) => payload));
      const { home } = this;
      const create = () => home.exec((calls) => calls.batches.create(definition));
      await (home.follow ? home.follow(create) : create());
      registerQueues(this.home);
    } else {
      await this.status();
    }
  }

  /** @throws InvalidOptionError for a queue that the batch cannot reach */
  private targetsOf(
    job: string | JobDefinition,
    queue: Queue | undefined,
    members: readonly object[],
  ): readonly BatchTarget[] {
    const found = this.#find(job, queue, members);
    const targets = Array.isArray(found)
      ? (found as readonly BatchTarget[])
      : members.map(() => found as BatchTarget);
    new Set(targets).forEach((target) => refuseUnreachable('batch.add queue', this.home, target));
    return targets;
  }

  /** Warns of a batch that is made again under its id. Members without one would then be added twice. */
  private warnWithoutId(id: string | undefined): void {
    const { name, store } = this.home;
    const queues = keptIn(warned, store, () => new Set<string>());
    if (id === undefined && this.#definition?.hasOwnId === true && !queues.has(name)) {
      queues.add(name);
      SafeLogger.of(store.logger).warn(
        `Batch ${show(this.id)} of queue "${name}" has an id of its own, and members without one. A call that makes the batch ` +
          'again would add such members once more. Give each member an `id`.',
      );
    }
  }

  private memberOptions(
    subject: string,
    target: BatchTarget,
    job: string | JobDefinition,
    options: { id?: string },
  ) {
    const refused = ['unique', 'batch', 'stopsBatch', 'addedBy', 'name'].find((option) => option in options);
    if (refused !== undefined) {
      throw new InvalidOptionError(`${subject}.${refused}`, 'an option of a member', show(refused));
    }
    this.warnWithoutId(options.id);
    const isAtHome = target.name === this.home.name;
    const batch = isAtHome ? this.id : refTo(this.home.name, this.id);
    const stopsBatch = isAtHome && this.#definition?.failFast === true;
    const { queue = '', id = '', token = '' } = this.#adder ?? {};
    return {
      ...options,
      batch,
      ...(this.#adder && { addedBy: [queue === target.name ? '' : queue, id, token] as [string, string, string] }),
      ...(stopsBatch && { stopsBatch }),
      ...(typeof job === 'string' && job !== target.name && { name: job }),
    };
  }

  /**
   * Enqueues jobs. Jobs that a failed call has added join too, because the caller may continue without the others.
   *
   * @param own the ids that the caller chose
   */
  private async enqueue(
    target: BatchTarget,
    own: OwnIds,
    enqueue: () => Promise<JobHandle[]>,
  ): Promise<JobHandle[]> {
    try {
      // The scripts below check the claim of a member that is in their own queue.
      await (this.#adder && target.name !== this.#adder.queue && this.#adder.check());
      const handles = await (target.follow ? target.follow(enqueue) : enqueue());
      await this.join(target, own, handles);
      return handles;
    } catch (error) {
      await this.join(target, own, addedBefore(error)).catch(() => undefined); // a repeat with the same ids joins them
      throw withCaller(error);
    }
  }

  /**
   * Joins jobs to the batch. A member of another queue joins after its enqueue, so a batch waits for no missing job.
   *
   * @throws InvalidOptionError for the id of a job that is no member; the others have joined
   */
  private async join(target: BatchTarget, own: OwnIds, jobs: readonly (EnqueueItem | JobHandle)[]): Promise<void> {
    const strangers = await this.strangersIn(
      target,
      jobs.flatMap(({ id, outcome }) => (outcome === 'new' ? [] : id)),
    );
    if (target.name !== this.home.name) {
      const ids = jobs.map(({ id }) => id).filter((id) => !strangers.includes(id));
      for (let start = 0; start < ids.length; start += SLICE) {
        await this.joinSlice(target, own, ids.slice(start, start + SLICE));
      }
    }
    const [stranger] = strangers;
    if (stranger !== undefined) {
      const expected = 'the id of a new job, or of a member of this batch';
      throw new InvalidOptionError('batch.add id', expected, show(stranger));
    }
  }

  /** Returns which existing jobs are no members. A call that died before the join may have added one for this batch. */
  private async strangersIn(target: BatchTarget, ids: readonly string[]): Promise<string[]> {
    const isAtHome = target.name === this.home.name;
    const strangers: string[] = [];
    for (let start = 0; start < ids.length; start += SLICE) {
      const slice = ids.slice(start, start + SLICE);
      const refs = isAtHome ? slice : slice.map((id) => refTo(target.name, id));
      const replies = await this.home.exec((calls) => calls.batches.known({ id: this.id, members: refs }));
      for (const id of slice.filter((_, i) => replies[i] !== 'known')) {
        const { batch } = (await target.exec((calls) => calls.get({ id }))) ?? {};
        if (batch?.role !== 'member' || batch.queue !== this.home.name || batch.id !== this.id) {
          strangers.push(id);
        }
      }
    }
    return strangers;
  }

  /**
   * Joins some jobs. The batch was asked before their enqueue. If it refuses them since, they are cancelled. A running member
   * leaves a job with an id of its own. Another attempt or member may add it too.
   *
   * @throws BatchNotFoundError, BatchSealedError, ClaimLostError
   */
  private async joinSlice(target: BatchTarget, own: OwnIds, ids: readonly string[]): Promise<void> {
    const adder = this.#adder;
    const members = ids.map((id) => refTo(target.name, id));
    const reply = await this.home.exec((calls) =>
      calls.batches.join({ id: this.id, members, adder: adder && this.adderOf(adder) }),
    );
    if (reply === 'no-batch' || reply === 'sealed' || reply === 'lost') {
      const known = await this.home.exec((calls) => calls.batches.known({ id: this.id, members }));
      const unwanted = ids.filter((id, i) => known[i] !== 'known' && !(adder && own.has(id)));
      await (unwanted.length > 0 && target.exec((calls) => calls.batches.cancel({ ids: unwanted })));
    }
    if (reply === 'lost') {
      throw new ClaimLostError(adder!.id);
    }
    if (reply === 'no-batch') {
      throw new BatchNotFoundError(this.id);
    }
    if (reply === 'sealed') {
      throw new BatchSealedError(this.id);
    }
    if (reply === 'stopped') {
      await maintainBatches(this.home);
    }
    await (adder && this.takeEnds(target, ids));
  }

  private adderOf({ queue, id, token }: RunningMember): BatchAdder {
    const isAtHome = queue === this.home.name;
    return { member: isAtHome ? id : refTo(queue, id), token: isAtHome ? token : '' };
  }

  /** Takes the ends of jobs that ended before they joined. A sealed batch does not take the report of such an end. */
  private async takeEnds(target: BatchTarget, ids: readonly string[]): Promise<void> {
    const members = ids.map((id) => ({ batch: this.id, id }));
    const ends = await target.exec((calls) => calls.batches.ends({ home: this.home.name, members }));
    if (ends.length > 0) {
      await this.home.exec((calls) => calls.batches.deliver({ from: target.name, ends })); // the adder is open, so nothing fires
    }
  }
}

/** The ids that the caller chose for new members. Another attempt or member may add the same jobs. */
type OwnIds = ReadonlySet<string>;

function idsIn(jobs: readonly { id?: string }[]): OwnIds {
  return new Set(jobs.flatMap(({ id }) => id ?? []));
}

/** Returns the jobs that a failed call has added. */
function addedBefore(error: unknown): (EnqueueItem | JobHandle)[] {
  const isOfMany = error instanceof EnqueueError || error instanceof QueueFullError;
  const jobs = isOfMany ? error.items : error instanceof DurabilityTimeoutError ? error.handles : [];
  return jobs.filter(({ outcome }) => outcome === 'new');
}

/** A call that added members to several shards, one after another. */
interface PartlyAdded {
  /** The shard that failed, and the places of its members in the call. */
  target: BatchTarget;
  places: readonly number[];
  /** The handles of the members before. */
  handles: readonly (JobHandle | undefined)[];
  members: readonly { id?: string | undefined }[];
}

/** Returns the error of one shard, with the outcome of each member of the call. An error without outcomes is returned unchanged. */
function ofAll(error: unknown, { target, places, handles, members }: PartlyAdded): unknown {
  if (!(error instanceof EnqueueError || error instanceof QueueFullError)) {
    return error;
  }
  const items = members.map(({ id }, place): EnqueueItem => {
    const known = handles[place] ?? error.items[places.indexOf(place)];
    return known
      ? { id: known.id, outcome: known.outcome }
      : { id: id ?? target.store.clock.randomId(), outcome: 'not-sent' };
  });
  if (error instanceof QueueFullError) {
    const { queue, group, limit, unit } = error;
    return new QueueFullError(queue, { group, limit, unit }, items);
  }
  const ids = items.map(({ id }) => id);
  return new EnqueueError('unknown', error.queue, ids, error.reason, { cause: error, items });
}
