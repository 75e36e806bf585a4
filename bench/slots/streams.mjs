// node bench/slots/streams.mjs [streams] [chunks]: many streams at once, beside as many jobs that report progress. The worker and
// the readers are two clients of one process. Prints the table of docs/internals/streams.md. Needs `npm run build`.
import { createRequire } from 'node:module';
import { startRedisServer } from '../../scripts/redis/redis-server.mjs';
import { JobQueue, Worker } from '../../dist/esm/core.js';
import { quantile } from '../turns/beside.mjs';

const { Redis } = createRequire(new URL('../../package.json', import.meta.url))('ioredis');
const STREAMS = Number(process.argv[2] ?? 1_000);
const CHUNKS = Number(process.argv[3] ?? 50);
/** About a token of a language model. */
const TOKEN = 'token ';

const server = await startRedisServer();
const connect = () => new Redis(server.url, { maxRetriesPerRequest: null });
const redis = connect();

/** Returns the CPU of the server in µs, and the calls of its commands: those of clients, and all. */
async function used() {
  const [cpu, stats] = [await redis.info('cpu'), await redis.info('commandstats')];
  const seconds = [...cpu.matchAll(/^used_cpu_(?:sys|user)_main_thread:([\d.]+)/gm)].map(([, s]) => Number(s));
  const calls = [...stats.matchAll(/^cmdstat_(\S+?):calls=(\d+)/gm)].map(([, name, count]) => [
    name,
    Number(count),
  ]);
  const sum = (list) => list.reduce((total, [, count]) => total + count, 0);
  const scripts = calls.filter(([name]) => /^eval/.test(name));
  return { us: (seconds[0] + seconds[1]) * 1e6, scripts: sum(scripts), all: sum(calls) };
}

/** Runs jobs that each say `CHUNKS` things, by `say`, while `listen` waits for each. Returns the figures of the whole. */
async function measure(name, say, listen) {
  const [serves, reads] = [new JobQueue(connect(), name), new JobQueue(connect(), name)];
  const said = new Map();
  const firsts = [];
  const handle = async (job) => {
    for (let i = 0; i < CHUNKS; i++) {
      if (i === 0) said.set(job.id, performance.now());
      await say(job, `${TOKEN}${i}`);
    }
  };
  const worker = new Worker([{ queue: serves, concurrency: STREAMS, handlers: { [name]: handle } }]);
  const jobs = await reads.enqueueMany(Array.from({ length: STREAMS }, () => ({ payload: {} })));
  const listening = jobs.map((job) => listen(reads, job, () => firsts.push(performance.now() - said.get(job.id))));
  await new Promise((resolve) => setTimeout(resolve, 500)); // the subscriptions
  await redis.config('RESETSTAT');
  const [before, started, cpu] = [await used(), performance.now(), process.cpuUsage()];
  await worker.start();
  await Promise.all(listening);
  const seconds = (performance.now() - started) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  const after = await used();
  await worker.stop();
  [serves, reads].forEach((queue) => queue.close());
  const each = (total) => (total / (STREAMS * CHUNKS)).toFixed(2);
  const row = {
    'first p50, ms':
      quantile(
        firsts.toSorted((a, b) => a - b),
        0.5,
      )?.toFixed(1) ?? '–',
    'per second': Math.round((STREAMS * CHUNKS) / seconds),
    'Redis µs each': each(after.us - before.us),
    'Node µs each': each(user + system),
    'scripts each': each(after.scripts - before.scripts),
    'commands each': each(after.all - before.all),
  };
  console.log(name, row);
}

const stream = (job, text) => job.stream.write(text);
const progress = (job, text) => job.progress(text);
const ended = (queue, { id }) => queue.result(id, { timeoutMs: 600_000 });

await measure('streams-unread', stream, ended);
await measure('streams-read', stream, async (queue, { id }, onFirst) => {
  let chunks = 0;
  for await (const { type } of queue.stream(id)) {
    if (type === 'chunk' && ++chunks === 1) onFirst();
  }
  if (chunks !== CHUNKS) throw new Error(`${id} has ${chunks} chunks`);
});
await measure('progress', progress, ended);
process.exit(0);
