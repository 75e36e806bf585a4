// Both places of a queue that moves, for the scripts of the mover.
import { NewPlace, OldPlace } from '#migrate/queue/places.js';
import type { JobQueueOptions } from '#queue/enqueue/enqueue-middleware.js';
import { newQueue } from '../worker/workers.js';

/** Returns the places of a queue, with the right of its first mover. @param options of the queue at the new place */
export async function newPlaces(options: JobQueueOptions = {}) {
  const from = newQueue();
  const to = newQueue({ prefix: 'moved', ...options }, undefined, from.name);
  const old = await OldPlace.of(from, 'there');
  const target = await NewPlace.of(to);
  const { right } = await old.begin('test');
  return { from, to, old, target, right };
}
