// A producer: enqueues batches, records each call and its reply, and repeats calls without a reply.
import { RedisOutOfMemoryError } from '#queue/errors/errors.js';
import { EnqueueError } from '#queue/errors/enqueue-errors.js';
import type { JobHandle } from '#queue/results/job-handle.js';
import { JobQueue } from '#queue/job-queue.js';
import type { EnqueueOptions } from '#queue/enqueue/enqueue-options.js';
import type { SpreadQueue } from '#spread/spread-queue.js';
import { sleep } from '../../../test/support/faults/wait.js';
import { drawKind } from './flow-work.js';
import { PULSE_MS } from './process-options.js';
import type { Stop, Tools } from './role.js';
import { Random } from '../random.js';
import { sharedCosts, sharingQueues } from './shared-work.js';
import { sensorOf, spreadQueueOf } from './spread-work.js';
import { draw, LOAD_MIX, MIX, padOf, queueOptions, type Kind, type Work } from './workload.js';

/** The time of a phase. By turns workers have too much work and too little. */
const PHASE_MS = 6_000;
const TRICKLE_RATE = 60;

interface NewWork {
  payload: Work;
  options: EnqueueOptions;
}

export async function startProducer(tools: Tools): Promise<Stop> {
  const { options } = tools;
  const random = new Random(options.seed);
  const mix = options.load ? LOAD_MIX : MIX;
  return produce(tools, [options.queue], (first) => {
    const size = options.load ? options.batch : random.pick([1, 1, 1, 5, options.batch]);
    return Array.from({ length: size }, (_, i) => {
      const n = first + i;
      const { kind, options: asked } = draw(random, mix, () => `own-${options.number}-${n}`);
      const pad = kind === 'large' ? { pad: padOf(random) } : {};
      return { payload: { p: options.number, n, kind, ...pad }, options: asked };
    });
  });
}

/** Enqueues plain jobs in their order, each acknowledged before the next. */
export function startFifoProducer(tools: Tools): Promise<Stop> {
  const p = tools.options.number;
  return produce(tools, [`${tools.options.queue}-fifo`], (n) => [
    { payload: { p, n, kind: 'plain' satisfies Kind }, options: {} },
  ]);
}

/** The jobs of two queues that share a limit, per second: about as many as it lets run. */
const SHARED_RATE = 40;
const SHARED_BACKLOG = 100;

/** Enqueues to two queues by turns. */
export function startSharedProducer(tools: Tools): Promise<Stop> {
  const { number: p, queue, rate, seed } = tools.options;
  const random = new Random(seed);
  const options = { ...tools.options, rate: Math.min(rate, SHARED_RATE), backlog: SHARED_BACKLOG };
  return produce({ ...tools, options }, sharingQueues(queue), (n) => [
    { payload: { p, n, kind: drawKind(random) }, options: sharedCosts(queue, n) },
  ]);
}

/** The jobs of the queue with shards, per second. */
const SPREAD_RATE = 60;

/** Enqueues to the shards of a queue: the jobs of a group in their order, each acknowledged before the next. */
export async function startSpreadProducer(tools: Tools): Promise<Stop> {
  const { number: p, queue, rate, seed } = tools.options;
  const random = new Random(seed);
  const spread = await spreadQueueOf(tools.redis, queue);
  const options = { ...tools.options, rate: Math.min(rate, SPREAD_RATE), backlog: SHARED_BACKLOG };
  const next = (n: number): NewWork[] => {
    const group = sensorOf(n);
    return [{ payload: { p, n, kind: drawKind(random) }, options: group === undefined ? {} : { group } }];
  };
  return produce({ ...tools, options }, [], next, [doorOf(spread)]);
}

/** Returns the shards as one queue of a producer. A repeat has the id of the first call, so it goes to the same shard. */
function doorOf(spread: SpreadQueue): Target {
  return {
    enqueueMany: (jobs) => {
      const shard = spread.ofJob('job', jobs[0]) ?? spread.next();
      return spread.follow(shard, () => shard.enqueueMany(jobs));
    },
    stats: async () => {
      const all = await Promise.all(spread.shards.map((shard) => shard.stats()));
      return { pending: all.reduce((sum, { pending }) => sum + pending, 0) };
    },
    close: () => spread.shards.forEach((shard) => shard.close()),
  };
}

/** The part of a queue that a producer uses. */
interface Target {
  enqueueMany(jobs: readonly BulkJob[]): Promise<JobHandle[]>;
  stats(): Promise<{ pending: number }>;
  close(): void;
}

type BulkJob = Parameters<JobQueue['enqueueMany']>[0][number];

