// The command that moves a queue of ours: plan, report, refusals.
import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { EXIT } from '#cli/exit-codes.js';
import { JobQueue } from '#queue/job-queue.js';
import { redisWithAllKeys } from '#queue/redis-access.js';
import { encrypted } from '#queue/codec/encrypted.js';
import { connect, testRedisUrl, uniqueQueueName } from '../support/redis/redis.js';
import { startOwnRedis } from '../support/redis/own-redis.js';
import { cli } from '../cli/run-cli.js';
import { idsIn } from '../support/migrate/queue-scene.js';

let redis: Redis;
beforeAll(() => {
  redis = connect();
});

async function seeded(): Promise<JobQueue> {
  const queue = new JobQueue(redis, uniqueQueueName());
  for (const id of ['a', 'b']) await queue.enqueue(1, { id, name: 'encode' });
  await queue.enqueue(1, { id: 'later', delayMs: 3_600_000 });
  await queue.schedules.upsert('nightly', { cron: '0 3 * * *', timeZone: 'UTC' }, { name: 'encode' });
  return queue;
}

describe('migrate queue', () => {
  it('shows with --dry-run what it would move, and in which order to deploy, and changes nothing', async () => {
    const queue = await seeded();
    const { code, stdout } = await cli(['migrate', 'queue', queue.name, '--to-prefix', 'new', '--dry-run']);
    expect(code).toBe(EXIT.ok);
    expect(stdout).toMatch(/^to move {9}2 pending, 1 scheduled$/m);
    expect(stdout).toMatch(/^schedules {7}nightly$/m);
    expect(stdout).toMatch(/^order {11}1\. run this with --follow/m);
    expect(await idsIn(queue)).toEqual(['a', 'b']);
    expect((await queue.stats()).pausedAt).toBeNull();
  });

  it('moves to another Redis, and prints a report', async () => {
    const queue = await seeded();
    const { url } = await startOwnRedis();
    const { code, stdout } = await cli(['migrate', 'queue', queue.name, '--to', url, '--follow', '--quiet', '1']);
    expect(code).toBe(EXIT.ok);
    expect(stdout).toMatch(/^moved {11}3: 2 pending, 1 scheduled$/m);
    expect(stdout).toMatch(/^still there {5}none$/m);
    expect(stdout).toMatch(/^next {12}deploy the new address/m);
    const there = new JobQueue(connect({}, url), queue.name);
    expect(await idsIn(there)).toEqual(['a', 'b']);
    expect((await there.schedules.list()).map(({ id }) => id)).toEqual(['nightly']);
  });

  it('moves to another name and back, with an address in the environment, and gives JSON', async () => {
    const queue = await seeded();
    const { url } = await startOwnRedis();
    const name = `${queue.name}-new`;
    const there = await cli(['migrate', 'queue', queue.name, '--to-name', name, '--json'], { TO_REDIS_URL: url });
    expect(JSON.parse(there.stdout)).toMatchObject({ moved: { pending: 2, scheduled: 1 }, schedules: ['nightly'] });
    const back = await cli(['migrate', 'queue', name, '--to-name', queue.name, '--redis', url, '--json'], {
      TO_REDIS_URL: testRedisUrl(),
    });
    expect(JSON.parse(back.stdout)).toMatchObject({ moved: { pending: 2, scheduled: 1 } });
    expect(await idsIn(queue)).toEqual(['a', 'b']);
    expect((await queue.stats()).pausedAt).toBeNull();
  });

  it('moves to a name with a hash tag', async () => {
    const queue = await seeded();
    const { code } = await cli(['migrate', 'queue', queue.name, '--to-hash-tag']);
    expect(code).toBe(EXIT.ok);
    expect(await idsIn(new JobQueue(redis, queue.name, { hashTag: true }))).toEqual(['a', 'b']);
  });

  it('moves encrypted jobs as they are stored, and refuses another name for them', async () => {
    const codec = encrypted([{ id: 'k', key: randomBytes(32) }]);
    const name = uniqueQueueName();
    const queue = new JobQueue(redis, name, { codec });
    await queue.enqueue({ secret: 1 }, { id: 'a' });
    const refused = await cli(['migrate', 'queue', name, '--to-name', `${name}-new`]);
    expect([refused.code, refused.stderr]).toEqual([EXIT.failed, expect.stringContaining('Leave out --to-name')]);
    expect((await queue.stats()).pausedAt).toBeNull();
    expect((await cli(['migrate', 'queue', name, '--to-prefix', 'sealed'])).code).toBe(EXIT.ok);
    const there = new JobQueue(redis, name, { codec, prefix: 'sealed' });
    expect(await there.claim()).toMatchObject({ id: 'a', payload: { secret: 1 } });
  });

  it('names the parts in which another queue has a share, and writes nothing; or leaves them', async () => {
    const queue = await seeded();
    const other = new JobQueue(redis, uniqueQueueName());
    const batch = other.batch();
    await batch.add('encode', 1, { id: 'far', queue });
    await other.enqueue(1, { id: 'there' });
    const refused = await cli(['migrate', 'queue', queue.name, '--to-prefix', 'new']);
    expect([refused.code, refused.stderr]).toEqual([
      EXIT.failed,
      expect.stringContaining('1 job: it belongs to a batch of another queue (far)'),
    ]);
    expect((await queue.stats()).pausedAt).toBeNull();
    const left = await cli(['migrate', 'queue', queue.name, '--to-prefix', 'new', '--leave-related']);
    expect(left.stdout).toMatch(/^stays there {5}1 job: another queue has its batch/m);
    expect(await idsIn(queue)).toEqual(['far']);
    expect((await queue.stats()).pausedAt).toBeNull();
  });

  it.each([
    [[], 'the address of the new Redis'],
    [['--to-prefix', 'queue'], 'The new place is the old one'],
    [['--to', 'redis://user:secret@localhost:1'], 'TO_REDIS_URL'],
    [['--to-prefix', 'x', '--names', 'a=b'], '--names is no option of "migrate queue". Jobs keep their names.'],
    [['--to-prefix', 'x', '--from-prefix', 'b'], '--from-prefix is no option of "migrate queue"'],
  ])('refuses %j', async (options, words) => {
    const queue = await seeded();
    const { code, stderr } = await cli(['migrate', 'queue', queue.name, ...options]);
    expect([code, stderr]).toEqual([EXIT.usage, expect.stringContaining(words)]);
    expect((await queue.stats()).pausedAt).toBeNull();
  });

  it('goes back to BullMQ with --to bullmq, and names what stays', async () => {
    const queue = new JobQueue(redis, uniqueQueueName());
    await queue.enqueue({ n: 1 }, { id: 'a', name: 'encode', timeoutMs: 5_000 });
    await queue.enqueue(1, { id: 'g', group: 'tenant' });
    const plan = await cli(['migrate', 'queue', queue.name, '--to', 'bullmq', '--dry-run']);
    expect(plan.stdout).toContain('stay here: jobs of groups (or --drop-groups)');
    expect((await queue.stats()).pausedAt).toBeNull();
    const { code, stdout } = await cli(['migrate', 'queue', queue.name, '--to', 'bullmq', '--json']);
    expect(code).toBe(EXIT.ok);
    expect(JSON.parse(stdout)).toMatchObject({
      moved: { pending: 1 },
      dropped: { timeoutMs: 1 },
      left: [{ ids: ['g'] }],
    });
    expect(await redis.hgetall(`bull:${queue.name}:a`)).toMatchObject({ name: 'encode', data: '{"n":1}' });
    expect(await idsIn(queue)).toEqual(['g']);
    const all = await cli(['migrate', 'queue', queue.name, '--to', 'bullmq', '--drop-groups', '--json']);
    expect(JSON.parse(all.stdout)).toMatchObject({ moved: { group: 1 }, left: [], dropped: { group: 1 } });
  });

  it('comes from BullMQ back to the same queue, over the forwarding records, and is not paused', async () => {
    const queue = new JobQueue(redis, uniqueQueueName());
    await queue.enqueue({ n: 1 }, { id: 'a', name: 'encode', maxAttempts: 3 });
    await queue.enqueue(1, { id: 'dead', name: 'encode', maxAttempts: 1, lifo: true });
    const dead = await queue.claim();
    await queue.fail(dead!, new Error('no file'));
    await cli(['migrate', 'queue', queue.name, '--to', 'bullmq', '--json']);
    await redis.hset(`bull:${queue.name}:meta`, 'version', 'bullmq:6.7.0');
    expect(await queue.get('a')).toMatchObject({ status: 'cancelled' });
    const { stdout } = await cli(['migrate', 'bullmq', queue.name, '--failed', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ moved: { wait: 1, failed: 1 }, left: [] });
    expect(await queue.get('dead')).toMatchObject({ status: 'failed', lastError: 'no file' });
    expect(await queue.get('a')).not.toHaveProperty('cancelledAt');
    expect(await queue.claim()).toMatchObject({ id: 'a', payload: { n: 1 }, maxAttempts: 3 });
    const { client, keys } = await redisWithAllKeys(queue);
    expect(await client.pttl(keys.job('a'))).toBe(-1);
  });

  it('says what to install where a schedule needs BullMQ, and writes nothing', async () => {
    const queue = await seeded();
    const { code, stderr } = await cli(['migrate', 'queue', queue.name, '--to', 'bullmq']);
    expect([code, stderr]).toEqual([EXIT.usage, expect.stringContaining('npm install bullmq')]);
    expect((await queue.stats()).pausedAt).toBeNull();
  });

  it('refuses a queue that is not there, and its options beside another library', async () => {
    const unknown = await cli(['migrate', 'queue', uniqueQueueName(), '--to-prefix', 'x']);
    expect([unknown.code, unknown.stderr]).toEqual([EXIT.notFound, expect.stringContaining('There is no queue')]);
    const wrong = await cli(['migrate', 'bullmq', 'x', '--to-hash-tag']);
    expect([wrong.code, wrong.stderr]).toEqual([EXIT.usage, expect.stringContaining('"migrate queue" only')]);
  });
});
