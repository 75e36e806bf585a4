// The rows of the overview: which are listed, and in which order.
import { expect, it } from '@jest/globals';
import { chipsOf, chipWords, inOrder, selected, sorted } from '../../../src/dashboard/ui/overview/queue-order.js';
import { verdictView } from '#dashboard/live/verdict-view.js';
import type { QueueView } from '#dashboard/views/views.js';
import { findingOf } from '#inspect/verdict.js';
import { CASES, LATER, signsAt } from '../../inspect/rule-cases.js';

const queue = (name: string, state: string, severity: QueueView['verdict']['severity'], pending = 0, dead = 0) =>
  ({
    name,
    verdict: { severity, state, sentence: '' },
    depths: { pending, failed: dead },
    oldestPendingAgeMs: pending * 1_000,
    rates: null,
    lastHour: null,
  }) as QueueView;
const QUEUES = [
  queue('mail', 'stuck', 'critical', 4),
  queue('slack', 'stuck', 'critical', 2, 9),
  queue('pdf', 'failing', 'warning', 7, 1),
  queue('archive', 'paused', 'notice', 3),
  queue('thumb', 'flowing', 'ok', 1),
];
const names = (queues: readonly QueueView[]) => queues.map(({ name }) => name).join(' ');

it('counts the queues of each state that is not well', () => {
  expect(chipsOf(QUEUES)).toEqual([
    ['needs a look', 3],
    ['stuck', 2],
    ['failing', 1],
    ['paused', 1],
  ]);
});

it('has no chip for queues that work, also if dead letters of theirs deserve a notice', () => {
  expect(chipsOf([queue('payment', 'idle', 'notice', 0, 9), queue('invoice', 'flowing', 'notice', 1, 2)])).toEqual(
    [],
  );
});

it('has a chip for every queue that needs action', () => {
  const verdicts = Object.values(CASES)
    .flat()
    .flatMap((each) => [0, LATER].map((passedMs) => verdictView(findingOf(signsAt(passedMs, each)))));
  const troubled = verdicts.filter(({ severity }) => severity === 'warning' || severity === 'critical');
  expect(troubled.length).toBeGreaterThan(20);
  for (const verdict of troubled) {
    expect(chipsOf([{ name: 'email', verdict }])).toEqual([[verdict.state, 1]]);
  }
});

it('keeps the chosen chip with the number of its queues, also where they are few or well by now', () => {
  const [, , pdf] = QUEUES;
  expect(chipsOf([pdf!], 'needs a look')).toEqual([
    ['failing', 1],
    ['needs a look', 1],
  ]);
  expect(chipsOf([queue('payment', 'idle', 'notice')], 'idle')).toEqual([['idle', 1]]);
  expect(chipsOf([], 'stuck')).toEqual([['stuck', 0]]);
});

it('writes a state as words', () => {
  expect(chipWords('falling-behind')).toBe('falling behind');
});

it('lists the queues of a chip, and those with a text in their names', () => {
  expect(names(selected(QUEUES, '', 'stuck'))).toBe('mail slack');
  expect(names(selected(QUEUES, '', 'needs a look'))).toBe('mail slack pdf');
  expect(names(selected(QUEUES, ' A', null))).toBe('mail slack archive');
  expect(names(selected(QUEUES, 'a', 'paused'))).toBe('archive');
});

it('sorts by a figure, the largest first, and keeps the worst first without one', () => {
  expect(names(sorted(QUEUES, null))).toBe('mail slack pdf archive thumb');
  expect(names(sorted(QUEUES, 'waiting'))).toBe('pdf mail archive slack thumb');
  expect(names(sorted(QUEUES, 'dead'))).toBe('slack pdf mail archive thumb');
  expect(names(sorted(QUEUES, 'name'))).toBe('archive mail pdf slack thumb');
  expect(names(sorted(QUEUES, 'constructor'))).toBe('mail slack pdf archive thumb');
});

it('keeps an order while the rows must stand still', () => {
  expect(names(inOrder(sorted(QUEUES, 'waiting'), ['thumb', 'mail', 'pdf']))).toBe('thumb mail pdf archive slack');
});
