// A worker: acts out the payload, and records each attempt and its end.
import { JobCancelledError, NonRetryableError } from '#queue/errors/errors.js';
import { JobQueue } from '#queue/job-queue.js';
import type { QueueCalls } from '#queue/scripts/all-calls.js';
import type { QueueOptions } from '#queue/model/queue-options.js';
import type { Job } from '#worker/handlers/job.js';
import type { WorkerEvent } from '#worker/handlers/attempt-middleware.js';
import type { WorkerOptions } from '#worker/worker-options.js';
import { Worker } from '#worker/worker.js';
import { monotonicMs } from '../histories/clock.js';
import type { HistoryWriter } from '../histories/history.js';
import { flowOptions, MAX_RUNNING, MEMBERS } from './flow-work.js';
import { PULSE_MS } from './process-options.js';
import type { Stop, Tools } from './role.js';
import { Random } from '../random.js';
import { MOST_SHARED, sharedOptions, sharedValues, sharingQueues } from './shared-work.js';
import { SPREAD_CONCURRENCY, spreadQueueOf } from './spread-work.js';
import { queueOptions, type Work } from './workload.js';
import { inside } from '../../../test/support/queue/inside.js';

/** The share of claimed jobs that it drops, as a dying process does. */
const DESERTED_SHARE = 0.001;
const DESERT_MS = 500;

/** The empty queues of every other worker of a Cluster. With more than four queues a worker is woken over its hub. */
const SPARES = 4;

/** The number of jobs that every other worker prefetches. */
const AHEAD = 5;

export async function startWorkerRole(tools: Tools): Promise<Stop> {
  const random = new Random(tools.options.seed);
  const deserter = new Deserter(tools);
  const { queue, concurrency, number, line } = tools.options;
  const prefetch = number % 2 === 0 ? AHEAD : undefined;
  const spares = line.kind === 'cluster' && number % 4 < 2 ? SPARES : 0; // with and without a prefetch
  const stop = await start(tools, [queue], { concurrency, prefetch, spares }, (job) => {
    deserter.claimed++;
    return act(job, tools, random);
  });
  deserter.start();
  return async () => {
    await deserter.stop();
    await stop();
  };
}

/** Starts a worker with one job at a time, so jobs start in the order of their enqueues. */
export function startFifoWorker(tools: Tools): Promise<Stop> {
  return start(tools, [`${tools.options.queue}-fifo`], { concurrency: 1 }, (job) => act(job, tools, new Random(0)));
}

/** Starts a worker of a limited queue, in groups and batches. Two of them share its slots. */
export function startFlowWorker(tools: Tools): Promise<Stop> {
  const random = new Random(tools.options.seed);
  const slots = { concurrency: MAX_RUNNING };
  return start(tools, [`${tools.options.queue}-flow`], slots, (job) => act(job, tools, random), flowOptions());
}

/** Starts a worker of two queues that share a limit. It notes how long each handler ran: until then its job has a permit. */
export function startSharedWorker(tools: Tools): Promise<Stop> {
  const { queue, seed } = tools.options;
  const random = new Random(seed);
  const limits = sharedValues(queue);
  return start(
    tools,
    sharingQueues(queue),
    { concurrency: MOST_SHARED, limits },
    async (job) => {
      const begunMs = monotonicMs();
      try {
        return await act(job, tools, random);
      } finally {
        tools.history.add(['ran-shared', begunMs, monotonicMs(), job.group ?? '']);
      }
    },
    sharedOptions(queue),
  );
}

/** Starts a worker of all shards of a queue, as an app does. Each claim gives all free slots to one shard. */
export async function startSpreadWorker(tools: Tools): Promise<Stop> {
  const { queue, seed } = tools.options;
  const random = new Random(seed);
  const { shards } = await spreadQueueOf(tools.redis, queue);
  const slots = {
    concurrency: SPREAD_CONCURRENCY,
    ofAll: { concurrency: SPREAD_CONCURRENCY, claimsFromOne: true },
  };
  return serve(tools, shards, slots, (job) => act(job, tools, random));
}

