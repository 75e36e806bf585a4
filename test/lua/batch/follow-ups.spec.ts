import { expect, it } from '@jest/globals';
import { refTo } from '#queue/store/job-ref.js';
import { testQueue } from '../../support/queue/queue-state.js';

const elsewhere = (kind: string) => ({ queue: 'mail', id: `@batch-of:home b:${kind}` });

/** Returns a queue whose batch has fired, and the follow-ups in its outbox. */
async function fired(options: object = {}) {
  const q = testQueue();
  const followUps = (['then', 'finally'] as const).map((kind) => ({
    kind,
    name: `${kind}-name`,
    payload: '{"a":1}',
    options: { ...options, batch: refTo(q.name, 'b') },
    elsewhere: elsewhere(kind),
  }));
  const { batches } = q.scripts;
  await q.run(
    batches.create({
      id: 'b',
      hasOwnId: true,
      failFast: false,
      resultTtlMs: 60_000,
      recordTtlMs: 604_800_000,
      followUps,
    }),
  );
  expect(await q.run(batches.seal({ id: 'b' }))).toBe('posted');
  const entries = await q.run(batches.outbox({ limit: 10 }));
  return { q, batches, entries: entries.toSorted((a, b) => a.state.localeCompare(b.state)) };
}

it('returns the entries of the outbox, with a larger fence each time', async () => {
  const { q, batches, entries } = await fired({ delayMs: 60_000, priority: 3 });
  const number = expect.stringMatching(/^\d+$/);
  const entryOf = (kind: string) => ({ ...elsewhere(kind), batch: 'b', number, state: kind, detail: '' });
  expect(entries).toEqual([entryOf('finally'), entryOf('then')]);
  const first = await q.run(batches.followUps({ entries }));
  expect(first.pending.map(({ entry }) => entry)).toEqual(entries);
  const { id, name, payload, options } = first.pending[1]!.job!;
  expect({ id, name, payload }).toEqual({ id: elsewhere('then').id, name: 'then-name', payload: '{"a":1}' });
  expect(options).toMatchObject({ priority: 3, batch: refTo(q.name, 'b') });
  expect(options!.delayMs).toBeGreaterThan(50_000);
  expect((await q.run(batches.followUps({ entries }))).fence).toBeGreaterThan(first.fence);
  expect(await q.run(batches.status({ id: 'b' }))).toMatchObject({
    state: 'fired',
    followUps: [
      { kind: 'then', ...elsewhere('then'), isOnItsWay: true },
      { kind: 'finally', ...elsewhere('finally'), isOnItsWay: true },
    ],
  });
});

it('names those for which its reply has no more room, without their jobs', async () => {
  const { q, batches, entries } = await fired();
  const { args, ...call } = batches.followUps({ entries });
  const withMost = (bytes: number) => q.run({ ...call, args: [args[0]!, bytes, ...args.slice(2)] });
  const named = async (bytes: number) =>
    (await withMost(bytes)).pending.map(({ entry, job }) => [entry.state, !!job]);
  expect(await named(7)).toEqual([['finally', true], ['then', true]]); // prettier-ignore
  expect(await named(6)).toEqual([['finally', true], ['then', false]]); // prettier-ignore
});

it('leaves out one with another number, or of a batch that has not fired, and forgets one without its batch', async () => {
  const { q, batches, entries } = await fired();
  expect(
    (await q.run(batches.followUps({ entries: entries.map((each) => ({ ...each, number: '0' })) }))).pending,
  ).toEqual([]);
  await q.redis.hdel(q.keys.batchRecord('b'), 'fired_at_ms'); // as if the step had broken off
  expect((await q.run(batches.followUps({ entries }))).pending.map(({ job }) => job)).toEqual([
    undefined,
    undefined,
  ]);
  await q.redis.del(q.keys.batchRecord('b'));
  expect((await q.run(batches.followUps({ entries }))).pending).toEqual([]);
  expect(await q.redis.exists(q.keys.batchOutbox)).toBe(0);
  await q.redis.del(q.keys.batches);
});

