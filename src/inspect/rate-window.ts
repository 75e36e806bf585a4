import type { RecentPace } from './queue-signs.js';

/** The window of the rates, in ms. */
const WINDOW_MS = 10_000;

interface Sample {
  at: number;
  in: number;
  out: number;
  failed: number;
}

/** Jobs per second of each queue, from its counters over the last ten seconds of readings. */
export class RateWindow {
  private readonly samples = new Map<string, Sample[]>();

  add(queue: string, totals: Readonly<Record<string, number>>): RecentPace | null {
    const now = performance.now();
    const { enqueued = 0, completed = 0, failed = 0 } = totals;
    const sample = { at: now, in: enqueued, out: completed + failed, failed };
    const recent = (this.samples.get(queue) ?? []).filter(({ at }) => now - at <= WINDOW_MS);
    this.samples.set(queue, [...recent, sample]);
    const first = recent[0];
    if (!first || sample.in < first.in || sample.out < first.out) {
      return null; // the first reading, or the counters were reset
    }
    const seconds = Math.max(0.001, (now - first.at) / 1_000);
    const perS = (field: 'in' | 'out' | 'failed') => rounded((sample[field] - first[field]) / seconds);
    return { inPerS: perS('in'), outPerS: perS('out'), failedPerS: perS('failed') };
  }
}

/** Returns the rate as exact as the pages show it, because each digit costs every viewer a byte a second. */
function rounded(perS: number): number {
  return Math.round(perS * 100) / 100;
}
