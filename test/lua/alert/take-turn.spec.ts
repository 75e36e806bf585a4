import { expect, it } from '@jest/globals';
import { expectUnchanged, testQueue } from '../../support/queue/queue-state.js';

it('gives the turn to one look in an interval, by the time of the server', async () => {
  const q = testQueue();
  const { takeTurn, told } = q.scripts.alerts;
  const turn = await q.run(takeTurn({ token: 'a', everyMs: 60_000 }));
  expect(turn).toMatchObject({ record: '' });
  expect(Math.abs(turn!.nowMs - (await q.now()))).toBeLessThan(5_000);
  expect(await expectUnchanged(q, () => q.run(takeTurn({ token: 'b', everyMs: 60_000 })))).toBeUndefined();
  await q.run(told({ token: 'a', record: '{"kinds":{}}' }));
  expect(await q.run(takeTurn({ token: 'b', everyMs: 0 }))).toMatchObject({ record: '{"kinds":{}}' });
  expect(await q.redis.pttl(q.keys.alerts)).toBeGreaterThan(86_400_000);
});

it('I3: repeated it gives the same turn', async () => {
  const q = testQueue();
  await q.run(q.scripts.alerts.takeTurn({ token: 'a', everyMs: 60_000 }));
  expect(await q.run(q.scripts.alerts.takeTurn({ token: 'a', everyMs: 60_000 }))).toMatchObject({ record: '' });
});

it('gives a turn although the last look lies in the future, because the clock of the server was set back', async () => {
  const q = testQueue();
  await q.redis.hset(q.keys.alerts, { looked_at_ms: (await q.now()) + 3_600_000, look: 'a' });
  expect(await q.run(q.scripts.alerts.takeTurn({ token: 'b', everyMs: 60_000 }))).toBeDefined();
});
