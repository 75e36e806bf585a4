// Alternation: in every round each contestant takes the same measure, in rotating order. So a change of the machine's
// speed affects all.
import { enqueue, processAll, withQueue } from '../fleet/scenario.mjs';
import { Turns } from './turns.mjs';

export function selectMeasures(measures, { only, quick }) {
  const known = new Set(measures.flatMap(({ id, figures }) => [id, ...Object.keys(figures)]));
  for (const id of only ?? []) {
    if (!known.has(id) && !derived[id])
      throw new Error(`--only: expected one of ${[...known].join(', ')}, found ${id}`);
  }
  if (!only) return measures.filter(({ quick: short, observed }) => !observed && (short || !quick));
  const wanted = new Set(only.flatMap((id) => [id, ...(derived[id]?.from ?? [])]));
  return measures.filter(({ id, figures }) => [id, ...Object.keys(figures)].some((name) => wanted.has(name)));
}

/**
 * Lets both roles of each contestant do some work before anything counts, so that their code and scripts are
 * loaded.
 */
export async function warmUp(bench) {
  for (const contestant of bench.contestants.keys()) {
    await withQueue(bench, contestant, {}, async (scene) => {
      await enqueue(scene, { mode: 'parallel', count: 1_000 });
      await enqueue(scene, { mode: 'bulk', from: 1_000, count: 3_000 });
      await processAll(scene, { total: 4_000, concurrency: 100 });
    });
  }
}

/** Returns { values: { figure: { contestant: number[] } }, errors: string[] }. */
export async function takeSamples(bench, selected) {
  const samples = { values: {}, errors: [] };
  bench.samples = samples;
  for (const measure of selected) {
    const began = performance.now();
    bench.log(`${measure.id} `);
    await measure.setUp?.(bench);
    const ids = [...bench.contestants.keys()].filter((id) => id !== 'nest' || measure.nest || bench.pairs);
    const playing = new Set(ids);
    const enough = measure.rounds ?? Infinity;
    const asked = bench.quick || bench.pairs ? bench.rounds : bench.rounds * (measure.times ?? 1);
    const rounds = Math.min(asked, bench.quick ? enough - 1 : enough);
    // The full run has an uncounted round before each measure; the quick one warms up only at the start.
    for (let round = bench.quick ? 0 : -1; round < rounds; round++) {
      const order = ids
        .map((_, turn) => ids[(turn + round + ids.length) % ids.length])
        .filter((id) => playing.has(id));
      const take = (id) => takeOne(bench, measure, id, round, samples, playing);
      if (measure.together) await takeTogether(bench, round % 2 === 0 ? order : order.reverse(), take);
      else for (const id of order) await take(id);
      bench.log('.');
    }
    await measure.tearDown?.(bench);
    bench.log(` ${((performance.now() - began) / 1_000).toFixed(1)} s\n`);
  }
  return samples;
}

/**
 * Measures all contestants at once, on a server without their keys and scripts. They share it by `bench.turns`. Every
 * other round reverses the order, so that the predecessor of a contestant changes.
 */
async function takeTogether(bench, order, take) {
  await bench.server.clear();
  await bench.server.forgetScripts();
  bench.turns = new Turns(order);
  await Promise.all(order.map((id) => take(id).finally(() => bench.turns.leave(id))));
}

async function takeOne(bench, measure, contestant, round, samples, playing) {
  try {
    const sample = await measure.sample(bench, contestant);
    if (round < 0) return;
    for (const [figure, value] of Object.entries(sample)) {
      if (value === null) continue;
      samples.values[figure] ??= {};
      (samples.values[figure][contestant] ??= []).push(value);
    }
  } catch (error) {
    // A contestant that fails a check has no figure here at all, rather than one of its lucky rounds.
    playing.delete(contestant);
    for (const figure of Object.keys(measure.figures)) delete samples.values[figure]?.[contestant];
    samples.errors.push(`${measure.id}: ${error.message}`);
    bench.log(`\n  ${error.message}\n`);
  }
}

/** Figures derived from others, round by round. */
const derived = {
  'nest.vs.core': {
    from: ['process.c100'],
    text: 'processing through the Nest module, as a share of the bare core',
    of: (values) => {
      const { self, nest } = values['process.c100'] ?? {};
      return self && nest ? { self: nest.map((value, round) => value / self[round]) } : undefined;
    },
  },
  'process.c100.nest': {
    from: ['process.c100'],
    unit: 'jobs/s',
    text: 'processing, concurrency 100, a decorated handler in a Nest app',
    of: (values) => {
      const { nest, self, ...peers } = values['process.c100'] ?? {};
      return nest ? { self: nest, ...peers } : undefined;
    },
  },
};

export function addDerived(samples, only) {
  samples.figures = {};
  for (const [id, { of, text, unit = 'share' }] of Object.entries(derived)) {
    const values = of(samples.values);
    if (!values || (only && !only.includes(id) && !only.includes('process.c100'))) continue;
    samples.figures[id] = { unit, better: 'more', text };
    samples.values[id] = values;
  }
  return samples;
}
