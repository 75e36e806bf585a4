// How long a worker without jobs waits, for which queues, and in which order.
import { expect, it } from '@jest/globals';
import { VirtualClock } from '#testing/time/virtual-clock.js';
import { IdleWait, areAtRest, longestWaitMs } from '#worker/fetch/idle-wait.js';
import type { QueueRunner } from '#worker/runner/queue-runner.js';

interface Scene {
  visibilityMs?: number;
  isLimited?: boolean;
  meetsForeign?: boolean;
  only?: readonly string[];
  free?: number;
  mayHaveJobs?: boolean;
  nextDueInMs?: number;
}

function runnerOf(name: string, scene: Scene = {}): QueueRunner {
  const {
    visibilityMs = 30_000,
    isLimited = false,
    meetsForeign = false,
    mayHaveJobs = false,
    nextDueInMs,
  } = scene;
  return {
    name,
    calls: { name },
    queue: { options: { visibilityMs } },
    outlook: { isLimited, meetsForeign, mayHaveJobs, nextDueInMs, shortestDueMs: 20 },
    names: { only: scene.only },
    capacity: { freeForWait: scene.free ?? 1 },
    state: { isBlockedOn: false },
    attempts: { size: 0 },
    waitBegins() {},
    waitEnds() {},
  } as unknown as QueueRunner;
}

/** Returns a wait whose store replies at once. Notes the queues of each wait and its length. */
function waitFor(runners: readonly QueueRunner[]) {
  const waits: { queues: string[]; ms: number }[] = [];
  const clock = new VirtualClock();
  const storeWait = {
    async wait(calls: readonly { name: string }[], ms: number) {
      waits.push({ queues: calls.map(({ name }) => name), ms });
      return { outcomes: [] };
    },
    interrupt() {},
    close() {},
  };
  const idleWait = new IdleWait(
    {
      worker: 'w',
      runners,
      capacity: () => 9,
      hasNoSlot: () => false,
      claimsAlong: false,
      store: { clock, workerWait: () => storeWait, queues: {} } as never,
      logger: { log() {}, warn() {}, error() {} },
    },
    { onWake() {}, onLongWait: () => () => undefined, onDue() {}, onCancel() {} },
  );
  return { idleWait, waits, clock };
}

it('lets each queue be the first in its turn, because Redis serves the first one with a job', async () => {
  const { idleWait, waits } = waitFor(['a', 'b', 'c'].map((name) => runnerOf(name)));
  for (let i = 0; i < 4; i++) await idleWait.runOnce();
  expect(waits.map(({ queues }) => queues.join(''))).toEqual(['bca', 'cab', 'abc', 'bca']);
});

it('waits for the queues alone that have a free slot, and of which no job is known', async () => {
  const { idleWait, waits } = waitFor([
    runnerOf('full', { free: 0 }),
    runnerOf('busy', { mayHaveJobs: true }),
    runnerOf('idle'),
  ]);
  await idleWait.runOnce();
  expect(waits).toEqual([{ queues: ['idle'], ms: 1_000 }]);
});

it.each([
  [{}, 1_000],
  [{ nextDueInMs: 400 }, 400],
  [{ nextDueInMs: 4_000 }, 1_000],
  [{ nextDueInMs: 7 }, 20], // the least time that the queue has learned
  [{ nextDueInMs: 0 }, 5],
  [{ visibilityMs: 1_000 }, 320],
])('waits for a queue with %j for %d ms', async (scene, ms) => {
  const { idleWait, waits } = waitFor([runnerOf('other'), runnerOf('mail', scene)]);
  await idleWait.runOnce();
  expect(waits[0]!.ms).toBe(ms);
});

it.each<[Scene, sinceStartMs: number, isAtRest: boolean]>([
  [{}, 30_000, true],
  [{}, 29_999, false],
  [{ isLimited: true }, 30_000, false],
  [{ meetsForeign: true }, 30_000, false],
  [{ only: ['a'] }, 30_000, false],
])('a worker with %j is at rest %d ms after its start: %s', (scene, sinceStartMs, isAtRest) => {
  expect(areAtRest([runnerOf('other'), runnerOf('mail', scene)], sinceStartMs)).toBe(isAtRest);
});

it.each<[visibilityMs: number, looks: 'each-second' | 'few' | undefined, isAtRest: boolean, ms: number]>([
  [30_000, undefined, false, 1_000],
  [60_000, undefined, true, 10_000],
  [10_000, undefined, true, 3_200],
  [30_000, 'each-second', false, 5_000],
  [30_000, 'each-second', true, 5_000],
  [10_000, 'each-second', false, 3_200],
  [10_000, 'few', false, 15_000],
])(
  'a wait within a visibility of %d ms, with looks "%s" and rest %s, lasts %d ms at most',
  (visibilityMs, looks, isAtRest, ms) => {
    // prettier-ignore
    expect(longestWaitMs([runnerOf('other', { visibilityMs: 90_000 }), runnerOf('mail', { visibilityMs })], looks, isAtRest)).toBe(ms); // prettier-ignore
  },
);
