// The mover on queues in the layout of BullMQ: killed after each of its steps, and what a job becomes.
import { describe, expect, it } from '@jest/globals';
import { TargetFullError } from '#migrate/mover.js';
import type { MoveStep } from '#migrate/move-report.js';
import type { MoveRules } from '#migrate/move-rules.js';
import { expectNoMarks, moveScene } from '../support/bullmq/move-scene.js';
import { SeededQueue } from '../support/bullmq/seed-bullmq.js';
import { connect } from '../support/redis/redis.js';
import { newQueue } from '../support/worker/workers.js';

const DUE = Date.now() + 3_600_000;
const DAY_MS = 86_400_000;
/** The night after tomorrow, at 03:00 UTC. */
const NIGHT = (Math.floor(Date.now() / DAY_MS) + 2) * DAY_MS + 3 * 3_600_000;

const scene = (rules: Partial<MoveRules> = {}) =>
  moveScene(new SeededQueue(connect()), { era: 'bullmq6', ...rules });

describe('a mover that dies', () => {
  const steps: MoveStep[] = ['take', 'import', 'give-back', 'acknowledge', 'forget', 'take-scheduler', 'upsert'];

  it.each(steps)('after %s loses no job, doubles none, and keeps their order', async (step) => {
    const { old, queue, mover, die, pending } = scene();
    const ids = Array.from({ length: 12 }, (_, i) => `j${i}`);
    for (const id of ids) await old.wait(id);
    await old.wait('child', { fields: { parentKey: 'bull:other:1' } });
    await old.delayed('later', DUE);
    await old.scheduler('nightly', NIGHT, { pattern: '0 3 * * *', tz: 'UTC' });
    await die((done) => done === step);
    // What is here already may have run, and been forgotten, before the next mover begins.
    const first = await pending();
    await queue.clean('pending');
    await mover().run();
    expect([...first, ...(await pending())]).toEqual(ids);
    expect((await queue.list('scheduled')).map(({ id }) => id)).toEqual(['later', `repeat:nightly:${NIGHT}`]);
    expect((await queue.schedules.list()).map(({ id, nextAt }) => [id, nextAt?.toISOString()])).toEqual([
      ['nightly', new Date(NIGHT + DAY_MS).toISOString()],
    ]);
    expect(await old.keysLeft()).toEqual(['child', 'wait']);
    await expectNoMarks({ old, queue });
  });

  it('is overtaken: the stalled one takes and adds nothing more', async () => {
    const { old, mover, pending } = scene();
    await old.wait('a');
    let second: Promise<void> | undefined;
    const stalled = mover((step) => {
      if (step === 'take' && !second) {
        second = mover().run();
      }
    });
    await Promise.allSettled([stalled.run()]);
    await second;
    expect(await pending()).toEqual(['a']);
    expect(await old.keysLeft()).toEqual([]);
  });
});

describe('failed jobs', () => {
  const FAILED_AT = 1_700_000_000_500;

  it('become dead letters with their attempts, reason and stack, the earliest first', async () => {
    const { old, queue, mover, report } = scene({ failed: true });
    await old.failed('late', FAILED_AT + 1, { opts: { attempts: 2 }, fields: { processedOn: FAILED_AT } });
    await old.failed('early', FAILED_AT, { opts: { attempts: 2 } });
    await old.failed('child', FAILED_AT, { fields: { parentKey: 'bull:other:1' } });
    await mover().run();
    expect(report.moved).toEqual({ failed: 2 });
    const error = {
      name: 'TypeError',
      message: 'no file 7',
      stack: 'TypeError: no file 7\n    at work (work.js:1:2)',
    };
    expect(await queue.get('late')).toMatchObject({
      status: 'failed',
      maxAttempts: 2,
      attempts: 2,
      errors: 2,
      lastError: 'no file 7',
      attemptLog: [{ startedAt: new Date(FAILED_AT), endedAt: new Date(FAILED_AT + 1), error }],
    });
    expect((await queue.list('failed')).map(({ id }) => id)).toEqual(['late', 'early']);
    expect(await old.keysLeft()).toEqual(['child', 'failed']);
    await queue.deadLetters.redrive('early');
    expect(await queue.claim()).toMatchObject({ id: 'early', attempt: 1, payload: { id: 'early' } });
  });

  it('stay without --failed', async () => {
    const { old, mover, plan } = scene();
    await old.failed('a', FAILED_AT);
    expect((await plan()).movable).toEqual({});
    await mover().run();
    expect(await old.keysLeft()).toEqual(['a', 'failed']);
  });

  it.each<MoveStep>(['take', 'import', 'give-back', 'acknowledge', 'forget'])(
    'are moved once if the mover dies after %s, also if one was discarded here meanwhile',
    async (step) => {
      const { old, queue, mover, die } = scene({ failed: true });
      await old.wait('plain');
      for (const id of ['a', 'b', 'c']) await old.failed(id, FAILED_AT);
      const steps: MoveStep[] = [];
      await die((done) => {
        steps.push(done);
        // The first steps of each kind are those of the plain job.
        return done === step && steps.filter((each) => each === step).length === 2;
      });
      const first = (await queue.list('failed')).map(({ id }) => id);
      await queue.clean('failed');
      await mover().run();
      expect([...first, ...(await queue.list('failed')).map(({ id }) => id)].toSorted()).toEqual(['a', 'b', 'c']);
      expect(await old.keysLeft()).toEqual([]);
    },
  );

  it('are given back where the cap would delete one, and where their id is known', async () => {
    const { old, queue, mover } = scene({ failed: true });
    await queue.enqueue(1, { id: 'known' });
    await old.failed('known', FAILED_AT);
    await mover().run();
    expect(await old.redis.zrange(old.key('failed'), 0, '-1')).toEqual(['known']);
    const small = newQueue({ deadLetterCap: 1 });
    await old.failed('a', FAILED_AT + 1);
    const second = moveScene(old, { era: 'bullmq6', queue: small, failed: true }).mover();
    await expect(second.run()).rejects.toThrow(/it holds 1 dead letters/);
    expect((await small.list('failed')).map(({ id }) => id)).toEqual(['known']);
    expect(await old.redis.zrange(old.key('failed'), 0, '-1', 'WITHSCORES')).toEqual(['a', String(FAILED_AT + 1)]);
  });
});

