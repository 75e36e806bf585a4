// How many jobs a runner may claim and start: never more than its slots, and none of them stays empty.
import { expect, it } from '@jest/globals';
import { RunnerSlots, weightsOf } from '#worker/runner/runner-slots.js';

interface Scene {
  slots?: number;
  running?: number;
  attempts?: number;
  /** The jobs of claims in flight, and how many of them start at once. */
  inFlight?: number;
  atOnce?: number;
  /** The jobs that may be claimed without a slot, and of a wait. */
  room?: number;
  roomForWait?: number;
  leastPerClaim?: number;
  unsettled?: number;
  isLimited?: boolean;
  isClosed?: boolean;
  isResting?: boolean;
  blocksClaims?: boolean;
  isAnnounced?: boolean;
  awaitsSlot?: boolean;
  isFull?: boolean;
  weights?: { lightest: number; heaviest: number };
  /** The slots of each claimed job that takes more than one, and whether it has begun. */
  heavy?: readonly [slots: number, hasBegun: boolean][];
}

function slotsOf(scene: Scene): RunnerSlots {
  const { running = 0, attempts = running, inFlight = 0, atOnce = inFlight, isFull } = scene;
  const owner = {
    state: { running, isClosed: scene.isClosed ?? false, isResting: scene.isResting ?? false },
    outlook: {
      announcement: { allowsClaims: scene.isAnnounced ?? true },
      isLimited: scene.isLimited ?? false,
      awaitsSlot: scene.awaitsSlot ?? false,
    },
    attempts: { size: attempts },
    claims: { slots: inFlight, atOnce },
    host: { shared: isFull === undefined ? undefined : { isFull, count() {} } },
    prefetcher: {
      count: attempts - running,
      first: undefined,
      isAllowed: true,
      room: scene.room ?? 0,
      roomForWait: scene.roomForWait ?? 0,
      leastPerClaim: scene.leastPerClaim ?? 1,
    },
    settlements: { unsettled: scene.unsettled ?? 0, blocksClaims: scene.blocksClaims ?? false },
    bulk: undefined,
  } as unknown as ConstructorParameters<typeof RunnerSlots>[0];
  const slots = new RunnerSlots(owner, scene.slots ?? 10, {
    all: [{ name: 'h', slots: 2 }],
    ...(scene.weights ?? { lightest: 1, heaviest: 1 }),
  });
  for (const [each, hasBegun] of scene.heavy ?? []) {
    slots.jobClaimed(each);
    if (hasBegun) slots.jobBegins(each);
  }
  return slots;
}

const HEAVY = { lightest: 1, heaviest: 4 };

it.each<[what: string, scene: Scene, free: number]>([
  ['all slots of an idle runner', {}, 10],
  ['what runs and what is in flight leave', { running: 3, inFlight: 4 }, 3],
  ['nothing where jobs wait for the last slots', { running: 8, attempts: 10 }, 0],
  ['nothing where more is in flight than fits', { running: 8, inFlight: 4 }, 0],
  ['the jobs too that may wait for a slot', { running: 10, room: 4 }, 4],
  ['no such jobs after a claim that met limits', { running: 8, room: 4, isLimited: true }, 2],
  ['nothing if too few may wait for a slot to be worth a claim', { running: 10, room: 2, leastPerClaim: 3 }, 0],
  ['as many as are worth a claim', { running: 10, room: 3, leastPerClaim: 3 }, 3],
  ['few that start at once', { running: 9, room: 1, leastPerClaim: 3 }, 2],
  ['nothing while it is closed', { isClosed: true }, 0],
  ['nothing while it rests', { isResting: true }, 0],
  ['nothing before it is announced', { isAnnounced: false }, 0],
  ['nothing while a settlement holds claims back', { blocksClaims: true }, 0],
  ['all while two rounds of settlements are on the way', { unsettled: 20 }, 10],
  ['nothing while more of them are', { unsettled: 21 }, 0],
  ['the heavy jobs that fit', { weights: HEAVY, slots: 9 }, 2],
  ['the heavy jobs that fit exactly', { weights: HEAVY, slots: 8 }, 2],
  ['one that may have to wait', { weights: HEAVY, slots: 3 }, 1],
  ['none where not even the lightest fits', { weights: { lightest: 2, heaviest: 4 }, slots: 1 }, 0],
  ['the lightest that fits exactly', { weights: { lightest: 2, heaviest: 4 }, slots: 2 }, 1],
  ['what a heavy job leaves', { weights: HEAVY, slots: 9, running: 1, heavy: [[4, true]] }, 1],
  ['what heavy jobs in flight may leave', { weights: HEAVY, slots: 9, inFlight: 1 }, 1],
])('may claim %s', (_what, scene, free) => {
  expect(slotsOf(scene).free).toBe(free);
});

