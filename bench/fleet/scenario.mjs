// The two things that every measure is made of: jobs are enqueued, jobs are processed. Both check what happened.
import { loadPeer } from '../peers/index.mjs';

let lastQueue = 0;

/**
 * Opens a queue with a new name on a server with a producer, runs `use`, and closes everything. The server is empty,
 * except where `clears` is false, for contestants that use it together.
 */
export async function withQueue(
  bench,
  contestant,
  { keep = 1_000, events = true, concurrency = 100, delays = false, url = bench.server.url, clears = true },
  use,
) {
  if (clears) await bench.server.clear();
  const peer = await loadPeer(contestant);
  const queue = `bench-${++lastQueue}`;
  const options = { url, queue, keep, events, concurrency, delays };
  const producer = await bench.fleet.producer(contestant);
  await producer.call('open', options);
  try {
    return await use({ bench, contestant, producer, options, keep, keepsAll: peer.keepsAll === true, queue });
  } finally {
    await producer.call('close');
  }
}

/** Enqueues, and checks that exactly this many jobs wait. Costs are per job. */
export async function enqueue({ bench, producer, contestant }, load) {
  const { server } = bench;
  const { count, from = 0, expectWaiting = from + count } = load;
  const before = await server.probe();
  const { us, cpuUs } = await producer.call('enqueue', { from, ...load });
  const used = await server.since(before);
  if (expectWaiting !== null) {
    const counts = await producer.call('counts');
    const found = load.mode === 'delayed' ? counts.scheduled : counts.waiting;
    check(found === expectWaiting, contestant, `${expectWaiting} jobs to wait after the enqueue`, counts);
  }
  return perJob(count, us, cpuUs, used);
}

/**
 * Runs the `total` waiting jobs in one or more worker processes. Checks that every handler ran once, that no job is
 * left, and that the history is right. Costs are per job. `during` may enqueue while the workers run.
 */
export async function processAll(
  scene,
  { total, workers = 1, during, withinMs = scene.bench.withinMs ?? 60_000, ...worker },
) {
  const { bench, contestant, producer, options, keep, keepsAll } = scene;
  const agents = await bench.fleet.workers(contestant, workers);
  // A single worker reports the end itself; for several, the sum is polled.
  const watch = workers === 1 ? { target: total } : { progress: true };
  const started = [];
  try {
    for (const agent of agents) {
      await agent.call('open', options);
      started.push(agent);
      await agent.call('prepareWorker', { total, ...worker, ...watch });
    }
    const reached = allRan(agents, total, contestant, withinMs);
    const before = await bench.server.probe();
    const starts = await Promise.all(agents.map((agent) => agent.call('startWorker')));
    await Promise.all([reached, during?.()]);
    const completed = keepsAll ? total : Math.min(total, keep);
    const { at, counts } = await producer.call('waitSettled', { completed });
    const usages = await Promise.all(agents.map((agent) => agent.call('workerUsage')));
    const used = await bench.server.since(before);
    const stops = await Promise.all(started.splice(0).map(stopWorker));
    checkRan(contestant, total, completed, stops, counts);
    const us = at - Math.min(...starts.map((start) => start.at));
    const cpuUs = sum(usages.map((usage) => usage.cpuUs));
    return { ...perJob(total, us, cpuUs, used), latencies: stops.flatMap(({ latencies }) => latencies) };
  } finally {
    await Promise.all(started.map(stopWorker));
  }
}

async function stopWorker(agent) {
  const ran = await agent.call('stopWorker');
  await agent.call('close');
  return ran;
}

function checkRan(contestant, total, completed, stops, counts) {
  const ran = sum(stops.map(({ runs }) => runs));
  const repeated = sum(stops.map((stop) => stop.repeated));
  check(ran === total && repeated === 0, contestant, `${total} jobs to run once each`, { ran, repeated });
  check(counts.failed === 0, contestant, 'no failed job', counts);
  // A history is trimmed in slices by some, so a few more than the cap are right.
  check(counts.completed <= completed * 1.1 + 100, contestant, `about ${completed} kept completed jobs`, counts);
}

function allRan(agents, total, contestant, withinMs) {
  const runs = new Map();
  return new Promise((resolve, reject) => {
    const stopListening = agents.map((agent) =>
      agent.onEvent((event) => {
        if (event.event === 'runs') runs.set(agent, event.runs);
        if (event.event === 'reached' || sum([...runs.values()]) >= total) finish(resolve);
      }),
    );
    const giveUp = () =>
      finish(() => reject(new Error(`${contestant}: ${total} jobs did not all run within ${withinMs} ms`)));
    const timer = setTimeout(giveUp, withinMs);
    const finish = (settle) => {
      clearTimeout(timer);
      for (const stop of stopListening) stop();
      settle();
    };
  });
}

function perJob(count, us, cpuUs, used) {
  return {
    perSecond: (count / us) * 1e6,
    nodeUs: cpuUs / count,
    redisUs: used.cpuUs / count,
    redisBusy: used.cpuUs / us,
    bytes: (used.bytesIn + used.bytesOut) / count,
  };
}

export function check(holds, contestant, expected, found) {
  if (!holds) throw new Error(`${contestant}: expected ${expected}, found ${JSON.stringify(found)}`);
}

export function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}
