// The checker finds each kind of violation that is planted into a clean history.
import { expect, it } from '@jest/globals';
import {
  add,
  broken,
  bury,
  cleanRun,
  completed,
  dropAll,
  early,
  PRODUCER,
  remove,
  sharing,
  staleSettle,
  start,
  stored,
  swap,
  tick,
  verdictOf,
  work,
  type Plant,
} from './clean-run.js';

it.each<Plant>([
  [
    'a minute that is reported twice',
    /^history: the minutes tell of 4 completed, but the counter gained 2/,
    ({ snapshot }) => (snapshot.minutes.told['completed'] = 4),
  ],
  [
    'a minute that is not told',
    /^history: the minutes tell of 0 enqueued, but the counter gained 5/,
    ({ snapshot }) => (snapshot.minutes.told['enqueued'] = 0),
  ],
  [
    'a history that saw what was not',
    /^history: it saw 11 completed, but there were 7/,
    ({ snapshot: { minutes } }) => (minutes.told['completed'] = minutes.counters['completed'] = 11),
  ],
  [
    'a time that is added twice',
    /^history: it has 50 run times of at most \d+ claims/,
    ({ snapshot }) => (snapshot.minutes.runs = 50),
  ],
  ['a lost job', /^I1: job 1:0 is lost/, (run) => dropAll(run, 0)],
  ['a job that still waits', /^I1: job 1:0 still waits/, (run) => dropAll(run, 0, stored(0, 'waiting'))],
  [
    'a job that is still claimed',
    /^I1: job 1:0 is still claimed/,
    (run) => dropAll(run, 0, stored(0, 'processing')),
  ],
  [
    'a recurring job that still waits',
    /^I1: x still waits at the end \(waiting\)/,
    (run) => add(run, { ...broken(), place: 'waiting' }),
  ],
  ['a job in two places', /^I3: job 1:3 is there twice/, (run) => add(run, stored(3, 'completed'))],
  ['a completed dead letter', /^I1: job 1:1 was completed and is dead/, (run) => add(run, stored(1, 'dead'))],
  ['a job that nobody enqueued', /^I1: job 1:40 is there and was never/, (run) => work(run, completed(1, 40, 30))],
  ['a refused job that runs', /^I3: job 1:6 is there although/, (run) => work(run, completed(1, 6, 30))],
  ['a cancelled job that runs', /^I1: job 1:4 was cancelled and comp/, (run) => work(run, completed(1, 4, 30))],
  ['a cancel by nobody', /^I1: job 1:0 was cancelled by nobody/, (run) => dropAll(run, 0, stored(0, 'cancelled'))],
  ['a removed job that is there', /^I1: job 1:5 was removed/, (run) => remove(run)],
  [
    'a discarded dead letter that is there',
    /^I1: job 1:3 was discarded and is dead/,
    (run) => run.files.operator!.push(['call', 'discard', 1, 3], ['answered', 'discard', 1, 3, '1']),
  ],
  [
    'a discarded dead letter that completes',
    /^I1: job 1:1 was discarded, a dead letter, and was completed/,
    (run) => run.files.operator!.push(['call', 'discard', 1, 1], ['answered', 'discard', 1, 1, '1']),
  ],
  ['two completions', /^I2: job 1:0 was completed 2 times/, (run) => work(run, completed(1, 0, 10))],
  ['a stale settle', /^I2: job 1:0 was completed by .* 10, and claimed .* 30/, (run) => work(run, start(0, 1, 30))],
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
  ['a completion by nobody', /^I2: job 1:4 is completed and no handler/, (run) => add(run, stored(4, 'completed'))],
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
    'an attempt that was not refunded',
    /^I6: job 1:5 had 5 attempts, 3 errors and 1 crashes/,
    (run) => bury(run, 'fatal', { attempts: 5, errors: 3, crashes: 1 }),
  ],
  ['an early start', /^I5: job 1:2 started 400 ms before/, (run) => early(run)],
  ['a wrong order', /^I8: job 2:1 started after 2/, (run) => swap(run)],
  ['a broken job without a culprit', /^I7: x is a dead letter without/, (run) => add(run, broken())],
  ['a recurring job that ends twice', /^I2: the recurring job each:1/, (run) => work(run, [tick(), tick()])],
  ['a wrong counter', /^I1: enqueued_total is 11/, (run) => (run.snapshot.totals.enqueued = 11)],
  ['a completion that was not counted', /^I1: completed_total is 6/, (run) => (run.snapshot.totals.completed = 6)],
  [
    'jobs of one key that are lost',
    /^I1: jobs 1:7, 1:8, known as shared, are lost/,
    (run) => run.files.producer!.push(...sharing(7, 8)),
  ],
  [
    'a job of one key that is completed twice',
    /^I2: jobs 1:7, 1:8, known as shared, were completed 2 times/,
    (run) => {
      run.files.producer!.push(...sharing(7, 8));
      work(run, [...completed(1, 7, 30), ...completed(1, 8, 31)]);
    },
  ],
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
    /^I4: one call of promote took the server 1100 ms/,
    (run) => work(run, [['slow', 'promote', 1_100, 9_000]]),
  ],
  [
    'a script that takes long as a rule',
    /^I4: 5 calls of promote took the server 150 ms as a rule/,
    (run) =>
      work(
        run,
        [20, 150, 150, 160, 400].map((ms) => ['slow', 'promote', ms, 9_000]),
      ),
  ],
  [
    'a fault that the doctor found and nobody planted',
    /^doctor: orphan id-0, which nobody planted/,
    (run) => work(run, [['repaired', 'orphan', 'id-0', 'in no place']]),
  ],
  ['a phantom of lost data', /^I1: job 1:0 was lost with/, (run) => (run.files.z = [['forgotten', [PRODUCER]]])],
])('the checker of histories finds %s', (_, found, plant) => {
  const run = cleanRun();
  plant(run);
  expect(verdictOf(run).violations).toContainEqual(expect.stringMatching(found));
});
