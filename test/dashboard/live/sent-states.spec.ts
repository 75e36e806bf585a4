// What a viewer is sent: all at first, then changes, and all again where a message was missed.
import { expect, it } from '@jest/globals';
import { SentStates } from '#dashboard/live/snapshot-feed.js';
import type { StreamEvent } from '#dashboard/views/overview-changes.js';
import type { OverviewView, QueueView } from '#dashboard/views/views.js';

const QUIET: OverviewView = {
  at: 0,
  server: null,
  outbox: null,
  sentence: { severity: 'ok', sentence: 'All is well.' },
  errors: [],
  timeline: [],
  queues: [],
  unreadable: [],
  shards: [],
  workers: [],
  ended: [],
  runs: [],
  hasTopics: false,
  sharedLimits: [],
};

/** Makes a reading with one queue. */
function reading(at: number, pending: number): StreamEvent & { overview: OverviewView } {
  const queue = { name: 'mail', depths: { pending }, spark: [1, 2] } as QueueView;
  return { overview: { ...QUIET, at, queues: [queue] }, away: null };
}

const AWAY = { overview: null, away: { since: 1, message: 'Redis does not answer.', isSlow: false } } as const;

it('a message is the whole state once, and then the changes', () => {
  const state = new SentStates().begin(undefined);
  expect(state.next(reading(1, 5))).toEqual({ overview: reading(1, 5).overview });
  expect(state.next(reading(2, 6))).toEqual({
    change: { at: [2], queues: { mail: { depths: { pending: [6] } } } },
  });
  expect(state.next(AWAY)).toEqual({ away: AWAY.away });
  expect(state.next(reading(2, 6))).toEqual({ change: {} });
});

it('the stream continues for a viewer that has the last message', () => {
  const states = new SentStates();
  const first = states.begin(undefined);
  first.next(reading(1, 5));
  expect(states.begin(first.id).next(reading(2, 5))).toEqual({ change: { at: [2] } });
});

it.each([
  ['that missed a message', (id: string) => id.replace(/1$/, '0')],
  ['of another process', () => 'AAAA.1'],
  ['that never had one', () => undefined],
])('a message is the whole state again for a viewer %s', (_, idOf) => {
  const states = new SentStates();
  const first = states.begin(undefined);
  first.next(reading(1, 5));
  expect(states.begin(idOf(first.id)).next(reading(2, 5))).toHaveProperty('overview');
});

it('a message is the whole state again where the stream went on without the viewer', () => {
  const states = new SentStates();
  const first = states.begin(undefined);
  first.next(reading(1, 5));
  const had = first.id;
  first.next(reading(2, 5));
  expect(states.begin(had).next(reading(3, 5))).toHaveProperty('overview');
});
