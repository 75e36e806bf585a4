// The checker: a clean history passes, and each kind of violation, planted into it, is found.
import { describe, expect, it } from '@jest/globals';
import {
  add,
  broken,
  bury,
  cleanRun,
  completed,
  dropAll,
  early,
  forgetBetween,
  PRODUCER,
  remove,
  staleSettle,
  start,
  stored,
  swap,
  tick,
  verdictOf,
  work,
  type Run,
} from './clean-run.js';
import type { Entry } from './history.js';
import type { StoredJob } from './snapshot.js';

type Plant = [what: string, found: RegExp, plant: (run: Run) => void];

describe('the checker of histories', () => {
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
      mended: 0,
      largestCall: 0,
      slowestCallMs: 0,
    });
  });

  it('takes a settlement that was not answered for one that may have been made', () => {
    const run = cleanRun();
    run.files.worker = run.files.worker!.filter((entry) => String(entry) !== `completed,${PRODUCER},1,14`);
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
    run.snapshot.totals = { ...run.snapshot.totals, enqueued: 11, failed: 2 };
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

  it('allows a call to take long during which the server was stopped', () => {
    const run = cleanRun();
    work(run, [
      ['slow', 'promote', 90, 9_500],
      ['time', 3_000],
      ['fault', 'redis-freeze'],
      ['time', 6_000],
      ['healed', 'redis-freeze'],
      ['slow', 'claim', 3_000, 7_000],
    ]);
    expect(verdictOf(run)).toMatchObject({ violations: [], slowestCallMs: 3_000 });
  });

  it('allows what the doctor mends to be planted', () => {
    const run = cleanRun();
    work(run, [
      ['damage', 'orphan', 'id-0'],
      ['mended', 'orphan', 'id-0', 'in no place'],
    ]);
    expect(verdictOf(run)).toMatchObject({ violations: [], mended: 1 });
  });

  it('counts a double execution, and allows it', () => {
    const run = cleanRun();
    const at = run.files.worker!.findIndex((entry) => String(entry) === `start,${PRODUCER},0,1,10`);
    run.files.worker!.splice(at, 0, ['start', PRODUCER, 0, 1, 9], ['ok', PRODUCER, 0, 9], ['lost', PRODUCER, 0, 9]);
    expect(verdictOf(run)).toMatchObject({ violations: [], doubles: 1, refused: 1 });
  });

  it('judges jobs together that share an id', () => {
    const run = cleanRun();
    run.files.producer!.push(
      ['enqueue', 7, 2],
      ['answer', 7, 'new', 'shared'],
      ['answer', 8, 'replaced', 'shared'],
    );
    run.files.worker!.push(...completed(PRODUCER, 8, 20));
    run.snapshot.totals = { enqueued: 11, completed: 8, cancelled: 1, failed: 1 };
    expect(verdictOf(run).violations).toEqual([]);
    run.files.worker!.push(...completed(PRODUCER, 7, 21));
    expect(verdictOf(run).violations).toContainEqual(expect.stringMatching(/^I2: jobs .* were completed 2 times/));
  });

  it('allows a settle that was sent before a higher fence and answered after', () => {
    const run = cleanRun();
    run.files.operator!.push(['time', 2_050], ...start(5, 2, 31), ['lost', PRODUCER, 5, 31]);
    work(run, [...start(5, 1, 30), ['end', PRODUCER, 5, 30], ['time', 2_100], ['retry', PRODUCER, 5, 30]]);
    expect(verdictOf(run).violations).toEqual([]);
  });

  it('allows a stale settle that is refused', () => {
    const run = cleanRun();
    staleSettle(run, 'lost');
    expect(verdictOf(run).violations).toEqual([]);
  });

  describe('of a server that another took the place of', () => {
    it('takes what it acknowledged at last for what may be gone', () => {
      const run = cleanRun();
      forgetBetween(run, 900, 1_500); // the producers' time
      run.files.worker = [['process', 3, 'worker']];
      run.files.operator = [];
      run.snapshot = { jobs: [], totals: {}, faults: [] };
      expect(verdictOf(run)).toMatchObject({ violations: [], jobs: 0, lost: 0 });
    });

    it('allows that a claim and a completion it has forgotten are made again, under the same fence', () => {
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

  it.each<Plant>([
    ['a lost job', /^I1: job 1:0 is lost/, (run) => dropAll(run, 0)],
    ['a job that still waits', /^I1: job 1:0 still waits/, (run) => dropAll(run, 0, stored(0, 'waiting'))],
    [
      'a job that is still claimed',
      /^I1: job 1:0 is still claimed/,
      (run) => dropAll(run, 0, stored(0, 'processing')),
    ],
    ['a job in two places', /^I3: job 1:3 is there twice/, (run) => add(run, stored(3, 'completed'))],
    ['a completed dead letter', /^I1: job 1:1 was completed and is dead/, (run) => add(run, stored(1, 'dead'))],
    [
      'a job that nobody enqueued',
      /^I1: job 1:40 is there and was never/,
      (run) => work(run, completed(1, 40, 30)),
    ],
    ['a refused job that runs', /^I3: job 1:6 is there although/, (run) => work(run, completed(1, 6, 30))],
    ['a cancelled job that runs', /^I1: job 1:4 was cancelled and comp/, (run) => work(run, completed(1, 4, 30))],
    [
      'a cancel by nobody',
      /^I1: job 1:0 was cancelled by nobody/,
      (run) => dropAll(run, 0, stored(0, 'cancelled')),
    ],
    ['a removed job that is there', /^I1: job 1:5 was removed/, (run) => remove(run)],
    ['two completions', /^I2: job 1:0 was completed 2 times/, (run) => work(run, completed(1, 0, 10))],
    [
      'a stale settle',
      /^I2: job 1:0 was completed by .* 10, and claimed .* 30/,
      (run) => work(run, start(0, 1, 30)),
    ],
    ...(['retry', 'failed', 'released', 'cancelled'] as const).map((what): Plant => [
      `a stale settle that was answered ${what}`,
      new RegExp(`^I2: job 1:5 was settled as ${what} by the claim with fence 30 after the claim 31 had begun`),
      (run) => staleSettle(run, what),
    ]),
    [
      'a stale result',
      /^I2: job 1:0 has the result of the claim 9/,
      (run) => (run.snapshot.jobs[0]!.resultFence = 9),
    ],
    [
      'a completion by nobody',
      /^I2: job 1:4 is completed and no handler/,
      (run) => add(run, stored(4, 'completed')),
    ],
    ['a claim that runs twice', /^I3: job 1:3 was started twice/, (run) => work(run, start(3, 1, 15))],
    ['too many attempts', /^I6: job 1:3 had attempt 6 of 5/, (run) => work(run, start(3, 6, 30))],
    [
      'an early dead letter',
      /^I6: job 1:0 is a dead letter after 1 attempts/,
      (run) => dropAll(run, 0, stored(0, 'dead')),
    ],
    [
      'an early dead letter that fails each time',
      /^I6: job 1:5 is a dead letter after 1 attempts/,
      (run) => bury(run, 'fatal', { attempts: 1, errors: 1 }),
    ],
    [
      'a dead letter of which no attempt failed',
      /^I6: job 1:5 is a dead letter after 5 attempts/,
      (run) => bury(run, 'snooze', { attempts: 5, errors: 5 }),
    ],
    [
      'an attempt that was not given back',
      /^I6: job 1:5 had 5 attempts, 3 errors and 1 crashes/,
      (run) => bury(run, 'fatal', { attempts: 5, errors: 3, crashes: 1 }),
    ],
    ['an early start', /^I5: job 1:2 started 400 ms before/, (run) => early(run)],
    ['a wrong order', /^I8: job 2:1 started after 2/, (run) => swap(run)],
    ['a broken job without a culprit', /^I7: x is a dead letter without/, (run) => add(run, broken())],
    ['a recurring job that ends twice', /^I2: the recurring job each:1/, (run) => work(run, [tick(), tick()])],
    ['a wrong counter', /^I1: enqueued_total is 11/, (run) => (run.snapshot.totals.enqueued = 11)],
    [
      'a job that vanished from the counters',
      /^I1: enqueued_total less/,
      (run) => (run.snapshot.totals.cancelled = 0),
    ],
    ['a dead letter that was not counted', /^I1: failed_total is 0/, (run) => (run.snapshot.totals.failed = 0)],
    ['a fault of the state', /^left over: x/, (run) => run.snapshot.faults.push('left over: x')],
    [
      'a script without a bound',
      /^I4: one call of promote with 1 arguments called 8000 commands/,
      (run) => work(run, [['script', 'promote', 1, 8_000]]),
    ],
    [
      'a script that takes long',
      /^I4: one call of promote took the server 600 ms/,
      (run) => work(run, [['slow', 'promote', 600, 9_000]]),
    ],
    [
      'a fault that the doctor found and nobody planted',
      /^doctor: orphan id-0, which nobody planted/,
      (run) => work(run, [['mended', 'orphan', 'id-0', 'in no place']]),
    ],
    [
      'damage that the doctor did not find',
      /^doctor: orphan of id-0 was planted and never mended/,
      (run) => work(run, [['damage', 'orphan', 'id-0']]),
    ],
    ['a phantom of lost data', /^I1: job 1:0 was lost with/, (run) => (run.files.z = [['forgotten', [PRODUCER]]])],
  ])('finds %s', (_, found, plant) => {
    const run = cleanRun();
    plant(run);
    expect(verdictOf(run).violations).toContainEqual(expect.stringMatching(found));
  });
});
