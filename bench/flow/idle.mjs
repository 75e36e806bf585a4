// Commands of a hundred workers on a limited queue that must wait, beside the same workers on an empty queue.
import { createRequire } from 'node:module';
import { Worker, JobQueue } from '../../dist/esm/core.js';
import { figure, fill, readCommands, withFlowQueue } from './library.mjs';

const { Redis } = createRequire(new URL('../../package.json', import.meta.url))('ioredis');
const WORKERS = 100;
/** Commands of an idle process with one queue, as test/worker/fetch/idle-cost.spec.ts checks. */
const BOUND = 6;

export const idle = {
  id: 'idle',
  text: 'Commands of a hundred idle workers',
  async run(bench) {
    const plain = await perWorkerAndSecond(bench, async () => {});
    const limited = await perWorkerAndSecond(bench, async (queue) => {
      await queue.limits.set({ rateLimit: { limit: 1, periodMs: 600_000 } });
      await fill(queue, 1_000, () => ({ payload: {} }));
    });
    return {
      figures: [
        figure('idle.plain', 'commands per second and worker, 100 idle workers, empty queue', '', plain, {
          most: BOUND,
        }),
        figure(
          'idle.limited',
          'commands per second and worker, 100 idle workers, 1,000 jobs behind a rate',
          '',
          limited,
          { most: BOUND },
        ),
      ],
    };
  },
};

/**
 * Counts the commands per idle worker and second. Each worker has its own connections, as in a separate process.
 */
function perWorkerAndSecond(bench, prepare) {
  return withFlowQueue(bench, {}, async (queue) => {
    await prepare(queue);
    const fleet = Array.from({ length: WORKERS }, () => openWorker(bench, queue.name));
    await Promise.all(fleet.map(({ worker }) => worker.start()));
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    await bench.server.control.config('RESETSTAT');
    const began = performance.now();
    await new Promise((resolve) => setTimeout(resolve, bench.quick ? 5_000 : 10_000));
    const { scripts, blocking } = await readCommands(bench);
    const seconds = (performance.now() - began) / 1_000;
    await Promise.all(fleet.map(({ close }) => close()));
    return (scripts + blocking) / seconds / WORKERS;
  });
}

function openWorker(bench, name) {
  const redis = new Redis(bench.server.url, { maxRetriesPerRequest: null });
  const queue = new JobQueue(redis, name);
  const worker = new Worker([{ queue, concurrency: 1, handlers: { [name]: () => {} } }]);
  const close = async () => {
    await worker.stop();
    queue.close();
    redis.disconnect();
  };
  return { worker, close };
}
