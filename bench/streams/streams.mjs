// `--streams`: many streams at once, beside as many jobs that report progress. The worker and the readers are two clients of this
// process. All alternate.
import { mkdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { JobQueue, Worker } from '../../dist/esm/core.js';
import { placesOf } from '../report/places.mjs';
import { median } from '../report/stats.mjs';
import { quantile } from '../turns/beside.mjs';
import { fillStreamsPage, ROWS, streamsTable } from './tables.mjs';

const { Redis } = createRequire(new URL('../../package.json', import.meta.url))('ioredis');
/** About a token of a language model. */
const TOKEN = 'token ';

const stream = (job, text) => job.stream.write(text);
const progress = (job, text) => job.progress(text);
const ended = (queue, { id }) => queue.result(id, { timeoutMs: 600_000 });

async function read(queue, { id }, onFirst, count) {
  let chunks = 0;
  for await (const { type } of queue.stream(id)) {
    if (type === 'chunk' && ++chunks === 1) onFirst();
  }
  if (chunks !== count) throw new Error(`${id} has ${chunks} chunks`);
}

/** How the jobs of each row say a value, and what waits for it. */
const WAYS = { unread: [stream, ended], read: [stream, read], progress: [progress, ended] };

export function streamsOptions(options, path) {
  const wrong = options.only?.find((id) => !(id in ROWS));
  if (wrong !== undefined) throw new Error(`--only ${wrong}: expected ${Object.keys(ROWS).join(', ')}`);
  return {
    only: options.only,
    ...placesOf(options, path, { figures: 'streams.json', page: 'internals/streams.md' }),
  };
}

/** Takes the samples, prints the table, and writes the report. */
export async function runStreams(bench, { machine, redis }, { only = Object.keys(ROWS), json, page }) {
  const size = bench.quick ? { jobs: 100, values: 10 } : { jobs: 1_000, values: 20 };
  const samples = Object.fromEntries(only.map((id) => [id, []]));
  for (let round = -1; round < bench.rounds; round++) {
    for (const id of round % 2 === 0 ? only : only.toReversed()) {
      const sample = await measure(bench.server.url, id, size, WAYS[id]);
      if (round >= 0) samples[id].push(sample); // the first round warms up
    }
    bench.log('.');
  }
  bench.log('\n');
  const medians = Object.fromEntries(Object.entries(samples).map(([id, all]) => [id, mediansOf(all)]));
  const report = { machine, redis, quick: bench.quick, rounds: bench.rounds, ...size, medians, samples };
  console.log(streamsTable(report));
  await mkdir(dirname(json), { recursive: true });
  await writeFile(json, `${JSON.stringify(report, null, 2)}\n`);
  if (page) await fillStreamsPage(page, report);
}

function mediansOf(samples) {
  const figures = Object.keys(samples[0]);
  return Object.fromEntries(figures.map((figure) => [figure, median(samples.map((sample) => sample[figure]))]));
}

/** Runs jobs that say `values` values each, while `listen` waits for each job. Returns the figures of one value. */
async function measure(url, id, { jobs: count, values }, [say, listen]) {
  const connections = Array.from({ length: 3 }, () => new Redis(url, { maxRetriesPerRequest: null }));
  const [redis, ofWorker, ofReaders] = connections;
  const name = `streams-${id}-${Date.now()}`;
  const [serves, reads] = [new JobQueue(ofWorker, name), new JobQueue(ofReaders, name)];
  const saidAt = new Map();
  const firsts = [];
  const handle = async (job) => {
    saidAt.set(job.id, performance.now());
    for (let i = 0; i < values; i++) await say(job, `${TOKEN}${i}`);
  };
  const worker = new Worker([{ queue: serves, concurrency: count, handlers: { [name]: handle } }]);
  const jobs = await reads.enqueueMany(Array.from({ length: count }, () => ({ payload: {} })));
  const onFirst = (job) => firsts.push(performance.now() - saidAt.get(job.id));
  const listening = jobs.map((job) => listen(reads, job, () => onFirst(job), values));
  await new Promise((resolve) => setTimeout(resolve, 500)); // the subscriptions
  await redis.config('RESETSTAT');
  const [before, startedAt, cpu] = [await used(redis), performance.now(), process.cpuUsage()];
  await worker.start();
  await Promise.all(listening);
  const seconds = (performance.now() - startedAt) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  const after = await used(redis);
  await worker.stop();
  [serves, reads].forEach((queue) => queue.close());
  connections.forEach((each) => each.disconnect());
  const said = count * values;
  firsts.sort((a, b) => a - b);
  return {
    scripts: (after.scripts - before.scripts) / said,
    commands: (after.all - before.all) / said,
    redisUs: (after.us - before.us) / said,
    nodeUs: (user + system) / said,
    perSecond: said / seconds,
    ...(firsts.length > 0 && { firstP50: quantile(firsts, 0.5), firstP99: quantile(firsts, 0.99) }),
  };
}

/** Returns the CPU of the server in µs, and the calls of its commands: scripts, and all. */
async function used(redis) {
  const [cpu, stats] = [await redis.info('cpu'), await redis.info('commandstats')];
  const seconds = [...cpu.matchAll(/^used_cpu_(?:sys|user)_main_thread:([\d.]+)/gm)].map(([, s]) => Number(s));
  const calls = [...stats.matchAll(/^cmdstat_(\S+?):calls=(\d+)/gm)];
  const sum = (list) => list.reduce((total, [, , count]) => total + Number(count), 0);
  const scripts = calls.filter(([, command]) => command.startsWith('eval'));
  return { us: (seconds[0] + seconds[1]) * 1e6, scripts: sum(scripts), all: sum(calls) };
}
