// The time without progress after each kind of fault, by process.
import type { Facts } from '../histories/facts.js';
import type { Back } from './harm.js';

/**
 * The hits of all faults of a kind. The longest times after a fault of that kind, in ms. A fault's time lasts until the
 * next one begins.
 */
export interface Recovery extends Back {
  kind: string;
  count: number;
  /** No job was completed by anybody. */
  stallMs: number;
  /** Some producer tried in vain to have a job acknowledged, refusals and repeats included. */
  vainMs: number;
}

/** @param backs by fault, in order of time */
export function recoveries(facts: Facts, endMs: number, backs: readonly Back[]): Recovery[] {
  const active = [...facts.attempts.activeMs].toSorted((a, b) => a - b);
  const kinds = new Map<string, Recovery>();
  facts.remarks.faults.forEach(({ kind, beganMs }, i) => {
    const untilMs = facts.remarks.faults[i + 1]?.beganMs ?? endMs;
    const worst = kinds.get(kind) ?? {
      kind,
      count: 0,
      hits: 0,
      stallMs: 0,
      vainMs: 0,
      workersMs: 0,
      producersMs: 0,
    };
    const vain = facts.vain.filter(({ fromMs, toMs }) => toMs > beganMs && fromMs < untilMs);
    const vainMs = vain.map(({ fromMs, toMs }) => Math.min(toMs, untilMs) - Math.max(fromMs, beganMs));
    kinds.set(kind, {
      kind,
      count: worst.count + 1,
      hits: worst.hits + (backs[i]?.hits ?? 0),
      stallMs: Math.max(worst.stallMs, longestGap(active, beganMs, untilMs)),
      vainMs: vainMs.reduce((longest, each) => Math.max(longest, each), worst.vainMs),
      workersMs: Math.max(worst.workersMs, backs[i]?.workersMs ?? 0),
      producersMs: Math.max(worst.producersMs, backs[i]?.producersMs ?? 0),
    });
  });
  return [...kinds.values()].toSorted((a, b) => a.kind.localeCompare(b.kind));
}

/** Returns the longest gap between two marks, or between a mark and either end. `marks` ascend. */
function longestGap(marks: readonly number[], fromMs: number, toMs: number): number {
  let last = fromMs;
  let longest = 0;
  for (const mark of marks) {
    if (mark <= fromMs) continue;
    if (mark >= toMs) break;
    longest = Math.max(longest, mark - last);
    last = mark;
  }
  return Math.max(longest, toMs - last);
}
