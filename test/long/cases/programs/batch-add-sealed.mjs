// Jobs are added to a batch that has fired, under a member's id and a new one. In another queue than the batch's the add
// was refused, and its job ran all the same.
import assert from 'node:assert/strict';
import { Redis } from 'ioredis';
import { JobQueue, Worker } from 'nest-job-queue/core';

const client = new Redis(process.env.REDIS_URL);
const suffix = process.pid;
const [home, other] = ['home', 'other'].map((name) => new JobQueue(client, `case-sealed-${name}-${suffix}`));
const ran = [];
const run = (job) => void ran.push(job.id);
const logger = { log() {}, warn() {}, error() {} };
const worker = new Worker(
  [
    { queue: home, handlers: { [home.name]: run, end: run } },
    { queue: other, handlers: { [other.name]: run } },
  ],
  { logger, sweepIntervalMs: 500 },
);
await worker.start();
for (const queue of [home, other]) {
  const id = `b-${queue.name}`;
  const batch = home.batch({ id, finally: { name: 'end', payload: 1 } });
  for (const member of ['m0', 'm1']) {
    await batch.add(queue.name, 1, { id: `${queue.name}-${member}`, queue });
  }
  await batch.seal();
  await batch.wait({ timeoutMs: 30_000 });
  await queue.remove(`${queue.name}-m1`);
  ran.length = 0;
  for (const member of ['m0', 'm1']) {
    const handle = await home.findBatch(id).add(queue.name, 1, { id: `${queue.name}-${member}`, queue });
    assert.equal(handle.outcome, 'existing');
  }
  const refused = home.findBatch(id).add(queue.name, 1, { id: `${queue.name}-new`, queue });
  await assert.rejects(refused, { name: 'BatchSealedError' });
  const last = await queue.enqueue(1);
  await last.result({ timeoutMs: 10_000 });
  assert.equal(await queue.get(`${queue.name}-new`), null);
  assert.deepEqual(
    ran.filter((each) => !each.startsWith('@batch')),
    [last.id],
  );
}
await worker.stop({ timeoutMs: 1_000 });
for (const queue of [home, other]) {
  await queue.purge({ confirm: queue.name });
  queue.close();
}
client.disconnect();
