// `--observed`: this library beside itself with metrics, traces and the audit trail. They take turns, so that changes
// of the machine's speed affect all.
import { loadPeer } from '../peers/index.mjs';
import { observers } from '../peers/observers.mjs';
import { median } from '../report/stats.mjs';

export const OBSERVED_MEASURES = [
  'process.c100',
  'process.c100.1ms',
  'process.c100.10ms',
  'enqueue.parallel100',
  'commands',
  'commands.parallel100',
  'commands.history',
];

/** The figures of those measures that watching changes. */
const FIGURES = [
  'process.c100',
  'process.c100.1ms',
  'process.c100.10ms',
  'node.us.process',
  'redis.us.process',
  'enqueue.parallel100',
  'requests.process',
  'inner.process',
  'requests.enqueue.parallel100',
  'inner.enqueue.parallel100',
  'history.commands',
];

export async function openObserved() {
  const ids = ['self', ...Object.keys(observers).map((way) => `self:${way}`)];
  return new Map(await Promise.all(ids.map(async (id) => [id, await loadPeer(id)])));
}

/**
 * Prints each figure of each way of watching, and its ratio to the bare core: the median over the rounds.
 *
 * → { watched: { way: text }, figures: [{ id, unit, better, text, bare, ratios: { way: ratio }, runs }] }
 */
export function printObserved(contestants, measures, { values, errors }) {
  const figures = [];
  for (const [id, described] of measures.flatMap(({ figures: own }) => Object.entries(own))) {
    const { self, ...ways } = values[id] ?? {};
    if (!self || !FIGURES.includes(id)) continue;
    const { unit, better, text } = described;
    console.log(`\n${id}, ${unit} ${better === 'more' ? '↑' : '↓'}: ${text}`);
    printLine('bare', self, 1);
    const ratios = {};
    for (const [way, runs] of Object.entries(ways)) {
      const ratio = median(runs.map((value, round) => (self[round] === 0 ? 1 : value / self[round])));
      ratios[nameOf(way)] = Number(ratio.toFixed(3));
      printLine(nameOf(way), runs, ratio);
    }
    figures.push({ id, unit, better, text, bare: median(self), ratios, runs: values[id] });
  }
  for (const error of errors) console.log(`FAILED ${error}`);
  const watched = Object.fromEntries(
    [...contestants].filter(([id]) => id !== 'self').map(([id, { settings }]) => [nameOf(id), settings.trial]),
  );
  return { watched, figures };
}

function nameOf(id) {
  return id.slice('self:'.length);
}

function printLine(name, runs, ratio) {
  const value = Number(median(runs).toPrecision(4)).toLocaleString('en');
  console.log(`  ${name.padEnd(16)} ${value.padStart(10)}  ${ratio.toFixed(3)}×`);
}
