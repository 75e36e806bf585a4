// Versions of the code that disagree about when a schedule ticks, as during a deploy. The clock of the scripts is the
// test's. What a tick enqueued is deleted at once, so that no job of the same id hides a second one.
import { describe, expect, it } from '@jest/globals';
import { silentLogger } from '#queue/runtime/logger.js';
import { checkRecurrence, nextTick } from '#queue/schedules/recurrence.js';
import { type Recurrence } from '#queue/model/schedule.js';
import { encodeSchedule } from '#queue/schedules/schedule.js';
import { ScheduleDeclarer } from '#worker/maintenance/worker-schedules.js';
import { connectClocked } from '../../support/redis/clocked-redis.js';
import { coreQueue, sameQueue } from '../../support/queue/core-queue.js';
import { inside } from '../../support/queue/inside.js';
import { someOf } from '../../support/run/samples.js';

const MINUTE = 60_000;
const STEP = 15 * MINUTE;
/** Somewhat more than a day. */
const STEPS = 60;
/** Late enough for a schedule that rests until it is declared again. */
const OPTIONS = { missedAfterMs: 3_600_000 };

const PAIRS: [string, Recurrence, Recurrence][] = [
  ['two expressions', { cron: '0 * * * *' }, { cron: '*/20 * * * *' }],
  ['a period and an expression', { everyMs: 30 * MINUTE }, { cron: '15 * * * *' }],
  ['a period and an expression of the same times', { everyMs: 60 * MINUTE }, { cron: '0 * * * *' }],
  [
    'two time zones',
    { cron: '0 9 * * *', timeZone: 'Europe/Berlin' },
    { cron: '0 9 * * *', timeZone: 'America/New_York' },
  ],
  ['a long period and a short one', { everyMs: 7 * 24 * 60 * MINUTE }, { everyMs: 6 * MINUTE }],
];

/** Makes two processes with a version each, and a clock. */
function versions(...recurrences: Recurrence[]) {
  const clock = { nowMs: Date.parse('2026-03-02T00:00Z') };
  const { queue } = coreQueue({}, connectClocked(clock));
  const processes = recurrences.map((recurrence, i) => {
    const own = i === 0 ? queue : sameQueue(queue, {}, connectClocked(clock));
    const schedule = encodeSchedule(own, 's', recurrence, OPTIONS);
    const declarer = (round: number) =>
      new ScheduleDeclarer(`w${i}.${round}`, [{ queue: own, schedules: [schedule] }], silentLogger);
    return {
      queue: own,
      recurrence: checkRecurrence('s', recurrence),
      upsert: () => own.schedules.upsert('s', recurrence, OPTIONS),
      declarer,
    };
  });
  /** Returns the version that is in force. */
  const inForce = async (): Promise<Recurrence> => {
    const { everyMs, cron, timeZone } = (await queue.schedules.get('s'))!;
    return everyMs === undefined ? { cron: cron!, timeZone: timeZone! } : { everyMs };
  };
  const look = () => Promise.all(processes.map((each) => each.queue.schedules.tick()));
  /** Deletes the jobs, and returns their due times. */
  const take = async () => {
    const jobs = await queue.list('pending', { limit: 1_000 });
    await queue.purge({ confirm: queue.name });
    return jobs.map(({ id }) => Number(id.split(':').at(-1)));
  };
  return { clock, queue, processes, inForce, look, take };
}

/** Returns the first tick of a recurrence between two times. */
function tickBetween(recurrence: Recurrence, afterMs: number, untilMs: number): number[] {
  const due = nextTick(recurrence, afterMs);
  return due <= untilMs ? [due] : [];
}

describe.each(someOf(PAIRS, 2))('of %s', (_, one, two) => {
  it('upserted in turns by two processes in a restart loop: the later one is in force, and each of its ticks is one job', async () => {
    const { clock, processes, inForce, look, take } = versions(one, two);
    const [made, expected]: number[][] = [[], []];
    await processes[0]!.upsert();
    for (let step = 0; step < STEPS; step++) {
      const before = clock.nowMs;
      expected!.push(...tickBetween(await inForce(), before, before + STEP));
      clock.nowMs += STEP;
      const turns = step % 3 === 2 ? [look] : [look, processes[step % 2]!.upsert, look];
      await Promise.all((step % 4 < 2 ? turns : turns.toReversed()).map((turn) => turn()));
      await look();
      if (step % 3 !== 2) {
        expect(await inForce()).toEqual(processes[step % 2]!.recurrence);
      }
      made!.push(...(await take()));
    }
    expect(made).toEqual(expected);
    expect(new Set(made).size).toBe(made!.length);
  });

  it('declared by the code of two that stop and start: one is in force, and each of its ticks is one job', async () => {
    const { clock, processes, inForce, look, take } = versions(one, two);
    const [made, expected]: number[][] = [[], []];
    const seen = new Set<string>();
    await Promise.all(processes.map((each) => inside(each.queue).connection.whenReady()));
    await processes[0]!.declarer(0).runOnce();
    for (let step = 0; step < STEPS; step++) {
      const before = clock.nowMs;
      const standing = await inForce();
      seen.add(JSON.stringify(standing));
      expected!.push(...tickBetween(standing, before, before + STEP));
      clock.nowMs += STEP;
      const there = step % 3 === 0 ? [processes[(step / 3) % 2]!] : processes; // the other one boots again
      const declarers = there.map((each) => each.declarer(step));
      const turns = [look, ...declarers.map((each) => () => each.runOnce()), look];
      await Promise.all((step % 2 ? turns : turns.toReversed()).map((turn) => turn()));
      await look();
      await Promise.all(step % 3 === 2 ? declarers.map((each) => each.stop()) : []);
      made!.push(...(await take()));
    }
    expect(made).toEqual(expected);
    expect(new Set(made).size).toBe(made!.length);
    expect(seen.size).toBe(2);
  });
});

it('an upsert that comes late, with a due time that another version has ticked by then, enqueues nothing for it again', async () => {
  const { clock, processes, look, take } = versions({ everyMs: 60 * MINUTE }, { cron: '0 * * * *' });
  const [old, changed] = processes;
  await old!.upsert();
  clock.nowMs += 59 * MINUTE;
  const client = inside(changed!.queue).connection.client as ReturnType<typeof connectClocked>;
  const send = client.sendCommand.bind(client);
  const made: number[] = [];
  // The answer to the first question tells the time; before it is used, the tick comes, and its job ends.
  client.sendCommand = async (command) => {
    const answer = await send(command);
    if (command.name.startsWith('eval') && Array.isArray(answer)) {
      // The text before it is an entry of the action log.
      client.sendCommand = send;
      expect(answer).toEqual(['next', clock.nowMs]);
      clock.nowMs += 2 * MINUTE;
      await look();
      made.push(...(await take()));
    }
    return answer;
  };
  expect(await changed!.upsert()).toBe('changed');
  const tick = clock.nowMs - MINUTE;
  await look();
  made.push(...(await take()));
  expect(made).toEqual([tick]);
  clock.nowMs += 60 * MINUTE;
  await look();
  expect(await take()).toEqual([tick + 60 * MINUTE]);
});