it('exceeds the fence that refused a sender, as after a backup was restored', async () => {
  const { q, batches, entries } = await fired();
  expect((await q.run(batches.followUps({ entries, leastFence: 5_000 }))).fence).toBe(5_001);
  expect((await q.run(batches.followUps({ entries, leastFence: 4 }))).fence).toBe(5_002);
});

it('lets only the sender with the newest fence acknowledge', async () => {
  const { q, batches, entries } = await fired();
  const { fence: older } = await q.run(batches.followUps({ entries }));
  const { fence } = await q.run(batches.followUps({ entries }));
  expect(await q.run(batches.acknowledge({ ends: entries, fence: older }))).toBe(-1);
  expect(await q.run(batches.outbox({ limit: 10 }))).toHaveLength(2);
  expect(await q.run(batches.acknowledge({ ends: entries, fence }))).toBe(2);
  expect(await q.run(batches.acknowledge({ ends: entries, fence }))).toBe(0);
});

it('is not looked for in its queue before it is there', async () => {
  const { q, batches, entries } = await fired();
  expect((await q.run(q.scripts.sweep.maintainBatches({ limit: 10, all: true })))!.elsewhere).toEqual([]);
  const { fence } = await q.run(batches.followUps({ entries }));
  await q.run(batches.acknowledge({ ends: entries.slice(0, 1), fence }));
  expect((await q.run(q.scripts.sweep.maintainBatches({ limit: 10, all: true })))!.elsewhere).toEqual([
    { batch: 'b', ...elsewhere('finally'), isStopped: false },
  ]);
});

it('is named by the delivery that fires its batch, also by a repeated one, and by no other', async () => {
  const { q, batches, entries } = await fired();
  const followUps = [
    { kind: 'finally', name: 'f', payload: '1', options: {}, elsewhere: elsewhere('other') },
  ] as const;
  await q.run(
    batches.create({
      id: 'c',
      hasOwnId: true,
      failFast: false,
      resultTtlMs: 60_000,
      recordTtlMs: 604_800_000,
      followUps: [...followUps],
    }),
  );
  await q.run(batches.join({ id: 'c', members: [refTo('page', '1'), refTo('page', '2')] }));
  await q.run(batches.seal({ id: 'c' }));
  const end = (id: string) =>
    q.run(
      batches.deliver({
        from: 'page',
        ends: [{ queue: q.name, batch: 'c', id, number: id, state: 'completed', detail: '' }],
      }),
    );
  expect(entries).toHaveLength(2); // which wait all the time
  expect(await end('1')).toEqual({ changed: 1, hasEnds: false });
  expect(await end('2')).toEqual({ changed: 1, hasEnds: true });
  expect(await end('2')).toEqual({ changed: 0, hasEnds: true });
});

it('ends its batch by the reports of its queue, of which a failure is none', async () => {
  const { q, batches, entries } = await fired();
  const { fence } = await q.run(batches.followUps({ entries }));
  await q.run(batches.acknowledge({ ends: entries, fence }));
  const end = (kind: string, state: string, number: string) =>
    q.run(batches.deliver({ from: 'mail', ends: [{ ...elsewhere(kind), batch: 'b', number, state, detail: '' }] }));
  expect(await end('then', 'failed', '3')).toEqual({ changed: 0, hasEnds: false });
  expect(await end('finally', 'removed', '0')).toEqual({ changed: 1, hasEnds: false });
  expect(await q.run(batches.status({ id: 'b' }))).toMatchObject({ state: 'fired' });
  expect(await end('then', 'completed', '5')).toEqual({ changed: 1, hasEnds: false });
  expect(await end('then', 'completed', '5')).toEqual({ changed: 0, hasEnds: false });
  expect(await q.run(batches.status({ id: 'b' }))).toMatchObject({ state: 'ended', total: 0 });
});
