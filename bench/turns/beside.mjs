// `--beside CHECKOUT`: this library beside another build of itself, in pairs, so that changes of the machine's speed
// affect both.
import { median } from '../report/stats.mjs';

/** Measures that a change must not worsen, unless `--only` names others. */
export const BESIDE_MEASURES = [
  'process.c100',
  'process.c10',
  'process.c1',
  'enqueue.parallel100',
  'latency.idle',
  'commands',
  'commands.parallel100',
];

/**
 * Prints the median of the ratios of the pairs, with the middle half. → [{ id, unit, better, ratio, from, to, runs }]
 */
export function printBeside(measures, { values, errors }) {
  const figures = [];
  for (const [id, { unit, better }] of measures.flatMap(({ figures: own }) => Object.entries(own))) {
    const { self, beside } = values[id] ?? {};
    if (!self || !beside) continue;
    const ratios = self.map((value, pair) => value / beside[pair]).toSorted((a, b) => a - b);
    const [ratio, from, to] = [0.5, 0.25, 0.75].map((share) => quantile(ratios, share));
    figures.push({ id, unit, better, pairs: ratios.length, ratio, from, to, runs: { self, beside } });
    const medians = `${show(median(self))} / ${show(median(beside))}`;
    console.log(
      `${id.padEnd(24)} ${`${unit} ${better === 'more' ? '↑' : '↓'}`.padEnd(16)} ${medians.padEnd(24)} ${ratio.toFixed(3)}×  (${from.toFixed(3)} to ${to.toFixed(3)}, ${ratios.length} pairs)`,
    );
  }
  console.log(
    '\nhere / beside: medians; the ratio is the median of the pairs, in brackets the middle half of them',
  );
  for (const error of errors) console.log(`FAILED ${error}`);
  return figures;
}

/** Returns the value below which so large a share of the sorted values is. */
export function quantile(sorted, share) {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}

function show(value) {
  return Number(value.toPrecision(4)).toLocaleString('en');
}
