// npm run bench -- --queues: what many idle queues of a process cost, and how soon a job starts there.
// Writes docs/internals/figures/queues.json, a plot, and the tables of docs/scaling.md.
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Agent } from '../fleet/fleet.mjs';
import { placesOf } from '../report/places.mjs';
import { quantile } from '../report/stats.mjs';
import { plot } from '../growth/plot.mjs';
import { Masters } from './masters.mjs';
import { fillQueues, queuesTables } from './tables.mjs';

const QUEUES = [1, 8, 64, 300, 1_000, 5_000];
const MASTERS = [1, 3, 6];
const CONTESTANTS = ['self', 'bullmq'];

/** A start that takes longer counts as none, in ms. */
const LONGEST_START_MS = 60_000;

/** The most connections that a process can open, because a server has 10,000 clients at the most by default. */
const MOST_CONNECTIONS = 9_000;

/** The first round of maintenance is over when a process has settled. A window of 60 s has all that repeats each minute. */
const TIMES = {
  quick: { settleMs: 6_000, windowMs: 10_000, jobs: 20 },
  whole: { settleMs: 10_000, windowMs: 60_000, jobs: 100 },
};

/** The pause between two jobs, in ms. */
const PACE_MS = 50;

/** The most queues that get jobs. */
const MOST_FED = 20;

const agentPath = fileURLToPath(new URL('./agent.mjs', import.meta.url));

/** Returns the options of a run. */
export function queuesOptions(options, path) {
  return { only: options.only, ...placesOf(options, path, { figures: 'queues.json', page: 'scaling.md' }) };
}

/** @param options.only cells such as `q300.m3`, all of them by default. The JSON keeps its other cells. */
export async function runQueues(bench, { machine, redis, contestants }, { only, json, plots, page }) {
  const ids = CONTESTANTS.filter((id) => contestants.has(id));
  const cells = cellsOf(only);
  const known = only && existsSync(json) ? JSON.parse(await readFile(json, 'utf8')).rows : [];
  const keyOf = ({ id, contestant }) => `${contestant} ${id}`;
  const byKey = new Map(known.map((row) => [keyOf(row), row]));
  for (const masters of MASTERS) {
    for (const contestant of ids) {
      const some = cells.filter((cell) => cell.masters === masters);
      const measured = await measureTogether(bench, contestant, some);
      measured.forEach((row) => byKey.set(keyOf(row), row));
    }
  }
  const rows = [...byKey.values()];
  const versions = Object.fromEntries(ids.map((id) => [id, contestants.get(id).version]));
  const report = { machine, redis, versions, quick: bench.quick, rows };
  for (const folder of [plots, dirname(json)]) await mkdir(folder, { recursive: true });
  await writeFile(json, `${JSON.stringify(report, null, 2)}\n`);
  await writeFile(join(plots, 'queues.svg'), draw(report));
  if (page) await writeFile(page, fillQueues(await readFile(page, 'utf8'), report));
  console.log(`\n${queuesTables(report)}`);
}

function cellsOf(only) {
  const cells = MASTERS.flatMap((masters) =>
    QUEUES.map((queues) => ({ id: `q${queues}.m${masters}`, queues, masters })),
  );
  for (const id of only ?? []) {
    if (!cells.some((cell) => cell.id === id)) {
      throw new Error(`--only: expected one of ${cells.map((cell) => cell.id).join(', ')}, found ${id}`);
    }
  }
  return cells.filter(({ id }) => !only || only.includes(id));
}

/**
 * Measures the cells of one contestant. Each has its own process and servers. They start one after another and then idle
 * side by side, because an idle process does little. Their jobs come one after another too.
 */
async function measureTogether(bench, contestant, cells) {
  const { settleMs, windowMs, jobs } = bench.quick ? TIMES.quick : TIMES.whole;
  const scenes = [];
  try {
    for (const cell of cells) {
      bench.log(`${contestant} ${cell.id} `);
      scenes.push(await startScene(contestant, cell));
    }
    const running = scenes.filter(({ failure }) => !failure);
    if (running.length === 0) return scenes.map(({ cell }) => ({ ...cell, contestant, figures: null }));
    await sleep(settleMs);
    await Promise.all(running.map((scene) => measureIdle(scene, windowMs)));
    for (const scene of running) await measureLatency(scene, contestant, jobs);
  } finally {
    for (const { agent, producer, masters } of scenes) {
      agent?.stop();
      producer?.stop();
      await masters?.stop();
    }
    bench.log('\n');
  }
  return scenes.map(({ cell, failure, figures }) => ({
    ...cell,
    contestant,
    ...(failure && { failure }),
    figures: failure ? null : figures,
  }));
}

