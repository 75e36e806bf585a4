// Each counter of the server has a rule: an exact value where the histories are complete, else a range.
import { describe, expect, it } from '@jest/globals';
import {
  broken,
  cleanRun,
  completed,
  forgetBetween,
  PRODUCER,
  start,
  verdictOf,
  type Run,
} from './planted/clean-run.js';
import type { Entry } from '../histories/history.js';

/** Returns a run that moves every counter except those of actions that did not happen in it. */
function countedRun(): Run {
  const run = cleanRun();
  const { files, snapshot } = run;
  files.producer!.push(['enqueue', 7, 4], ['kind', 8, 'priority', 0], ['kind', 9, 'later', 3_600_000]);
  files.producer!.push(['kind', 10, 'final', 0], ['enqueued', 7, 4]);
  files.operator!.push(
    ['plant', 'no payload', PRODUCER, 7, 'broken'],
    ['call', 'redrive', PRODUCER, 3],
    ['answered', 'redrive', PRODUCER, 3, '1'],
    ['call', 'remove', PRODUCER, 9],
    ['answered', 'remove', PRODUCER, 9, 'removed'],
    ['call', 'discard', PRODUCER, 10],
    ['answered', 'discard', PRODUCER, 10, '1'],
  );
  files.killed = [['process', 7, 'worker'], ['time', 1_900], ...start(0, 1, 9)];
  files.worker!.push(
    ['reclaimed', 'id-0'],
    ...start(5, 1, 30),
    ['end', PRODUCER, 5, 30],
    ['released', PRODUCER, 5, 30],
    ...completed(PRODUCER, 8, 31),
    ...start(10, 1, 32),
    ['end', PRODUCER, 10, 32],
    ['failed', PRODUCER, 10, 32],
  );
  snapshot.jobs.push({ ...broken(), id: 'broken' });
  snapshot.sequence = 2; // one number for the reclaimed claim, one for the place of the prioritized job
  snapshot.totals = {
    enqueued: 14,
    completed: 8,
    cancelled: 1,
    failed: 4,
    retried: 1,
    released: 1,
    reclaimed: 1,
    broken: 1,
    redriven: 1,
    removed: 1,
    discarded: 1,
    durable: 0,
  };
  return run;
}

const TOTALS = Object.keys(countedRun().snapshot.totals);

function counted(run: Run, name: string): [least: number, most: number] {
  const { least, most } = verdictOf(run).counters.find((each) => each.name === `${name}_total`)!;
  return [least, most];
}

/** Adds a process that is killed before it writes the last of these entries. */
function cutOff(run: Run, ...entries: Entry[]): void {
  run.files.cut = [['process', 8, 'worker'], ['time', 2_500], ...entries];
}

it('are exact where the histories are complete', () => {
  const { violations, counters } = verdictOf(countedRun());
  expect(violations).toEqual([]);
  const known = counters.filter(({ name }) => !['crashed_total', 'limited_total', 'outages_total'].includes(name));
  expect(known.filter(({ least, most, found }) => least !== most || found !== least)).toEqual([]);
  expect(counters.length).toBeGreaterThan(TOTALS.length);
});

describe.each(TOTALS)('%s', (name) => {
  it.each([-1, 1])('is found when it is wrong by %i', (by) => {
    const run = countedRun();
    run.snapshot.totals[name]! += by;
    expect(verdictOf(run).violations).toContainEqual(
      `I1: ${name}_total is ${run.snapshot.totals[name]}, expected ${counted(run, name).join(' to ')}`,
    );
  });
});

it('refuse an unknown counter', () => {
  const run = countedRun();
  run.snapshot.totals.vanished = 1;
  expect(verdictOf(run).violations).toEqual(['I1: vanished_total is 1, and nothing says what it should be']);
});

it('take the end of a handler that threw, and got no reply, for a retry or a release', () => {
  const run = countedRun();
  cutOff(run, ...start(5, 2, 40), ['end', PRODUCER, 5, 40]);
  expect([counted(run, 'retried'), counted(run, 'released')]).toEqual([
    [1, 2],
    [1, 2],
  ]);
});

it('take no other attempt without an answer for a retry', () => {
  const run = countedRun();
  cutOff(run, ...start(5, 2, 40));
  expect([counted(run, 'retried'), counted(run, 'released')]).toEqual([
    [1, 1],
    [1, 1],
  ]);
});

it('allow a release of each job that runs when its process is asked to stop', () => {
  const run = countedRun();
  cutOff(run, ...start(5, 2, 40), ['stopping']);
  expect(counted(run, 'released')).toEqual([1, 2]);
  cutOff(run, ...start(5, 2, 40), ['deserted', `${PRODUCER}:5:40`], ['stopping']);
  expect(counted(run, 'released')).toEqual([1, 1]);
});