/** @param names the queues that it serves */
function start(
  tools: Tools,
  names: readonly string[],
  { spares = 0, ...slots }: Slots & { readonly spares?: number },
  handle: (job: Job<Work>) => Promise<unknown>,
  ofQueue: QueueOptions = queueOptions(tools.options.load),
): Promise<Stop> {
  const { redis } = tools;
  const queues = names.map((name) => new JobQueue(redis, name, ofQueue));
  const spare = (i: number) => new JobQueue(redis, `${names[0]}-spare-${i}`, ofQueue);
  const spareQueues = Array.from({ length: spares }, (_, i) => spare(i));
  return serve(tools, queues, slots, handle, spareQueues);
}

async function serve(
  { history, logger, report }: Tools,
  queues: readonly JobQueue[],
  { limits, ofAll, ...slots }: Slots,
  handle: (job: Job<Work>) => Promise<unknown>,
  spares: readonly JobQueue[] = [],
): Promise<Stop> {
  const all = [...queues, ...spares];
  const onEvent = ({ type, job }: WorkerEvent) => {
    if (type === 'started' || type === 'stuck') return;
    const work = job.payload as Partial<Work> | null;
    if (work?.p === undefined) history.add(['tick', type, job.id, job.fence]);
    else history.add([type, work.p, work.n!, job.fence]);
  };
  const run = (job: Job) => handle(job as Job<Work>);
  const served = all.map((each) => ({ queue: each, ...slots, handlers: { [each.name]: run } }));
  const worker = new Worker(served, {
    ...(limits && { limits }), // the earlier version has none
    ...ofAll,
    sweepIntervalMs: 1_000,
    shutdownTimeoutMs: 5_000,
    logger,
    onEvent,
  });
  await worker.start();
  for (const queue of queues) await hearSweeps(queue, (id) => history.add(['reclaimed', id]));
  const pulse = setInterval(() => {
    if (worker.sinceLastFetchMs !== undefined) report({ type: 'pulse', answerAgoMs: worker.sinceLastFetchMs });
  }, PULSE_MS);
  return async () => {
    clearInterval(pulse);
    await worker.stop();
    all.forEach((each) => each.close());
  };
}

interface Slots {
  readonly concurrency: number;
  readonly prefetch?: number | undefined;
  readonly limits?: WorkerOptions['limits'];
  /** The slots of the worker over all its queues. */
  readonly ofAll?: Pick<WorkerOptions, 'concurrency' | 'claimsFromOne'>;
}

interface Reclaims {
  reclaim: QueueCalls['sweep']['reclaim'];
}

/** Reads reclaims from the reply of the sweep's script. Events report only the jobs that a reclaim ended. */
async function hearSweeps(queue: JobQueue, reclaimed: (id: string) => void): Promise<void> {
  const calls: { sweep?: Reclaims } & Partial<Reclaims> = await inside(queue).scripts();
  const room = calls.sweep ?? (calls as Reclaims); // the earlier version has no rooms of calls
  const build = room.reclaim.bind(room);
  room.reclaim = (...given) => {
    const call = build(...given);
    const decode = (reply: unknown) => {
      const answer = call.decode(reply);
      answer.reclaimed.forEach(({ id }) => reclaimed(id));
      return answer;
    };
    return { ...call, decode };
  };
}

async function act(job: Job<Work>, tools: Tools, random: Random): Promise<unknown> {
  const { history, options } = tools;
  const { id, attempt, fence } = job;
  const work = job.payload as Partial<Work> | null;
  if (work?.p === undefined) {
    history.add(['tick', 'start', id, fence, job.enqueuedAt.getTime()]);
    history.add(['tick', 'ok', id, fence]);
    await history.written();
    return fence;
  }
  const { p, n, kind } = work as Work;
  if (options.load && kind === 'plain') {
    history.add(['ran', p, n, attempt, fence]);
  } else {
    history.add(kind === 'unique' ? ['start', p, n, attempt, fence, id] : ['start', p, n, attempt, fence]);
    await history.written();
    if (tools.blockMs > 0) block(tools);
    try {
      await behave(job, random, history);
    } catch (error) {
      // After a lost claim or a release, the attempt is over and sends nothing.
      if (!job.signal.aborted || job.signal.reason instanceof JobCancelledError) {
        history.add(['end', p, n, fence]);
        await history.written();
      }
      throw error;
    }
    history.add(['ok', p, n, fence]);
  }
  // A result in Redis that the file misses would look like a result without a handler.
  await history.written();
  return fence;
}

