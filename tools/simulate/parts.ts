// The parts of the library that a run exercises beside plain jobs. Each seed draws some of them. So a run stays short, and
// all pairs occur over many seeds.
import type { Random } from '../chaos/random.js';

export const PARTS = [
  'schedules',
  'unique',
  'after',
  'batches',
  'changes',
  'bulk',
  'checkpoints',
  'limits',
  'middleware',
  'clock',
] as const;

export type Part = (typeof PARTS)[number];

/** The share of all parts that a run has on average: a short run has fewer, because each costs calls. */
const SHARE = 0.5;
const SHORT_SHARE = 0.2;
const SHORT_STEPS = 200;

/** @param steps of the run */
export function drawParts(random: Random, steps: number): ReadonlySet<Part> {
  const share = steps < SHORT_STEPS ? SHORT_SHARE : SHARE;
  return new Set(PARTS.filter(() => random.chance(share)));
}
