// How long nothing was done, and by whom, after each kind of fault.
import type { Facts } from './facts.js';

export interface Recovery {
  kind: string;
  count: number;
  /** The longest time without a job completed by anybody, from the beginning of a fault to the next one, in ms. */
  stallMs: number;
  /** How long after the end of a fault the last worker had an answer of Redis again, in ms. */
  backMs: number;
}

/** @param backMs by fault, in the order in which they happened */
export function recoveries(facts: Facts, endMs: number, backMs: readonly number[]): Recovery[] {
  const active = [...facts.activeMs].toSorted((a, b) => a - b);
  const kinds = new Map<string, Recovery>();
  facts.faults.forEach(({ kind, beganMs }, i) => {
    const recovery = kinds.get(kind) ?? { kind, count: 0, stallMs: 0, backMs: 0 };
    kinds.set(kind, recovery);
    recovery.count++;
    recovery.stallMs = Math.max(
      recovery.stallMs,
      longestGap(active, beganMs, facts.faults[i + 1]?.beganMs ?? endMs),
    );
    recovery.backMs = Math.max(recovery.backMs, backMs[i] ?? 0);
  });
  return [...kinds.values()].toSorted((a, b) => a.kind.localeCompare(b.kind));
}

/** The longest time without a mark between two instants, each of which ends a time. `marks` ascend. */
export function longestGap(marks: readonly number[], fromMs: number, toMs: number): number {
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
