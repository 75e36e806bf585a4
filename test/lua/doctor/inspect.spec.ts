import { describe, expect, it } from '@jest/globals';
import { expectUnchanged, type TestQueue } from '../../support/queue/queue-state.js';
import { examined } from './examined.js';

it('finds a job that is in no place, and puts it back where it is asked to', async () => {
  const { q, doctor } = examined();
  await q.addAll('sound', 'lost');
  await q.redis.lrem(q.keys.pending, 1, 'lost');
  const found = await expectUnchanged(q, () => q.run(doctor.inspect({ ids: ['sound', 'lost'], repair: false })));
  expect(found).toMatchObject({ judged: 2, faults: [{ subject: 'lost', kind: 'orphan' }] });
  await q.run(doctor.inspect({ ids: ['lost'], repair: true }));
  expect((await q.pending()).toSorted()).toEqual(['lost', 'sound']);
  expect(await q.run(doctor.inspect({ ids: ['sound', 'lost'], repair: true }))).toEqual({ judged: 2, faults: [] });
});

it('finds no fault in jobs that a client of the pattern has moved or claimed', async () => {
  const { q, doctor } = examined();
  await q.addAll('moved', 'claimed');
  for (const _ of [1, 2]) await q.redis.lmove(q.keys.pending, q.keys.processing, 'RIGHT', 'LEFT');
  await q.redis.hset(q.keys.job('claimed'), {
    status: 'processing',
    claim_token: 't',
    claimed_at_ms: await q.now(),
  });
  q.broken = true;
  expect(await q.run(doctor.inspect({ ids: ['moved', 'claimed'], repair: false }))).toMatchObject({ faults: [] });
});

it('puts a job of a group that is also in pending back into its group alone', async () => {
  const { q, doctor } = examined();
  await q.add('a', { group: 'g' });
  await q.redis.lpush(q.keys.pending, 'a');
  await q.run(doctor.inspect({ ids: ['a'], repair: true }));
  expect(await q.pending()).toEqual([]);
  expect(await q.ranked(`${q.keys.groupsPrefix}waiting:g`)).toEqual(['a']);
  expect(await q.claim(2)).toMatchObject([{ id: 'a' }]);
});

it('puts a job of a group that is in pending and in scheduled back into its group', async () => {
  const { q, doctor } = examined();
  await q.add('a', { group: 'g' });
  await q.redis.lpush(q.keys.pending, 'a');
  await q.redis.zadd(q.keys.scheduled, 1, 'a');
  await q.redis.zrem(`${q.keys.groupsPrefix}waiting:g`, 'a');
  await q.run(doctor.inspect({ ids: ['a'], repair: true }));
  expect([await q.pending(), await q.ranked(q.keys.scheduled)]).toEqual([[], []]);
  expect(await q.ranked(`${q.keys.groupsPrefix}waiting:g`)).toEqual(['a']);
  await q.run(doctor.groups({ names: ['g'], repair: true }));
});

it('starts the time of a claim of a group again where both places of the claim are gone', async () => {
  const { q, doctor } = examined();
  await q.addAndClaim('a', { group: 'g' });
  const running = `${q.keys.groupsPrefix}running:g`;
  await q.redis.zrem(q.keys.claims, 'a');
  await q.redis.zrem(running, 'a');
  const before = await q.now();
  await q.run(doctor.inspect({ ids: ['a'], repair: true }));
  expect(Number(await q.redis.zscore(running, 'a'))).toBeGreaterThanOrEqual(before);
  expect(Number(await q.redis.zscore(q.keys.claims, 'a'))).toBeGreaterThan(before);
});

it('refuses a settle by the claim that a job had before its repair', async () => {
  const { q, doctor } = examined();
  const claimed = await q.addAndClaim('a');
  const error = { name: 'Error', message: 'no' };
  await q.run(q.scripts.fail([{ ...claimed, error, final: false, backoffMs: 90_000 }]));
  await q.redis.zrem(q.keys.scheduled, 'a');
  await q.run(doctor.inspect({ ids: ['a'], repair: true }));
  expect(await q.field('a', 'claim_token')).toBe('');
  expect(Number(await q.field('a', 'fence'))).toBeGreaterThan(claimed.fence);
});