/** Blocks the event loop, so no heartbeat extends the process's claims. */
function block(tools: Tools): void {
  const end = monotonicMs() + tools.blockMs;
  tools.blockMs = 0;
  while (monotonicMs() < end);
  tools.report({ type: 'blocked' });
}

async function behave(job: Job<Work>, random: Random, history: HistoryWriter): Promise<void> {
  switch (job.payload.kind) {
    case 'error':
      if (job.attempt === 1) throw new Error('fails once');
      return;
    case 'fatal':
      throw new Error('fails always');
    case 'final':
      throw new NonRetryableError('fails for good');
    case 'snooze':
      return random.chance(0.5) ? job.snooze(200) : undefined;
    case 'progress':
      await job.progress({ half: 1 });
      await job.log('half of it');
      return;
    case 'steps':
      return takeSteps(job, history);
    case 'grows':
      return grow(job, history);
    case 'slow':
      // Longer than the visibility timeout: the heartbeat must keep the claim.
      return wait(random.between(1_000, 4_500), random.chance(0.5) ? job.signal : undefined);
    default:
      // Most are done at once; some are still at it when a fault comes.
      if (random.chance(0.1)) return wait(random.between(50, 500), job.signal);
      return random.chance(0.3) ? wait(random.between(1, 5), job.signal) : undefined;
  }
}

/** Takes a step, and fails once behind it. Each attempt must get the same result of it. */
async function takeSteps(job: Job<Work>, history: HistoryWriter): Promise<void> {
  const { p, n } = job.payload;
  // The earlier version has no steps.
  if (!('step' in job)) return;
  const recorded = await job.step('first', () => job.fence);
  history.add(['step', p, n, recorded]);
  await history.written();
  if (job.attempt === 1) throw new Error('fails once behind its step');
}

/** Adds a member to the batch of this job. It has an id of its own, so that a later attempt adds it no second time. */
async function grow(job: Job<Work>, history: HistoryWriter): Promise<void> {
  const { p, n } = job.payload;
  const added: Work = { p, n: n + MEMBERS, kind: 'plain' };
  await job.batch!.add(job.name, added, { id: `flow-${p}-${added.n}` });
  history.add(['grown', p, added.n]);
  await history.written();
}

/** Waits, or rejects once the signal aborts. Without a signal the handler works on although its claim is lost. */
function wait(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      reject(signal!.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', end);
      resolve();
    }, ms);
    // A deaf handler may outlive its worker, which is no leak of the worker.
    timer.unref();
    if (signal?.aborted) end();
    else signal?.addEventListener('abort', end, { once: true });
  });
}

/** Claims jobs by hand and never settles them, as a process that dies at work. */
class Deserter {
  claimed = 0;
  private deserted = 0;
  private timer: NodeJS.Timeout | undefined;
  private busy: Promise<void> = Promise.resolve();
  private readonly queue: JobQueue;

  constructor(private readonly tools: Tools) {
    this.queue = new JobQueue(tools.redis, tools.options.queue, queueOptions(tools.options.load));
  }

  start(): void {
    this.timer = setInterval(() => void (this.busy = this.desert()), DESERT_MS);
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    await Promise.race([this.busy, new Promise((resolve) => setTimeout(resolve, 1_000).unref())]);
    this.queue.close();
  }

  private async desert(): Promise<void> {
    const count = Math.floor(this.claimed * DESERTED_SHARE) - this.deserted;
    if (count <= 0) return;
    this.deserted += count;
    try {
      for (const { payload, attempt, fence, id, enqueuedAtMs } of await this.queue.claimMany(Math.min(count, 100), {
        worker: 'deserter',
      })) {
        const work = payload as Partial<Work> | null;
        if (work?.p === undefined) this.tools.history.add(['tick', 'start', id, fence, enqueuedAtMs]);
        else this.tools.history.add(['start', work.p, work.n!, attempt, fence, ...idOf(work as Work, id)]);
        this.tools.history.add(['deserted', `${work?.p === undefined ? id : `${work.p}:${work.n}`}:${fence}`]);
      }
    } catch (error) {
      this.tools.logger.warn(`claim by hand: ${(error as Error).message}`);
    }
  }
}

function idOf({ kind }: Work, id: string): [] | [string] {
  return kind === 'unique' ? [id] : [];
}
