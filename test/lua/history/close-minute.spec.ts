import { expect, it } from '@jest/globals';
import { expectUnchanged } from '../../support/queue/queue-state.js';
import { clocked, close, MINUTE, read, START } from './minutes.js';

it('forgets versions that no worker had for a day', async () => {
  const { clock, q } = clocked();
  await close(q);
  const hour = 60 * MINUTE;
  await q.redis.hset(q.keys.historyOpen, {
    'v:old': clock.nowMs - 25 * hour,
    'v:recent': clock.nowMs - 23 * hour,
  });
  await q.addAll('a');
  clock.nowMs += MINUTE;
  await close(q);
  expect(await q.redis.hmget(q.keys.historyOpen, 'v:old', 'v:recent')).toEqual([null, expect.any(String)]);
});

it('counts no job that was there before the recording began', async () => {
  const { clock, q } = clocked();
  await q.addAll('a', 'b');
  await close(q);
  clock.nowMs += MINUTE;
  await close(q, { pending: 2 });
  expect((await read(q)).entries).toMatchObject([{ counts: { enqueued: 0 }, pending: 2 }]);
});

it('counts a minute once, however many replicas close it, even if one dies after it', async () => {
  const { clock, q } = clocked();
  await close(q);
  await q.addAll('a', 'b');
  clock.nowMs += MINUTE;
  await close(q);
  // The first replica died before its reply; the others, and its repeat, come in the same minute.
  for (const later of [0, 5, 20_000, 58_000]) {
    clock.nowMs = START + MINUTE + 1_000 + later;
    await close(q);
  }
  await q.add('c');
  clock.nowMs = START + 2 * MINUTE;
  await Promise.all([close(q), close(q), close(q)]);
  const { entries } = await read(q);
  expect(entries.map(({ endMs, counts }) => [endMs - START, counts.enqueued])).toEqual([
    [MINUTE, 2],
    [2 * MINUTE, 1],
  ]);
});

it('writes nothing for a minute in which nothing was', async () => {
  const { clock, q } = clocked();
  for (let i = 0; i < 5; i++) {
    await close(q);
    clock.nowMs += MINUTE;
  }
  expect((await read(q)).entries).toEqual([]);
  expect(await q.redis.exists(q.keys.history)).toBe(0);
});

it('marks each version once, also if two run side by side or one returns', async () => {
  const { clock, q } = clocked();
  for (const version of ['1.0', '1.0', '1.1', '1.0', '1.1']) {
    await close(q, { version });
    clock.nowMs += 20_000;
  }
  for (let i = 0; i < 15; i++) {
    await close(q, { version: '1.1' });
    clock.nowMs += MINUTE;
  }
  await close(q, { version: '1.0' });
  expect((await read(q)).marks.map(({ version }) => version)).toEqual(['1.0', '1.1', '1.0']);
});

it('continues where the counters began again', async () => {
  const { clock, q } = clocked();
  await q.addAll('a', 'b', 'c');
  await close(q);
  await q.redis.hset(q.keys.stats, 'enqueued_total', 1);
  q.broken = true;
  clock.nowMs += MINUTE;
  await close(q, { pending: 1 });
  expect((await read(q)).entries).toMatchObject([{ counts: { enqueued: 0 } }]);
});

it('keeps 72 hours, and all of it has an end', async () => {
  const { clock, q } = clocked();
  for (let i = 0; i < 80; i++) {
    await close(q, { pending: 1, version: '1' });
    clock.nowMs += 60 * MINUTE;
  }
  const { entries } = await read(q);
  expect(entries.length).toBeLessThanOrEqual(72);
  expect(entries.length).toBeGreaterThan(70);
  for (const key of [q.keys.history, q.keys.historyOpen, q.keys.historyMarks]) {
    expect(await q.redis.pttl(key)).toBeGreaterThan(0);
  }
});

it('changes nothing for a caller that only asks whether the minute is to be closed', async () => {
  const { clock, q } = clocked();
  await close(q);
  await q.addAll('a');
  clock.nowMs += MINUTE;
  const { args, ...call } = q.scripts.history.closeMinute({
    pending: 0,
    processing: 0,
    oldestPendingAgeMs: 0,
    version: '',
    gapMs: 180_000,
  });
  expect(await expectUnchanged(q, () => q.run({ ...call, args: ['', ...args.slice(1)] }))).toBe(0);
  await close(q);
  expect((await read(q)).entries).toMatchObject([{ counts: { enqueued: 1 } }]);
});
