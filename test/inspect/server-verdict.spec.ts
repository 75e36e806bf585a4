// The verdict on the Redis of the queues, by its INFO. Also for a real server that is full or a replica.
import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readServerVerdict, serverVerdictOf, signsIn } from '#inspect/server-verdict.js';
import { JobQueue } from '#queue/job-queue.js';
import { freeze, startOwnRedis } from '../support/redis/own-redis.js';
import { connect, uniqueQueueName } from '../support/redis/redis.js';
import { eventually } from '../support/faults/wait.js';

const WELL = {
  usedBytes: 2 ** 20,
  maxBytes: 0,
  isReplica: false,
  aofWorks: true,
  snapshotsWork: true,
};
const GIB = 2 ** 30;

describe('the verdict on a server', () => {
  it.each<[string, object, object]>([
    ['that is well', {}, { severity: 'ok', summary: 'Redis takes jobs' }],
    ['with room', { usedBytes: 0.89 * GIB, maxBytes: GIB }, { severity: 'ok' }],
    [
      'that is nearly full',
      { usedBytes: 1.38 * GIB, maxBytes: 1.5 * GIB },
      {
        severity: 'warning',
        summary: 'Redis is nearly full: 92 % of 1.5 GB used; once it is full it refuses enqueues',
      },
    ],
    [
      'that is full',
      { usedBytes: 65 * 2 ** 20, maxBytes: 64 * 2 ** 20 },
      { severity: 'critical', summary: 'Redis is full: 102 % of 64 MB used, and it refuses enqueues' },
    ],
    [
      'that is full, and deletes jobs',
      { usedBytes: 65 * 2 ** 20, maxBytes: 64 * 2 ** 20, evicts: 'allkeys-lru' },
      {
        severity: 'critical',
        summary: 'Redis is full: 102 % of 64 MB used, and it deletes keys, waiting jobs too',
        next: 'set maxmemory-policy to noeviction, and raise maxmemory',
      },
    ],
    [
      'that will delete jobs',
      { maxBytes: GIB, evicts: 'allkeys-lru' },
      {
        severity: 'warning',
        summary: 'Redis may delete keys, waiting jobs too: its maxmemory-policy is allkeys-lru, and maxmemory 1 GB',
      },
    ],
    [
      'that will delete what expires',
      { maxBytes: GIB, evicts: 'volatile-ttl' },
      {
        severity: 'warning',
        summary: expect.stringContaining('may delete keys that expire, such as results: its'),
      },
    ],
    ['that evicts, and has no limit', { evicts: 'allkeys-lru' }, { severity: 'ok' }],
    ['that is a replica', { isReplica: true }, { severity: 'critical' }],
    ['whose append-only file cannot be written', { aofWorks: false }, { severity: 'critical' }],
    [
      'that refuses writes, as its snapshot failed',
      { snapshotsWork: false, needsSnapshots: true },
      { severity: 'critical', summary: 'Redis could not write its last snapshot, and refuses writes for it' },
    ],
    [
      'whose snapshot failed, and whose settings are unknown',
      { snapshotsWork: false },
      {
        severity: 'critical',
        summary: 'Redis could not write its last snapshot, and refuses writes for it or soon will',
      },
    ],
    [
      'whose snapshot failed, which stops no write',
      { snapshotsWork: false, needsSnapshots: false },
      { severity: 'warning' },
    ],
    ['of which the worse is said', { snapshotsWork: false, isReplica: true }, { severity: 'critical' }],
  ])('%s', (_, signs, verdict) => {
    expect(serverVerdictOf([WELL, { ...WELL, ...signs }])).toMatchObject(verdict);
  });

  it('is read from INFO', () => {
    const info =
      '# Memory\r\nused_memory:90\r\nmaxmemory:100\r\nmaxmemory_policy:allkeys-lfu\r\nrole:slave\r\naof_last_write_status:err\r\n';
    expect(signsIn(`${info}rdb_last_bgsave_status:err\r\n`)).toEqual({
      usedBytes: 90,
      maxBytes: 100,
      evicts: 'allkeys-lfu',
      isReplica: true,
      aofWorks: false,
      snapshotsWork: false,
    });
  });
});

describe('a real server', () => {
  let redis: ReturnType<typeof connect>;
  let queue: JobQueue;
  beforeAll(async () => {
    redis = connect({}, (await startOwnRedis()).url);
    queue = new JobQueue(redis, uniqueQueueName());
  });
  afterAll(() => queue.close());

  it('is well, then full, then a replica', async () => {
    expect(await readServerVerdict(queue.store)).toEqual({ severity: 'ok', summary: 'Redis takes jobs' });
    await redis.config('SET', 'maxmemory', '500kb');
    expect(await readServerVerdict(queue.store)).toMatchObject({ severity: 'critical' });
    await expect(queue.enqueue(1)).rejects.toMatchObject({ name: 'RedisOutOfMemoryError' });
    await redis.config('SET', 'maxmemory', '0');
    await redis.replicaof('127.0.0.1', 1);
    expect((await readServerVerdict(queue.store))?.summary).toContain('is a replica');
    await redis.replicaof('NO', 'ONE');
    await eventually(async () => (await readServerVerdict(queue.store))?.severity === 'ok');
  });

  it('is critical where its snapshot failed, as long as that stops writes', async () => {
    const server = await startOwnRedis();
    const admin = connect({}, server.url);
    const seen = new JobQueue(admin, queue.name);
    await seen.enqueue(1);
    rmSync(server.dir, { recursive: true });
    await admin.config('SET', 'save', '3600 1');
    await admin.bgsave();
    await eventually(async () => (await admin.info('persistence')).includes('rdb_last_bgsave_status:err'));
    await expect(seen.enqueue(2)).rejects.toThrow();
    const refuses = 'Redis could not write its last snapshot, and refuses writes for it';
    expect(await readServerVerdict(seen.store)).toMatchObject({ severity: 'critical', summary: refuses });
    await admin.acl('SETUSER', 'default', '-config');
    expect(await readServerVerdict(seen.store)).toMatchObject({
      severity: 'critical',
      summary: `${refuses} or soon will`,
    });
    await admin.acl('SETUSER', 'default', '+config');
    await admin.config('SET', 'stop-writes-on-bgsave-error', 'no');
    expect(await readServerVerdict(seen.store)).toMatchObject({ severity: 'warning' });
    await seen.enqueue(2);
    seen.close();
    await admin.config('SET', 'save', ''); // a server that cannot save does not end
  });

  it('is a warning where the server keeps silent', async () => {
    const server = await startOwnRedis();
    const seen = new JobQueue(connect({}, server.url), queue.name);
    await seen.stats();
    await freeze(server, async () => {
      expect(await readServerVerdict(seen.store, 50)).toEqual({
        severity: 'warning',
        summary: 'Redis gave no reply to INFO',
        next: 'look at the log and the disk of Redis',
      });
    });
    seen.close();
  });

  it('says nothing to a user that may not ask', async () => {
    await redis.acl('SETUSER', 'blind', 'on', '>pw', '~*', '&*', '+@all', '-info');
    const { host, port } = redis.options;
    const blind = connect(
      { username: 'blind', password: 'pw', enableReadyCheck: false },
      `redis://${host}:${port}`,
    );
    const seen = new JobQueue(blind, queue.name);
    expect(await readServerVerdict(seen.store)).toBeUndefined();
    seen.close();
  });
});
