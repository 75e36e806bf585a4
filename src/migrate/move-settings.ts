import type { JobQueue } from '../queue/job-queue.js';
import type { SourceSettings } from './bullmq/source.js';

/** Sets a pause and limits of the old queue here, where none is set. Returns what it set, in words. */
export async function moveSettings(
  { isPaused, concurrency, rate }: SourceSettings,
  queue: JobQueue,
): Promise<string[]> {
  const done: string[] = [];
  if (isPaused && (await queue.pause({ by: 'migrate', reason: 'It was paused in BullMQ.' }))) {
    done.push('paused');
  }
  const { maxRunning, rateLimit } = await queue.limits.get();
  if (concurrency !== undefined && maxRunning === undefined) {
    await queue.limits.change({ maxRunning: concurrency });
    done.push(`maxRunning ${concurrency}`);
  }
  if (rate && rateLimit === undefined) {
    await queue.limits.change({ rateLimit: { limit: rate.max, periodMs: rate.duration } });
    done.push(`rateLimit ${rate.max} in ${rate.duration} ms, spread evenly`);
  }
  return done;
}
