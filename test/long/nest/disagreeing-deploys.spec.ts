// A rolling deploy whose versions say different times for their recurring jobs.
import { expect, it } from '@jest/globals';
import type { INestApplication, Type } from '@nestjs/common';
import { JobHandler, JobQueueService, RecurringJob, type Job, type Recurrence } from 'nest-job-queue';
import { queueOn } from '../../support/queue/queue-state.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { TestSchedules } from '../../support/queue/schedules.js';
import { eventually } from '../../support/faults/wait.js';
import { KeptLog, startApp } from '../../nest/app.js';

/** The times of the old version and the new one, by schedule. No schedule ticks by itself during the test. */
const TIMES: Record<string, Record<'old' | 'new', Recurrence>> = {
  expressions: { old: { cron: '0 0 1 1 *' }, new: { cron: '0 0 2 1 *' } },
  period: { old: { everyMs: 364 * 86_400_000 }, new: { cron: '0 0 2 1 *' } },
  zones: {
    old: { cron: '0 9 1 1 *', timeZone: 'Europe/Berlin' },
    new: { cron: '0 9 1 1 *', timeZone: 'America/New_York' },
  },
};
const IDS = Object.keys(TIMES);

/** Returns a fleet that deploys versions, and the payloads that its handlers got. */
function fleet() {
  const name = uniqueQueueName();
  const seeded = new TestSchedules(queueOn(connect(), {}, name));
  const seen: string[] = [];
  const handlerOf = (version: 'old' | 'new'): Type => {
    @JobHandler(name)
    class Handler {
      handle({ id, payload }: Job) {
        seen.push(`${id} ${payload as string}`);
      }
    }
    for (const id of IDS) {
      RecurringJob(TIMES[id]![version], { id, payload: version })(Handler);
    }
    return Handler;
  };
  return {
    seen,
    boot: async (version: 'old' | 'new') => {
      const log = new KeptLog();
      return Object.assign(await startApp({ providers: [handlerOf(version)], log }), { log });
    },
    /** Of each schedule the version in force. */
    inForce: async (app: INestApplication) => {
      const { schedules } = app.get(JobQueueService);
      return Promise.all(IDS.map(async (id) => (await schedules.get(name, id))!.payload as string));
    },
    /** Lets each schedule fall due, and answers what is to be seen of it. */
    fallDue: async (versions: string[]) => {
      const dues = await Promise.all(IDS.map((id) => seeded.makeDue(id, 500)));
      return IDS.map((id, i) => `@schedule:${id}:${dues[i]} ${versions[i]}`).toSorted();
    },
    enqueued: async (app: INestApplication) => (await app.get(JobQueueService).queue(name).stats()).totals.enqueued,
    look: (app: INestApplication) => app.get(JobQueueService).queue(name).schedules.tick(),
  };
}

const OLD = IDS.map(() => 'old');
const NEW = IDS.map(() => 'new');

it('of two versions that boot in turns one is in force, the other says that it waits, and each tick is one job', async () => {
  const { seen, boot, inForce, fallDue, enqueued, look } = fleet();
  const expectTicks = async (versions: string[], ...apps: INestApplication[]) => {
    const due = await fallDue(versions);
    await Promise.all(apps.map(look));
    await eventually(() => seen.length >= due.length);
    expect(seen.splice(0).toSorted()).toEqual(due);
  };
  const first = await boot('old');
  await expectTicks(OLD, first);
  const second = await boot('new');
  expect(await inForce(second)).toEqual(OLD);
  const waiting = second.log.lines.filter((line) => line.includes('has another definition in another process'));
  expect(waiting).toHaveLength(IDS.length);
  await expectTicks(OLD, first, second);
  await first.close();
  // The process that waited declares every ten seconds.
  await eventually(async () => !(await inForce(second)).includes('old'), { timeoutMs: 20_000 });
  const third = await boot('old');
  expect(await inForce(third)).toEqual(NEW);
  await expectTicks(NEW, second, third);
  await Promise.all([second.close(), third.close()]);
  const [fourth, fifth] = await Promise.all([boot('old'), boot('new')]);
  await expectTicks(await inForce(fourth), fourth, fifth);
  expect(await enqueued(fifth)).toBe(4 * IDS.length);
}, 60_000);
