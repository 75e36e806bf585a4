// A job that would expire before it may start contradicts itself. The server says so, by its own clock, before it writes
// anything of the step; see lua/lib/enqueue/add_with_options.lua.
import { describe, expect, it, jest } from '@jest/globals';
import { InvalidOptionError } from '#queue/errors/errors.js';
import { EnqueueError } from '#queue/errors/enqueue-errors.js';
import { connectClocked } from '../../support/redis/clocked-redis.js';
import { coreQueue } from '../../support/queue/core-queue.js';
import { failure } from '../../support/faults/failure.js';
import { expectUnchanged, type TestQueue } from '../../support/queue/queue-state.js';
import { connect } from '../../support/redis/redis.js';

const HOUR = 3_600_000;
const realNow = Date.now.bind(Date);

/** Expires half an hour before it may start. */
async function contradiction(state: TestQueue) {
  return { runAt: (await state.now()) + HOUR, expiresInMs: HOUR / 2 };
}

const many = (count: number) => Array.from({ length: count }, (_, i) => ({ payload: i, id: `a${i}`, priority: 1 }));

describe.each([
  ['right', 0],
  ['an hour fast', HOUR],
  ['an hour slow', -HOUR],
])('where the clock of the process is %s', (_, off) => {
  it('I5: an expiry before runAt is refused, and one after it is not', async () => {
    jest.spyOn(Date, 'now').mockImplementation(() => realNow() + off);
    const { queue, state } = coreQueue();
    const runAt = (await state.now()) + HOUR;
    await expectUnchanged(state, async () => {
      const refused = await failure(() => queue.enqueue(1, { runAt, expiresInMs: HOUR / 2 }));
      expect(refused).toBeInstanceOf(InvalidOptionError);
      expect(refused).toMatchObject({ subject: 'enqueue.expiresInMs', found: '1800000' });
    });
    const { id } = await queue.enqueue(1, { runAt, expiresInMs: HOUR + 60_000 });
    const { status, dueAt, expiresAt } = (await queue.get(id))!;
    expect([status, dueAt]).toEqual(['scheduled', new Date(runAt)]);
    expect(Number(expiresAt) - (await state.now())).toBeGreaterThan(HOUR);
  });

  it('I5: so is the new start of a job', async () => {
    jest.spyOn(Date, 'now').mockImplementation(() => realNow() + off);
    const { queue, state } = coreQueue();
    const now = await state.now();
    await queue.enqueue(1, { id: 'a', expiresInMs: HOUR });
    await expectUnchanged(state, async () => {
      const refused = await failure(() => queue.reschedule('a', { runAt: now + HOUR + 60_000 }));
      expect(refused).toBeInstanceOf(InvalidOptionError);
      expect(refused).toMatchObject({ subject: 'reschedule.runAt' });
    });
    expect(await queue.reschedule('a', { runAt: now + HOUR / 2 })).toBe('scheduled');
  });
});

