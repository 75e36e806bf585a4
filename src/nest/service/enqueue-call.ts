import { type JobDefinition, isJobDefinition, type PayloadFor } from '../../queue/enqueue/define-job.js';
import { validateBulk } from '../../queue/enqueue/validate-bulk.js';
import { enqueueMixed, groupsOf, type MixedJob, ofCall } from '../../queue/enqueue/enqueue-mixed.js';
import {
  storedIn,
  type EnqueueFields,
  type EnqueueOptions,
  type StartTime,
} from '../../queue/enqueue/enqueue-options.js';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import type { JobQueue } from '../../queue/job-queue.js';
import type { JobHandle } from '../../queue/results/job-handle.js';
import type { StoredIn } from '../../queue/store/outbox-writer.js';
import { checkQueueName } from '../../queue/validation/names.js';
import { checkKnown, checkObject } from '../../queue/validation/validate-options.js';
import {
  type QueueFinder,
  refuseOwnIdOfOthers,
  ShardsOfCall,
  withShardsOfOthers,
} from '../../spread/shard-choice.js';
import { SpreadQueue } from '../../spread/spread-queue.js';

/** The arguments of an `enqueueMany`: jobs of one name with their array, or of several names. */
export type ManyArguments = [
  job: string | JobDefinition | readonly JobOfAnyName[],
  jobs?: readonly ({ payload: unknown } & OneOfManyOptions)[],
  options?: EnqueueManyOptions,
];

/**
 * Adds many jobs: of one name with their array, or of several names; see JobQueueService.enqueueMany.
 *
 * @throws InvalidOptionError, InvalidPayloadError, EnqueueError
 */
export async function enqueueMany(
  finder: QueueFinder,
  ...[job, jobs, options = {}]: ManyArguments
): Promise<JobHandle[]> {
  if (typeof job !== 'string' && !isJobDefinition(job)) {
    if (jobs !== undefined) {
      throw new InvalidOptionError(
        'enqueueMany',
        'a job beside its array, or an array of { job, payload, … } alone',
        show(job),
      );
    }
    return enqueueMixed(await inShards(finder, validateBulk(job)));
  }
  checkKnown('enqueueMany', options, ['queue', 'transaction', 'ordered']);
  const target = finder.find(job, options.queue);
  const checked = validateBulk(jobs!);
  const stored = storedIn('enqueueMany', options);
  if (target instanceof SpreadQueue) {
    const all = checked.map((each) => ({ ...each, job, queue: options.queue }));
    if (stored) all.forEach((each, i) => refuseOwnIdOfOthers(finder, target, byPlace(i), each));
    const mixed = await inShards(finder, all);
    return stored ? storeMixed(mixed, stored) : enqueueMixed(mixed);
  }
  const many =
    typeof job === 'string'
      ? checked.map(({ payload, ...rest }, i) => ({
          payload,
          ...optionsFor(target, job, rest, `enqueueMany[${i}]`),
        }))
      : checked;
  return target.producer.many(typeof job === 'string' ? undefined : job, many, stored);
}

/** Names a job of a call in errors, by its place. */
const byPlace = (place: number) => `enqueueMany[${place}]`;

/** Returns the jobs of a call, each with its queue or its shard. */
async function inShards(finder: QueueFinder, jobs: readonly JobOfAnyName[]): Promise<MixedJob[]> {
  const shards = new ShardsOfCall();
  const found = jobs.map(({ job, queue }, i) => {
    checkJob(`${byPlace(i)}.job`, job);
    return finder.find(job, queue);
  });
  const waits = found.some((each) => each instanceof SpreadQueue) || jobs.some(({ after }) => after !== undefined);
  const mixed: MixedJob[] = [];
  for (const [i, { job, payload, queue: _queue, ...given }] of jobs.entries()) {
    const subject = byPlace(i);
    const rest = waits ? await withShardsOfOthers(finder, found[i]!, given) : given;
    const target = shards.shardOf(found[i]!, subject, rest);
    const options = typeof job === 'string' ? optionsFor(target, job, rest, subject) : rest;
    const definition = typeof job === 'string' ? undefined : job;
    mixed.push({ subject, target, definition, payload, options });
  }
  return mixed;
}

/** Stores the jobs of a call in a transaction, shard by shard. An error rolls all back. */
async function storeMixed(jobs: readonly MixedJob[], stored: StoredIn): Promise<JobHandle[]> {
  const handles: JobHandle[] = [];
  for (const { target, definition, places } of groupsOf(jobs)) {
    const own = places.map((place) => ({ ...jobs[place]!.options, payload: jobs[place]!.payload }));
    const made = await target.producer.many(definition, own, stored).catch((error: unknown) => {
      throw ofCall(error as Error, places, jobs);
    });
    places.forEach((place, i) => (handles[place] = made[i]!));
  }
  return handles;
}

