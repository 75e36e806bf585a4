// The looks of a relay after enqueues of its process, whose transactions may commit at any time.
import { expect, it } from '@jest/globals';
import type { OutboxTable } from '#outbox/outbox-table.js';
import { Relay } from '#outbox/relay.js';
import { VirtualClock } from '#testing/time/virtual-clock.js';

const ignore = () => undefined;

/** Returns a relay without rows, and the times at which it looked for some. */
function scene() {
  const clock = new VirtualClock(0);
  const looks: number[] = [];
  const table = {
    hasRows: () => Promise.resolve(looks.push(clock.monotonic()) < 0),
    hasStrangers: () => Promise.resolve(false),
    forgetDone: () => Promise.resolve(),
  } as unknown as OutboxTable;
  const logger = { log: ignore, warn: ignore, error: ignore };
  const parts = {
    table,
    connections: [],
    queueOf: () => null as never,
    clock,
    logger,
    pollMs: 1_000_000,
    keepDoneMs: 1,
  };
  return { clock, looks, relay: new Relay(parts) };
}

it('looks four times after an enqueue, and as often after many of the same ms', async () => {
  const { clock, looks, relay } = scene();
  for (let i = 0; i < 100; i++) relay.expectCommit();
  await clock.advance(1_000);
  expect(looks).toEqual([5, 20, 80, 320]);
  relay.expectCommit();
  await clock.advance(1);
  relay.expectCommit();
  await clock.advance(1_000);
  expect(looks.slice(4)).toEqual([5, 6, 20, 21, 80, 81, 320, 321].map((ms) => 1_000 + ms));
});

it('does not look any more once it has stopped', async () => {
  const { clock, looks, relay } = scene();
  relay.start();
  relay.expectCommit();
  await relay.stop();
  await clock.advance(2_000_000);
  expect(looks).toEqual([0]);
});
