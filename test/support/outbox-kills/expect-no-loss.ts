import { expect } from '@jest/globals';
import type { OutboxDialect } from '#outbox/outbox-database.js';
import { KillLoop } from './kill-loop.js';

// How much a run of the long tests does.
const DEATHS = Number(process.env.OUTBOX_DEATHS ?? 20);
const ROWS = Number(process.env.OUTBOX_ROWS ?? 2_000);
export const LIMIT_MS = 120_000 + DEATHS * 10_000 + ROWS * 40;

/** Lets relays and producers die and stall, until jobs have run. Expects that each committed row became one job, in order. */
export async function expectNoLoss(
  server: { dialect: OutboxDialect; url: string },
  { deaths = DEATHS, jobs = ROWS, fewest = jobs }: { deaths?: number; jobs?: number; fewest?: number } = {},
): Promise<void> {
  const { committed, kills, stalls, ...faults } = await new KillLoop(server).run(deaths, jobs);
  console.log(server.url, { committed, kills, stalls, ...faults }); // the figures of this run
  expect(kills + stalls).toBeGreaterThanOrEqual(deaths);
  expect(committed).toBeGreaterThanOrEqual(fewest);
  expect(faults).toEqual({ lost: 0, twice: 0, phantom: 0, disorder: 0 });
}