/** Options of one enqueue through the service, but for the start of its job. */
export interface EnqueueJobFields extends Omit<EnqueueFields, 'name'> {
  /** The queue of the job. @default the definition's, that of the handler in this process, the one named as the job */
  queue?: string | undefined;
  /**
   * An open transaction of the app's database, such as the EntityManager of TypeORM. The queue gets the job once it has
   * committed, and never if it rolls back. Needs JobOutboxModule.
   */
  transaction?: object | undefined;
  /**
   * True if the jobs of a `group` are added in the order in which their transactions commit. The enqueue waits for other
   * open transactions that have added jobs of the group this way. Needs `transaction` and `group`. @default false
   */
  ordered?: boolean | undefined;
}

/** Options of one enqueue through the service. */
export type EnqueueJobOptions = EnqueueJobFields & StartTime;

/** The options of one job of an `enqueueMany`. */
export type OneOfManyOptions = Omit<EnqueueJobFields, 'queue' | 'transaction' | 'ordered'> & StartTime;

/** The options of all jobs of an `enqueueMany`. */
export type EnqueueManyOptions = Pick<EnqueueJobFields, 'queue' | 'transaction' | 'ordered'>;

/** A job of an `enqueueMany` over several names. */
export type JobOfAnyName = AnyNameOptions & {
  /** Its name, or its definition. */
  job: string | JobDefinition;
  /** The payload to enqueue. */
  payload: unknown;
};

/** The options of one job of an `enqueueMany` over several names. */
export type AnyNameOptions = Omit<EnqueueJobFields, 'transaction' | 'ordered'> & StartTime;

/** The jobs of an `enqueueMany` over several names: the payload of each is that of its definition. */
export type JobsOfAnyName<Jobs extends readonly (string | JobDefinition)[]> = {
  readonly [Index in keyof Jobs]: { job: Jobs[Index]; payload: PayloadFor<Jobs[Index]> } & AnyNameOptions;
};

/**
 * Returns undefined without options, so that such a job skips all checks of options.
 *
 * @param subject how errors name the job
 * @throws InvalidOptionError for a second name, which a caller without types may give
 */
export function optionsFor(
  queue: JobQueue,
  name: string,
  options: Omit<EnqueueFields, 'name'> & StartTime,
  subject: string,
): EnqueueOptions | undefined {
  if ('name' in options) {
    const hint = "The job's name is the first argument.";
    throw new InvalidOptionError(`${subject}.name`, 'a known option', show('name'), hint);
  }
  return queue.name !== name ? { ...options, name } : Object.keys(options).length > 0 ? options : undefined;
}

/** The queue of a call, if the job's name alone does not decide it. */
export interface QueueChoice {
  /** Default: the definition's queue, that of the handler in this process, else the one named as the job. */
  queue?: string | undefined;
}

/**
 * Takes the queue out of the options of a call.
 *
 * @throws InvalidOptionError where they are no object
 */
export function takeQueue<Options extends object>(
  subject: string,
  options: Options & QueueChoice,
): { queue: string | undefined; rest: Omit<Options, 'queue'> } {
  checkObject(subject, 'an object of options', options);
  const { queue, ...rest } = options;
  return { queue, rest };
}

/** Returns the queue, where a call takes no other option. @throws InvalidOptionError */
export function onlyQueue(subject: string, options: QueueChoice): string | undefined {
  checkKnown(subject, options, ['queue']);
  return options.queue;
}

/**
 * Returns the name of a call's queue: its own option, else the definition's queue, else the handler's.
 *
 * @param queueOfHandler returns the queue of the handler in this process, or the job's own name without one
 * @throws InvalidOptionError
 */
export function chosenQueue(
  job: string | JobDefinition,
  queue: string | undefined,
  queueOfHandler: (name: string) => string,
): string {
  checkJob('job', job);
  const [name, defined] = typeof job === 'string' ? [job] : [job.name, job.defaults.queue];
  const chosen = queue === undefined ? defined : queue; // null is refused as a name
  return chosen === undefined ? queueOfHandler(name) : chosen;
}

/** Checks what a call gave to name the job. */
function checkJob(subject: string, job: unknown): asserts job is string | JobDefinition {
  if (typeof job !== 'string' && !isJobDefinition(job)) {
    throw new InvalidOptionError(subject, "a job's name or a definition of defineJob", show(job));
  }
}

/** Checks the two first arguments of a verb for one job. @throws InvalidOptionError that names the call */
export function checkJobAndId(call: string, job: unknown, id: unknown): void {
  if (typeof id !== 'string') {
    const found = id === undefined ? `${show(job)} alone` : `${show(job)} and ${show(id)}`;
    throw new InvalidOptionError(call, 'a job and an id', found, `Write ${call}('email', id).`);
  }
}

/** @throws InvalidOptionError for a name that cannot be a queue's */
export function checkQueue(queue: string | undefined): void {
  if (queue !== undefined) {
    checkQueueName(queue);
  }
}
