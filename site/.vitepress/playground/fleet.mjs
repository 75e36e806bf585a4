// The queue and the workers of the playground: the code of the library, on its store in memory.
import './node.mjs';
import { JobQueue } from '#queue/job-queue.js';
import { randomId } from '#queue/runtime/clock.js';
import { Worker } from '#worker/worker.js';
import { ScriptStore } from '#memory/script-store.js';
import { ScriptServer } from '#memory/server/script-server.js';
import { KillableClock } from './killable-clock.mjs';

const QUEUE = 'email';
/** Short, so that the jobs of a killed worker come back while one looks on. */
export const VISIBILITY_MS = 3_000;
const OPTIONS = {
  visibilityMs: VISIBILITY_MS,
  backoff: { type: 'exponential', delayMs: 1_000, jitter: 0.2 },
  completedHistory: 100_000,
  failedHistory: 100_000,
  deadLetterCap: 100_000,
};

export class Fleet {
  /** @type {{ id: string, running: Map<string, number>, isDead: boolean }[]} */
  workers = [];
  enqueued = 0;
  #settings;
  #server = new ScriptServer(() => Date.now());
  #queue = new JobQueue(this.#storeOf(new KillableClock(randomId)), QUEUE, OPTIONS);
  #count = 0;

  /** @param settings concurrency, rate (jobs a second; 0: no limit), attempts, durationMs, failures (0 to 1) */
  constructor(settings) {
    this.#settings = settings;
  }

  /** Applies new settings to the workers that run, and to later jobs. */
  async apply(settings) {
    this.#settings = settings;
    for (const worker of this.workers.filter(({ isDead }) => !isDead)) {
      worker.worker.setConcurrency(QUEUE, settings.concurrency);
    }
    const rateLimit = settings.rate > 0 ? { limit: settings.rate, periodMs: 1_000 } : undefined;
    await this.#queue.limits.set({ ...(rateLimit && { rateLimit }) });
  }

  async enqueue(count) {
    const jobs = Array.from({ length: count }, (_, index) => ({
      name: QUEUE,
      payload: { number: this.enqueued + index + 1 },
      maxAttempts: this.#settings.attempts,
    }));
    this.enqueued += count;
    await this.#queue.enqueueMany(jobs);
  }

  start() {
    const id = `worker-${++this.#count}`;
    const clock = new KillableClock(randomId);
    const queue = new JobQueue(this.#storeOf(clock), QUEUE, OPTIONS);
    const running = new Map();
    const handle = async (job) => {
      running.set(job.id, job.payload.number);
      try {
        await this.#work(clock);
      } finally {
        running.delete(job.id);
      }
    };
    const served = { queue, concurrency: this.#settings.concurrency, prefetch: 0, handlers: { [QUEUE]: handle } };
    const worker = new Worker([served], { id, sweepIntervalMs: 500, logFailures: false });
    this.workers.push({ id, running, worker, clock, isDead: false });
    void worker.start();
  }

  /** Ends a worker as a SIGKILL does: it says nothing to the queue, and its claims run out. */
  kill(id) {
    const worker = this.workers.find((each) => each.id === id);
    worker.isDead = true;
    worker.clock.kill();
    this.#server.disconnect(id);
  }

  /** Returns how many jobs are in each state, and how many claims are of dead workers. */
  async look() {
    const { pending, scheduled, processing, completed, failed } = await this.#queue.stats();
    const alive = this.workers.filter(({ isDead }) => !isDead);
    const running = alive.reduce((sum, worker) => sum + worker.running.size, 0);
    const lost = this.enqueued - pending - scheduled - processing - completed - failed;
    return { pending, scheduled, processing, completed, failed, running, lost };
  }

  /** Ends all workers, when the page is left. */
  close() {
    for (const { id, isDead } of this.workers) if (!isDead) this.kill(id);
  }

  #storeOf(clock) {
    return new ScriptStore(clock, { server: this.#server });
  }

  async #work(clock) {
    const { durationMs, failures } = this.#settings;
    await new Promise((resolve) => clock.setTimeout(resolve, durationMs));
    if (Math.random() < failures) throw new Error('The mail server refused.');
  }
}
