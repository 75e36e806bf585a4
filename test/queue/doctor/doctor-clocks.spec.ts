// A server clock that was two hours ahead leaves instants in every key. The doctor names each, and writes its bound.
import { expect, it } from '@jest/globals';
import { JobQueue } from '#queue/job-queue.js';
import { QueueKeys } from '#queue/scripts/queue-keys.js';
import { connectClocked } from '../../support/redis/clocked-redis.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';

const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000];
const START = Date.parse('2026-06-01T12:00:00Z');

it('names and repairs each instant that a clock of two hours ahead has made', async () => {
  const clock = { nowMs: START + 2 * HOUR };
  const queue = new JobQueue(connectClocked(clock), uniqueQueueName());
  const keys = new QueueKeys(queue.name);
  const rateLimit = { limit: 1, periodMs: SECOND };
  await queue.limits.set({ rateLimit, groups: { rateLimit } });
  await queue.enqueueMany([
    { payload: 1, group: 'g' },
    { payload: 2, group: 'g' },
  ]);
  await queue.enqueue(3, { unique: { key: 'k', for: { ms: MINUTE } }, delayMs: MINUTE });
  await queue.schedules.upsert('s', { everyMs: MINUTE });
  await queue.exec((calls) =>
    calls.workers.register({
      worker: 'w',
      serves: true,
      handlers: [{ name: 'email', maxAttempts: 1, maxCrashes: 1 }],
    }),
  );
  await queue.exec((calls) =>
    calls.sweep.reclaim({ limit: 100, gapMs: 15 * SECOND, waitMs: 10 * SECOND, everyMs: 5 * SECOND }),
  );
  const job = (await queue.claim())!;
  await queue.exec((calls) => calls.release([{ ...job, reason: 'rate_limited', delayMs: 5 * SECOND }]));
  clock.nowMs += 5 * SECOND;
  const claimed = (await queue.claim())!;
  expect((await queue.doctor()).findings).toEqual([]);

  clock.nowMs = START;
  const found = await queue.doctor();
  expect(found.counts).toEqual({ clock: found.findings.length });
  expect(found.findings.map(({ subject }) => subject.slice(keys.base.length)).toSorted()).toEqual([
    `claims ${claimed.id}`,
    'groups:state:g rate_tat_us',
    'groups:state:g rests_until_ms',
    'names email',
    'schedule_due s',
    'settings rate_tat_us',
    'sweep last_run_at_ms',
    'sweep maintained_at_ms',
    'sweep served_since_ms',
    'unique_expiries k',
    'workers w',
  ]);
  const due = found.findings.find(({ subject }) => subject.endsWith('schedule_due s'));
  expect(due).toMatchObject({ found: '2026-06-01T14:01:00.000Z', expected: 'at most 2026-06-01T12:01:00.000Z' });
  const repaired = await queue.doctor({ repair: true });
  expect(repaired.findings).toEqual(found.findings.map((each) => ({ ...each, repaired: true })));
  expect((await queue.doctor()).findings).toEqual([]);
  expect((await queue.schedules.get('s'))?.nextAt).toEqual(new Date(START + MINUTE));
  expect(await connect().hexists(keys.unique, 'k')).toBe(0);
});
