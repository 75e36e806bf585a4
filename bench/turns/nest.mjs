// `--nest`: the cost of Nest's variants beside the bare core. A round has a sample of each.
import { quantile } from './beside.mjs';
import { median } from '../report/stats.mjs';

export const NEST_MEASURES = ['process.c100', 'process.c1'];

/** The reported figures: the rate at two concurrencies, and the processor time per job. */
const FIGURES = ['process.c100', 'node.us.process', 'process.c1'];

/** Prints and returns, for each figure, the medians and the ratios to the core. */
export function reportNest({ machine, redis, contestants }, measures, { values, errors }) {
  const described = Object.assign({}, ...measures.map(({ figures }) => figures));
  const names = Object.fromEntries([...contestants].map(([id, peer]) => [id, nameOf(id, peer)]));
  const figures = FIGURES.filter((id) => values[id]).map((id) => {
    const { unit, better, text } = described[id];
    const rows = Object.entries(values[id]).map(([contestant, runs]) => {
      const ratios = runs.map((value, round) => value / values[id].self[round]).toSorted((a, b) => a - b);
      const [ratio, from, to] = [0.5, 0.25, 0.75].map((share) => quantile(ratios, share));
      return { contestant, name: names[contestant], value: median(runs), ratio, from, to, runs };
    });
    return { id, unit, better, text, rows };
  });
  for (const { id, unit, rows } of figures) {
    console.log(`\n${id}, ${unit}`);
    for (const { name, value, ratio, from, to } of rows)
      console.log(
        `  ${name.padEnd(66)} ${Number(value.toPrecision(4)).toLocaleString('en').padStart(9)}  ${ratio.toFixed(3)} (${from.toFixed(3)} to ${to.toFixed(3)})`,
      );
  }
  for (const error of errors) console.log(`FAILED ${error}`);
  return { machine, redis, figures };
}

function nameOf(id, { settings }) {
  if (id === 'self') return 'the core, without Nest';
  return id === 'nest' ? 'a handler without enhancers' : settings.trial;
}
