// node bench/queues/spread.mjs [--jobs N] [--rounds N]: what a job of a queue with shards costs the masters.
// The first row is a queue without shards on a server without a Cluster. The others are Clusters, with as many shards each. One process
// adds the jobs, 500 at a time, and runs them. It is the bottleneck. So the figure is the CPU time of the masters. Prints the
// median of the rounds, and its difference from a Cluster of one master.
import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { median } from '../report/stats.mjs';
import { Masters } from './masters.mjs';

const { Cluster, Redis } = createRequire(new URL('../../package.json', import.meta.url))('ioredis');
const { JobHandler, JobQueueModule, JobQueueService } = await import('../../dist/esm/index.js');

const CELLS = [
  { masters: 1, spread: 1 },
  { masters: 1, spread: 16 },
  { masters: 3, spread: 16 },
  { masters: 6, spread: 16 },
];
/** The jobs of one call, which are one atomic step of a shard. */
const SLICE = 500;
/** The jobs that run before the clock starts, so that code and scripts are warm. */
const WARM = 2_000;

const { values } = parseArgs({
  options: { jobs: { type: 'string', default: '20000' }, rounds: { type: 'string', default: '3' } },
});

async function measure({ masters: count, spread }) {
  const isCluster = spread > 1;
  const masters = await Masters.start(count, isCluster);
  const [node] = masters.nodes;
  const redis = isCluster ? new Cluster(masters.nodes) : new Redis(node);
  let done = 0;
  let ended = () => undefined;
  class Ingest {
    handle() {
      if (--done === 0) ended();
    }
  }
  JobHandler('ingest', { spread, concurrency: 100, keepResult: false })(Ingest);
  class App {}
  Module({ imports: [JobQueueModule.forRoot({ redis })], providers: [Ingest] })(App);
  const app = await NestFactory.createApplicationContext(App, { logger: false });
  const jobs = app.get(JobQueueService);
  const run = async (total) => {
    done = total;
    const all = new Promise((resolve) => (ended = resolve));
    for (let i = 0; i < total; i += SLICE) {
      await jobs.enqueueMany(
        'ingest',
        Array.from({ length: Math.min(SLICE, total - i) }, (_, n) => ({ payload: { sensor: i + n } })),
      );
    }
    await all;
  };
  try {
    await run(WARM);
    const [before, at] = [await masters.cpuUs(), performance.now()];
    await run(Number(values.jobs));
    const [after, now] = [await masters.cpuUs(), performance.now()];
    return { perCpuSecond: (values.jobs * 1e6) / (after - before), perSecond: (values.jobs * 1e3) / (now - at) };
  } finally {
    await app.close();
    redis.disconnect();
    await masters.stop();
  }
}

const rows = CELLS.map((cell) => ({ ...cell, samples: [] }));
for (let round = 0; round < Number(values.rounds); round++) {
  for (const row of rows) row.samples.push(await measure(row)); // in turns, because the speed of a machine changes
}
const middle = ({ samples }, figure) => median(samples.map((sample) => sample[figure]));
const base = middle(rows[1], 'perCpuSecond');
for (const row of rows) {
  const figure = middle(row, 'perCpuSecond');
  console.log(
    `${row.masters} masters, ${row.spread} shards: ${Math.round(figure)} jobs/s of a master's CPU second ` +
      `(${Math.round((figure / base - 1) * 100)} %), ${Math.round(middle(row, 'perSecond'))} jobs/s in all`,
  );
}
