// What a viewer is told where Redis fails: the kind of failure. Addresses and keys are in the log of the app.
import { expect, it } from '@jest/globals';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { ask, startDashboard, type DashboardApp } from '../dashboard-app.js';
import { pathOf, routes, routeSamples } from '../route-samples.js';
import { openStream } from '../stream.js';
import { patiently } from '../../support/faults/wait.js';

type Answer = [route: string, status: number, text: string];

/** Sends the sample of each route. Returns what was answered, by route. */
async function answersOf({ url }: DashboardApp, name: string): Promise<Answer[]> {
  const stream = await openStream(url);
  await patiently(() => stream.messages().length > 0, { timeoutMs: 20_000 });
  stream.stop();
  const samples = routes().filter((route) => !['GET api/stream', 'GET assets/:name', 'GET '].includes(route));
  const answers = await Promise.all(
    samples.map(async (route): Promise<Answer> => {
      const [method, path] = pathOf(route);
      const input = routeSamples(name)[route]![0]![0] as Record<string, string>;
      const isRead = method === 'GET';
      const { status, body } = await ask(
        `${url}/${path}${isRead ? `?${new URLSearchParams(input).toString()}` : ''}`,
        {
          method,
          headers: { 'content-type': 'application/json', 'x-job-queue-dashboard': '1' },
          ...(!isRead && { body: JSON.stringify(input) }),
        },
      );
      return [route, status, JSON.stringify(body)];
    }),
  );
  return [...answers, ['GET api/stream', 200, stream.text()]];
}

it('names no address where Redis is away', async () => {
  const server = await startOwnRedis();
  const name = uniqueQueueName();
  const app = await startDashboard({
    jobs: { redis: server.url, worker: false, maintenance: false },
    dashboard: { queues: [name], otherQueues: true },
  });
  await app.queue(name).enqueue(1, { id: 'a' });
  await server.stop();
  const { port } = new URL(server.url);
  const answers = await answersOf(app, name);
  for (const [route, , text] of answers) {
    expect([route, text]).toEqual([route, expect.not.stringContaining(port)]);
  }
  expect(answers.filter(([, status]) => status === 503).length).toBeGreaterThan(10);
  expect(app.log.lines.join('\n')).toMatch(new RegExp(`The dashboard told its viewers: .*${port}`));
}, 60_000);

it('names no key of a wrong type in a refusal', async () => {
  const name = uniqueQueueName();
  const app = await startDashboard({ jobs: { worker: false, maintenance: false }, dashboard: { queues: [name] } });
  const redis = connect();
  await Promise.all(['pending', 'dead', 'stats'].map((key) => redis.set(`queue:${name}:${key}`, 'of another')));
  const refusals = (await answersOf(app, name)).filter(([, status]) => status !== 200);
  for (const [route, , text] of refusals) {
    expect([route, text]).toEqual([route, expect.not.stringContaining(`queue:${name}`)]);
  }
  expect(refusals.filter(([, status]) => status === 503).length).toBeGreaterThan(3);
  expect(app.log.lines.filter((line) => line.includes(`queue:${name}:pending`))).toHaveLength(1);
});

it('names no key in the error of a run that failed', async () => {
  const name = uniqueQueueName();
  const app = await startDashboard({ jobs: { worker: false, maintenance: false }, dashboard: { queues: [name] } });
  const queue = app.queue(name);
  for (const id of ['a', 'b', 'c']) {
    await queue.enqueue(1, { id });
    await queue.fail((await queue.claim())!, new Error('no'), { final: true });
  }
  const run = async () => {
    const { body } = await app.get('/api/runs');
    return (body as { runs: { status: string; done: number; error: string | null }[] }).runs[0]!;
  };
  const asked = { action: 'redrive', queue: name, state: 'failed', match: {}, perSecond: 1 };
  expect(await app.post('/api/runs', asked)).toMatchObject({ status: 200 });
  await patiently(async () => (await run()).done > 0);
  const key = `queue:${name}:pending`;
  await connect().set(key, 'of another');
  await patiently(async () => (await run()).status === 'failed', { timeoutMs: 10_000 });
  expect((await run()).error).toBe('A key of the queue has the wrong type. The log of the app says more.');
  const logged = app.log.lines.filter((line) => line.includes(`The run "redrive" on queue "${name}" failed`));
  expect(logged).toEqual([expect.stringContaining(key)]);
});
