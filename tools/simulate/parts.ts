// The parts of the library that a run exercises beside plain jobs. Each seed draws some of them. So a run stays short, and
// all pairs occur over many seeds.
import { Random } from '../chaos/random.js';

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
  'once',
  'growth',
  'hub',
  'elsewhere',
  'steps',
  'groups',
  'turns',
  'audit',
  'newest',
  'streams',
  'sharing',
] as const;

export type Part = (typeof PARTS)[number];

/** The share of all parts that a run has on average: a short run has fewer, because each costs calls. */
const SHARE = 0.5;
const SHORT_SHARE = 0.2;
const SHORT_STEPS = 200;

/**
 * Draws the parts of a run. Later parts have draws of their own, so that a seed without them runs as before.
 *
 * @param steps of the run
 */
export function drawParts(random: Random, steps: number, seed: number): ReadonlySet<Part> {
  const share = steps < SHORT_STEPS ? SHORT_SHARE : SHARE;
  const later: Partial<Record<Part, Random>> = {
    clock: new Random(seed + 1_000_000),
    once: new Random(seed + 2_000_000),
    growth: new Random(seed + 3_000_000),
    hub: new Random(seed + 4_000_000),
    elsewhere: new Random(seed + 6_000_000),
    steps: new Random(seed + 5_000_000),
    groups: new Random(seed + 7_000_000),
    turns: new Random(seed + 8_000_000),
    audit: new Random(seed + 9_000_000),
    newest: new Random(seed + 10_000_000),
    streams: new Random(seed + 11_000_000),
    sharing: new Random(seed + 12_000_000),
  };
  return new Set(PARTS.filter((part) => (later[part] ?? random).chance(share)));
}
