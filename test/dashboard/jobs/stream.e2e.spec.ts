// The page of a job shows the end of its stream, while the job runs too.
import { expect, it } from '@jest/globals';
import { eventually, gate } from '../../support/faults/wait.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { startWorker } from '../../support/worker/workers.js';
import { startDashboard } from '../dashboard-app.js';

it.each([
  [undefined, 'Hello\n— attempt 2 —\nHello{"iban":"DE02"}\n[2 bytes]'],
  [['iban'], '[redacted]\n— attempt 2 —\n[redacted]{"iban":"[redacted]"}\n[redacted]'],
])('the stream of a job, with redact %s', async (redact, text) => {
  const name = uniqueQueueName('chat');
  const app = await startDashboard({
    dashboard: { queues: [name] },
    jobs: { worker: false, queues: { [name]: { redact } } },
  });
  const queue = app.queue(name);
  const { promise, open } = gate();
  const { worker } = await startWorker(queue, async function* (job) {
    yield 'Hello';
    if (job.attempt === 1) throw new Error('once');
    yield { iban: 'DE02' };
    yield Buffer.from([0, 1]);
    await promise;
  });
  const { id } = await queue.enqueue(1);
  const job = async () => (await app.get(`/api/job?queue=${name}&id=${id}`)).body as { stream: unknown };
  await eventually(async () => (await queue.get(id))?.stream?.entries === 5);
  expect(await job()).toMatchObject({ state: 'processing', stream: { entries: 5, text } });
  open();
  await queue.result(id);
  await worker.stop();
});
