import type { JobQueue } from '../queue/job-queue.js';
import type { Source, SourceSettings } from './bullmq/source.js';

/**
 * Sets a pause and limits of the old queue here, where none is set. Sets each once, because an operator may remove it before
 * the next run. Returns what it set, in words.
 */
export async function moveSettings(
  { isPaused, concurrency, rate }: SourceSettings,
  queue: JobQueue,
  source: Pick<Source, 'settingsMoved' | 'noteSettings'>,
): Promise<string[]> {
  const done: string[] = [];
  const before = await source.settingsMoved(queue.name);
  if (isPaused && !before.includes('pause')) {
    if (await queue.pause({ by: 'migrate', reason: 'It was paused in BullMQ.' })) {
      done.push('paused');
    }
  }
  const { maxRunning, rateLimit } = await queue.limits.get();
  if (concurrency !== undefined && !before.includes('concurrency') && maxRunning === undefined) {
    await queue.limits.change({ maxRunning: concurrency });
    done.push(`maxRunning ${concurrency}`);
  }
  if (rate && !before.includes('rate') && rateLimit === undefined) {
    await queue.limits.change({ rateLimit: { limit: rate.max, periodMs: rate.duration } });
    done.push(`rateLimit ${rate.max} in ${rate.duration} ms, spread evenly`);
  }
  const seen = { pause: isPaused, concurrency: concurrency !== undefined, rate: rate !== undefined };
  await source.noteSettings(
    queue.name,
    Object.entries(seen).flatMap(([name, is]) => (is || before.includes(name) ? [name] : [])),
  );
  return done;
}
