// The checker: a clean history passes, and each kind of violation, planted into it, is found.
import { describe, expect, it } from '@jest/globals';
import { check } from './check.js';
import { Facts } from './facts.js';
import type { Entry } from './history.js';
import type { Snapshot, StoredJob } from './snapshot.js';

const PRODUCER = 1;
const FIFO = 2;

/** Files of a run without a fault, and what is then in Redis: seven jobs of one producer, three in order of another. */
function cleanRun(): { files: Record<string, Entry[]>; snapshot: Snapshot } {
  const files: Record<string, Entry[]> = {
    producer: [
      ['process', PRODUCER, 'producer'],
      ['time', 1_000],
      ['enqueue', 0, 7],
      ['kind', 2, 'delayed', 500],
      ['kind', 3, 'final', 0],
      ['kind', 5, 'later', 3_600_000],
      ['enqueued', 0, 7],
      ['answer', 6, 'refused', ''],
    ],
    fifo: [
      ['process', FIFO, 'fifo-producer'],
      ['enqueue', 0, 3],
      ['enqueued', 0, 3],
    ],
    worker: [
      ['process', 3, 'worker'],
      ['time', 2_000],
      ...completed(PRODUCER, 0, 10),
      ['start', PRODUCER, 1, 1, 11],
      ['retry', PRODUCER, 1, 11],
      ...completed(PRODUCER, 1, 14, 2),
      ...completed(PRODUCER, 2, 13),
      ['start', PRODUCER, 3, 1, 15],
      ['failed', PRODUCER, 3, 15],
      ['tick', 'start', 'each:1', 16],
      ['tick', 'ok', 'each:1', 16],
      ['tick', 'completed', 'each:1', 16],
      ...completed(FIFO, 0, 1),
      ...completed(FIFO, 1, 2),
      ...completed(FIFO, 2, 3),
    ],
    operator: [
      ['process', 4, 'operator'],
      ['call', 'cancel', PRODUCER, 4],
      ['answered', 'cancel', PRODUCER, 4, 'cancelled'],
    ],
  };
  const snapshot: Snapshot = {
    jobs: [
      stored(0, 'completed', { resultFence: 10 }),
      stored(3, 'dead', { attempts: 1 }),
      stored(4, 'cancelled'),
      stored(5, 'waiting'),
    ],
    totals: { enqueued: 10, completed: 7, cancelled: 1, failed: 1 },
    faults: [],
  };
  return { files, snapshot };
}

function completed(process: number, number: number, fence: number, attempt = 1): Entry[] {
  return [
    ['start', process, number, attempt, fence],
    ['ok', process, number, fence],
    ['completed', process, number, fence],
  ];
}

function stored(n: number, place: StoredJob['place'], more: Partial<StoredJob> = {}): StoredJob {
  return {
    id: `id-${n}`,
    place,
    work: { p: PRODUCER, n, kind: 'plain' },
    attempts: 1,
    crashes: 0,
    lastError: '',
    ...more,
  };
}

function verdictOf({ files, snapshot }: ReturnType<typeof cleanRun>) {
  const facts = new Facts();
  Object.values(files).forEach((entries) => entries.forEach(facts.add));
  facts.finish();
  return check(facts, snapshot);
}

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

  it.each<[what: string, found: RegExp, plant: (run: ReturnType<typeof cleanRun>) => void]>([
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
    ['a phantom of lost data', /^I1: job 1:0 was lost with/, (run) => (run.files.z = [['forgotten', [PRODUCER]]])],
  ])('finds %s', (_, found, plant) => {
    const run = cleanRun();
    plant(run);
    expect(verdictOf(run).violations).toContainEqual(expect.stringMatching(found));
  });
});

type Run = ReturnType<typeof cleanRun>;

function work(run: Run, entries: Entry[]): void {
  run.files.worker!.push(...entries);
}

function add(run: Run, job: StoredJob): void {
  run.snapshot.jobs.push(job);
}

/** No worker ever saw it; it is where `instead` says, or nowhere. */
function dropAll(run: Run, number: number, ...instead: StoredJob[]): void {
  run.files.worker = run.files.worker!.filter((entry) => entry[1] !== PRODUCER || entry[2] !== number);
  run.snapshot.jobs = [...run.snapshot.jobs.filter(({ work: each }) => each?.n !== number), ...instead];
}

function remove({ files }: Run): void {
  files.operator!.push(['call', 'remove', PRODUCER, 5], ['answered', 'remove', PRODUCER, 5, 'removed']);
}

function start(number: number, attempt: number, fence: number): Entry[] {
  return [['start', PRODUCER, number, attempt, fence]];
}

function early({ files }: Run): void {
  files.worker![1] = ['time', 1_100];
}

function swap({ files }: Run): void {
  files.worker = files.worker!.map((entry) =>
    entry[0] === 'start' && entry[1] === FIFO && entry[2] === 1 ? ['start', FIFO, 1, 1, 4] : entry,
  );
}

function broken(): StoredJob {
  const { work: _, ...job } = stored(9, 'dead', { id: 'x' });
  return job;
}

function tick(): Entry {
  return ['tick', 'completed', 'each:1', 16];
}
