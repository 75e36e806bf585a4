import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { expect, it } from '@jest/globals';
import { EXIT } from '#cli/exit-codes.js';
import { clientOf } from '#cli/redis/address.js';
import { eventually } from '../../support/faults/wait.js';
import { testRedisUrl } from '../../support/redis/redis.js';
import { newQueue } from '../../support/worker/workers.js';
import { cli, cliHere } from '../run-cli.js';

/** Serves the dashboard. Returns its link, and a function that ends it. */
async function serve(...options: string[]) {
  const running = cliHere(['dashboard', '--port', '0', '--json', ...options]);
  await eventually(() => Promise.resolve(running.ran.stdout.includes('url')), { timeoutMs: 30_000 });
  const { url, readOnly } = JSON.parse(running.ran.stdout) as { url: string; readOnly: boolean };
  return {
    url: new URL(url),
    readOnly,
    end: async () => {
      process.emit('SIGTERM');
      expect((await running.over).code).toBe(EXIT.ok);
    },
  };
}

/** Starts a server that takes connections and says nothing. */
async function startSilent() {
  const sockets: Socket[] = [];
  const server = createServer((socket) => void sockets.push(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = () => {
    sockets.forEach((socket) => socket.destroy());
    server.close();
  };
  return { port: (server.address() as AddressInfo).port, close };
}

it('serves the queues of a Redis, only by its link, and changes nothing', async () => {
  const queue = newQueue();
  await queue.enqueue({ n: 1 });
  const { url, readOnly, end } = await serve();
  expect([readOnly, url.hostname, url.pathname]).toEqual([true, '127.0.0.1', '/queues']);
  const token = { authorization: `Bearer ${url.searchParams.get('token')!}` };
  const api = `${url.origin}/queues/api`;
  const refused = await fetch(`${url.origin}/queues`);
  expect([refused.status, refused.headers.get('x-powered-by')]).toEqual([403, null]);
  expect(refused.headers.get('cache-control')).toBe('no-store');
  const health = await fetch(`${url.origin}/health`); // a probe has no token
  expect([health.status, await health.json()]).toEqual([200, { status: 'ok' }]);
  const jobs = await fetch(`${api}/jobs?queue=${queue.name}&state=pending&offset=0&limit=10`, { headers: token });
  expect(await jobs.text()).toContain(queue.name);
  const pause = await fetch(`${api}/queue/act`, {
    method: 'POST',
    headers: { ...token, 'content-type': 'application/json', 'x-job-queue-dashboard': '1' },
    body: JSON.stringify({ action: 'pause', queue: queue.name }),
  });
  expect([pause.status, (await queue.stats()).pausedAt]).toEqual([403, null]);
  await end();
}, 60_000);

it('lets its users make the changes that --allow-changes allows', async () => {
  const queue = newQueue();
  await queue.enqueue({});
  const { url, end } = await serve('--allow-changes');
  const pause = await fetch(`${url.origin}/queues/api/queue/act`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${url.searchParams.get('token')!}`,
      'content-type': 'application/json',
      'x-job-queue-dashboard': '1',
    },
    body: JSON.stringify({ action: 'pause', queue: queue.name }),
  });
  expect([pause.status, (await queue.stats()).pausedAt]).toEqual([200, expect.any(Date)]);
  await end();
}, 60_000);

it('shows several servers, each at its own address, and marks one that is away and one that is silent', async () => {
  const queue = newQueue();
  await queue.enqueue({});
  const silent = await startSilent();
  const servers = [`eu=${testRedisUrl()}`, 'us=env:REDIS_OF_US', `asia=127.0.0.1:${silent.port}`];
  process.env['REDIS_OF_US'] = 'redis://:pw@127.0.0.1:1';
  const { url, end } = await serve(...servers.flatMap((server) => ['--redis', server]));
  expect(url.pathname).toBe('/queues/eu');
  const headers = { authorization: `Bearer ${url.searchParams.get('token')!}` };
  const read = async (path: string) =>
    (await fetch(`${url.origin}/queues/${path}`, { headers })).json() as Promise<Record<string, unknown>>;
  // Each waits four seconds for the verdict of a server that does not answer.
  const [session, verdict, ...none] = await Promise.all(
    ['us/api/session', 'eu/api/verdict', 'us/api/verdict', 'asia/api/verdict'].map(read),
  );
  expect(session!['servers']).toEqual([
    { name: 'eu', href: '../../queues/eu', isHere: false },
    { name: 'us', href: '../../queues/us', isHere: true },
    { name: 'asia', href: '../../queues/asia', isHere: false },
  ]);
  expect(verdict).toEqual({ verdict: expect.objectContaining({ sentence: expect.any(String) }) });
  expect(none).toEqual([{ verdict: null }, { verdict: null }]);
  expect((await fetch(`${url.origin}/queues/us/api/session`)).status).toBe(403);
  await end();
  silent.close();
  delete process.env['REDIS_OF_US'];
}, 60_000);

it('serves at once while one of several keeps silent', async () => {
  const silent = await startSilent();
  const since = performance.now();
  const { url, end } = await serve('--redis', `us=127.0.0.1:${silent.port}`, '--redis', `eu=${testRedisUrl()}`);
  // It waited 5 s for its connection, and 5 s for the names of its queues.
  expect(performance.now() - since).toBeLessThan(4_000);
  const headers = { authorization: `Bearer ${url.searchParams.get('token')!}` };
  const response = await fetch(`${url.origin}/queues/eu/api/verdict`, { headers });
  expect(await response.json()).toEqual({ verdict: expect.objectContaining({ sentence: expect.any(String) }) });
  await end();
  silent.close();
}, 60_000);

it.each([
  [['queues', '--redis', 'localhost:1', '--redis', 'localhost:2'], 'Only "dashboard" takes several'],
  [['dashboard', '--redis', 'a=localhost:1', '--redis', 'a=localhost:2'], 'found "a" twice'],
  [['dashboard', '--redis', 'a=env:NO_SUCH'], 'in the variable NO_SUCH, found none'],
  [['dashboard', '--redis', 'a=redis://:pw@localhost'], '--redis has a password in it'],
])('refuses %j', async (args, words) => {
  expect(await cli(args)).toMatchObject({ code: EXIT.usage, stderr: expect.stringContaining(words) });
});

it('ends where its port is taken, and says so', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const { code, stderr } = await cli(['dashboard', '--port', String(port)]);
  expect([code, stderr]).toEqual([
    EXIT.failed,
    expect.stringContaining(`address already in use 127.0.0.1:${port}`),
  ]);
  other.close();
});

it('ends before it listens if the token of the environment is unsuitable, and does not quote it', async () => {
  process.env['JOB_QUEUE_LINK_TOKEN'] = 'hunter2';
  try {
    const { code, stdout, stderr } = await cli(['dashboard', '--port', '0']);
    expect([code, stdout]).toEqual([EXIT.usage, '']);
    expect(stderr).toContain('JOB_QUEUE_LINK_TOKEN: expected at least 20 random characters');
    expect(stderr).not.toContain('hunter2');
  } finally {
    delete process.env['JOB_QUEUE_LINK_TOKEN'];
  }
});

it('refuses a port that no machine has', async () => {
  expect(await cli(['dashboard', '--port', '99999'])).toMatchObject({ code: EXIT.usage });
});

it('asks Sentinels again that were away', async () => {
  const sentinel = createServer((socket) => socket.destroy());
  sentinel.listen(0, '127.0.0.1');
  await once(sentinel, 'listening');
  const { port } = sentinel.address() as AddressInfo;
  sentinel.close();
  await once(sentinel, 'close');
  const { client, life } = clientOf({ sentinel: 'main', redis: `redis://127.0.0.1:${port}` }, {});
  life.reconnects = true;
  const isAway = once(client, 'error');
  void client.connect().catch(() => undefined);
  await isAway.catch(() => undefined);
  client.on('error', () => undefined);

  sentinel.listen(port, '127.0.0.1');
  await once(sentinel, 'connection');
  client.disconnect();
  sentinel.close();
});