it('takes a delayed job of a group out of the line of its group', async () => {
  const { q, doctor } = examined();
  await q.add('a', { group: 'g', delay_ms: 60_000 });
  await q.redis.zadd(`${q.keys.groupsPrefix}waiting:g`, 1, 'a');
  await q.run(doctor.inspect({ ids: ['a'], repair: true }));
  expect(await q.ranked(`${q.keys.groupsPrefix}waiting:g`)).toEqual([]);
  expect(await q.ranked(q.keys.scheduled)).toEqual(['a']);
  await q.run(doctor.groups({ names: ['g'], repair: true }));
});

it.each(['completed', 'cancelled'])('gives a job that is %s an expiry, if it has none', async (status) => {
  const { q, doctor } = examined();
  await q.addAll('a');
  if (status === 'completed') await q.complete((await q.claim(1))[0]!);
  else await q.run(q.scripts.cancel({ id: 'a' }));
  expect(await q.run(doctor.inspect({ ids: ['a'], repair: false }))).toMatchObject({ faults: [] });
  await q.redis.persist(q.keys.job('a'));
  expect(await q.run(doctor.inspect({ ids: ['a'], repair: true }))).toMatchObject({
    faults: [{ kind: 'lifetime' }],
  });
  expect(await q.redis.pttl(q.keys.job('a'))).toBeGreaterThan(0);
});

/** Reads each place of jobs that have not ended well. */
const places = (q: TestQueue) => ({
  pending: q.redis.lrange(q.keys.pending, 0, -1),
  prioritized: q.ranked(q.keys.prioritized),
  scheduled: q.ranked(q.keys.scheduled),
  claims: q.ranked(q.keys.claims),
  dead: q.ranked(q.keys.dead),
  group: q.ranked(`${q.keys.groupsPrefix}waiting:g`),
});

describe('a job that is also where it does not belong', () => {
  type PlaceName = keyof ReturnType<typeof places>;

  /** How a job gets into its place, or ends. */
  const STATES: Record<
    string,
    [place: PlaceName | undefined, status: string, seed: (q: TestQueue) => Promise<unknown>]
  > = {
    'a plain job': ['pending', 'pending', (q) => q.addAll('a')],
    'a job of a priority': ['prioritized', 'pending', (q) => q.add('a', { priority: 1 })],
    'a delayed job': ['scheduled', 'scheduled', (q) => q.add('a', { delay_ms: 60_000 })],
    'a running job': ['claims', 'processing', (q) => q.addAndClaim('a')],
    'a dead letter': ['dead', 'failed', (q) => q.bury('a')],
    'a job of a group': ['group', 'pending', (q) => q.add('a', { group: 'g' })],
    'a completed job': [undefined, 'completed', async (q) => q.complete(await q.addAndClaim('a'))],
    'a cancelled job': [
      undefined,
      'cancelled',
      async (q) => {
        await q.addAll('a');
        await q.run(q.scripts.cancel({ id: 'a' }));
      },
    ],
  };

  it.each(
    Object.entries(STATES).flatMap(([what, [own]]) =>
      (['pending', 'prioritized', 'scheduled', 'claims', 'dead'] as const)
        .filter((other) => other !== own)
        // Both are right for its status.
        .filter((other) => what !== 'a plain job' || other !== 'prioritized')
        .map((other) => [what, other] as const),
    ),
  )('%s, in %s too, is in its own place alone after a repair', async (what, other) => {
    const { q, doctor } = examined();
    const [own, status, seed] = STATES[what]!;
    await seed(q);
    if (own) await q.redis.pexpire(q.keys.job('a'), 60_000); // a repair takes it away
    const add = other === 'pending' ? q.redis.lpush(q.keys.pending, 'a') : q.redis.zadd(q.keys[other], 1, 'a');
    await add;
    await q.run(doctor.inspect({ ids: ['a'], repair: true }));
    const found = await Promise.all(
      Object.entries(places(q)).map(async ([place, ids]) => ((await ids).includes('a') ? place : undefined)),
    );
    expect(found.filter(Boolean)).toEqual(own ? [own] : []);
    expect(await q.status('a')).toBe(status);
    expect((await q.redis.pttl(q.keys.job('a'))) > 0).toBe(own === undefined);
    await q.run(doctor.groups({ names: ['g'], repair: true }));
  });
});
