// The plainest nginx before an app: it sends its own host name, and no header that tells of it.
import { afterEach, beforeAll, expect, it } from '@jest/globals';
import { startDashboard } from '../../dashboard/dashboard-app.js';
import { openStream } from '../../dashboard/stream.js';
import { patiently } from '../../support/faults/wait.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { buildShop, shopData, startProcess } from '../../support/browser/shop.js';
import { findNginx, proxyBy } from '../../support/faults/nginx.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';

const nginx = await findNginx();
const found = typeof nginx === 'string' ? undefined : nginx;
if (typeof nginx === 'string') console.log(`Skipped, because there is no nginx: ${nginx}`);
const withNginx = found ? it : it.skip;

let stop: (() => Promise<void>) | undefined;
afterEach(() => stop?.());
beforeAll(buildShop, 240_000);

/** Returns the status of each path without the link, and then with it. */
async function statusesOf(origin: string, link: string, paths: readonly string[]): Promise<[number[], number[]]> {
  const statuses = (headers: Record<string, string>) =>
    Promise.all(
      paths.map(async (path) => {
        const control = new AbortController();
        const { status } = await fetch(origin + path, { headers, redirect: 'manual', signal: control.signal });
        control.abort(); // a stream does not end by itself
        return status;
      }),
    );
  const strangers = await statuses({});
  const { search, pathname } = new URL(link);
  const opened = await fetch(origin + pathname + search, { redirect: 'manual' });
  return [strangers, await statuses({ cookie: opened.headers.get('set-cookie')!.split(';')[0]! })];
}

withNginx('a dashboard without a guard is closed to who lacks the link, and open to who has it', async () => {
  const app = await startDashboard({
    jobs: { worker: false, maintenance: false },
    dashboard: { allowRemote: false },
  });
  const proxy = await proxyBy(found!, new URL(app.url).origin);
  stop = proxy.stop;
  const link = /Only this link opens it: (\S+)/.exec(app.log.lines.join('\n'))![1]!;
  const paths = ['/queues', '/queues/api/session', '/queues/api/overview', '/queues/api/stream'];
  expect(await statusesOf(proxy.origin, link, paths)).toEqual([
    [403, 403, 403, 403],
    [200, 200, 200, 200],
  ]);
});

withNginx('a compressed stream passes each message on at once', async () => {
  const queue = uniqueQueueName('mail');
  const dashboard = { queues: [queue], refreshMs: 100, allowRemote: true };
  const app = await startDashboard({ jobs: { worker: false, maintenance: false }, dashboard });
  const proxy = await proxyBy(found!, new URL(app.url).origin);
  stop = proxy.stop;
  const stream = await openStream(`${proxy.origin}/queues`, { 'accept-encoding': 'gzip' });
  expect(stream.headers.get('content-encoding')).toBe('gzip');
  for (let pending = 1; pending <= 5; pending += 1) {
    await app.queue(queue).enqueue(null);
    await patiently(
      () => stream.messages().length > 0 && stream.last().overview?.queues[0]?.depths.pending === pending,
    );
  }
  stream.stop();
});

withNginx('the one link of the shop opens its page and its dashboard', async () => {
  const redis = await startOwnRedis();
  const env = { REDIS_URL: redis.url, SHOP_DATA: shopData(), PORT: '0' };
  const shop = startProcess('node', ['examples/shop/dist/main.js'], env);
  const [, link] = await shop.prints(/The shop is open: (\S+)/);
  const proxy = await proxyBy(found!, new URL(link!).origin);
  stop = proxy.stop;
  for (const origin of [proxy.origin, new URL(link!).origin]) {
    expect(await statusesOf(origin, link!, ['/', '/queues', '/queues/api/session'])).toEqual([
      [403, 403, 403],
      [200, 200, 200],
    ]);
  }
  expect(await shop.kill('SIGTERM')).toBe(0);
});
