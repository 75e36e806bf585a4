// One scrape of all worker processes. The supervisor is this process.
import { expect, it, jest } from '@jest/globals';
import { patiently } from '../../support/faults/wait.js';
import { SOON, steerWorkers } from './steered-workers.js';

jest.setTimeout(90_000);

/** Returns how many attempts completed in all processes. */
const completed = (text: string) =>
  Number(/^job_queue_attempts_total\{.*outcome="completed".*\} (\d+)$/m.exec(text)?.[1] ?? 0);

it('sums all processes, keeps counters of a killed one, and waits for none that hangs', async () => {
  const { workers, queue } = await steerWorkers({
    metrics: { port: 0 },
    env: { TEST_METRICS: '1' },
    hangTimeoutMs: 0,
  });
  const scrape = async () => (await fetch(workers.metricsUrl!)).text();
  await workers.resize(2);
  await workers.whenReady();
  await Promise.all([1, 2].map(() => queue.enqueue({ do: 'wait', ms: 300 }))); // one in each process
  await patiently(async () => completed(await scrape()) === 2, SOON);
  const both = await scrape();
  expect(both).toContain('job_queue_worker_process_up{process="worker-1"} 1');
  expect(both).toContain(`job_queue_workers{queue="${queue.name}"} 2`); // of the fleet, not twice

  await queue.enqueue({ do: 'block' }, { maxAttempts: 1 });
  await patiently(async () => (await queue.stats()).processing === 1);
  const since = performance.now();
  const text = await scrape();
  expect(performance.now() - since).toBeLessThan(10_000);
  expect(text.match(/^job_queue_worker_process_up\{.*\} 0$/gm)).toHaveLength(1);
  expect(text.match(/^job_queue_worker_process_up\{.*\} 1$/gm)).toHaveLength(1);
  expect(completed(text)).toBe(2);

  workers.kill();
  await workers.ended;
});
