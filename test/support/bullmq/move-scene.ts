// A queue of an old library, a queue of this one, and movers between them.
import { expect } from '@jest/globals';
import type { SourceEra } from '#migrate/bullmq-source.js';
import type { MoveStep } from '#migrate/move-report.js';
import type { MoveRules } from '#migrate/move-rules.js';
import { Mover } from '#migrate/mover.js';
import { planMove } from '#migrate/plan.js';
import type { JobQueue } from '#queue/job-queue.js';
import { systemClock } from '#queue/runtime/clock.js';
import { runToDeath } from '../migrate/deaths.js';
import { emptyReport } from '../migrate/empty-report.js';
import { newQueue } from '../worker/workers.js';
import type { SeededBee } from './seed-bee.js';
import type { SeededQueue } from './seed-bullmq.js';

const RULES: MoveRules = {
  names: new Map(),
  priorities: { kind: 'none' },
  backoffs: new Map(),
  newIds: false,
  shiftIntervals: false,
  failed: false,
};

/** Returns movers from an old queue to a queue here. `die` runs one that dies after the first step of which `isLast` is true. */
export function moveScene<Old extends SeededBee | SeededQueue>(
  old: Old,
  { era, queue = newQueue(), ...rules }: { era: SourceEra; queue?: JobQueue } & Partial<MoveRules>,
) {
  const report = emptyReport();
  const parts = { source: old.source, queue, rules: { ...RULES, ...rules } };
  const mover = (onStep?: (step: MoveStep) => void) =>
    new Mover({ ...parts, era, clock: systemClock, report, ...(onStep && { onStep }) });
  const die = async (isLast: (step: MoveStep) => boolean) => {
    expect(await runToDeath(mover, isLast)).toBe(true);
  };
  const pending = async () => (await queue.list('pending', { limit: 1_000 })).map(({ id }) => id);
  return { old, queue, report, mover, die, pending, plan: () => planMove(parts) };
}

/** Expects that a mover which dies leaves no mark, once another has run. */
export async function expectNoMarks({
  old,
  queue,
}: {
  old: SeededBee | SeededQueue;
  queue: JobQueue;
}): Promise<void> {
  const { source } = await old.source.sender();
  expect(await queue.exec((calls) => calls.once.marks({ source, limit: 9 }))).toEqual([]);
}
