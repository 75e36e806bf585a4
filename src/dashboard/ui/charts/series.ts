import type { HistoryView } from '../../views/views.js';
import { duration, rate } from '../parts/format.js';

type Values = readonly (number | null)[];

/** A line of a chart. `color` is the name of a custom property. */
export interface Line {
  label: string;
  color: string;
  values: Values;
  dash?: number[];
}

/** One chart, and the table behind it. */
export interface ChartData {
  title: string;
  lines: Line[];
  /** True if the values are counts: its axis has no fractions. */
  isCount?: true;
  /** True if the values are times in ms: its axis has whole units. */
  isDuration?: true;
  /** Formats a value for the axis, the legend and the table. */
  say(value: number): string;
}

/** Returns the charts of a queue. */
export function chartsOf(history: HistoryView): ChartData[] {
  const perSecond = (values: Values) =>
    values.map((value) => (value === null ? null : value / (history.stepMs / 1_000)));
  return [
    {
      title: 'Jobs per second',
      say: rate,
      lines: [
        { label: 'in', color: '--processing', values: perSecond(history.in) },
        { label: 'out', color: '--completed', values: perSecond(history.out) },
        { label: 'failed attempts', color: '--failed', values: perSecond(history.failed), dash: [4, 3] },
      ],
    },
    {
      title: 'Waiting jobs',
      isCount: true,
      say: (value) => Math.round(value).toLocaleString('en'),
      lines: [{ label: 'waiting', color: '--pending', values: history.depth }],
    },
    { title: 'Wait until the first attempt', isDuration: true, say: duration, lines: quantiles(history.wait) },
    { title: 'Run time', isDuration: true, say: duration, lines: quantiles(history.run) },
  ];
}

/** Returns the lines of percentiles. They have no colour of a state, because they show none. */
function quantiles({ p50, p95, p99 }: HistoryView['wait']): Line[] {
  return [
    { label: 'p50', color: '--ink', values: p50 },
    { label: 'p95', color: '--ink', values: p95, dash: [6, 3] },
    { label: 'p99', color: '--quiet', values: p99, dash: [2, 3] },
  ];
}

/** Describes a chart for screen readers: the last and the highest value of each line. */
export function inWords({ title, lines, say }: ChartData): string {
  const parts = lines.map(({ label, values }) => {
    const known = values.filter((value): value is number => value !== null);
    return known.length === 0
      ? `${label}: nothing recorded`
      : `${label}: now ${say(known.at(-1)!)}, at most ${say(Math.max(...known))}`;
  });
  return `${title}. ${parts.join('; ')}.`;
}

/** Returns the places of values without a neighbour: a line does not show them. */
export function isolated(values: Values): number[] {
  const has = (i: number) => values[i] !== null && values[i] !== undefined;
  return values.flatMap((_, i) => (has(i) && !has(i - 1) && !has(i + 1) ? [i] : []));
}
