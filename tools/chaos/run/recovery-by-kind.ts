// The time without progress after each kind of fault, by process.
import type { Facts } from '../histories/facts.js';
import type { KindRecovery, Recovery } from './recovery.js';

/** @param each by fault, in order of time */
export function recoveryByKind(facts: Facts, endMs: number, each: readonly Recovery[]): KindRecovery[] {
  const active = [...facts.attempts.activeMs].toSorted((a, b) => a - b);
  const kinds = new Map<string, KindRecovery>();
  facts.remarks.faults.forEach(({ kind, beganMs }, i) => {
    const untilMs = facts.remarks.faults[i + 1]?.beganMs ?? endMs;
    const worst = kinds.get(kind) ?? {
      kind,
      count: 0,
      hits: 0,
      stallMs: 0,
      unacknowledgedMs: 0,
      workersMs: 0,
      producersMs: 0,
    };
    const waits = facts.unacknowledged.filter(({ fromMs, toMs }) => toMs > beganMs && fromMs < untilMs);
    const waitsMs = waits.map(({ fromMs, toMs }) => Math.min(toMs, untilMs) - Math.max(fromMs, beganMs));
    kinds.set(kind, {
      kind,
      count: worst.count + 1,
      hits: worst.hits + (each[i]?.hits ?? 0),
      stallMs: Math.max(worst.stallMs, longestGap(active, beganMs, untilMs)),
      unacknowledgedMs: waitsMs.reduce((longest, ms) => Math.max(longest, ms), worst.unacknowledgedMs),
      workersMs: Math.max(worst.workersMs, each[i]?.workersMs ?? 0),
      producersMs: Math.max(worst.producersMs, each[i]?.producersMs ?? 0),
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
