// At boot a process says of which queue it cannot read the jobs, before the first of them fails.
import { randomBytes } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { encrypted, JobQueue, JobQueueService, type QueueOptions } from 'nest-job-queue';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { handlerOf, KeptLog, startApp } from '../app.js';

const juneKey = { id: 'june', key: randomBytes(32) };
const julyKey = { id: 'july', key: randomBytes(32) };
const june = encrypted([juneKey]);
const july = encrypted([julyKey]);

/** Returns the warnings of an app's boot. Its queue is paused, and has one job of the codec `stored`. */
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

/** Returns the warnings of a process with the codec `own`, after a worker with `theirs` has run a job. */
async function afterWorker(theirs: QueueOptions['codec'], own: QueueOptions['codec']): Promise<string[]> {
  const name = uniqueQueueName();
  const first = await startApp({ jobs: { queues: { [name]: { codec: theirs } } }, providers: [handlerOf(name)] });
  const { id } = await first.get(JobQueueService).enqueue(name, {}); // a queue without a job is forgotten
  await first.get(JobQueueService).result(name, id);
  const log = new KeptLog();
  await startApp({ jobs: { queues: { [name]: { codec: own } } }, providers: [handlerOf(name)], log });
  return log.lines.filter((line) => line.includes('was last served')).map((line) => line.replace(name, 'Q'));
}

it('warns where a process does not know the key by which the other encrypts', async () => {
  const remedy = 'Give all processes of the queue the same codec and keys.';
  expect(await afterWorker(july, june)).toEqual([
    'warn Queue "Q" was last served by a worker with the keys july, and this process has june. Jobs encrypted by the key july ' +
      `become dead letters with a CodecError where this process runs them. ${remedy}`,
  ]);
  expect(await afterWorker(june, encrypted([julyKey, juneKey]))).toEqual([
    'warn Queue "Q" was last served by a worker with the keys june, and this process has july, june. Jobs encrypted by the key july ' +
      `become dead letters with a CodecError where that worker runs them. ${remedy}`,
  ]);
});

it('says nothing while a key is changed in the order of the guide', async () => {
  const newKeySecond = encrypted([juneKey, julyKey]);
  const newKeyFirst = encrypted([julyKey, juneKey]);
  expect(await afterWorker(june, newKeySecond)).toEqual([]);
  expect(await afterWorker(newKeySecond, newKeyFirst)).toEqual([]);
  expect(await afterWorker(newKeyFirst, july)).toEqual([]);
});

it('says nothing of jobs that it reads', async () => {
  expect(await warnings(june, june)).toEqual([]);
  expect(await warnings(undefined, june)).toEqual([]);
  expect(await warnings(undefined, undefined)).toEqual([]);
});