/** @param names the queues, which get jobs by turns */
async function produce(
  tools: Tools,
  names: readonly string[],
  next: (first: number) => NewWork[],
  queues: readonly Target[] = names.map(
    (name) => new JobQueue(tools.redis, name, queueOptions(tools.options.load)),
  ),
): Promise<Stop> {
  const { options } = tools;
  const producer = new Producer(tools, queues);
  const stopping = new AbortController();
  const pulse = setInterval(() => producer.beat(), PULSE_MS);
  const isStopping = () => stopping.signal.aborted;
  const loop = (async () => {
    const begun = performance.now();
    while (!isStopping() && (options.jobs === 0 || producer.made < options.jobs)) {
      if (!(await producer.mayGoOn())) continue;
      const batch = next(producer.made);
      await producer.enqueue(batch, isStopping);
      if (!options.load) await sleep((1_000 * batch.length) / rateAt(performance.now() - begun, options.rate));
    }
    if (!isStopping()) tools.report({ type: 'done' });
  })();
  return async () => {
    stopping.abort();
    await loop;
    clearInterval(pulse);
    queues.forEach((queue) => queue.close());
  };
}

function rateAt(ms: number, rate: number): number {
  return Math.floor(ms / PHASE_MS) % 2 === 0 ? rate : Math.min(rate, TRICKLE_RATE);
}

class Producer {
  made = 0;
  private seen = { at: 0, waiting: 0 };
  private answeredAt: number | undefined;

  constructor(
    private readonly tools: Tools,
    private readonly queues: readonly Target[],
  ) {}

  /** The queue of the next jobs. */
  private get queue(): Target {
    return this.queues[this.made % this.queues.length]!;
  }

  /** Reports to the runner how long ago Redis last replied. */
  beat(): void {
    const { answeredAt, tools } = this;
    if (answeredAt !== undefined) tools.report({ type: 'pulse', answerAgoMs: performance.now() - answeredAt });
  }

  /** Looks now and then whether enough waits already. */
  async mayGoOn(): Promise<boolean> {
    const { backlog } = this.tools.options;
    if (performance.now() - this.seen.at > 200) {
      try {
        this.seen = { at: performance.now(), waiting: (await this.queue.stats()).pending };
        this.answeredAt = performance.now();
      } catch {
        this.seen = { at: performance.now(), waiting: 0 };
      }
    }
    if (this.seen.waiting <= backlog) return true;
    await sleep(50);
    return false;
  }

  async enqueue(batch: NewWork[], given: () => boolean): Promise<void> {
    const { history } = this.tools;
    const { queue } = this;
    const first = this.made;
    this.made += batch.length;
    history.add(['enqueue', first, batch.length]);
    for (const { payload, options } of batch) {
      if (payload.kind !== 'plain') history.add(['kind', payload.n, payload.kind, options.delayMs ?? 0]);
    }
    await history.written();
    let ids: readonly string[] = [];
    for (;;) {
      const outcome = await this.attempt(queue, batch, ids);
      if (outcome === undefined) return;
      if (outcome.jobIds.length > 0) ids = outcome.jobIds;
      for (const { payload } of outcome.over ? batch : []) history.add(['answer', payload.n, outcome.answer, '']);
      if (outcome.over || given()) return;
      await sleep(50);
    }
  }

  /**
   * Sends one call, and returns undefined once it got a reply. A call that may have been written is repeated with its
   * ids until it is answered.
   */
  private async attempt(queue: Target, batch: NewWork[], ids: readonly string[]) {
    const jobs = batch.map(({ payload, options }, i) => ({
      payload,
      ...options,
      ...(ids[i] ? { id: ids[i] } : {}),
    }));
    try {
      this.noteAnswers(batch, await queue.enqueueMany(jobs), ids.length > 0);
      return undefined;
    } catch (error) {
      this.tools.logger.warn((error as Error).message);
      const maybe = ids.length > 0;
      if (error instanceof RedisOutOfMemoryError) return { over: !maybe, answer: 'refused', jobIds: [] } as const;
      if (!(error instanceof EnqueueError)) throw error;
      const over = !maybe && error.outcome === 'not-sent';
      const jobIds = error.outcome === 'unknown' ? error.jobIds : [];
      return { over, answer: 'not-sent', jobIds } as const;
    }
  }

  private noteAnswers(batch: NewWork[], handles: JobHandle[], repeated: boolean): void {
    this.answeredAt = performance.now();
    const { history } = this.tools;
    history.add(['enqueued', batch[0]!.payload.n, batch.length]);
    handles.forEach(({ outcome, id }, i) => {
      const { n, kind } = batch[i]!.payload;
      if (outcome === 'kept' && repeated) {
        history.add(['answer', n, 'unknown', id]); // the owner may have been replaced by the first call, and runs
      } else if (outcome !== 'stored' && (outcome !== 'new' || kind === 'unique')) {
        history.add(['answer', n, outcome, id]); // the owner of a unique key may get the payload of another job
      }
    });
  }
}
