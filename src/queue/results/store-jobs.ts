// Enqueues in a transaction of the app's database: the jobs are written into its outbox.
import { InvalidOptionError, JobNotFoundError } from '../errors/errors.js';
import { show } from '../errors/show.js';
import { JobHandle, type JobSource } from './job-handle.js';
import type { EncodedJob } from '../store/enqueue-call.js';
import type { OutboxWriter, StoredIn } from '../store/outbox-writer.js';
import type { ProducingQueue } from '../store/queue-store.js';

/** The time between two looks for a job that is not in its queue yet, in ms. */
const LOOK_EVERY_MS = 100;

/** The time for which a reader waits until its job is in its queue, in ms. */
const STREAM_WAIT_MS = 30_000;

/**
 * Writes checked jobs in the transaction. Their queue gets them after its commit.
 *
 * @throws InvalidOptionError before any statement
 */
export async function storeJobs(
  queue: ProducingQueue,
  stored: StoredIn,
  jobs: readonly EncodedJob[],
  source: JobSource,
): Promise<JobHandle[]> {
  const outbox = requiredOutbox('enqueue.transaction', queue.outbox?.());
  for (const job of jobs) {
    refuseBesideTransaction(job);
    refuseReplicas({ durability: queue.options.durability, ...job });
  }
  if (stored.ordered) {
    jobs.forEach(refuseUngrouped);
  }
  await outbox.store(stored, queue.name, jobs);
  const waiting = waitingOf(queue, source);
  return jobs.map((job) => new JobHandle(job.id, job.name, queue.name, 'stored', waiting));
}

/** @throws InvalidOptionError without one */
export function requiredOutbox(subject: string, outbox: OutboxWriter | undefined): OutboxWriter {
  if (!outbox) {
    const hint = 'Import JobOutboxModule.forRoot({ database }) of nest-job-queue/outbox.';
    throw new InvalidOptionError(subject, 'an app with an outbox', 'none', hint);
  }
  return outbox;
}

function refuse(option: string, found: string, hint: string): never {
  throw new InvalidOptionError(`enqueue.${option}`, 'none beside `transaction`', found, hint);
}

/** Refuses what only Redis can decide at the call. */
export function refuseBesideTransaction({ options }: Pick<EncodedJob, 'options'>): void {
  const { after, batch, unique } = options ?? {};
  if (after !== undefined) {
    refuse('after', 'a list of jobs', 'Enqueue this job in the handler of the job before it.');
  }
  if (batch !== undefined) {
    refuse('transaction', 'a member of a batch', 'Add it after the commit.');
  }
  const { onConflict, keep } = unique ?? {};
  if (onConflict !== undefined && onConflict !== 'keep') {
    refuse('unique.onConflict', show(onConflict), "Use 'keep'.");
  }
  if (keep === 'newest') {
    refuse('unique.keep', show(keep), "Use 'oldest'.");
  }
}

function refuseReplicas({ durability }: Pick<EncodedJob, 'durability'>): void {
  if (durability === 'replica') {
    refuse('durability', show('replica'), 'The commit of the database keeps the job until Redis has it.');
  }
}

/** Refuses an order that nothing keeps: jobs without a group do not wait for one that was refused. */
function refuseUngrouped({ id, options }: EncodedJob): void {
  if (options?.group === undefined) {
    const hint = 'Give the job a `group`, or leave `ordered` out.';
    throw new InvalidOptionError('enqueue.ordered', 'jobs with a group', `job ${show(id)} without one`, hint);
  }
}

/** The source of each queue's stored jobs, because an enqueue should not make it again. */
const made = new WeakMap<JobSource, JobSource>();

function waitingOf(queue: ProducingQueue, source: JobSource): JobSource {
  const waiting = made.get(source) ?? waitingSource(queue, source);
  made.set(source, waiting);
  return waiting;
}

/** Reads results and streams of jobs that may not be in their queue yet. */
function waitingSource({ store: { clock } }: ProducingQueue, source: JobSource): JobSource {
  const waiting: JobSource = {
    get: (id) => source.get(id),
    cancel: (id, options) => source.cancel(id, options),
    async awaitResult(id, options = {}, name) {
      const until = clock.monotonic() + (options.timeoutMs ?? 30_000);
      for (;;) {
        try {
          const timeoutMs = Math.max(0, until - clock.monotonic());
          return await source.awaitResult(id, { ...options, timeoutMs }, name);
        } catch (error) {
          if (!(error instanceof JobNotFoundError) || clock.monotonic() + LOOK_EVERY_MS > until) {
            throw error;
          }
        }
        await new Promise<void>((resolve) => clock.setTimeout(resolve, LOOK_EVERY_MS));
      }
    },
    readStream(id, options) {
      const items = source.readStream(id, options, waiting);
      return {
        async *[Symbol.asyncIterator]() {
          const until = clock.monotonic() + STREAM_WAIT_MS;
          while (clock.monotonic() < until && (await source.get(id)) === null) {
            options.signal?.throwIfAborted();
            await new Promise<void>((resolve) => clock.setTimeout(resolve, LOOK_EVERY_MS));
          }
          yield* items;
        },
      };
    },
  };
  return waiting;
}
