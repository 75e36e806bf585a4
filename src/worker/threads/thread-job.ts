import type { BatchReader } from '../../queue/batches/batch-reader.js';
import type { Job } from '../handlers/job.js';

/** A batch as the handler of its follow-up reads it in a thread: each call is a message to the main thread. */
export type ThreadBatch = Pick<
  BatchReader,
  'id' | 'queue' | 'status' | 'results' | 'members' | 'wait' | 'progress'
>;

/**
 * A job as a handler in a thread sees it: the same, by messages. Its payload and result cross as plain data
 * (structured clone); the reason of its signal is an Error with the name and message of the original.
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
  /** The batch of a follow-up, whose members have ended. Undefined for every other job. */
  readonly batch: ThreadBatch | undefined;
};
