import type { Job } from '../handlers/job.js';

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
  | 'metadata'
  | 'attempt'
  | 'maxAttempts'
  | 'fence'
  | 'enqueuedAt'
  | 'claimedAt'
  | 'signal'
  | 'progress'
  | 'checkpoint'
  | 'lastCheckpoint'
  | 'log'
  | 'snooze'
>;