it.each<[Scene, figures: { used: number; claimed: number; begun: number; taken: number; beginAtOnce: number }]>([
  [{}, { used: 0, claimed: 0, begun: 0, taken: 0, beginAtOnce: 10 }],
  [
    { running: 3, attempts: 5, inFlight: 2, atOnce: 1 },
    { used: 7, claimed: 5, begun: 3, taken: 4, beginAtOnce: 3 },
  ],
  [
    { running: 9, attempts: 14, inFlight: 2, atOnce: 0 },
    { used: 10, claimed: 14, begun: 9, taken: 9, beginAtOnce: 0 },
  ],
  [
    { slots: 4, running: 6 },
    { used: 6, claimed: 6, begun: 6, taken: 6, beginAtOnce: 0 },
  ],
  [{ weights: HEAVY, running: 1, attempts: 2, heavy: [[4, true], [3, false]] }, { used: 7, claimed: 7, begun: 4, taken: 4, beginAtOnce: 0 }], // prettier-ignore
  [
    { weights: HEAVY, slots: 20, running: 1, inFlight: 2, atOnce: 1 },
    { used: 9, claimed: 1, begun: 1, taken: 5, beginAtOnce: 2 },
  ],
])('counts slots of %j', (scene, figures) => {
  const { used, claimed, begun, taken, beginAtOnce } = slotsOf(scene);
  expect({ used, claimed, begun, taken, beginAtOnce }).toEqual(figures);
});

it('frees the slots of a heavy job when it has left, begun or not', () => {
  const slots = slotsOf({ weights: HEAVY, heavy: [[4, true], [3, false]] }); // prettier-ignore
  slots.jobLeft(4, true);
  expect([slots.claimed, slots.begun]).toEqual([2, 0]);
  slots.jobLeft(3, false);
  expect([slots.claimed, slots.begun]).toEqual([0, 0]);
});

it.each<[Scene, slots: number, fits: boolean]>([
  [{ running: 6 }, 4, true],
  [{ running: 6 }, 5, false],
  [{ running: 6, isClosed: true }, 1, false],
])('a job beside %j that takes %d slots may begin: %s', (scene, slots, fits) => {
  expect(slotsOf(scene).hasSlotsFor(slots)).toBe(fits);
});

it.each<
  [
    Scene,
    {
      isFull?: boolean;
      claimsNoMore?: boolean;
      isOverdrawn?: boolean;
      claimsAhead?: boolean;
      mostPerClaim?: number;
    },
  ]
>([
  [
    { attempts: 9 },
    { isFull: false, claimsNoMore: false, isOverdrawn: false, claimsAhead: true, mostPerClaim: Infinity },
  ],
  [{ attempts: 10 }, { isFull: true }],
  [{ attempts: 10, roomForWait: 1 }, { isFull: false }],
  [
    { attempts: 10, roomForWait: 1, isLimited: true },
    { isFull: true, claimsAhead: false, mostPerClaim: 5 },
  ],
  [{ isClosed: true }, { isFull: true }],
  [{ weights: { lightest: 2, heaviest: 4 }, attempts: 9 }, { isFull: true }],
  [{ awaitsSlot: true }, { claimsNoMore: true }],
  [{ isFull: true }, { claimsNoMore: true }],
  [{ isFull: false }, { claimsNoMore: false }],
  [{ attempts: 9, inFlight: 1 }, { isOverdrawn: false }],
  [{ attempts: 9, inFlight: 2 }, { isOverdrawn: true }],
  [{ attempts: 11 }, { isOverdrawn: false }],
  [{ slots: 5, isLimited: true }, { mostPerClaim: 3 }],
])('with %j it is %j', (scene, expected) => {
  expect(slotsOf(scene)).toMatchObject(expected);
});

const weightsWith = (...slots: (number | { most: number; default?: number } | undefined)[]) =>
  weightsOf(new Map(slots.map((each, i) => [`h${i}`, { slots: each }])));
const announcedBy = (heaviest: number) => slotsOf({ weights: { lightest: 1, heaviest } }).announced;

it('knows the slots of the lightest and the heaviest job, and announces them if one takes several', () => {
  expect(weightsWith(undefined, 3)).toEqual({ lightest: 1, heaviest: 3, all: [{ name: 'h0', slots: 1 }, { name: 'h1', slots: 3 }] }); // prettier-ignore
  expect(weightsWith(2, { most: 5 }).all).toEqual([{ name: 'h0', slots: 2 }, { name: 'h1', slots: 1, most: 5 }]); // prettier-ignore
  expect(weightsWith({ most: 5, default: 2 }).all).toEqual([{ name: 'h0', slots: 2, most: 5 }]);
  expect(weightsWith(2, 3)).toMatchObject({ lightest: 2, heaviest: 3 });
  expect(weightsWith()).toMatchObject({ lightest: 1, heaviest: 1 });
  expect([announcedBy(1), announcedBy(2)]).toEqual([[], [{ name: 'h', slots: 2 }]]);
});
