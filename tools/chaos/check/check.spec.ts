// The checker accepts every history that is allowed, also after failovers.
import { describe, expect, it } from '@jest/globals';
import {
  broken,
  bury,
  cleanRun,
  completed,
  dropAll,
  forgetBetween,
  PRODUCER,
  sharing,
  staleSettle,
  start,
  stored,
  swap,
  verdictOf,
  work,
  type Plant,
} from './planted/clean-run.js';
import type { Entry } from '../histories/history.js';
import { noMinutes } from './minutes.js';
import type { StoredJob } from './snapshot.js';

describe('the checker of histories', () => {
  it.each([
    ['finds', {}, ['I8: job 2:1 started after 2']],
    ['passes, where its claim was reclaimed,', { reclaimed: true as const }, []],
  ])('%s a job that comes late', (_, more, found) => {
    const run = cleanRun();
    swap(run);
    run.snapshot.jobs.push(stored(1, 'completed', { work: { p: 2, n: 1, kind: 'plain' }, ...more }));
    expect(verdictOf(run).violations.filter((violation) => violation.startsWith('I8'))).toEqual(found);
  });

  it('passes a clean run, and counts it', () => {
    expect(verdictOf(cleanRun())).toEqual({
      violations: [],
      jobs: 10,
      completed: 7,
      deadLetters: 1,
      cancelled: 1,
      unanswered: 0,
      attempts: 8,
      doubles: 0,
      refused: 0,
      lost: 0,
      misplaced: 0,
      repaired: 0,
      audits: { asked: 1, answered: 1 },
      pauses: 0,
      ticks: 1,
      minutes: 2,
      largestCall: 0,
      slowestCallMs: 0,
      counters: expect.any(Array),
    });
  });

  it('takes a settlement that was not answered for one that may have been made', () => {
    const run = cleanRun();
    run.files.worker = run.files.worker!.filter((entry) => !is(entry, ['completed', PRODUCER, 1, 14]));
    expect(verdictOf(run)).toMatchObject({ violations: [], lost: 0, completed: 7 });
    run.snapshot.totals.completed = 5;
    expect(verdictOf(run).violations).toEqual([
      expect.stringMatching(/^I1: completed_total is 5/),
      expect.anything(),
    ]);
  });

  it('takes an enqueue that was not answered for one that may have been made', () => {
    const run = cleanRun();
    run.files.producer!.push(['enqueue', 7, 1]);
    expect(verdictOf(run)).toMatchObject({ violations: [], unanswered: 1 });
    run.snapshot.totals.enqueued = 11;
    run.files.worker!.push(...completed(PRODUCER, 7, 20));
    run.snapshot.totals.completed = 8;
    expect(verdictOf(run)).toMatchObject({ violations: [], unanswered: 0 });
  });

  it('does not take the end of a broken job for a recurring one', () => {
    const run = cleanRun();
    run.files.producer!.push(['enqueue', 7, 1], ['enqueued', 7, 1]);
    run.files.operator!.push(['plant', 'deleted', PRODUCER, 7, 'broken']);
    run.files.worker!.push(['tick', 'failed', 'broken', 0]);
    run.snapshot.totals = { ...run.snapshot.totals, enqueued: 11, failed: 2, broken: 1 };
    run.snapshot.jobs.push({ ...broken(), id: 'broken' });
    expect(verdictOf(run)).toMatchObject({ violations: [], jobs: 11 });
  });

  it('allows a script that does much for many arguments', () => {
    const run = cleanRun();
    work(run, [
      ['script', 'promote', 1, 1_000],
      ['script', 'enqueue', 2_000, 8_000],
    ]);
    expect(verdictOf(run)).toMatchObject({ violations: [], largestCall: 8_000 });
  });

  it('allows a call to wait for a processor, and to take long while the server was stopped', () => {
    const run = cleanRun();
    work(run, [
      ...[20, 30, 40, 400].map((ms): Entry => ['slow', 'promote', ms, 500]),
      ['time', 3_000],
      ['fault', 'redis-freeze'],
      ['time', 6_000],
      ['healed', 'redis-freeze'],
      ['slow', 'claim', 3_000, 7_000],
    ]);
    expect(verdictOf(run)).toMatchObject({ violations: [], slowestCallMs: 400 });
  });

  it('allows damage that the doctor repairs', () => {
    const run = cleanRun();
    work(run, [
      ['damage', 'orphan', 'id-0'],
      ['repaired', 'orphan', 'id-0', 'in no place'],
    ]);
    expect(verdictOf(run)).toMatchObject({ violations: [], misplaced: 1, repaired: 1 });
  });

  it('counts a double execution, and allows it', () => {
    const run = cleanRun();
    const at = run.files.worker!.findIndex((entry) => is(entry, ['start', PRODUCER, 0, 1, 10]));
    run.files.worker!.splice(at, 0, ['start', PRODUCER, 0, 1, 9], ['ok', PRODUCER, 0, 9], ['lost', PRODUCER, 0, 9]);
    expect(verdictOf(run)).toMatchObject({ violations: [], doubles: 1, refused: 1 });
  });

  it('judges jobs together that share an id', () => {
    const run = cleanRun();
    run.files.producer!.push(...sharing(7, 8));
    run.files.worker!.push(...completed(PRODUCER, 8, 20));
    run.snapshot.totals = { ...run.snapshot.totals, enqueued: 11, completed: 8 };
    expect(verdictOf(run).violations).toEqual([]);
  });

  it('allows a settle that was sent before a higher fence and answered after', () => {
    const run = cleanRun();
    run.files.operator!.push(['time', 2_050], ...start(5, 2, 31), ['lost', PRODUCER, 5, 31]);
    work(run, [...start(5, 1, 30), ['end', PRODUCER, 5, 30], ['time', 2_100], ['retry', PRODUCER, 5, 30]]);
    run.snapshot.totals.retried = 2;
    expect(verdictOf(run).violations).toEqual([]);
  });

  it('allows a stale settle that is refused', () => {
    const run = cleanRun();
    staleSettle(run, 'lost');
    expect(verdictOf(run).violations).toEqual([]);
  });

  describe('after a failover', () => {
    it('allows that the last acknowledged jobs are gone', () => {
      const run = cleanRun();
      forgetBetween(run, 900, 1_500); // the producers' time
      run.files.worker = [['process', 3, 'worker']];
      run.files.operator = [['audit'], ['audited', 0]];
      run.snapshot = { jobs: [], totals: {}, sequence: 0, minutes: noMinutes(), faults: [] };
      expect(verdictOf(run)).toMatchObject({ violations: [], jobs: 0, lost: 0 });
    });

    it('allows that a forgotten claim and a forgotten completion are made again, under the same fence', () => {
      const run = cleanRun();
      forgetBetween(run, 2_900, 3_100);
      const forgotten: Entry[] = [['time', 3_000], ...completed(PRODUCER, 5, 20), ['time', 4_000]];
      run.files.worker!.push(...forgotten, ...completed(PRODUCER, 5, 20));
      run.files.worker!.push(['time', 3_000], ['tick', 'start', 'each:2', 21], ['tick', 'completed', 'each:2', 21]);
      run.snapshot.jobs = run.snapshot.jobs.filter(({ work: each }) => each?.n !== 5);
      run.snapshot.totals = { ...run.snapshot.totals, completed: 8 };
      expect(verdictOf(run)).toMatchObject({ violations: [], jobs: 10 });
      run.snapshot.totals = { ...run.snapshot.totals, enqueued: 11, completed: 9 }; // the recurring one was kept
      expect(verdictOf(run).violations).toEqual([]);
    });

    it('allows that the settle of a forgotten claim is taken for the repeat of the later one', () => {
      const run = cleanRun();
      forgetBetween(run, 2_900, 3_100);
      run.files.other = [
        ['process', 9, 'worker'],
        ['time', 3_000],
        ['start', PRODUCER, 0, 1, 10],
        ['time', 4_000],
      ];
      run.files.other.push(['ok', PRODUCER, 0, 10], ['completed', PRODUCER, 0, 10]);
      expect(verdictOf(run)).toMatchObject({ violations: [], doubles: 1 });
    });

    it.each<Plant>([
      ['a lost job', /^I1: job 1:0 is lost/, (run) => dropAll(run, 0)],
      ['two completions', /^I2: job 1:0 was completed 2 times/, (run) => work(run, completed(1, 0, 10))],
      ['a wrong counter', /^I1: enqueued_total is 11/, (run) => (run.snapshot.totals.enqueued = 11)],
    ])('still finds %s of before', (_, found, plant) => {
      const run = cleanRun();
      forgetBetween(run, 2_900, 3_100);
      plant(run);
      expect(verdictOf(run).violations).toContainEqual(expect.stringMatching(found));
    });
  });

  it.each<[kind: string, job: Partial<StoredJob>]>([
    ['final', { attempts: 2, errors: 1, crashes: 1 }],
    ['fatal', { attempts: 5, errors: 4, crashes: 1 }],
    ['plain', { attempts: 4, errors: 0, crashes: 4 }],
  ])('allows the dead letter of a %s job', (kind, job) => {
    const run = cleanRun();
    bury(run, kind, job);
    expect(verdictOf(run).violations).toEqual([]);
  });

  it.each([
    ['allows', 'five errors and the crash of before', { attempts: 5, errors: 5, crashes: 1 }, []],
    [
      'finds',
      'more errors than attempts',
      { attempts: 5, errors: 6, crashes: 1 },
      ['I6: job 1:5 had 5 attempts, 6 errors and 1 crashes: no'],
    ],
  ])('%s a dead letter that was redriven, with %s', (_, _what, counts, found) => {
    const run = cleanRun();
    bury(run, 'fatal', { ...counts, lastError: 'no' });
    run.files.operator!.push(['call', 'redrive', PRODUCER, 5]);
    expect(verdictOf(run).violations.filter((each) => each.startsWith('I6'))).toEqual(found);
  });
});

function is(entry: Entry, other: Entry): boolean {
  return JSON.stringify(entry) === JSON.stringify(other);
}
