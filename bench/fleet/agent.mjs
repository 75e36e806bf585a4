// A child process with one role for one contestant: its producer, or one of its workers. It stays for the whole run, so
// that its code is warm, and is connected only during a measurement. Commands and replies travel by IPC.
import { loadPeer } from '../peers/index.mjs';
import { runBareLoop } from '../slots/bare-loop.mjs';
import { monotonicUs, payload } from './payload.mjs';
import { drive } from './producer.mjs';
import { serve } from './serve.mjs';

const [contestant] = process.argv.slice(2);
const peer = await loadPeer(contestant);
let session;
let work;

const commands = {
  async open(options) {
    session = await peer.open(options);
  },
  async close() {
    await session?.close();
    session = undefined;
  },
  /** Enqueues `count` jobs numbered from `from` in one of the modes of the producer. */
  async enqueue({ mode, ...load }) {
    const before = process.cpuUsage();
    const started = monotonicUs();
    await drive[mode](session, load, payload);
    return { us: monotonicUs() - started, cpuUs: cpuSince(before) };
  },
  counts: () => session.counts(),
  shrink: () => session.shrink(),
  /** Polls the queue until no job waits or runs, and returns the instant of that observation. */
  async waitSettled({ completed, timeoutMs = 60_000 }) {
    const deadline = Date.now() + timeoutMs;
    for (;;) {
      const counts = await session.counts();
      const at = monotonicUs();
      if (counts.waiting === 0 && counts.active === 0 && counts.completed >= completed) return { at, counts };
      if (Date.now() > deadline) throw new Error(`not settled after ${timeoutMs} ms: ${JSON.stringify(counts)}`);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  },
  async prepareWorker({ concurrency, prefetch, total, handlerMs, target, progress, heldBack = true }) {
    work = { runs: 0, repeated: 0, seen: new Uint8Array(total), latencies: [], held: [], target };
    work.worker = await session.prepareWorker({ concurrency, prefetch, handler: handlers(handlerMs), heldBack });
    if (progress) work.timer = setInterval(() => process.send({ event: 'runs', runs: work.runs }), 5);
  },
  startWorker() {
    work.cpu = process.cpuUsage();
    const at = monotonicUs();
    work.worker.start();
    return { at };
  },
  /** Runs the same handlers without a queue. */
  bareLoop({ concurrency, handlerMs, total }) {
    work = { runs: 0, repeated: 0, seen: new Uint8Array(total), latencies: [] };
    return runBareLoop({ concurrency, total, handler: handlers(handlerMs), monotonicUs });
  },
  workerUsage: () => ({ cpuUs: cpuSince(work.cpu), runs: work.runs }),
  /** Ends the handlers that hold their job, stops the worker, and returns what ran. */
  async stopWorker() {
    clearInterval(work.timer);
    for (const release of work.held) release();
    await work.worker.stop();
    const { runs, repeated, latencies } = work;
    return { runs, repeated, latencies };
  },
};

function handlers(handlerMs) {
  const noop = async (data) => record(data);
  const sleep = async (data) => {
    await new Promise((resolve) => setTimeout(resolve, handlerMs));
    record(data);
  };
  const hold = async (data) => {
    record(data);
    await new Promise((resolve) => work.held.push(resolve));
  };
  if (handlerMs === 'hold') return hold;
  return handlerMs > 0 ? sleep : noop;
}

function record({ n, t }) {
  if (work.seen[n]++ > 0) work.repeated++;
  if (work.latencies.length < 100_000) work.latencies.push(monotonicUs() - t);
  if (++work.runs === work.target) process.send({ event: 'reached' });
}

function cpuSince(before) {
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

serve(commands);
