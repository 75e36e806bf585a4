// Schedulers that the real libraries wrote: repeatable jobs of Bull 4.16, and job schedulers of BullMQ 5 and 6.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Mover } from '#migrate/mover.js';
import { JobQueue } from '#queue/job-queue.js';
import { systemClock } from '#queue/runtime/clock.js';
import { Source } from '#migrate/bullmq-source.js';
import { bullFleet, bullmq5Fleet, bullmqFleet, type OldFleet } from '../../support/bullmq/old-fleet.js';
import { emptyReport } from '../../support/migrate/empty-report.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';

const HOUR_MS = 3_600_000;
let url: string;

beforeAll(async () => {
  ({ url } = await startOwnRedis());
}, 60_000);

const opened: OldFleet[] = [];
afterAll(() => Promise.all(opened.map((each) => each.close())));

it.each([
  ['Bull', bullFleet, 'cron'],
  ['BullMQ 5', bullmq5Fleet, 'pattern'],
  ['BullMQ 6', bullmqFleet, 'pattern'],
] as const)(
  'moves the schedulers of %s with their next jobs, and each fires when it would have there',
  async (_library, fleetOf, cron) => {
    const name = uniqueQueueName('repeat');
    const old = await fleetOf(name, url);
    opened.push(old);
    await old.repeat('nightly', { kind: 'night' }, { [cron]: '0 3 * * *', tz: 'Europe/Berlin' });
    await old.repeat('hourly', { kind: 'hour' }, { every: HOUR_MS });
    await old.repeat('thrice', { kind: 'few' }, { [cron]: '30 4 * * 1', tz: 'UTC', limit: 3 });
    const redis = connect({}, url);
    const source = new Source(redis, 'bull', name);
    const { era } = await source.settings();
    const dues = new Map((await source.schedulers()).map(({ id, nextMs }) => [id, nextMs]));
    expect(dues.size).toBe(3);

    const queue = new JobQueue(redis, name);
    const rules = {
      names: new Map(),
      priorities: { kind: 'none' as const },
      backoffs: new Map(),
      newIds: false,
      shiftIntervals: true,
      failed: false,
    };
    await new Mover({ source, era, queue, rules, clock: systemClock, report: emptyReport() }).run();

    expect(await source.schedulers()).toEqual([]);
    expect(await source.counts()).toMatchObject({ delayed: 0, transit: 0 });
    const schedules = await queue.schedules.list();
    expect(schedules).toHaveLength(3);
    const byName = new Map(schedules.map((each) => [each.name, each]));
    expect(byName.get('nightly')).toMatchObject({ cron: '0 3 * * *', timeZone: 'Europe/Berlin' });
    expect(byName.get('hourly')).toMatchObject({ everyMs: HOUR_MS });
    expect(byName.get('thrice')).toMatchObject({ limit: 2, timeZone: 'UTC' });
    // The next job of each is there, at the time that the old library has chosen.
    const waiting = [...(await queue.list('scheduled')), ...(await queue.list('pending'))];
    expect(waiting.map((job) => job.name).toSorted()).toEqual(['hourly', 'nightly', 'thrice']);
    const due = (job: string) => waiting.find((each) => each.name === job)!.dueAt?.getTime();
    expect([...dues.values()]).toEqual(expect.arrayContaining([due('nightly'), due('thrice')]));
    for (const job of ['nightly', 'thrice']) {
      expect(byName.get(job)!.nextAt!.getTime()).toBeGreaterThan(due(job)!);
    }
  },
  120_000,
);
