// How the free slots of a process are dealt to its queues: none twice, and each queue gets its turn.
import { expect, it } from '@jest/globals';
import { SlotDeal, type ClaimRoom } from '#worker/fetch/process-capacity.js';
import type { QueueRunner } from '#worker/runner/queue-runner.js';

interface Wishes {
  /** How many jobs it may claim, by its own concurrency. */
  free?: number;
  /** How many of them it may start at once. */
  beginAtOnce?: number;
  claimsAhead?: boolean;
  mostPerClaim?: number;
  perSlot?: number;
  heaviest?: number;
  mayHaveJobs?: boolean;
  isOverdueForPoll?: boolean;
}

function runnersOf(wishes: Record<string, Wishes>): QueueRunner[] {
  return Object.entries(wishes).map(([name, { mayHaveJobs = true, isOverdueForPoll = false, ...capacity }]) => {
    const free = capacity.free ?? 10;
    const defaults = {
      free,
      beginAtOnce: free,
      claimsAhead: true,
      mostPerClaim: Infinity,
      perSlot: 1,
      heaviest: 1,
    };
    return { name, isOverdueForPoll, outlook: { mayHaveJobs }, capacity: { ...defaults, ...capacity } };
  }) as unknown as QueueRunner[];
}

const dealt = (deal: SlotDeal, room: ClaimRoom) =>
  deal.deal(deal.inTurn(), room).map(({ runner, count, atOnce }) => `${runner.name} ${count}/${atOnce}`);

/** Returns a trip: each queue with the jobs that it may claim, and how many of them start at once. */
function tripOf(wishes: Record<string, Wishes>, room: ClaimRoom, mostPerCall = 500): string[] {
  return dealt(new SlotDeal(runnersOf(wishes), mostPerCall), room);
}

const UNLIMITED = { slots: Infinity, jobs: Infinity };

it.each<[what: string, wishes: Record<string, Wishes>, room: ClaimRoom, trip: string[]]>([
  [
    'each what it asks for, without a limit of the process',
    { a: { free: 3 }, b: { free: 5 } },
    UNLIMITED,
    ['a 3/3', 'b 5/5'],
  ],
  ['equal parts of a limit', { a: {}, b: {}, c: {} }, { slots: 6, jobs: 6 }, ['a 2/2', 'b 2/2', 'c 2/2']],
  [
    'what one leaves to the others',
    { a: { free: 1 }, b: {}, c: {} },
    { slots: 6, jobs: 6 },
    ['a 1/1', 'b 3/3', 'c 2/2'],
  ],
  ['nothing to queues for which none is left', { a: {}, b: {}, c: {} }, { slots: 2, jobs: 2 }, ['a 1/1', 'b 1/1']],
  ['nothing where there is no room', { a: {}, b: {} }, { slots: 0, jobs: 0 }, []],
  ['jobs that wait for a slot of the process', { a: {} }, { slots: 2, jobs: 5 }, ['a 5/2']],
  ['no such jobs to a queue that may have none', { a: { claimsAhead: false } }, { slots: 2, jobs: 5 }, ['a 2/2']],
  // The waiting jobs of `a` would own each slot that becomes free.
  [
    'no such jobs beside a queue that may have none',
    { a: {}, b: { claimsAhead: false } },
    { slots: 4, jobs: 8 },
    ['a 2/2', 'b 2/2'],
  ],
  ['no more at once than its own slots', { a: { free: 4, beginAtOnce: 1 } }, { slots: 4, jobs: 4 }, ['a 4/1']],
  ['no more than its limits allow in a claim', { a: { mostPerClaim: 3 } }, UNLIMITED, ['a 3/3']],
  ['nothing to a queue without room', { a: { free: 0 }, b: {} }, UNLIMITED, ['b 10/10']],
  [
    'nothing to an idle queue',
    { a: { mayHaveJobs: false, isOverdueForPoll: true }, b: {} },
    UNLIMITED,
    ['b 10/10'],
  ],
  [
    'a look at an idle queue that waits for one, under a limit',
    { a: { mayHaveJobs: false, isOverdueForPoll: true }, b: {} },
    { slots: 4, jobs: 4 },
    ['a 2/2', 'b 2/2'],
  ],
  [
    'no look at an idle queue before its time',
    { a: { mayHaveJobs: false }, b: {} },
    { slots: 4, jobs: 4 },
    ['b 4/4'],
  ],
  [
    'full calls of bulk handlers',
    { a: { perSlot: 5, free: 10 }, b: {} },
    { slots: 4, jobs: 4 },
    ['a 10/10', 'b 2/2'],
  ],
  ['calls that are not full', { a: { perSlot: 5, free: 6 }, b: {} }, { slots: 4, jobs: 4 }, ['a 6/6', 'b 2/2']],
  ['heavy jobs that fit', { a: { heaviest: 2 }, b: {} }, { slots: 8, jobs: 8 }, ['a 2/2', 'b 4/4']],
  [
    'one heavy job that has to wait, and nothing that would take its slots',
    { a: { heaviest: 4 }, b: {} },
    { slots: 4, jobs: 4 },
    ['a 1/0'],
  ],
  ['no heavy job without a slot', { a: { heaviest: 4 } }, { slots: 0, jobs: 4 }, []],
])('deals %s', (_what, wishes, room, trip) => {
  expect(tripOf(wishes, room)).toEqual(trip);
});

it('claims no more in one call than it may', () => {
  expect(tripOf({ a: { free: 900 }, b: { heaviest: 2, free: 900 } }, UNLIMITED, 500)).toEqual([
    'a 500/500',
    'b 500/500',
  ]);
});

it('begins with the queues that got fewer, trip after trip', () => {
  const deal = new SlotDeal(runnersOf({ a: {}, b: {}, c: {} }), 500);
  const trips = Array.from({ length: 3 }, () => dealt(deal, { slots: 2, jobs: 2 }));
  expect(trips).toEqual([
    ['a 1/1', 'b 1/1'],
    ['c 1/1', 'a 1/1'],
    ['b 1/1', 'c 1/1'],
  ]);
});

it('gives all slots to one queue, each in its turn, if it is told to', () => {
  const deal = new SlotDeal(runnersOf({ a: {}, b: {}, c: { mayHaveJobs: false } }), 500, true);
  const trips = Array.from({ length: 3 }, () => dealt(deal, { slots: 4, jobs: 4 }));
  expect(trips).toEqual([['a 4/4'], ['b 4/4'], ['a 4/4']]);
});

it('leaves idle queues of many out of the line until they may have jobs', () => {
  const runners = runnersOf({ a: {}, b: { mayHaveJobs: false }, c: {}, d: {}, e: {} });
  const deal = new SlotDeal(runners, 500);
  const names = () => deal.inTurn().map(({ name }) => name);
  expect(names()).toEqual(['a', 'c', 'd', 'e']);
  Object.assign(runners[1]!.outlook, { mayHaveJobs: true });
  deal.join(runners[1]!);
  deal.join(runners[0]!);
  expect(names()).toEqual(['a', 'c', 'd', 'e', 'b']);
  const few = new SlotDeal(runnersOf({ a: {}, b: { mayHaveJobs: false }, c: {}, d: {} }), 500);
  expect(few.inTurn()).toHaveLength(4);
});
