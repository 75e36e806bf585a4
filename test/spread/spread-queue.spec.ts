// The choice of a shard, and which shards are passed over, where the test says when each call is answered.
import { expect, it } from '@jest/globals';
import { EnqueueError } from '#queue/errors/enqueue-errors.js';
import { InvalidOptionError, RedisUnsuitableError } from '#queue/errors/errors.js';
import type { JobQueue } from '#queue/job-queue.js';
import { markOfShard } from '#queue/model/spread.js';
import { SpreadQueue } from '#spread/spread-queue.js';

const LOST = new EnqueueError('unknown', 'q', ['a'], 'no answer');

const refuses = () => Promise.reject<unknown>(new Error('away'));

/** Makes a queue of shards by a clock of the test. `gets` answers reads of a shard; by default no job is there. */
function spreadOf(count: number, gets: ((id: string) => Promise<unknown>)[] = []) {
  const time = { now: 0 };
  const clock = { monotonic: () => time.now, random: () => 0 };
  const asked: number[] = [];
  const shards = Array.from({ length: count }, (_, i) => ({
    name: `q${i}`,
    store: { clock },
    get: (id: string) => {
      asked.push(i);
      return gets[i]?.(id) ?? Promise.resolve(null);
    },
  })) as unknown as JobQueue[];
  const beyond = { name: 'beyond', get: (id: string) => Promise.resolve(id === 'a~9' ? {} : null) } as JobQueue;
  const spread = new SpreadQueue('q', shards, () => beyond);
  const nextNames = (calls: number) => Array.from({ length: calls }, () => spread.next().name);
  return { spread, shards, time, asked, nextNames, beyond };
}

it('goes through the shards in turn', () => {
  expect(spreadOf(3).nextNames(5)).toEqual(['q0', 'q1', 'q2', 'q0', 'q1']);
});

it('passes over a shard that owes a reply for more than 250 ms, until it replies', async () => {
  const { spread, shards, time, nextNames } = spreadOf(3);
  let reply!: () => void;
  const owed = spread.follow(shards[1]!, () => new Promise<void>((resolve) => (reply = resolve)));
  time.now = 250;
  expect(nextNames(3)).toEqual(['q0', 'q1', 'q2']);
  time.now = 251;
  expect(nextNames(3)).toEqual(['q0', 'q2', 'q0']);
  expect(spread.away).toEqual([shards[1]]);
  reply();
  await owed;
  expect(spread.away).toEqual([]);
});

it('counts from the last reply while others are owed', async () => {
  const { spread, shards, time } = spreadOf(2);
  let reply!: () => void;
  const first = spread.follow(shards[0]!, () => new Promise<void>((resolve) => (reply = resolve)));
  void spread.follow(shards[0]!, () => new Promise(() => {}));
  time.now = 200;
  reply();
  await first;
  time.now = 400;
  expect(spread.away).toEqual([]);
  time.now = 451;
  expect(spread.away).toEqual([shards[0]]);
});

it('passes over a shard whose enqueue failed until a read succeeds, which is sent once a second', async () => {
  let answer: () => Promise<unknown> = refuses;
  const { spread, shards, time, asked, nextNames } = spreadOf(2, [() => answer()]);
  await expect(spread.follow(shards[0]!, () => Promise.reject<unknown>(LOST))).rejects.toBe(LOST);
  expect(nextNames(3)).toEqual(['q1', 'q1', 'q1']);
  expect(asked).toEqual([0]);
  time.now = 1_000;
  answer = () => Promise.resolve(null);
  expect(nextNames(1)).toEqual(['q1']);
  await Promise.resolve();
  await Promise.resolve();
  expect(asked).toEqual([0, 0]);
  expect(nextNames(2)).toEqual(['q0', 'q1']);
});

it('passes over a shard that gave no reply to the making of a batch', async () => {
  const { spread, shards, nextNames } = spreadOf(2, [refuses]);
  const silent = new RedisUnsuitableError('Redis gave no answer');
  await expect(spread.follow(shards[0]!, () => Promise.reject<unknown>(silent))).rejects.toBe(silent);
  expect(spread.away).toEqual([shards[0]]);
  expect(nextNames(2)).toEqual(['q1', 'q1']);
});

it('passes over no shard for a refused job', async () => {
  const { spread, shards } = spreadOf(2);
  const refusal = new InvalidOptionError('id', 'text', '5');
  await expect(spread.follow(shards[0]!, () => Promise.reject<unknown>(refusal))).rejects.toBe(refusal);
  expect(spread.away).toEqual([]);
});

it('takes the next shard if all are away', async () => {
  const { spread, shards, nextNames } = spreadOf(2, [() => Promise.reject(LOST), () => Promise.reject(LOST)]);
  for (const shard of shards) await spread.follow(shard, () => Promise.reject<unknown>(LOST)).catch(() => {});
  expect(nextNames(3)).toEqual(['q0', 'q1', 'q0']);
});

it('asks one shard about an id that names it, also one that this process does not know', async () => {
  const { spread, shards, asked, beyond } = spreadOf(2);
  expect(await spread.holderOf(`a${markOfShard(1)}`)).toBe(shards[1]);
  expect(asked).toEqual([]);
  expect(await spread.holderOf(`a${markOfShard(9)}`)).toBe(beyond);
});

it('gives a new job no shard that it does not know, although its own id ends in the number of one', async () => {
  const { spread, beyond } = spreadOf(2);
  const id = `order${markOfShard(9)}`;
  const shard = spread.ofJob('enqueue', { id });
  expect(shard).toBe(spread.ofKey(id));
  expect(spread.ofJob('enqueue', { id, group: 'g' })).toBe(spread.ofKey('g'));
  const place = Number(shard!.name.slice(1));
  const gets = Object.assign([], { [place]: () => Promise.resolve({}) });
  expect((await spreadOf(2, gets).spread.holderOf(id)).name).toBe(shard!.name);
  expect(shard).not.toBe(beyond);
});

it('asks the shard of the hash first, and the others only if it has no such job', async () => {
  const likely = spreadOf(3).spread.ofKey('order-17').name;
  const place = Number(likely.slice(1));
  const own = spreadOf(3, Object.assign([], { [place]: () => Promise.resolve({}) }));
  expect((await own.spread.holderOf('order-17')).name).toBe(likely);
  expect(own.asked).toEqual([place]);
  const other = (place + 1) % 3;
  const away = (place + 2) % 3;
  const gets = Object.assign([], { [other]: () => Promise.resolve({}), [away]: () => Promise.reject(LOST) });
  expect((await spreadOf(3, gets).spread.holderOf('order-17')).name).toBe(`q${other}`);
});

it('finds a job in another shard while that of its hash cannot be asked', async () => {
  const place = Number(spreadOf(3).spread.ofKey('order-17').name.slice(1));
  const other = (place + 1) % 3;
  const gets = Object.assign([], { [place]: () => Promise.reject(LOST), [other]: () => Promise.resolve({}) });
  expect((await spreadOf(3, gets).spread.holderOf('order-17')).name).toBe(`q${other}`);
  const alone = Object.assign([], { [place]: () => Promise.reject(LOST) });
  await expect(spreadOf(3, alone).spread.holderOf('order-17')).rejects.toBe(LOST);
});

it('does not call a job missing while a shard cannot be asked', async () => {
  const place = Number(spreadOf(3).spread.ofKey('order-17').name.slice(1));
  const gets = Object.assign([], { [(place + 1) % 3]: () => Promise.reject(LOST) });
  await expect(spreadOf(3, gets).spread.holderOf('order-17')).rejects.toBe(LOST);
});
