/** Figures of each step, for the charts. `at` has the starts of the steps. */
export interface HistoryView {
  at: number[];
  stepMs: number;
  in: (number | null)[];
  out: (number | null)[];
  failed: (number | null)[];
  depth: (number | null)[];
  oldestMs: (number | null)[];
  wait: { p50: (number | null)[]; p95: (number | null)[]; p99: (number | null)[] };
  run: { p50: (number | null)[]; p95: (number | null)[]; p99: (number | null)[] };
  marks: { at: number; endAt: number | null; kind: 'deploy' | 'outage'; text: string }[];
}
