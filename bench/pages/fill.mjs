// Fills the large queue with this many waiting jobs and some dead letters.
import { Redis } from 'ioredis';
import { JobQueue } from '../../dist/esm/core.js';
import { QUEUES } from './queues.mjs';

const SLICE = 500;
/** The number of dead letters, which is the default cap. */
const DEAD = 10_000;

export async function fill(url, waiting) {
  const client = new Redis(url);
  const queue = new JobQueue(client, QUEUES[0]);
  await add(queue, DEAD);
  for (let failed = 0; failed < DEAD; failed += SLICE) {
    const jobs = await queue.claimMany(SLICE);
    await Promise.all(
      jobs.map((job, i) => queue.fail(job, new Error(`Code ${100 + (i % 5)} of the mail server`), { final: true })),
    );
  }
  await add(queue, waiting);
  const [oldest] = await queue.list('pending', { limit: 1 });
  const [dead] = await queue.list('failed', { limit: 1 });
  await queue.close();
  client.disconnect();
  return { waitingId: oldest.id, deadId: dead.id };
}

async function add(queue, count) {
  for (let sent = 0; sent < count; sent += 20 * SLICE) {
    const slices = Array.from({ length: Math.min(20, Math.ceil((count - sent) / SLICE)) });
    await Promise.all(
      slices.map(() =>
        queue.enqueueMany(
          Array.from({ length: SLICE }, (_, i) => ({
            payload: { to: `ada${sent + i}@example.com`, subject: 'Order shipped' },
          })),
        ),
      ),
    );
  }
}
