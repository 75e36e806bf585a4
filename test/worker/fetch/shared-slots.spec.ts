// The slots that all queues of a process share: who owns a free one, and what may be claimed.
import { expect, it } from '@jest/globals';
import { SharedSlots } from '#worker/fetch/process-capacity.js';
import type { QueueRunner } from '#worker/runner/queue-runner.js';
import { VirtualClock } from '#testing/time/virtual-clock.js';

interface Busy {
  running?: number;
  inFlight?: number;
  /** When and where its first waiting job was asked for. */
  first?: [askedAtMs: number, place: number];
  hasOwnSlot?: boolean;
}

/** Makes shared slots of runners in the given states. Names the runner that is asked to begin. */
function sharedBy(concurrency: number, states: Record<string, Busy>) {
  const asked: string[] = [];
  const runners = Object.entries(states).map(([name, { running = 0, inFlight = 0, first, hasOwnSlot = true }]) => ({
    name,
    capacity: {
      used: running + inFlight + (first ? 1 : 0),
      taken: running + inFlight,
      claimed: running + (first ? 1 : 0),
      hasOwnSlot,
    },
    prefetcher: { isEmpty: !first, first: first && { askedAtMs: first[0], place: first[1] } },
    turn: { askHere: () => void asked.push(name) },
  }));
  const clock = new VirtualClock(0);
  const slots = new SharedSlots(concurrency, clock);
  runners.forEach((runner) => slots.count(runner as unknown as QueueRunner));
  slots.ask();
  return { slots, next: asked[0] };
}

it.each<[string, Record<string, Busy>, string | undefined]>([
  ['the job that was asked for first', { a: { first: [2, 0] }, b: { first: [1, 3] } }, 'b'],
  ['the first job of each claim of a trip', { a: { first: [1, 1] }, b: { first: [1, 0] } }, 'b'],
  [
    'another queue while one uses its own slots',
    { a: { first: [1, 0], hasOwnSlot: false }, b: { first: [2, 0] } },
    'b',
  ],
  ['nobody where no job waits', { a: { running: 1 }, b: {} }, undefined],
])('a free slot is for %s', (_, states, name) => {
  expect(sharedBy(3, states).next).toBe(name);
});

it('no waiting job takes the slot of a job in flight', () => {
  const busy = { a: { running: 1, inFlight: 1, first: [1, 0] as [number, number] } };
  expect([sharedBy(2, busy).slots.hasSlotsFor(1), sharedBy(3, busy).slots.hasSlotsFor(1)]).toEqual([false, true]);
});

it('claims for free slots and jobs that start soon; without a slot, for at least half', async () => {
  const { slots } = sharedBy(2, { a: { running: 1 }, b: { first: [1, 0] } });
  expect(slots.room).toEqual({ slots: 0, jobs: 0 });
  for (const now of [0, 10, 20]) {
    for (let i = 0; i < 10; i++) slots.limit.jobEnded(1);
    slots.limit.measure(now);
  }
  expect(slots.room).toEqual({ slots: 0, jobs: 7 });
  expect(sharedBy(3, { a: { running: 1 } }).slots.room).toEqual({ slots: 2, jobs: 2 });
});

const idle = (bulk?: object) => ({
  bulk,
  capacity: { used: 0, taken: 0, claimed: 0, hasOwnSlot: true },
  prefetcher: { isEmpty: true },
});

it('the slots of a runner are counted again after each change; those of bulk handlers whenever they are asked for', () => {
  const slots = new SharedSlots(2, new VirtualClock(0));
  const count = (each: object) => slots.count(each as QueueRunner);
  const [plain, bulk] = [idle(), idle({})];
  [plain, bulk].forEach(count);
  plain.capacity = { used: 1, taken: 1, claimed: 1, hasOwnSlot: true };
  [plain, plain].forEach(count);
  expect([slots.room.slots, slots.hasSlotsFor(1), slots.isFull]).toEqual([1, true, false]);
  bulk.capacity = { used: 1, taken: 1, claimed: 1, hasOwnSlot: true };
  expect([slots.room.slots, slots.hasSlotsFor(1), slots.isFull]).toEqual([0, false, true]);
  plain.capacity = { used: 0, taken: 0, claimed: 0, hasOwnSlot: true };
  count(plain);
  expect([slots.room.slots, slots.hasSlotsFor(1), slots.isFull]).toEqual([1, true, false]);
});

it('is full once jobs use all slots, and not by claims in flight', () => {
  expect(sharedBy(2, { a: { running: 1, inFlight: 1 } }).slots.isFull).toBe(false);
  expect(sharedBy(2, { a: { running: 1 }, b: { first: [1, 0] } }).slots.isFull).toBe(true);
});
