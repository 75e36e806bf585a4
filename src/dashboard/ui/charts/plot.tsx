import { useEffect, useRef } from 'preact/hooks';
import UPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import type { HistoryView } from '../../views/views.js';
import { onClock } from '../../../inspect/clock.js';
import { dark } from '../state/theme.js';
import { inWords, isolated, type ChartData } from './series.js';

/** The steps of an axis of counts. */
const COUNT_STEPS = Array.from({ length: 10 }, (_, i) => [1, 2, 5].map((step) => step * 10 ** i)).flat();
/** The steps of an axis of rates. */
const RATE_STEPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, ...COUNT_STEPS];
/** The steps of an axis of times, in ms: whole seconds, minutes and hours where they are long. */
const DURATION_STEPS = [
  [1, [1, 2, 5, 10, 20, 50, 100, 200, 500]],
  [1_000, [1, 2, 5, 10, 20, 30]],
  [60_000, [1, 2, 5, 10, 20, 30]],
  [3_600_000, [1, 2, 4, 8, 12, 24, 48, 96, 240]],
].flatMap(([unit, steps]) => (steps as number[]).map((step) => step * (unit as number)));
const HEIGHT = 180;
/** The least distance of two steps of the axis, in px. It leaves room for four steps. */
const STEP_PX = 22;
/** The least end of an axis of counts, so that it has more steps than 0 and 1. */
const FEWEST = 4;

type Marks = HistoryView['marks'];

/** Draws one chart: lines over time, with marks for deploys and outages. */
export function Plot({ chart, at, marks }: { chart: ChartData; at: readonly number[]; marks: Marks }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const box = place.current!;
    box.dataset.drawn = String(dark.value);
    const plot = new UPlot(optionsOf(chart, marks, box), dataOf(chart, at), box);
    const observer = new ResizeObserver(() => plot.setSize({ width: box.clientWidth, height: HEIGHT }));
    observer.observe(box);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [chart, at, marks, dark.value]);
  return <div class="plot" ref={place} role="img" aria-label={inWords(chart)} data-dark={dark.value} />;
}

function dataOf({ lines }: ChartData, at: readonly number[]): UPlot.AlignedData {
  return [at.map((each) => each / 1_000), ...lines.map(({ values }) => [...values])];
}

function optionsOf({ lines, say, isCount, isDuration }: ChartData, marks: Marks, box: HTMLElement): UPlot.Options {
  const style = getComputedStyle(box);
  const color = (name: string) => style.getPropertyValue(name).trim();
  const axis = { stroke: color('--quiet'), grid: { stroke: color('--line'), width: 1 }, ticks: { show: false } };
  const shown = (value: number | null) => (value === null || value === undefined ? '–' : say(value));
  return {
    width: box.clientWidth,
    height: HEIGHT,
    legend: { markers: { dash: (_plot, i) => styleOf(lines[i - 1]?.dash) } },
    cursor: { y: false, points: { size: 6 } },
    scales: { y: { range: (_plot, _min, max) => [0, Math.max(max || 1, isCount ? FEWEST : 0) * 1.1] } },
    axes: [
      { ...axis, space: 70, size: 28, values: (_plot, values) => values.map((value) => clockOf(value)) },
      {
        ...axis,
        size: 64,
        space: STEP_PX,
        incrs: isCount ? COUNT_STEPS : isDuration ? DURATION_STEPS : RATE_STEPS,
        values: (_plot, values) => values.map((value) => say(value).replace(/\.0$/, '')),
      },
    ],
    series: [
      { value: (_plot, value) => (value === null ? 'latest' : onClock(value * 1_000, undefined, Date.now())) },
      ...lines.map(({ label, color: name, dash, values }) => ({
        label,
        stroke: color(name),
        width: 1.5,
        dash: dash ?? [],
        points: { show: true, size: 5, filter: () => isolated(values) },
        value: (_plot: UPlot, value: number | null, _line: number, i: number | null) =>
          shown(i === null ? (values.findLast((each) => each !== null) ?? null) : value),
      })),
    ],
    hooks: { draw: [(plot) => drawMarks(plot, marks, color)] },
  };
}

/** Returns the label of a time: 07:10, or the day at midnight. */
function clockOf(second: number): string {
  const [day, time] = onClock(second * 1_000, undefined, Date.now()).split(', ');
  return time === '00:00' ? day! : time!;
}

/** Returns the border of a line in the legend, like the line itself. */
function styleOf([first = 0]: readonly number[] = []): string {
  if (first === 0) {
    return 'solid';
  }
  return first > 2 ? 'dashed' : 'dotted';
}

/** Draws a deploy as a dashed line, and an outage as a shaded span. */
function drawMarks(plot: UPlot, marks: Marks, color: (name: string) => string): void {
  const { ctx, bbox } = plot;
  const x = (at: number) => plot.valToPos(at / 1_000, 'x', true);
  const [left, right] = [bbox.left, bbox.left + bbox.width];
  ctx.save();
  for (const { at, endAt, kind } of marks) {
    const from = Math.max(left, x(at));
    const to = Math.min(right, endAt === null ? from : x(endAt));
    if (from > right || to < left) {
      continue;
    }
    ctx.strokeStyle = ctx.fillStyle = color(kind === 'deploy' ? '--scheduled' : '--failed');
    if (kind === 'outage') {
      ctx.globalAlpha = 0.15;
      ctx.fillRect(from, bbox.top, Math.max(2, to - from), bbox.height);
    } else {
      ctx.globalAlpha = 0.9;
      ctx.setLineDash([6, 4]);
      ctx.beginPath();
      ctx.moveTo(from, bbox.top);
      ctx.lineTo(from, bbox.top + bbox.height);
      ctx.stroke();
    }
  }
  ctx.restore();
}
