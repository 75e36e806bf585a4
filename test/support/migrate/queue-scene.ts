// A queue at its old place, the same queue at a new one, and movers between them.
import { expect } from '@jest/globals';
import { NewPlace, OldPlace } from '#migrate/queue/places.js';
import { QueueMover } from '#migrate/queue/queue-mover.js';
import type { QueueMoveStep } from '#migrate/queue/transit.js';
import type { JobQueue } from '#queue/job-queue.js';
import { systemClock } from '#queue/runtime/clock.js';
import { scanKeys } from '#queue/redis/scan-keys.js';
import { redisWithAllKeys } from '#queue/redis-access.js';
import { newQueue } from '../worker/workers.js';
import { runToDeath } from './deaths.js';
import { emptyReport } from './empty-report.js';

/** Returns movers from one place to another. `die` runs one that dies after the first step of which `isLast` is true. */
export function queueScene(
  from: JobQueue = newQueue(),
  to: JobQueue = newQueue({ prefix: 'moved' }, undefined, from.name),
) {
  const report = emptyReport();
  const mover = async (onStep?: (step: QueueMoveStep) => void, [old, target] = [from, to]) =>
    new QueueMover({
      old: await OldPlace.of(old, 'elsewhere'),
      target: await NewPlace.of(target),
      clock: systemClock,
      report,
      by: 'test',
      onStep,
    });
  const run = async () => (await mover()).run();
  const back = async () => (await mover(undefined, [to, from])).run();
  const die = async (isLast: (step: QueueMoveStep) => boolean) => {
    expect(await runToDeath(mover, isLast)).toBe(true);
  };
  return { from, to, report, mover, run, back, die };
}

/** Returns the ids of the jobs of a queue in a state. */
export async function idsIn(
  queue: JobQueue,
  state: Parameters<JobQueue['list']>[0] = 'pending',
): Promise<string[]> {
  return (await queue.list(state, { limit: 1_000 })).map(({ id }) => id);
}

/** Returns the keys of a move that are left at its old place. */
export async function keysOfMove(queue: JobQueue): Promise<string[]> {
  const { client, keys, ask } = await redisWithAllKeys(queue);
  const start = `${keys.base}moving:`;
  const found: string[] = [];
  for await (const page of scanKeys(client, start, ask)) {
    found.push(...page);
  }
  return found.map((key) => key.slice(start.length)).filter((part) => part !== 'state');
}