describe('a moved job', () => {
  it('keeps id, name, payload, attempts, backoff and the past of a job', async () => {
    const { old, queue, mover, report } = scene();
    const opts = {
      attempts: 4,
      backoff: { type: 'exponential', delay: 500 },
      removeOnComplete: { age: 60 },
      kl: 5,
    };
    await old.wait('7', { name: 'encode', data: { big: 1 }, opts, fields: { atm: 1, stc: 1 } });
    await mover().run();
    expect(await queue.get('7')).toMatchObject({
      name: 'encode',
      payload: { big: 1 },
      maxAttempts: 4,
      attempts: 2,
      errors: 1,
      crashes: 1,
    });
    expect(report.dropped).toEqual({ keepLogs: 1 });
    expect(await queue.claim()).toMatchObject({ id: '7', attempt: 3 });
  });

  it('tries a job without attempts once, as there, and one whose attempts are used up once more', async () => {
    const { old, queue, mover } = scene();
    await old.wait('once');
    await old.wait('again', { opts: { attempts: 2 }, fields: { atm: 2 } });
    await mover().run();
    expect([await queue.get('once'), await queue.get('again')]).toMatchObject([
      { maxAttempts: 1, attempts: 0 },
      { maxAttempts: 2, attempts: 1 },
    ]);
  });

  it('turns the order of priorities round, and puts jobs without one first where the map says so', async () => {
    const { old, queue, mover } = scene({ priorities: { kind: 'below', none: 900, named: new Map([[5, 950]]) } });
    await old.prioritized('p1', 1);
    await old.prioritized('p5', 5);
    await old.wait('plain');
    await mover().run();
    expect((await queue.claimMany(3)).map(({ id }) => id)).toEqual(['p5', 'plain', 'p1']);
  });

  it('leaves prioritized jobs beside plain ones without a map', async () => {
    const { old, mover, plan } = scene();
    await old.prioritized('p1', 1);
    await old.wait('plain');
    await mover().run();
    expect((await plan()).left).toMatchObject([{ reason: expect.stringContaining('--priorities'), ids: ['p1'] }]);
  });

  it('counts a job that another one deduplicates, and holds its key', async () => {
    const { old, mover, report, pending } = scene();
    await old.wait('a', { fields: { deid: 'key' } });
    await old.redis.set(old.key('de:key'), 'a');
    await mover().run();
    await old.wait('b', { fields: { deid: 'key' } });
    await old.redis.set(old.key('de:key'), 'b');
    await mover().run();
    expect(await pending()).toEqual(['a']);
    expect(report).toMatchObject({ moved: { wait: 1 }, deduplicated: 1 });
  });

  it('leaves jobs that it cannot move, and names the reasons, that of most jobs first', async () => {
    const { old, mover, plan, pending } = scene();
    await old.wait('child', { fields: { parentKey: 'bull:q:1' } });
    for (const id of ['custom', 'also']) await old.wait(id, { opts: { attempts: 2, backoff: { type: 'mine' } } });
    await old.redis.lpush(old.key('wait'), 'gone', '0:0');
    await old.wait('moved');
    await old.scheduler('odd', 1_893_466_800_123, { every: 1_000 });
    await mover().run();
    expect(await pending()).toEqual(['moved']);
    expect((await plan()).left.map(({ ids }) => ids)).toEqual([['custom', 'also'], ['odd'], ['child'], ['gone'], ['repeat:odd:1893466800123']]); // prettier-ignore
    expect(await old.line()).toEqual(['child', 'custom', 'also', 'gone', '0:0']);
  });

  it('moves a job with a backoff of its own code that has no retries left', async () => {
    const { old, queue, mover, plan, report, pending } = scene({ failed: true });
    const opts = { attempts: 3, backoff: { type: 'mine' } };
    await old.wait('once', { opts: { ...opts, attempts: 1 } });
    await old.wait('last', { opts, fields: { atm: 2 } });
    await old.wait('more', { opts, fields: { atm: 1 } });
    await old.failed('dead', Date.now(), { opts });
    expect((await plan()).left.map(({ ids }) => ids)).toEqual([['more']]);
    await mover().run();
    expect(await pending()).toEqual(['once', 'last']);
    expect((await queue.list('failed')).map(({ id }) => id)).toEqual(['dead']);
    expect(report).toMatchObject({ moved: { wait: 2, failed: 1 }, dropped: { backoff: 2 } });
    expect(await old.line()).toEqual(['more']);
  });

  it('moves a scheduler whose jobs have a backoff of their own code, but no retries', async () => {
    const { old, queue, mover } = scene();
    const rule = { pattern: '0 3 * * *', tz: 'UTC', opts: JSON.stringify({ backoff: { type: 'mine' } }) };
    await old.scheduler('nightly', NIGHT, rule);
    await mover().run();
    expect((await queue.schedules.list()).map(({ id }) => id)).toEqual(['nightly']);
  });

  it('moves a job of Bull whose id looks like a marker of BullMQ', async () => {
    const { old, mover, pending } = scene();
    await old.wait('0:12');
    await old.redis.lpush(old.key('wait'), '0:13');
    await mover().run();
    expect(await pending()).toEqual(['0:12']);
    expect(await old.line()).toEqual(['0:13']);
  });

  it('reads the jobs that stay a fixed number of times', async () => {
    const { old, queue, mover } = scene();
    const jobs = 1_000;
    const child = { fields: { parentKey: 'bull:q:1' } };
    await Promise.all(Array.from({ length: jobs }, (_, i) => old.wait(`${i}`, i % 2 === 0 ? child : {})));
    const ids = old.source.ids.bind(old.source);
    let read = 0;
    old.source.ids = async (...asked) => {
      const found = await ids(...asked);
      read += found.length;
      return found;
    };
    await mover().run();
    expect((await queue.stats()).pending).toBe(jobs / 2);
    expect(await old.line()).toHaveLength(jobs / 2);
    expect(read).toBeLessThanOrEqual(2 * jobs);
  });

  it('gives back a job whose id is known here, also when it died before', async () => {
    const { old, queue, mover, die } = scene();
    await queue.enqueue({ mine: true }, { id: 'a' });
    await old.wait('a', { data: { theirs: true } });
    await die((step) => step === 'import');
    const second = mover();
    await second.run();
    expect([...second.clashes]).toEqual(['a']);
    expect(await old.line()).toEqual(['a']);
    expect(await queue.get('a')).toMatchObject({ payload: { mine: true } });
  });

  it('gives back the jobs that do not fit, and says so', async () => {
    const { old, queue, mover, pending } = scene();
    await queue.limits.set({ maxPending: 1 });
    for (const id of ['a', 'b', 'c']) await old.wait(id);
    await expect(mover().run()).rejects.toThrow(TargetFullError);
    expect(await pending()).toEqual(['a']);
    expect(await old.line()).toEqual(['b', 'c']);
  });

  it.each<[MoveStep, unknown, string[]]>([
    ['take', 'new', []],
    ['import', 'old', ['a', 'marker', 'wait']],
  ])('that dies after %s keeps a job that is deleted and added again meanwhile', async (step, here, there) => {
    const { old, queue, mover, die } = scene();
    await old.wait('a', { data: 'old' });
    await die((done) => done === step);
    await old.remove('a');
    await old.addAgain('a');
    await mover().run();
    expect((await queue.get('a'))?.payload).toBe(here);
    expect(await old.keysLeft()).toEqual(there);
    expect(await old.source.entries()).toEqual([]);
  });

  it('forgets a job that was deleted while it was in transit', async () => {
    const { old, mover, report, die, pending } = scene();
    await old.wait('a');
    await die(() => true);
    await old.remove('a');
    await mover().run();
    expect(await pending()).toEqual([]);
    expect(report.deleted).toBe(1);
  });
});
