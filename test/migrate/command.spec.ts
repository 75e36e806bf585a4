// The command that moves a queue of BullMQ: plan, question, report, refusals.
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { EXIT } from '#cli/exit-codes.js';
import { JobQueue } from '#queue/job-queue.js';
import { SeededBee } from '../support/bullmq/seed-bee.js';
import { SeededQueue } from '../support/bullmq/seed-bullmq.js';
import { connect, testRedisUrl } from '../support/redis/redis.js';
import { cli } from '../cli/run-cli.js';

let redis: Redis;
beforeAll(() => {
  redis = connect();
});

async function seeded(): Promise<SeededQueue> {
  const old = new SeededQueue(redis);
  await old.version('bullmq:6.7.0');
  await old.wait('1', { opts: { removeOnFail: true } });
  await old.wait('2');
  await old.wait('child', { fields: { parentKey: 'bull:q:9' } });
  return old;
}

describe('migrate', () => {
  it('shows with --dry-run the jobs that it would move, and changes nothing', async () => {
    const old = await seeded();
    const { code, stdout } = await cli(['migrate', 'bullmq', old.name, '--dry-run']);
    expect(code).toBe(EXIT.ok);
    expect(stdout).toContain(`bull:${old.name} (BullMQ 6.7.0) → ${old.name}`);
    expect(stdout).toMatch(/^to move {9}2 wait$/m);
    expect(stdout).toMatch(/^dropped options 1 removeOnFail$/m);
    expect(stdout).toMatch(/^stays there {5}1 job: it belongs to a flow \(child\)$/m);
    expect(await old.line()).toEqual(['1', '2', 'child']);
  });

  it('moves, and prints a report for a ticket', async () => {
    const old = await seeded();
    const to = `${old.name}-here`;
    const { code, stdout, stderr } = await cli(['migrate', 'bullmq', old.name, '--to', to]);
    expect([code, stderr]).toEqual([EXIT.ok, expect.stringContaining('to move')]);
    expect(stdout).toMatch(/^moved {11}2 jobs: 2 wait$/m);
    expect(stdout).toMatch(/^still there {5}1 wait$/m);
    expect(stdout).toMatch(/^no worker here {2}encode$/m);
    expect(stdout).toMatch(/^next {12}keep the old workers running, and run this again$/m);
    expect((await new JobQueue(redis, to).list('pending')).map(({ id }) => id)).toEqual(['1', '2']);
  });

  it('moves a queue of bee-queue, whose failed jobs it refuses', async () => {
    const old = new SeededBee(redis);
    await old.wait('1');
    await old.wait('2');
    const { code, stdout } = await cli(['migrate', 'bee', old.name, '--names', `${old.name}=encode`]);
    expect(code).toBe(EXIT.ok);
    expect(stdout).toContain(`Moved bq:${old.name} (bee-queue) to the queue ${old.name}`);
    expect(stdout).toMatch(/^moved {11}2 jobs: 2 wait$/m);
    expect(stdout).toMatch(/^next {12}stop the old workers$/m);
    const here = await new JobQueue(redis, old.name).list('pending');
    expect(here.map(({ id, name }) => [id, name])).toEqual([
      ['1', 'encode'],
      ['2', 'encode'],
    ]);
    const refused = await cli(['migrate', 'bee', old.name, '--failed']);
    expect([refused.code, refused.stderr]).toEqual([EXIT.failed, expect.stringContaining('without --failed')]);
  });

  it('says of failed jobs of bee-queue that they can be retried there', async () => {
    const old = new SeededBee(redis);
    await old.wait('1');
    await old.redis.sadd(old.key('failed'), 'f');
    const { stdout } = await cli(['migrate', 'bee', old.name]);
    expect(stdout).toMatch(/^next {12}retry failed jobs there if they must run, and run this again; then stop/m);
    expect(stdout).not.toContain('--failed');
  });

  it('counts failed jobs with --failed, moves them, and says so', async () => {
    const old = await seeded();
    await old.failed('7', 1_700_000_000_000);
    const plan = await cli(['migrate', 'bullmq', old.name, '--failed', '--dry-run']);
    expect(plan.stdout).toMatch(/^to move {9}2 wait, 1 failed$/m);
    const without = await cli(['migrate', 'bullmq', old.name, '--dry-run']);
    expect(without.stdout).toMatch(/^to move {9}2 wait$/m);
    const { code, stdout } = await cli(['migrate', 'bullmq', old.name, '--failed']);
    expect(code).toBe(EXIT.ok);
    expect(stdout).toMatch(/^moved {11}3 jobs: 2 wait, 1 failed$/m);
    expect(await new JobQueue(redis, old.name).get('7')).toMatchObject({
      status: 'failed',
      lastError: 'no file 7',
    });
  });

  it('follows until the old queue is quiet, and gives JSON', async () => {
    const old = await seeded();
    const { code, stdout } = await cli(['migrate', 'bullmq', old.name, '--follow', '--quiet', '1', '--json']);
    expect(code).toBe(EXIT.ok);
    expect(JSON.parse(stdout)).toMatchObject({ moved: { wait: 2 }, left: [{ count: 1, ids: ['child'] }] });
  });

  it('sets the pause and the limits of the old queue', async () => {
    const old = new SeededQueue(redis);
    await old.redis.hset(old.key('meta'), {
      version: 'bullmq:6.7.0',
      paused: 1,
      concurrency: 4,
      max: 10,
      duration: 1_000,
    });
    const { stdout } = await cli(['migrate', 'bullmq', old.name, '--json']);
    expect(JSON.parse(stdout)).toMatchObject({
      settings: ['paused', 'maxRunning 4', expect.stringContaining('10')],
    });
    const queue = new JobQueue(redis, old.name);
    expect(await queue.limits.get()).toMatchObject({ maxRunning: 4, rateLimit: { limit: 10, periodMs: 1_000 } });
    expect((await queue.stats()).pausedBy).toBe('migrate');

    await queue.resume();
    await queue.limits.clear();
    const again = await cli(['migrate', 'bullmq', old.name, '--json']);
    expect(JSON.parse(again.stdout)).toMatchObject({ settings: [] });
    expect((await queue.stats()).pausedAt).toBeFalsy();
    expect(await queue.limits.get()).not.toMatchObject({ maxRunning: 4 });
  });

  it('takes maps for names and backoffs, gives new ids, and shifts intervals', async () => {
    const old = new SeededQueue(redis);
    await old.version('bullmq:6.7.0');
    await new JobQueue(redis, old.name).enqueue({ mine: true }, { id: '1' });
    const backoff = { type: 'mine', delay: 7 };
    await old.wait('1', { name: 'resize', opts: { attempts: 3, backoff } });
    await old.wait('2', { name: 'other' });
    const next = Math.floor(Date.now() / 1_000) * 1_000 + 3_600_123;
    await old.scheduler('odd', next, { every: 1_000 });
    const left = JSON.parse((await cli(['migrate', 'bullmq', old.name, '--dry-run', '--json'])).stdout) as {
      left: { ids: string[] }[];
    };
    expect(left.left.flatMap(({ ids }) => ids)).toEqual(['odd', '1', `repeat:odd:${next}`]);
    const maps = [
      '--names',
      'resize=image,*=audio',
      '--backoff',
      'mine=exponential:1000',
      '--new-ids',
      '--shift-intervals',
    ];
    const { code, stderr } = await cli(['migrate', 'bullmq', old.name, ...maps]);
    expect([code, stderr]).toEqual([EXIT.ok, expect.not.stringContaining('stays there')]);
    const queue = new JobQueue(redis, old.name);
    const [, image, audio] = await queue.list('pending');
    expect(image).toMatchObject({ name: 'image', maxAttempts: 3 });
    expect(JSON.stringify(await redis.hgetall(`queue:${old.name}:job:${image!.id}`))).toMatch(/exponential.*1000/);
    expect(audio).toMatchObject({ name: 'audio' });
    expect([image!.id, audio!.id]).not.toContain('1');
    expect(await queue.schedules.list()).toMatchObject([{ id: 'odd', everyMs: 1_000 }]);
    expect(await old.keysLeft()).toEqual(['meta']);
  });

  it('asks before it orders jobs with and without a priority, and takes a map', async () => {
    const old = await seeded();
    await old.prioritized('3', 5);
    const refused = await cli(['migrate', 'bullmq', old.name]);
    expect([refused.code, refused.stderr]).toEqual([EXIT.usage, expect.stringContaining('none → 1,000')]);
    expect(await old.line()).toHaveLength(3);
    const { code } = await cli(['migrate', 'bullmq', old.name, '--priorities', 'none=900,5=950']);
    expect(code).toBe(EXIT.ok);
    const claimed = await new JobQueue(redis, old.name).claimMany(3);
    expect(claimed.map(({ id }) => id)).toEqual(['3', '1', '2']);
  });

  it('reverses the order of Bull, where jobs without a priority come last, too', async () => {
    const old = new SeededQueue(redis);
    for (const [id, priority] of [['plain', 0], ['p9', 9], ['p2', 2]] as const) await old.wait(id, { opts: { priority } }); // prettier-ignore
    expect((await cli(['migrate', 'bull', old.name])).code).toBe(EXIT.ok);
    const claimed = await new JobQueue(redis, old.name).claimMany(3);
    expect(claimed.map(({ id }) => id)).toEqual(['p2', 'p9', 'plain']);
  });

  it.each([
    [['--priorities', '1=5'], EXIT.usage, '--priorities'],
    [['--priorities', 'none=x'], EXIT.usage, '--priorities'],
    [['--backoff', 'mine=soon'], EXIT.usage, '--backoff'],
    [['--names', 'a'], EXIT.usage, '--names'],
    [['--from-prefix', 'other'], EXIT.notFound, 'There is no queue'],
    [['--quiet', 'soon'], EXIT.usage, '--quiet'],
  ])('refuses %j', async (args, code, words) => {
    const old = await seeded();
    const ran = await cli(['migrate', 'bullmq', old.name, ...args]);
    expect([ran.code, ran.stderr]).toEqual([code, expect.stringContaining(words)]);
    expect(await old.line()).toHaveLength(3);
  });
});

it('moves the jobs of another Redis, which is named by BULLMQ_REDIS_URL', async () => {
  const url = new URL('/3', testRedisUrl()).href; // another database is another server for a command
  const old = new SeededQueue(connect({}, url));
  await old.version('bullmq:6.7.0');
  await old.wait('1');
  expect((await cli(['migrate', 'bullmq', old.name])).code).toBe(EXIT.notFound);
  expect((await cli(['migrate', 'bullmq', old.name], { BULLMQ_REDIS_URL: url })).code).toBe(EXIT.ok);
  expect(await old.keysLeft()).toEqual(['meta']);
  expect((await new JobQueue(redis, old.name).list('pending')).map(({ id }) => id)).toEqual(['1']);
});
