import uPlot from './uPlot.esm.js';
import { byId } from './dom.js';
import { showFigures } from './figures.js';

const WINDOW_S = 300;
/** Even the first samples are drawn on a time line of one minute. */
const SHORTEST_S = 60;
/** The time without a sample that is a gap, because the shop or Redis was away. */
const GAP_S = 3;
/** Time, then pending, processing, completed, failed, reclaimed. null where there is no count. */
const columns = [[], [], [], [], [], []];
const dark = matchMedia('(prefers-color-scheme: dark)');
let charts = [];

export function addSamples(samples) {
  const [times] = columns;
  for (const sample of samples) {
    const [at] = sample;
    const last = times.at(-1) ?? at - 1;
    // After a reconnect the server sends the past again.
    if (at <= last) continue;
    if (at - last > GAP_S) add([last + 1, null, null, null, null, null]);
    add(sample);
  }
  const old = times.findIndex((at) => at > times.at(-1) - WINDOW_S);
  for (const column of columns) column.splice(0, old);
  draw();
}

function add(sample) {
  sample.forEach((value, i) => columns[i].push(value));
}

function draw() {
  if (charts.length === 0) make();
  for (const { chart, shown } of charts) chart.setData(shown.map((i) => columns[i]));
  showFigures(columns);
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
      [5, 'reclaimed', '--violet'],
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
      scales: {
        x: { range: (_chart, from, to) => [Math.min(from, to - SHORTEST_S), to] },
        y: { range: (_chart, _least, most) => [0, Math.max(4, most * 1.1)] },
      },
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
