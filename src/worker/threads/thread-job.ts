import type { BatchJobOptions } from '../../queue/batches/batch.js';
import type { BatchReader } from '../../queue/batches/batch-reader.js';
import type { JobDefinition, PayloadFor } from '../../queue/enqueue/define-job.js';
import type { JobHandle } from '../../queue/results/job-handle.js';
import type { Job } from '../handlers/job.js';
import type { StreamWriter } from '../handlers/stream-writer.js';

/** A member that a handler in a thread added: the fields of its handle. */
export type ThreadMember = Pick<JobHandle, 'id' | 'name' | 'queue' | 'outcome'>;

/** The batch of a job in a thread. Each call is a message to the main thread. */
export type ThreadBatch = Pick<
  BatchReader,
  'id' | 'queue' | 'status' | 'results' | 'members' | 'wait' | 'progress'
> & {
  /**
   * Enqueues a job as a member, while the member that adds it runs.
   *
   * @param job its name, or its definition
   * @throws as `job.batch.add` in the process
   * @example await job.batch!.add('page', { url });
   */
  add<Definition extends string | JobDefinition>(
    job: Definition,
    payload: PayloadFor<Definition>,
    options?: BatchJobOptions<string>,
  ): Promise<ThreadMember>;
  /**
   * Enqueues many jobs of one name as members, at most 500 in one atomic step.
   *
   * @throws as `job.batch.addMany` in the process
   * @example await job.batch!.addMany('page', urls.map((url) => ({ payload: { url } })));
   */
  addMany<Definition extends string | JobDefinition>(
    job: Definition,
    jobs: readonly ({ payload: PayloadFor<Definition> } & Omit<BatchJobOptions, 'queue'>)[],
    options?: Pick<BatchJobOptions<string>, 'queue'>,
  ): Promise<ThreadMember[]>;
};

/**
 * A job for a handler in a thread, which works by messages. Its payload is copied as plain data (structured clone). Its
 * result, progress and checkpoints become the same JSON as in the process. The reason of its signal is an Error with the
 * original's name and message.
 *
 * @example
 * // render.worker.ts
 * export default async function render(job: ThreadJob<Scene>) {
 *   for (const [i, frame] of job.payload.frames.entries()) {
 *     job.signal.throwIfAborted();
 *     draw(frame);
 *     await job.progress({ frame: i });
 *   }
 * }
 */
export type ThreadJob<Payload = unknown> = Pick<
  Job<Payload>,
  | 'id'
  | 'name'
  | 'queue'
  | 'payload'
  | 'group'
  | 'metadata'
  | 'attempt'
  | 'maxAttempts'
  | 'fence'
  | 'enqueuedAt'
  | 'readyAt'
  | 'claimedAt'
  | 'signal'
  | 'progress'
  | 'checkpoint'
  | 'lastCheckpoint'
  | 'log'
  | 'snooze'
> & {
  /** Writes the stream of the job. */
  readonly stream: Pick<StreamWriter, 'write'>;
  /** The batch of a member or a follow-up. Undefined for every other job. */
  readonly batch: ThreadBatch | undefined;
};