describe('an enqueue that would expire before it may start', () => {
  it('gets the option, the expected and the found value, by the clock of the server', async () => {
    const clock = { nowMs: Date.UTC(2000, 0, 1) };
    const { queue } = coreQueue({}, connectClocked(clock));
    const runAt = new Date(clock.nowMs + HOUR);
    await expect(queue.enqueue(1, { runAt, expiresInMs: HOUR })).rejects.toThrow(
      'enqueue.expiresInMs: expected more than the 3600000 ms until runAt by the clock of Redis, before which it ' +
        'cannot start, found 3600000.',
    );
    expect((await queue.enqueue(1, { runAt, expiresInMs: HOUR + 1 })).outcome).toBe('new');
    clock.nowMs += HOUR;
    expect((await queue.enqueue(1, { runAt, expiresInMs: 1 })).outcome).toBe('new');
  });

  it('is refused in the middle of a step, of which nothing is written', async () => {
    const { queue, state } = coreQueue();
    await queue.enqueue(['waits'], { unique: { key: 'k', for: 'pending' } });
    const bad = { payload: 'bad', ...(await contradiction(state)) };
    const jobs = [
      { payload: 'plain' },
      { payload: 'urgent', priority: 5 },
      { payload: 'later', delayMs: HOUR },
      { payload: 'newer', unique: { key: 'k', for: 'pending', onConflict: 'replace' } as const },
      bad,
      { payload: 'another', priority: 5 },
    ];
    await expectUnchanged(state, async () => {
      const refused = await failure(() => queue.enqueueMany(jobs));
      expect(refused).toBeInstanceOf(InvalidOptionError);
      expect(refused).toMatchObject({ subject: 'enqueueMany[4].expiresInMs' });
    });
    const sound = await queue.enqueueMany(jobs.filter((job) => job !== bad));
    expect(sound.map(({ outcome }) => outcome)).toEqual(['new', 'new', 'new', 'replaced', 'new']);
  });

  it('harms no job of another call that travelled with it', async () => {
    const { queue, state } = coreQueue();
    const bad = await contradiction(state);
    const [plain, refused, unique, bulk, refusedBulk] = await Promise.allSettled([
      queue.enqueue('plain'),
      queue.enqueue(['bad'], bad),
      queue.enqueue(['unique'], { unique: { key: 'k', for: 'pending' } }),
      queue.enqueueMany([{ payload: 'of' }, { payload: 'many' }]),
      queue.enqueueMany([{ payload: 'not this' }, { payload: 'bad', ...bad }]),
    ]);
    expect([plain, unique]).toMatchObject([{ value: { outcome: 'new' } }, { value: { outcome: 'new' } }]);
    expect(bulk).toMatchObject({ value: [{ outcome: 'new' }, { outcome: 'new' }] });
    expect([refused, refusedBulk]).toMatchObject([
      { reason: { subject: 'enqueue.expiresInMs' } },
      { reason: { subject: 'enqueueMany[1].expiresInMs' } },
    ]);
    const there = (await queue.list('pending')).map(({ payload }) => String(payload));
    expect(there.toSorted()).toEqual(['many', 'of', 'plain', 'unique']);
    expect(await state.total('enqueued')).toBe(4);
  });

  it.each<[string, (bad: object) => object[], number]>([
    ['jobs', (bad) => many(600).with(550, { ...many(1)[0]!, ...bad }), 550],
    ['bytes', (bad) => [{ payload: 'x'.repeat(1_000_000) }, { payload: 'bad', ...bad }], 1],
    ['durabilities', (bad) => [{ payload: 1 }, { payload: 'bad', durability: 'replica', ...bad }], 1],
  ])('refuses a whole call of several steps, by the number of its %s', async (_, jobsWith, place) => {
    const { queue, state } = coreQueue();
    const jobs = jobsWith(await contradiction(state)) as { payload: unknown }[];
    await expectUnchanged(state, async () => {
      const refused = await failure(() => queue.enqueueMany(jobs));
      expect(refused).toBeInstanceOf(InvalidOptionError);
      expect(refused).toMatchObject({ subject: `enqueueMany[${place}].expiresInMs`, found: '1800000' });
    });
  });

  it('is asked for before the steps of a call of several, which is written where all is well', async () => {
    const { queue, state } = coreQueue({}, connect());
    const check = jest.spyOn(await queue.calls(), 'checkEnqueue');
    const runAt = (await state.now()) + HOUR;
    const handles = await queue.enqueueMany(many(1_200).map((job) => ({ ...job, runAt, expiresInMs: 2 * HOUR })));
    expect(handles.every(({ outcome }) => outcome === 'new')).toBe(true);
    expect(check).toHaveBeenCalledTimes(3);
    await queue.enqueueMany([{ payload: 1, runAt, expiresInMs: 2 * HOUR }]);
    expect(check).toHaveBeenCalledTimes(3);
  });

  it('that Redis refuses leaves the others alone, and its error has each outcome', async () => {
    const { queue, state } = coreQueue({}, connect());
    const calls = await queue.calls();
    jest.spyOn(calls, 'checkEnqueue').mockReturnValue(calls.checkEnqueue({ jobs: [] })); // as if it had begun to expire since
    const jobs = many(600);
    const bad = { ...jobs[550]!, ...(await contradiction(state)) };
    const error = await failure<EnqueueError>(() => queue.enqueueMany(jobs.with(550, bad)));
    expect(error).toBeInstanceOf(EnqueueError);
    expect(error.message).toContain('500 of 600 jobs are there');
    expect(error.message).toContain('enqueueMany[550].expiresInMs: expected more than the ');
    expect(error.cause).toBeInstanceOf(InvalidOptionError);
    const outcomes = error.items.map(({ outcome }) => outcome);
    expect(outcomes).toEqual(jobs.map((_, i) => (i < 500 ? 'new' : 'not-sent')));
    expect(await state.total('enqueued')).toBe(500);
    const again = await queue.enqueueMany(jobs);
    expect(again.map(({ outcome }) => outcome)).toEqual(jobs.map((_, i) => (i < 500 ? 'existing' : 'new')));
  });

  it('I3: is no contradiction where the id is known: its repeat adds nothing', async () => {
    const { queue, state } = coreQueue();
    await queue.enqueue(1, { id: 'a' });
    const bad = await contradiction(state);
    const again = await expectUnchanged(state, () => queue.enqueue(1, { id: 'a', ...bad }));
    expect(again.outcome).toBe('existing');
  });
});

