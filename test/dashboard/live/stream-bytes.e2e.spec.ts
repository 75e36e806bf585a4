// What a stream weighs on the wire: 100 queues, and figures of 30 change with each reading.
import { expect, it } from '@jest/globals';
import type { ClaimedJob } from 'nest-job-queue/core';
import { patiently } from '../../support/faults/wait.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { startDashboard, type Platform } from '../dashboard-app.js';
import { openStream } from '../stream.js';

const NAMES = Array.from({ length: 100 }, () => uniqueQueueName('mail'));

it.each<Platform>(['express', 'fastify'])('is less than 5 KB for a reading on %s', async (platform) => {
  const app = await startDashboard({
    platform,
    jobs: { worker: false, maintenance: false },
    dashboard: { queues: NAMES, refreshMs: 200 },
  });
  const stream = await openStream(app.url, { 'accept-encoding': 'gzip, br' });
  expect(stream.headers.get('content-encoding')).toBe('gzip');
  await patiently(() => stream.messages().length > 2);
  const [bytes, messages] = [stream.bytes(), stream.messages().length];
  for (let i = 0; i < 5; i += 1) {
    const seen = stream.messages().length;
    await Promise.all(NAMES.slice(10 * i, 10 * i + 30).map((name) => app.queue(name).enqueue({ i })));
    await patiently(() => stream.messages().length > seen); // nothing holds a message back
  }
  const readings = stream.messages().length - messages;
  expect((stream.bytes() - bytes) / readings).toBeLessThan(5_000);
  expect(stream.messages().filter((message) => 'overview' in message)).toHaveLength(1);
  const page = (await app.get('/api/overview')).body.overview as { queues: unknown[] };
  expect(stream.last().overview!.queues).toHaveLength(page.queues.length);
  stream.stop();
});

it('sends of the running jobs only those that have changed', async () => {
  const name = uniqueQueueName('mail');
  const app = await startDashboard({
    jobs: { worker: false, maintenance: false },
    dashboard: { queues: [name], refreshMs: 100 },
  });
  const queue = app.queue(name);
  await queue.enqueueMany(Array.from({ length: 51 }, (_, i) => ({ payload: { to: `ada${i}@example.com` } })));
  const claimed: ClaimedJob[] = [];
  for (let i = 0; i < 50; i += 1) {
    claimed.push((await queue.claim({ worker: 'box:12:abc' }))!);
  }
  const stream = await openStream(app.url);
  const running = () => stream.last().overview?.workers.flatMap((worker) => worker.running) ?? [];
  await patiently(() => stream.messages().length > 1 && running().length === 50);
  const seen = stream.messages().length;
  await queue.complete(claimed[0]!);
  const { id } = (await queue.claim({ worker: 'box:12:abc' }))!;
  await patiently(() => running().some((job) => job.id === id) && running().length === 50);
  const sent = stream
    .messages()
    .slice(seen)
    .map((message) => JSON.stringify(message).length);
  expect(Math.max(...sent)).toBeLessThan(2_500); // all 50 are more than 7,000
  expect(JSON.stringify(running()).length).toBeGreaterThan(7_000);
  stream.stop();
});
