// At boot a process says of which queue it cannot read the jobs, before the first of them fails.
import { randomBytes } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { encrypted, JobQueue, JobQueueService, type QueueOptions } from 'nest-job-queue';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { handlerOf, KeptLog, startApp } from '../app.js';

const [june, july] = ['june', 'july'].map((id) => encrypted([{ id, key: randomBytes(32) }]));

/** The warnings of the boot of an app, whose queue has one job of the codec `stored` and is paused. */
async function warnings(stored: QueueOptions['codec'], own: QueueOptions['codec']): Promise<string[]> {
  const name = uniqueQueueName();
  const queue = new JobQueue(connect(), name, { codec: stored });
  const { id } = await queue.enqueue({ secret: true });
  await queue.pause();
  const log = new KeptLog();
  const app = await startApp({ jobs: { queues: { [name]: { codec: own } } }, providers: [handlerOf(name)], log });
  expect((await app.get(JobQueueService).get(name, id))!.status).toBe('pending');
  return log.lines
    .filter((line) => line.includes('cannot read'))
    .map((line) => line.replace(name, 'Q').replace(id, 'ID'));
}

it('warns of jobs of a codec, or a key, that it does not have', async () => {
  const remedy = 'Handlers here would fail them. Give all processes of the queue the same codec and keys.';
  const start = 'warn Queue "Q" has jobs that this process cannot read, such as ID:';
  expect(await warnings(june, undefined)).toEqual([
    `${start} Stored by the codec "encrypted", but the queue has no codec in this process. ${remedy}`,
  ]);
  expect(await warnings(june, july)).toEqual([
    `${start} Encrypted by the key "june"; this process has july. ${remedy}`,
  ]);
});

it('warns where the workers of the queue have another codec, though no job waits', async () => {
  const name = uniqueQueueName();
  const secret = uniqueQueueName('keeps');
  const jobs = { queues: { [name]: { codec: june }, [secret]: { codec: june } } };
  const first = await startApp({ jobs, providers: [handlerOf(name), handlerOf(secret)] });
  await first.get(JobQueueService).enqueue(secret, {}); // it has run, so the queue is not forgotten
  const log = new KeptLog();
  await startApp({
    jobs: { queues: { [secret]: { codec: june } } },
    providers: [handlerOf(name), handlerOf(secret)],
    log,
  });
  expect(log.lines.filter((line) => line.includes('was last served'))).toEqual([
    `warn Queue "${name}" was last served by a worker with the codec "encrypted", and this process has no codec. What one of them ` +
      'stores, the other may not read: such jobs become dead letters with a CodecError. Give all processes of the queue the same ' +
      'codec and keys.',
  ]);
});

it('says nothing of jobs that it reads', async () => {
  expect(await warnings(june, june)).toEqual([]);
  expect(await warnings(undefined, june)).toEqual([]);
  expect(await warnings(undefined, undefined)).toEqual([]);
});
