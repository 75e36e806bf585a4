// What `--outbox` measures. A measure takes one sample of one contestant, and gives one or more figures:
//
//   id, figures      as in ../measures
//   contestants      ours and the rivals by default
//   sample(scene, contestant) → { id: number }
import { setTimeout as sleep } from 'node:timers/promises';
import { quantile } from '../report/stats.mjs';
import { RIVALS } from './peers.mjs';

const TRANSACTIONS = 2_500;
const ROWS = 20_000;
const BURST = 10_000;
const SLOW = 100;
const PACE_MS = 20;
const LONGEST_MS = 60_000;
/** The time after its start in which a worker does more than later, in ms. */
const SETTLE_MS = 300;

const add = {
  id: 'add',
  contestants: ['self', ...RIVALS, 'bare'],
  figures: {
    'add.rate': { unit: 'transactions/s', better: 'more', text: 'transactions of a row and a job, 8 at a time' },
    'add.node': { unit: 'µs', better: 'less', text: 'Node CPU of such a transaction' },
    'add.postgres': { unit: 'µs', better: 'less', text: 'PostgreSQL CPU of such a transaction' },
    'add.cpu': { unit: 'µs', better: 'less', text: 'Node and PostgreSQL CPU of such a transaction' },
  },
  sample: (scene, contestant) =>
    scene.with(contestant, { producer: { relays: false } }, async (producer) => {
      const count = scene.bench.scale(TRANSACTIONS);
      const before = await scene.cpuUs();
      const { us, cpuUs } = await producer.call('add', { count });
      const after = await scene.cpuUs();
      const postgresUs = after.postgres - before.postgres;
      if (contestant !== 'bare') check(contestant, 'jobs', await scene.waiting(contestant), count);
      return {
        'add.rate': (count * 1e6) / us,
        'add.node': cpuUs / count,
        'add.postgres': postgresUs / count,
        'add.cpu': (cpuUs + postgresUs) / count,
      };
    }),
};

const relay = {
  id: 'relay',
  contestants: ['self'],
  figures: {
    'relay.rate': { unit: 'rows/s', better: 'more', text: 'rows that a relay moves into their queue' },
    'relay.cpu': { unit: 'µs', better: 'less', text: 'Node, PostgreSQL and Redis CPU of a moved row' },
  },
  sample: (scene, contestant) =>
    scene.with(contestant, { producer: { relays: false } }, async (producer) => {
      const count = scene.bench.scale(ROWS);
      await producer.call('stage', { count });
      await producer.call('commit');
      const before = await scene.cpuUs();
      const { us, cpuUs } = await producer.call('ship');
      const after = await scene.cpuUs();
      check(contestant, 'rows left', await scene.waiting(contestant), 0);
      const ids = await scene.bench.server.control.lrange('queue:bench:pending', 0, -1);
      check(contestant, 'jobs', new Set(ids).size, count);
      check(contestant, 'ids of jobs', ids.length, count);
      return {
        'relay.rate': (count * 1e6) / us,
        'relay.cpu': (cpuUs + sinceUs(before, after)) / count,
      };
    }),
};

const both = { producer: { relays: true }, worker: { relays: true, runs: true } };

const burst = {
  id: 'burst',
  figures: {
    'burst.rate': {
      unit: 'jobs/s',
      better: 'more',
      text: `${BURST.toLocaleString('en')} jobs of one transaction, from its commit until all have run`,
    },
    'burst.cpu': { unit: 'µs', better: 'less', text: 'CPU of one of these jobs, of Node and all servers' },
  },
  sample: (scene, contestant) =>
    scene.with(contestant, both, async (producer, worker) => {
      const count = scene.bench.scale(BURST);
      await producer.call('stage', { count });
      await sleep(SETTLE_MS);
      await worker.call('expect', { count });
      const before = await scene.cpuUs();
      const ran = nextRun(worker);
      const { at: from } = await producer.call('commit');
      const { at, cpuUs } = await ran;
      const after = await scene.cpuUs();
      const node = cpuUs + (await producer.call('cpuUs'));
      await checkRuns(contestant, worker, count);
      return {
        'burst.rate': (count * 1e6) / (at - from),
        'burst.cpu': (node + sinceUs(before, after)) / count,
      };
    }),
};

/** Returns a measure of latencies: from a commit to the start of its job's handler. */
function latencyOf(id, text, wakes) {
  const [p50, p95] = [`${id}.p50`, `${id}.p95`];
  return {
    id,
    ...(wakes && { contestants: ['self'] }),
    figures: {
      [p50]: { unit: 'ms', better: 'less', text: `${text}, median` },
      [p95]: { unit: 'ms', better: 'less', text: `${text}, 95th percentile` },
    },
    async sample(scene, contestant) {
      const latencies = await latenciesOf(scene, contestant, wakes);
      return { [p50]: quantile(latencies, 0.5), [p95]: quantile(latencies, 0.95) };
    },
  };
}

const latency = latencyOf('latency', 'from the commit to the start of the handler, idle', false);
const woken = latencyOf('woken', 'the same with outbox.wake() after the commit', true);

function latenciesOf(scene, contestant, wakes) {
  return scene.with(contestant, both, async (producer, worker) => {
    await worker.call('expect', { count: SLOW });
    await sleep(SETTLE_MS);
    const ran = nextRun(worker);
    const committedAt = await producer.call('addSlowly', { count: SLOW, paceMs: PACE_MS, wakes });
    await ran;
    const { startedAt } = await checkRuns(contestant, worker, SLOW);
    return startedAt.map((at, n) => (at - committedAt[n]) / 1_000);
  });
}

/** Resolves when a worker has run what it expects. */
function nextRun(worker) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`not all jobs ran within ${LONGEST_MS} ms`)), LONGEST_MS);
    const stop = worker.onEvent((event) => {
      clearTimeout(timer);
      stop();
      resolve(event);
    });
  });
}

/** Waits a moment for jobs that run twice. */
async function checkRuns(contestant, worker, count) {
  await sleep(20);
  const outcome = await worker.call('outcome');
  check(contestant, 'runs', outcome.runs, count);
  check(contestant, 'repeated runs', outcome.repeated, 0);
  return outcome;
}

function check(contestant, what, found, expected) {
  if (found !== expected) throw new Error(`${contestant}: expected ${expected} ${what}, found ${found}`);
}

function sinceUs(before, after) {
  return after.postgres - before.postgres + after.redis - before.redis;
}

export const measures = [add, relay, burst, latency, woken];
