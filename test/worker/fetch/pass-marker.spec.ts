// A worker of thousands of queues has several waits. A job of one may take the last slot of the process while another wait
// takes a marker. The marker then goes on, so that no other worker has to look for its job.
import { expect, it } from '@jest/globals';
import { silentLogger } from '#queue/runtime/logger.js';
import type { QueueStore, WaitOutcome } from '#queue/store/queue-store.js';
import { VirtualClock } from '#testing/time/virtual-clock.js';
import { IdleWait } from '#worker/fetch/idle-wait.js';
import { ClaimOutlook } from '#worker/runner/claims.js';
import { QueueRunner } from '#worker/runner/queue-runner.js';

/** Lets a wait of one queue end with a marker, and then looks as after each trip. Returns the calls that it sends. */
async function scene({
  slots,
  inFlight = 0,
  inFlightOfOthers = 0,
  claims = false,
  exec = () => Promise.resolve(),
}: {
  slots: number;
  inFlight?: number;
  inFlightOfOthers?: number;
  claims?: boolean;
  exec?: () => Promise<void>;
}) {
  const [sent, debugged]: [unknown[], string[]] = [[], []];
  let [free, inOthers] = [1, 0];
  const calls = { workers: { passWake: ({ worker }: { worker: string }) => `pass ${worker}` } };
  const outlook = new ClaimOutlook(
    () => 0,
    () => undefined,
  );
  outlook.learn({ jobs: [], refused: [] } as never, 1);
  const taken = { outcomes: [], wokenIn: calls } as unknown as WaitOutcome<[]>;
  const store = {
    clock: new VirtualClock(),
    workerWait: () => ({ wait: () => Promise.resolve(taken), interrupt() {}, close() {} }),
    logger: { ...silentLogger, debug: (line: string) => void debugged.push(line) },
    exec: (call: unknown) => (sent.push(call), exec()),
  } as unknown as QueueStore;
  const runner = {
    name: 'jobs',
    calls,
    outlook,
    capacity: { freeForWait: 1 },
    claims: { slots: inFlight },
    attempts: new Set(),
    state: { isBlockedOn: false },
    queue: { store, options: { visibilityMs: 30_000 } },
    passWake: QueueRunner.prototype.passWake,
    waitBegins: () => undefined,
    waitEnds: () => undefined,
  } as unknown as QueueRunner;
  const wait = new IdleWait(
    {
      worker: 'w',
      runners: [runner],
      capacity: () => free - inOthers,
      hasNoSlot: () => free === 0,
      claimsAlong: false,
      store,
      logger: silentLogger,
    },
    { onWake() {}, onLongWait: () => () => {}, onDue() {}, onCancel() {} },
  );
  await wait.runOnce();
  [free, inOthers] = [slots, inFlightOfOthers];
  if (claims) outlook.claims();
  wait.check();
  wait.check();
  return { sent, debugged, wait, fill: () => (free = 0) };
}

it('passes the marker on once where all slots of the process are used', async () => {
  expect((await scene({ slots: 0 })).sent).toEqual(['pass w']);
});

it('keeps the marker where a claim follows, at once or after the trip in flight', async () => {
  expect((await scene({ slots: 0, claims: true })).sent).toEqual([]);
  expect((await scene({ slots: 0, inFlight: 1 })).sent).toEqual([]);
  const { sent, wait, fill } = await scene({ slots: 1 });
  expect(sent).toEqual([]);
  fill();
  wait.check();
  expect(sent).toEqual(['pass w']);
});

it('keeps the marker while claims of other queues hold the slots, until jobs use them', async () => {
  const { sent, wait, fill } = await scene({ slots: 1, inFlightOfOthers: 1 });
  expect(sent).toEqual([]);
  fill();
  wait.check();
  expect(sent).toEqual(['pass w']);
});

it('says in the log of debugging that the marker could not be passed on', async () => {
  const { debugged } = await scene({ slots: 0, exec: () => Promise.reject(new Error('Redis is away')) });
  await new Promise(setImmediate);
  expect(debugged).toEqual([
    expect.stringContaining(
      'Could not wake another worker of queue "jobs"; a look finds its job: Error: Redis is away',
    ),
  ]);
});
