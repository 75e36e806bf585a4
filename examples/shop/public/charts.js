import uPlot from './uPlot.esm.js';
import { byId } from './dom.js';

const KEPT = 300;
/** Time, then pending, processing, completed, failed, reclaimed. */
const columns = [[], [], [], [], [], []];
const dark = matchMedia('(prefers-color-scheme: dark)');
let charts = [];

export function addSamples(samples) {
  for (const sample of samples) {
    const [at] = sample;
    // After a reconnect the server tells the past once more.
    if (at <= (columns[0].at(-1) ?? 0)) continue;
    sample.forEach((value, i) => columns[i].push(value));
  }
  for (const column of columns) column.splice(0, column.length - KEPT);
  draw();
}

function draw() {
  if (charts.length === 0) make();
  for (const { chart, shown } of charts) chart.setData(shown.map((i) => columns[i]));
}

function make() {
  charts = [
    chartIn('depths', [
      [1, 'waiting', '--amber'],
      [2, 'running', '--blue'],
    ]),
    chartIn('totals', [
      [3, 'completed', '--green'],
      [4, 'given up', '--red'],
      [5, 'taken back', '--violet'],
    ]),
  ];
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function chartIn(id, lines) {
  const box = byId(id);
  box.replaceChildren();
  const axis = {
    stroke: colour('--soft'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
    font: '11px system-ui, sans-serif',
  };
  const size = () => ({ width: Math.max(180, box.clientWidth), height: 128 });
  const chart = new uPlot(
    {
      ...size(),
      cursor: { show: false },
      legend: { live: false },
      scales: { y: { range: (_chart, _least, most) => [0, Math.max(4, most * 1.1)] } },
      axes: [
        { ...axis, size: 24, space: 70, values: [[1, '{HH}:{mm}:{ss}']] },
        { ...axis, size: 46, space: 32, values: (_chart, ticks) => ticks.map(compact) },
      ],
      series: [
        {},
        ...lines.map(([, label, variable]) => ({
          label,
          stroke: colour(variable),
          width: 2,
          points: { show: false },
        })),
      ],
    },
    [[], ...lines.map(() => [])],
    box,
  );
  const observer = new ResizeObserver(() => {
    if (box.clientWidth > 0 && box.clientWidth !== chart.width) chart.setSize(size());
  });
  observer.observe(box);
  return { chart, observer, shown: [0, ...lines.map(([column]) => column)] };
}

function compact(value) {
  if (!Number.isInteger(value)) return '';
  return value >= 10_000 ? `${value / 1_000}k` : String(value);
}

dark.addEventListener('change', () => {
  for (const { chart, observer } of charts) {
    observer.disconnect();
    chart.destroy();
  }
  charts = [];
  draw();
});
