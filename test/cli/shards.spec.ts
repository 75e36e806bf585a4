// A queue with shards on the command line: one row, and its shards if it is asked for alone.
import { expect, it } from '@jest/globals';
import { Session } from '#cli/redis/session.js';
import { JobQueue, NonRetryableError } from 'nest-job-queue/core';
import { markOfShard, shardNames } from '#queue/model/spread.js';
import { connect, testRedisUrl, uniqueQueueName } from '../support/redis/redis.js';
import { cli } from './run-cli.js';

async function spreadQueue() {
  const name = uniqueQueueName();
  const shards = shardNames(name, 4).map((each) => new JobQueue(connect(), each));
  for (const [i, queue] of shards.entries()) {
    for (let job = 0; job <= i; job++) await queue.enqueue(job, { name });
  }
  return { name, shards, names: shards.map((queue) => queue.name) };
}

it('has one row, with the sum of the jobs', async () => {
  const { name, names } = await spreadQueue();
  const { queues } = JSON.parse((await cli(['stats', '--json'])).stdout) as {
    queues: Record<string, { pending: number; shards: Record<string, { pending: number }> }>;
  };
  expect(queues[name]!.pending).toBe(10);
  expect(Object.keys(queues).filter((each) => names.slice(1).includes(each))).toEqual([]);
  expect(names.map((each) => queues[name]!.shards[each]!.pending)).toEqual([1, 2, 3, 4]);
});

it('shows the shards of a queue that is asked for alone', async () => {
  const { name, names } = await spreadQueue();
  const { stdout } = await cli(['stats', name]);
  for (const each of names) expect(stdout).toContain(each);
});

it('shows a shard that is asked for by its own name', async () => {
  const { names } = await spreadQueue();
  const { stdout } = await cli(['stats', names[3]!]);
  expect(stdout).toContain(names[3]);
  expect(stdout).not.toContain(names[1]);
});

it('pauses and resumes all shards', async () => {
  const { name, shards } = await spreadQueue();
  const paused = async () => (await Promise.all(shards.map((each) => each.stats()))).map((each) => !!each.pausedAt);
  expect((await cli(['pause', name, '--reason', 'deploy'])).code).toBe(0);
  expect(await paused()).toEqual([true, true, true, true]);
  expect((await cli(['resume', name, '--yes'])).code).toBe(0);
  expect(await paused()).toEqual([false, false, false, false]);
});

it('lists the queue once', async () => {
  const { name, names } = await spreadQueue();
  const listed = (await cli(['queues'])).stdout.split('\n');
  expect(listed.filter((line) => names.includes(line))).toEqual([name]);
});

it('finds a job in the shard that has it, by a generated id and by an own one', async () => {
  const { name, shards } = await spreadQueue();
  await shards[2]!.enqueue(1, { name, id: 'order-17' });
  await shards[3]!.enqueue(1, { name, id: `x${markOfShard(3)}` });
  for (const id of ['order-17', `x${markOfShard(3)}`]) {
    expect(await cli(['show', name, id])).toMatchObject({ code: 0, stderr: '' });
    expect(await cli(['cancel', name, id])).toMatchObject({ code: 0, stdout: 'cancelled\n' });
  }
  expect(await shards[2]!.get('order-17')).toMatchObject({ status: 'cancelled' });
  expect((await cli(['cancel', name, 'nowhere'])).code).toBe(3);
});

it('redrives a dead letter of any shard by its id', async () => {
  const { name, shards } = await spreadQueue();
  await shards[1]!.fail((await shards[1]!.claim())!, new NonRetryableError('no'));
  const [letter] = (await shards[1]!.deadLetters.list()).jobs;
  expect((await cli(['redrive', name, letter!.id])).stdout).toBe('redriven: 1 dead letter\n');
  expect((await shards[1]!.stats()).failed).toBe(0);
});

it('says that a command takes the first shard alone', async () => {
  const { name, names } = await spreadQueue();
  const said = `Queue "${name}" has shards, and this command takes the first one alone. "stats ${name}" names all of them.`;
  expect((await cli(['list', name, 'pending'])).stderr).toContain(said);
  expect((await cli(['list', name, 'pending', '--json'])).stderr).not.toContain('shards');
  expect((await cli(['list', names[1]!, 'pending'])).stderr).not.toContain('shards');
});

it('counts a shard whose master is away among those of its queue, and opens the others', async () => {
  const { name, names } = await spreadQueue();
  const session = await Session.open({ prefix: 'queue' }, { REDIS_URL: testRedisUrl() }, { via: 'cli', by: 'ada' });
  try {
    const exists = session.client.exists.bind(session.client) as (...keys: string[]) => Promise<number>;
    const isAway = (key: string) =>
      key.includes(names[0]! + ':') || key.includes(names[1]!) || key.includes(names[3]!);
    session.client.exists = ((...keys: string[]) =>
      isAway(keys[0]!) ? Promise.reject(new Error('away')) : exists(...keys)) as never;
    expect(await session.otherShards(name)).toEqual(names.slice(1));
    expect((await session.knownShards(name)).map((queue) => queue.name)).toEqual(names);
  } finally {
    session.close();
  }
});