it('allow that a retry after the last attempt is a repeated reply, where the job was redriven', () => {
  const run = countedRun();
  cutOff(run, ...start(3, 1, 40), ['end', PRODUCER, 3, 40], ['retry', PRODUCER, 3, 40]);
  expect(counted(run, 'retried')).toEqual([1, 2]);
});

it('take a retry that ended cancelled while it waited for one that was answered late', () => {
  const run = countedRun();
  cutOff(run, ...start(4, 1, 40), ['end', PRODUCER, 4, 40], ['cancelled', PRODUCER, 4, 40]);
  expect(counted(run, 'retried')).toEqual([1, 2]);
});

it('do not ask a sweep to have been answered', () => {
  const run = countedRun();
  run.files.worker = run.files.worker!.filter(([what]) => what !== 'reclaimed');
  expect(verdictOf(run).violations).toEqual([]);
  expect(counted(run, 'reclaimed')).toEqual([0, 1]);
});

it.each(['remove', 'discard', 'redrive'])(
  'take a %s that was not answered for one that may have been made',
  (verb) => {
    const run = countedRun();
    run.files.operator = run.files.operator!.filter(([what, which]) => what !== 'answered' || which !== verb);
    const name = { remove: 'removed', discard: 'discarded', redrive: 'redriven' }[verb]!;
    expect(counted(run, name)).toEqual([0, 1]);
    expect(verdictOf(run).violations).toEqual([]);
  },
);

it.each([
  [39, 1],
  [40, 2],
])('take a redrive answered after %d ms for %d, because the client sends a call again that was cut', (ms, most) => {
  const run = countedRun();
  const asked = run.files.operator!.findIndex(([what, verb]) => what === 'call' && verb === 'redrive');
  run.files.operator!.splice(asked + 1, 0, ['time', ms]);
  run.files.operator!.splice(asked, 0, ['time', 0]);
  expect(counted(run, 'redriven')).toEqual([1, most]);
});

it('allow the reclaim of a claim without a start in the histories, where two fences were drawn', () => {
  const run = countedRun();
  run.snapshot.sequence += 2;
  run.snapshot.totals.reclaimed = 2;
  expect(verdictOf(run).violations).toEqual([]);
  run.snapshot.totals.reclaimed = 3;
  expect(verdictOf(run).violations).toEqual(['I1: reclaimed_total is 3, expected 1 to 2']);
});

it('do not allow a claim to be reclaimed that was settled, however many fences were taken', () => {
  const run = countedRun();
  run.snapshot.sequence += 1;
  run.snapshot.totals.reclaimed = 2;
  expect(verdictOf(run).violations).toEqual(['I1: reclaimed_total is 2, expected 1 to 1']);
});

it('allow a claim whose hash is gone to be reclaimed without a fence', () => {
  const run = countedRun();
  run.files.operator!.push(['plant', 'deleted', PRODUCER, 8, 'deleted']);
  expect(counted(run, 'reclaimed')).toEqual([1, 2]);
});

it('allow that the last counts before a failover are gone', () => {
  const run = countedRun();
  forgetBetween(run, 1_950, 2_050); // the workers' time
  expect(['retried', 'released', 'reclaimed'].map((name) => counted(run, name))).toEqual([
    [0, 1],
    [0, 1],
    [0, expect.any(Number)],
  ]);
  run.snapshot.totals.retried = 2;
  expect(verdictOf(run).violations).toContainEqual('I1: retried_total is 2, expected 0 to 1');
});

it('take the answer to a claim that may be forgotten for the repeat of another', () => {
  const run = countedRun();
  forgetBetween(run, 2_400, 2_600);
  cutOff(run, ...start(5, 2, 40), ['end', PRODUCER, 5, 40], ['time', 2_700], ['retry', PRODUCER, 5, 40]);
  expect(counted(run, 'retried')).toEqual([1, 2]);
});

it('leave out the time before the server lost its data, and the last replies before that', () => {
  const run = countedRun();
  run.files = {
    first: [
      ['time', 2_200],
      ['forgotten', []],
    ],
    ...run.files,
  };
  run.files.worker!.push(['time', 2_300], ...start(5, 1, 1), ['end', PRODUCER, 5, 1], ['retry', PRODUCER, 5, 1]);
  run.files.worker!.push(['time', 9_000], ...start(5, 1, 2), ['end', PRODUCER, 5, 2], ['retry', PRODUCER, 5, 2]);
  expect(['retried', 'released'].map((name) => counted(run, name))).toEqual([
    [1, 2],
    [0, expect.any(Number)],
  ]);
});
