// What a stream weighs on the wire: 100 queues, and figures of 30 change with each reading.
import { expect, it } from '@jest/globals';
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
