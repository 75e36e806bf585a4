import type { BatchReader } from '../../queue/batches/batch-reader.js';
import type { Job } from '../handlers/job.js';

/** A batch for the handler of its follow-up in a thread. Each call is a message to the main thread. */
export type ThreadBatch = Pick<
  BatchReader,
  'id' | 'queue' | 'status' | 'results' | 'members' | 'wait' | 'progress'
>;

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
  /** The batch of a member or a follow-up. Undefined for every other job. */
  readonly batch: ThreadBatch | undefined;
};
