// Shared parts of the flow benchmark: this library on the private server, with worker processes.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { JobQueue } from '../../dist/esm/core.js';

const { Redis } = createRequire(new URL('../../package.json', import.meta.url))('ioredis');
const workerPath = fileURLToPath(new URL('./worker.mjs', import.meta.url));
let lastQueue = 0;

/** Empties the server, opens a queue of a new name, runs `use` with it, and closes it. */
export async function withFlowQueue(bench, options, use) {
  await bench.server.clear();
  const redis = new Redis(bench.server.url, { maxRetriesPerRequest: null });
  const queue = new JobQueue(redis, `flow-${++lastQueue}`, { visibilityMs: 600_000, ...options });
  try {
    return await use(queue);
  } finally {
    queue.close();
    redis.disconnect();
  }
}

/** Enqueues `count` jobs made by `make(i)`, in bulk. */
export async function fill(queue, count, make) {
  const SLICE = 2_000;
  for (let from = 0; from < count; from += SLICE) {
    await queue.enqueueMany(Array.from({ length: Math.min(SLICE, count - from) }, (_, i) => make(from + i)));
  }
}

/** Claims up to `count` jobs and completes them; returns their payloads in the order of the claim. */
export async function runSome(queue, count) {
  const jobs = await queue.claimMany(count);
  await queue.exec((calls) => calls.complete(jobs.map((job) => ({ ...job, result: 'null' }))));
  return jobs.map(({ payload }) => payload);
}

/**
 * Runs `use` with this many worker processes. Each process reports the start and end of every job, in µs of the
 * monotonic clock. `runs` holds them, and `until(count)` waits for that many.
 */
export async function withWorkers(bench, queue, each, use) {
  const runs = [];
  const waiting = [];
  const children = each.map((options) =>
    fork(workerPath, [JSON.stringify({ url: bench.server.url, queue: queue.name, ...options })]),
  );
  const note = (message) => {
    if (message.run) runs.push(message.run);
    for (const check of waiting) check();
  };
  try {
    for (const child of children) await once(child, 'message');
    for (const child of children) child.on('message', note);
    return await use({ runs, until: (count, timeoutMs) => until(runs, waiting, count, timeoutMs) });
  } finally {
    await Promise.all(children.map((child) => Promise.all([once(child, 'exit'), child.disconnect()])));
  }
}

function until(runs, waiting, count, timeoutMs = 60_000) {
  return new Promise((resolve, reject) => {
    const late = () => reject(new Error(`expected ${count} runs within ${timeoutMs} ms, found ${runs.length}`));
    const timer = setTimeout(late, timeoutMs);
    const check = () => {
      if (runs.length < count) return;
      clearTimeout(timer);
      resolve();
    };
    waiting.push(check);
    check();
  });
}

/**
 * Returns the commands that clients sent since the last CONFIG RESETSTAT, those inside scripts, and the µs that scripts
 * took.
 */
export async function readCommands(bench) {
  const text = await bench.server.control.info('commandstats');
  const found = { scripts: 0, scriptUs: 0, blocking: 0, inner: 0 };
  for (const [, name, calls, us] of text.matchAll(/^cmdstat_([^:]+):calls=(\d+),usec=(\d+)/gm)) {
    if (name === 'evalsha' || name === 'eval') {
      found.scripts += Number(calls);
      found.scriptUs += Number(us);
    } else if (name === 'bzpopmin' || name === 'ping') found.blocking += Number(calls);
    else if (!/^(info|config|client|hello|select)/.test(name)) found.inner += Number(calls);
  }
  return found;
}

/** Returns a line of the result: the figure, and whether it met its goal if it has one. */
export function figure(id, text, unit, value, goal = {}) {
  const { most, least } = goal;
  const rounded = Number(value.toPrecision(4));
  if (most === undefined && least === undefined) return { id, text, unit, value: rounded };
  const said =
    most === undefined ? `at least ${least.toLocaleString('en')}` : `at most ${most.toLocaleString('en')}`;
  return { id, text, unit, value: rounded, goal: said, met: value <= (most ?? Infinity) && value >= (least ?? 0) };
}
