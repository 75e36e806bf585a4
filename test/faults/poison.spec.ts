// A job that kills its worker, among others that do nothing wrong.
import { describe, expect, it } from '@jest/globals';
import { eventually } from '../support/wait.js';
import { WorkerProcess } from '../support/worker-process.js';
import { newQueue } from '../support/workers.js';

const INNOCENTS = 20;

describe('a job that kills its worker each time', () => {
  it('is a dead letter in the end, and all that ran beside it are completed', async () => {
    const queue = newQueue({ visibilityMs: 1_000 });
    const handles = await queue.enqueueMany(
      Array.from({ length: INNOCENTS + 1 }, (_, i) => ({ payload: i === 7 ? 'poison' : i })),
    );
    const hasEnded = async () => {
      const { completed, failed } = await queue.stats();
      return completed + failed === INNOCENTS + 1;
    };
    let deaths = 0;
    while (!(await hasEnded())) {
      const worker = await WorkerProcess.start({
        queue: queue.name,
        queueOptions: { visibilityMs: queue.options.visibilityMs },
        workerOptions: { sweepIntervalMs: 200 },
        workMs: 50,
      });
      await eventually(async () => worker.isDead || (await hasEnded()), { timeoutMs: 20_000 });
      deaths += worker.isDead ? 1 : 0;
    }
    const [poison] = await queue.list('failed');
    expect(poison).toMatchObject({ id: handles[7]!.id, crashes: 3 });
    expect(poison!.lastError).toContain('it crashed its worker 3 times (maxCrashes 3)');
    const innocents = await queue.list('completed', { limit: 100 });
    expect(innocents).toHaveLength(INNOCENTS);
    expect(Math.max(...innocents.map(({ crashes }) => crashes))).toBe(2);
    expect(deaths).toBe(3);
  }, 60_000);
});
