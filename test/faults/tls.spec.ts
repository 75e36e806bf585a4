// A server that speaks TLS only.
import { once } from 'node:events';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { JobQueueService } from 'nest-job-queue';
import { JobQueueHealthIndicator } from 'nest-job-queue/health';
import { RedisConnection } from '#nest/connection/server-connection.js';
import { handlerOf, KeptLog, startApp } from '../nest/app.js';
import { makeCertificates, type Certificates } from '../support/redis/certificates.js';
import { startOwnRedis, type OwnRedis } from '../support/redis/own-redis.js';
import { connect, uniqueQueueName } from '../support/redis/redis.js';
import { newQueue, startWorker } from '../support/worker/workers.js';

let server: OwnRedis;
let certificates: Certificates;
beforeAll(async () => {
  certificates = makeCertificates();
  server = await startOwnRedis({ tls: certificates.files, args: ['--appendonly', 'yes'] });
});

describe('a server that speaks TLS only', () => {
  it('carries all connections of a worker: commands, waiting, events', async () => {
    const queue = newQueue({}, connect({ tls: { ca: certificates.ca } }, server.url));
    const worker = await startWorker(queue, () => 'done');
    expect(await (await queue.enqueue({})).result()).toBe('done');
    expect(worker.warnings).toEqual([]);
    expect(server.url).toMatch(/^rediss:/);
    const plain = connect({ retryStrategy: () => null }, server.url.replace('rediss', 'redis'));
    plain.on('error', () => undefined);
    await expect(plain.ping()).rejects.toThrow();
  });

  it('carries the Nest module and its health', async () => {
    const name = uniqueQueueName();
    const log = new KeptLog();
    const { host, port } = server;
    const app = await startApp({
      jobs: { redis: { host, port, tls: { ca: certificates.ca } } },
      providers: [handlerOf(name)],
      log,
    });
    expect(await (await app.get(JobQueueService).enqueue(name, null)).result()).toBe('done');
    expect(await app.get(JobQueueHealthIndicator).check('jobs')).toMatchObject({ jobs: { status: 'up' } });
    expect(log.lines.filter((line) => !line.startsWith('log'))).toEqual([]);
  });

  it('whose certificate is not trusted gets no job, and the app says why', async () => {
    const name = uniqueQueueName();
    const log = new KeptLog();
    const app = await startApp({
      jobs: { redis: server.url, enqueueTimeoutMs: 200 },
      providers: [handlerOf(name)],
      log,
    });
    await expect(app.get(JobQueueService).enqueue(name, null)).rejects.toMatchObject({ outcome: 'not-sent' });
    expect(log.lines.join('\n')).toMatch(/self-signed certificate/);
    expect(await app.get(JobQueueHealthIndicator).check('jobs')).toMatchObject({ jobs: { status: 'down' } });
  });

  it('whose certificate is not trusted may say so once more on the same socket, which ends no process', async () => {
    const warnings: string[] = [];
    const logger = { log: () => {}, warn: (line: string) => void warnings.push(line), error: () => {} };
    const made = new RedisConnection(server.url, logger);
    const yours = connect({ lazyConnect: true }, server.url);
    yours.on('error', () => yours.stream?.on('error', ({ message }) => logger.warn(message))); // as docs/redis.md says
    for (const client of [made.client, made.connection.duplicate('events'), yours] as Redis[]) {
      void client.connect().catch(() => undefined);
      await once(client, 'error');
      // Node passes on a server's alert even after it abandoned the socket, if the alert precedes the socket's end.
      expect(() => client.stream.emit('error', new Error('tlsv1 alert decode error'))).not.toThrow();
      client.disconnect();
    }
    expect(warnings.filter((line) => line.includes('alert'))).toEqual([
      'Redis connection: tlsv1 alert decode error',
      'Redis connection (events): tlsv1 alert decode error',
      'tlsv1 alert decode error',
    ]);
  });
});