/** Starts a process with workers of all queues. A scene that cannot start has a `failure`. */
async function startScene(contestant, cell) {
  if (contestant === 'bullmq' && cell.queues * cell.masters > MOST_CONNECTIONS) {
    return { cell, failure: 'a connection for each queue and master is more than a server takes' };
  }
  const names = Array.from({ length: cell.queues }, (_, i) => `queue-${i}`);
  const masters = await Masters.start(cell.masters);
  const agent = await Agent.start(contestant, agentPath);
  const scene = { cell, names, masters, agent, figures: {} };
  try {
    const started = agent.call('work', { nodes: masters.nodes, names });
    const late = sleep(LONGEST_START_MS, undefined, { ref: false }).then(() => {
      throw new Error(`not ready after ${LONGEST_START_MS / 1_000} s`);
    });
    scene.figures.startMs = Math.round(await Promise.race([started, late]));
  } catch (error) {
    scene.failure = error.message.split('\n')[0];
  }
  return scene;
}

async function measureIdle({ masters, agent, figures }, windowMs) {
  const read = async () => ({
    ...(await masters.commands()),
    redis: await masters.cpuUs(),
    node: await agent.call('cpuUs'),
    at: performance.now(),
  });
  const before = await read();
  await sleep(windowMs);
  const after = await read();
  const perSecond = (of) => ((after[of] - before[of]) * 1_000) / (after.at - before.at);
  Object.assign(figures, {
    sentPerSecond: round(perSecond('sent')),
    insidePerSecond: round(perSecond('inside')),
    redisPercent: round(perSecond('redis') / 10_000),
    nodePercent: round(perSecond('node') / 10_000),
    connections: await masters.clients(),
  });
}

/** Enqueues jobs one by one, to queues in turn. The first job of each queue does not count. */
async function measureLatency(scene, contestant, jobs) {
  const { masters, agent, names, figures } = scene;
  scene.producer = await Agent.start(contestant, agentPath);
  const fed = names.slice(0, MOST_FED);
  await scene.producer.call('open', { nodes: masters.nodes, names: fed });
  const feed = async (count) => {
    for (let n = 0; n < count; n++) {
      await scene.producer.call('enqueue', { i: n % fed.length });
      await sleep(PACE_MS);
    }
    return untilAll(agent, count);
  };
  await feed(fed.length);
  const latencies = await feed(jobs);
  Object.assign(figures, {
    p50Ms: round(quantile(latencies, 0.5) / 1_000),
    p95Ms: round(quantile(latencies, 0.95) / 1_000),
  });
}

async function untilAll(agent, count) {
  const all = [];
  for (const deadline = performance.now() + LONGEST_START_MS; performance.now() < deadline; await sleep(20)) {
    all.push(...(await agent.call('latencies')));
    if (all.length >= count) return all;
  }
  throw new Error(`${count - all.length} of ${count} jobs did not start`);
}

/** Returns a number with three digits. */
function round(value) {
  return Number(value.toPrecision(3));
}

function draw({ rows, versions }) {
  const names = { self: 'nest-job-queue', bullmq: `BullMQ ${versions.bullmq}` };
  const series = Object.keys(versions).flatMap((contestant) =>
    MASTERS.map((masters) => ({
      name: `${names[contestant]}, ${masters === 1 ? 'one server' : `${masters} masters`}`,
      points: rows
        .filter((row) => row.contestant === contestant && row.masters === masters && row.figures)
        .toSorted((a, b) => a.queues - b.queues)
        .map(({ queues, figures }) => ({ level: queues, us: figures.sentPerSecond })),
    })),
  );
  const subtext = 'commands that one process sends a second';
  return plot(
    'What idle queues cost',
    'queues',
    series.filter(({ points }) => points.length > 0),
    {
      subtext,
      scales: { x: 'log', y: 'log' },
    },
  );
}
