// The checker against operators' calls on the queue and its schedules, and against the ticks.
import { describe, expect, it } from '@jest/globals';
import { start, verdictOf, work, type Run } from './clean-run.js';
import type { Entry } from '../../histories/history.js';
import { at, done, leaveOut, lookedAt, OPERATED, operatedRun, seen, tickId, tickOf } from './operated-run.js';

type Parts = Parameters<typeof operatedRun>[0];
type Found = [what: string, found: RegExp, parts: Parts, plant?: (run: Run) => void];

const claimed = (fence: number, ms = 3_200): Entry[] => [['time', ms], ...start(5, 1, fence)];
const present = { schedules: { 'by-hand': seen(4_750) } };
const gone = { schedules: { 'by-hand': undefined } };
const FIFO = 2;

describe('the checker of operations', () => {
  it('passes a right run, and counts its operations', () => {
    expect(verdictOf(operatedRun())).toMatchObject({
      violations: [],
      pauses: 1,
      ticks: 10,
      jobs: 19,
      completed: 16,
    });
  });

  it.each<Found>([
    [
      'a claim of a paused queue',
      /^paused: job 1:5 began by the claim with fence 103/,
      {},
      (run) => work(run, claimed(103)),
    ],
    [
      'a recurring job that a paused queue hands out',
      /^paused: @schedule:each-second:\d+ began/,
      {},
      (run) =>
        work(run, [
          ['time', 3_200],
          ['tick', 'start', tickId('each-second', 3_000), 104, at(3_003)],
        ]),
    ],
    [
      'a pause that does not last',
      /^operator: pause of the queue was answered, and then it was {"pausedAtMs":0}/,
      { pause: done(3_000, 'pause', '', {}) },
    ],
    [
      'a resume without effect',
      /^operator: resume of the queue/,
      { resume: done(3_310, 'resume', '', { pausedAtMs: 1 }) },
    ],
    [
      'a schedule that ticks although it is paused',
      /^operator: pause-schedule of the schedule by-hand/,
      { rest: done(4_000, 'pause-schedule', 'by-hand', present, 'paused') },
    ],
    [
      'a schedule that stays paused',
      /^operator: resume-schedule of the schedule by-hand/,
      { wake: done(4_610, 'resume-schedule', 'by-hand', { schedules: { 'by-hand': seen(0, { pausedAtMs: 1 }) } }) },
    ],
    [
      'a schedule that is removed and there',
      /^operator: remove-schedule of the schedule by-hand/,
      { run: done(4_650, 'remove-schedule', 'by-hand', present, 'removed') },
    ],
    [
      'a schedule that is made and not there',
      /^operator: upsert of the schedule by-hand was answered, and then it was "gone"/,
      { run: done(4_650, 'upsert', 'by-hand', gone, 'created') },
    ],
    [
      'a tick that was not made',
      new RegExp(`^tick: of each-second that of ${at(4_000)} was not made, but that of ${at(5_000)}`),
      {},
      (run) => leaveOut(run, 'each-second', 4_000),
    ],
    [
      'a last tick that was not made',
      new RegExp(`^tick: of each-second that of ${at(5_000)} was not made, and ${at(8_000)} is due next`),
      {},
      (run) => leaveOut(run, 'each-second', 5_000),
    ],
    [
      'a tick that was not made beside one that may be missed',
      new RegExp(`^tick: of each-half that of ${at(3_500)} was not made`),
      {},
      (run) => leaveOut(run, 'each-half', 3_500),
    ],
    [
      'a tick that was made though it was missed',
      /^tick: @schedule:each-half:\d+ was made 2410 ms late, and is left out after 1000/,
      {},
      (run) => work(run, tickOf('each-half', 5_000, 2_410)),
    ],
    [
      'a tick of a paused schedule',
      /^tick: @schedule:by-hand:\d+ was made while the schedule was paused/,
      {},
      (run) => work(run, tickOf('by-hand', 4_250)),
    ],
    [
      'a tick of a schedule that is not there',
      /^tick: @schedule:by-hand:\d+ was made while the schedule was not there/,
      { run: [...done(4_650, 'remove-schedule', 'by-hand', gone, 'removed'), ...lookedAt(4_800, gone)] },
    ],
    [
      'a tick that was made too late',
      /^tick: of by-hand that of \d+ waited 37502 ms while nothing was broken/,
      {},
      (run) => work(run, tickOf('by-hand', 5_000, 40_000 - 100)),
    ],
    [
      'a tick that is not made at all',
      /^tick: of by-hand that of \d+ waited 42750 ms while nothing was broken/,
      { run: [...OPERATED.run, ...lookedAt(50_000, present)] },
    ],
    [
      'a recurring job that is lost',
      /^I1: the recurring job @schedule:each-half:\d+ is lost: started/,
      {},
      (run) => work(run, tickOf('each-half', 8_000).slice(0, 1)),
    ],
    [
      'a schedule that was run by hand in vain',
      /^I1: the recurring job other is lost: run by hand/,
      { run: done(4_650, 'run-now', 'by-hand', present, 'other') },
    ],
    [
      'a doctor that never comes to an end',
      /^doctor: none of 3 audits beside the traffic/,
      {},
      (run) => (run.files.operator = [['audit'], ['audit'], ['audit']]),
    ],
  ])('finds %s', (_, found, parts, plant = () => {}) => {
    const run = operatedRun(parts);
    plant(run);
    expect(verdictOf(run).violations).toContainEqual(expect.stringMatching(found));
  });

  it.each<[what: string, parts: Parts, entries: Entry[]]>([
    ['a claim of before a pause to begin in it', {}, claimed(102)],
    ['a claim of after it', {}, claimed(106, 3_330)],
    [
      'a claim of another queue',
      {},
      [
        ['time', 3_200],
        ['start', FIFO, 0, 1, 104],
      ],
    ],
    ['another claim under a fence that is given again', {}, claimed(104, 2_900)],
    [
      'a claim after a pause that was ended in between',
      { stillPaused: lookedAt(3_300, { sequence: 105 }) },
      claimed(104),
    ],
    ['a schedule that is run by hand while it rests', {}, [['tick', 'start', 'by hand', 90, at(4_300)]]],
    [
      'a call of an operator without a reply',
      {
        rest: [
          ['time', 4_000],
          ['asks', 'pause-schedule', 'by-hand'],
        ],
      },
      [],
    ],
  ])('allows %s', (_, parts, entries) => {
    const run = operatedRun(parts);
    work(run, entries);
    expect(unruly(run)).toEqual([]);
  });

  it.each<[what: string, entries: Entry[]]>([
    [
      'something was broken',
      [
        ['time', 2_990],
        ['fault', 'slow'],
        ['time', 3_020],
        ['healed', 'slow'],
      ],
    ],
    ['a server stood in for it', [['window', 2_990, 3_020]]],
  ])('does not expect a pause to last if %s', (_, entries) => {
    const run = operatedRun({ pause: done(3_000, 'pause', '', { sequence: 102 }) });
    run.files = { first: entries, ...run.files };
    expect(unruly(run)).toEqual([]);
  });

  it('does not expect a pause to last if the resume before it got no reply', () => {
    const unanswered: Entry[] = [
      ['time', 2_900],
      ['asks', 'resume', ''],
    ];
    const run = operatedRun({ pause: [...unanswered, ...done(3_000, 'pause', '', { sequence: 102 })] });
    run.files.runner!.unshift(['time', 1_000], ['fault', 'slow'], ['healed', 'slow']);
    expect(unruly(run)).toEqual([]);
  });

  it('takes a tick that was made twice, the first time by a server that lost it, for one of the last time', () => {
    const run = operatedRun();
    work(run, [['tick', 'start', tickId('each-second', 5_000), 77, at(5_003)]]);
    expect(unruly(run)).toEqual([]);
  });

  it('does not ask for an audit in a run that is too short for a second', () => {
    const run = operatedRun();
    run.files.operator = run.files.operator!.filter(([what]) => what !== 'audited');
    expect(unruly(run)).toEqual([]);
  });

  it('does not judge the time before the server lost its data', () => {
    const run = operatedRun();
    work(run, claimed(103, 9_000));
    run.files = {
      first: [
        ['time', 8_500],
        ['forgotten', []],
      ],
      ...run.files,
    };
    expect(unruly(run)).toEqual([]);
  });

  describe('after a failover', () => {
    it.each<[what: string, found: RegExp, plant: (run: Run) => void]>([
      [
        'a claim of a paused queue',
        /^paused: job 1:5 began by the claim with fence 103/,
        (run) => work(run, claimed(103)),
      ],
      ['a tick that was not made', /^tick: of each-second that of/, (run) => leaveOut(run, 'each-second', 4_000)],
      [
        'a tick of a paused schedule',
        /^tick: @schedule:by-hand:\d+ was made while the schedule was paused/,
        (run) => work(run, tickOf('by-hand', 4_250)),
      ],
    ])('finds %s', (_, found, plant) => {
      const run = operatedRun();
      plant(run);
      expect(unrulyAfter(run, -3_000)).toContainEqual(expect.stringMatching(found));
    });

    it('does not judge the time right after it', () => {
      const run = operatedRun();
      work(run, claimed(103));
      leaveOut(run, 'each-second', 4_000);
      expect(unrulyAfter(run, -1_000)).toEqual([]);
    });

    it('does not take a tick that it makes again for one that was left out', () => {
      const run = operatedRun();
      const late = { schedules: { 'each-second': seen(-2_600), 'each-half': seen(3_000) } };
      run.files.ends = [['process', 6, 'operator'], ...lookedAt(2_500, late), ...run.files.ends!.slice(3)];
      work(run, [...tickOf('each-second', -2_600), ...tickOf('each-second', -1_600)]);
      expect(unruly(structuredClone(run))).not.toEqual([]);
      expect(unrulyAfter(run, -2_600)).toEqual([]);
    });
  });

  it('does not ask for the last ticks before a failover', () => {
    const run = operatedRun();
    leaveOut(run, 'each-second', 4_000);
    run.files = { first: [['window', 3_990, 4_010]], ...run.files };
    expect(unruly(run)).toEqual([]);
  });
});

/** Returns the violations except those of the jobs' own invariants, which the plants may break too. */
function unruly(run: Run): string[] {
  return verdictOf(run).violations.filter((what) => !/^I\d/.test(what));
}

/** Returns the same where the server may have lost what it acknowledged until then. */
function unrulyAfter(run: Run, toMs: number): string[] {
  run.files = { first: [['window', toMs - 100, toMs]], ...run.files };
  return unruly(run);
}
