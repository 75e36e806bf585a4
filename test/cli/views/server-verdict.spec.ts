// A full Redis, or a replica: each view of the command line reports it, also without queues.
import { beforeAll, describe, expect, it } from '@jest/globals';
import { JobQueue } from 'nest-job-queue/core';
import { EXIT } from '#cli/exit-codes.js';
import { eventually } from '../../support/faults/wait.js';
import { FAST_REPLICATION } from '../../support/redis/replicas.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect } from '../../support/redis/redis.js';
import { cli } from '../run-cli.js';

const VIEWS = [['health'], ['stats'], ['top', '--count', '1'], ['stats', '--watch', '100', '--count', '1']];
const FULL = /^✕ Redis is full: \d+ % of 500 KB used, and it refuses enqueues\n {4}next: {2}raise maxmemory/;
const REPLICA = /^✕ Redis is a replica and takes no writes: .*\n {4}next: {2}connect to the master/;

async function serve() {
  const { url } = await startOwnRedis({ args: FAST_REPLICATION });
  return { url, redis: connect({}, url), env: { REDIS_URL: url } };
}

async function fill(redis: ReturnType<typeof connect>): Promise<void> {
  await redis.config('SET', 'maxmemory-policy', 'noeviction');
  await redis.config('SET', 'maxmemory', '500kb');
}

describe('Redis that is full', () => {
  let env: { REDIS_URL: string };
  beforeAll(async () => {
    const { redis, env: own } = await serve();
    env = own;
    await new JobQueue(redis, 'email').enqueue({});
    await fill(redis);
  });

  it.each(VIEWS)('is in %s', async (...args) => {
    const { code, stdout } = await cli(args, env);
    expect(stdout).toMatch(FULL);
    expect(stdout).toContain('email');
    expect(code).toBe(args[0] === 'health' ? EXIT.critical : EXIT.ok);
    const json = JSON.parse((await cli([...args, '--json'], env)).stdout) as object;
    expect(json).toMatchObject({ server: { severity: 'critical', summary: expect.stringContaining('is full') } });
  });
});

it('Redis that is a replica is in each view', async () => {
  const [master, copy] = await Promise.all([serve(), serve()]);
  await new JobQueue(master.redis, 'email').enqueue({});
  await copy.redis.replicaof('127.0.0.1', Number(new URL(master.url).port));
  await eventually(async () => (await copy.redis.exists('queue:email:pending')) === 1);
  for (const args of VIEWS) {
    const { stdout } = await cli(args, copy.env);
    expect([args, stdout]).toEqual([args, expect.stringMatching(REPLICA)]);
    expect(stdout).toContain('email');
  }
});

describe('Redis without a queue', () => {
  it('that takes jobs is not found by health, and said to be well', async () => {
    const { env } = await serve();
    const health = await cli(['health'], env);
    expect(health).toMatchObject({ code: EXIT.notFound, stdout: '' });
    expect(health.stderr).toMatch(/^There are no queues at .* Redis takes jobs there\.\n$/);
    for (const view of VIEWS.slice(1)) {
      expect((await cli(view, env)).stdout).toMatch(/^There are no queues at .* whose keys begin with "queue"/);
    }
    expect(JSON.parse((await cli(['stats', '--json'], env)).stdout)).toEqual({
      server: { severity: 'ok', summary: 'Redis takes jobs' },
      queues: {},
    });
  });

  it('that is full fails health as badly as with one', async () => {
    const { env, redis } = await serve();
    await fill(redis);
    const { code, stdout } = await cli(['health'], env);
    expect(stdout).toMatch(FULL);
    expect(stdout).toContain('There are no queues at');
    expect(code).toBe(EXIT.critical);
    const json = await cli(['health', '--json'], env);
    expect(JSON.parse(json.stdout)).toMatchObject({
      severity: 'critical',
      server: { severity: 'critical' },
      queues: [],
    });
    expect(json.code).toBe(EXIT.critical);
  });
});

it.each<[string, RegExp]>([
  [
    'full',
    /^Redis at .* is out of memory \(maxmemory\) and refused a call: OOM .*\. Free memory, .*, or raise maxmemory\.\n$/,
  ],
  ['replica', /^Redis at .* refused a call: READONLY .*\. Connect to the master, or by Sentinel\.\n$/],
])('a change that Redis refuses by one that is %s names the remedy', async (fault, words) => {
  const { env, redis } = await serve();
  await new JobQueue(redis, 'email').enqueue({});
  await (fault === 'full' ? fill(redis) : redis.replicaof('127.0.0.1', 1));
  const args = ['limits', 'email', '--rate', '3'];
  const ran = await cli(args, env);
  expect(ran).toMatchObject({ code: EXIT.failed, stdout: '' });
  expect(ran.stderr).toMatch(words);
});
