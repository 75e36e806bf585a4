// Shows the figures of the charts as a table, for exact values and screen readers. It is made while it is open.
import { byId, count, el, keyed, timeOf } from './dom.js';

const EVERY_S = 10;
const details = byId('figures');
const body = details.querySelector('tbody');
let columns = [[]];

details.addEventListener('toggle', render);

/** Takes the columns of the charts: time in s, and null in a gap. */
export function showFigures(plotted) {
  columns = plotted;
  render();
}

/** Shows the figures, newest first: the last one, every tenth second, and each gap. */
function render() {
  if (!details.open) return;
  const [times, ...series] = columns;
  const rows = times
    .map((at, i) => ({ at, values: series.map((values) => values[i]) }))
    .filter(({ at, values }, i) => i === times.length - 1 || at % EVERY_S === 0 || values[0] === null)
    .toReversed();
  keyed(
    body,
    rows,
    ({ at }) => at,
    make,
    () => {},
  );
}

function make({ at, values }) {
  const time = el('th', { scope: 'row' }, timeOf(at * 1_000));
  if (values[0] === null) return el('tr', {}, time, el('td', { colSpan: values.length }, 'not counted'));
  return el('tr', {}, time, ...values.map((value) => el('td', {}, count(value))));
}
