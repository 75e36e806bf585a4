// npm run bench -- --flow: limits, groups and their fairness. Writes docs/internals/figures/flow-benchmark.json, the
// plots beside those of --growth, and the tables of docs/internals/flow-control.md.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { plot } from '../growth/plot.mjs';
import { claims } from './claims.mjs';
import { backlogs, weights } from './fairness.mjs';
import { idle } from './idle.mjs';
import { rate } from './rate.mjs';
import { starts } from './starts.mjs';
import { fillFlow } from './tables.mjs';
import { throughput } from './throughput.mjs';

const parts = [rate, weights, backlogs, claims, throughput, starts, idle];

/** Returns where a run writes: a whole run renews the docs, a quick run writes into bench/results. */
export function flowOptions({ quick, only, json, plots }, path) {
  const docs = (name) => fileURLToPath(new URL(`${quick ? '../results' : '../../docs'}/${name}`, import.meta.url));
  return {
    only,
    json: json ? path(json) : docs(`${quick ? '' : 'internals/figures/'}flow-benchmark.json`),
    plots: plots ? path(plots) : docs('images'),
    page: quick || json ? undefined : docs('internals/flow-control.md'),
  };
}

/** Runs the parts. With `only`, the other parts keep their figures of an earlier run of the same length. */
export async function runFlow(bench, context, { json, plots, page, only = parts.map(({ id }) => id) }) {
  for (const id of only) {
    if (!parts.some((part) => part.id === id))
      throw new Error(`--only: expected one of ${parts.map((part) => part.id).join(', ')}, found ${id}`);
  }
  for (const folder of [plots, dirname(json)]) await mkdir(folder, { recursive: true });
  const earlier = await readEarlier(json, bench.quick);
  const measured = [];
  for (const part of parts) {
    if (!only.includes(part.id)) {
      measured.push(...earlier.filter(({ id }) => id === part.id));
      continue;
    }
    bench.log(`${part.id}: ${part.text}\n`);
    const began = performance.now();
    const { plot: drawn, ...result } = await part.run(bench);
    measured.push({
      id: part.id,
      text: part.text,
      seconds: Math.round((performance.now() - began) / 1_000),
      ...result,
    });
    if (drawn) await writeFile(join(plots, `flow-${part.id}.svg`), draw(drawn));
    print(measured.at(-1));
  }
  const { machine, redis, contestants } = context;
  const versions = Object.fromEntries([...contestants].map(([id, { version }]) => [id, version]));
  const report = { machine, redis, versions, quick: bench.quick, parts: measured };
  await writeFile(json, `${JSON.stringify(report, null, 2)}\n`);
  if (page) await writeFile(page, fillFlow(await readFile(page, 'utf8'), report));
  for (const { text, value, goal, met } of measured.flatMap(({ figures }) => figures))
    if (met === false) console.error(`MISSED ${text}: expected ${goal}, found ${value}`);
}

async function readEarlier(json, quick) {
  const text = await readFile(json, 'utf8').catch(() => undefined);
  const report = text && JSON.parse(text);
  return report && report.quick === quick ? report.parts : [];
}

const draw = ({ title, axis, series, ...options }) =>
  plot(
    title,
    axis,
    series.map(({ name, points }) => ({ name, points: points.map(([level, us]) => ({ level, us })) })),
    options,
  );

function print({ seconds, figures }) {
  for (const { id, value, unit, goal, met } of figures) {
    const verdict = goal ? `${goal}: ${met ? 'met' : 'MISSED'}` : '';
    console.log(`  ${id.padEnd(22)} ${String(value).padStart(8)} ${unit.padEnd(6)} ${verdict}`);
  }
  console.log(`  ${seconds} s\n`);
}