describe('reschedule past the expiry', () => {
  it.each([
    ['delayMs', { delayMs: HOUR }, 'a start before the job expires, in 3600000 ms, found 3600000 ms from now.'],
    [
      'runAt',
      { runAt: Date.UTC(2000, 0, 1, 2) },
      'a start before the job expires, in 3600000 ms, found 7200000 ms from now.',
    ],
  ])('by %s is refused, and nothing is changed', async (option, start, words) => {
    const clock = { nowMs: Date.UTC(2000, 0, 1) };
    const { queue, state } = coreQueue({}, connectClocked(clock));
    await queue.enqueue(1, { id: 'waits', expiresInMs: HOUR, priority: 5 });
    await queue.enqueue(1, { id: 'later', expiresInMs: HOUR, delayMs: 5 });
    await expectUnchanged(state, async () => {
      for (const id of ['waits', 'later']) {
        const refused = await failure(() => queue.reschedule(id, start));
        expect(refused).toBeInstanceOf(InvalidOptionError);
        expect(refused.message).toBe(`reschedule.${option}: expected ${words}`);
      }
    });
    expect(await queue.reschedule('waits', { delayMs: HOUR - 1 })).toBe('scheduled');
    expect(await queue.reschedule('waits', { runAt: 5 })).toBe('pending');
  });

  it('is any start of a job that has expired', async () => {
    const clock = { nowMs: Date.UTC(2000, 0, 1) };
    const { queue, state } = coreQueue({}, connectClocked(clock));
    await queue.enqueue(1, { id: 'a', expiresInMs: HOUR });
    clock.nowMs += HOUR + 5;
    await expectUnchanged(state, async () => {
      for (const start of [{ delayMs: 0 }, { runAt: 5 }]) {
        await expect(queue.reschedule('a', start)).rejects.toThrow(
          `reschedule.${Object.keys(start)[0]}: expected a job that has not expired, found one that did 5 ms ago.`,
        );
      }
    });
  });

  it('is none for a dead letter that was redriven, which expires no more', async () => {
    const { queue } = coreQueue();
    await queue.enqueue(1, { id: 'a', expiresInMs: HOUR });
    await queue.fail((await queue.claim())!, new Error('no'), { final: true });
    await queue.deadLetters.redriveMany(['a']);
    expect(await queue.reschedule('a', { delayMs: 2 * HOUR })).toBe('scheduled');
  });
});
