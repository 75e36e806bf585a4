// One round: a queue, workers and jobs with drawn options on a real Redis, and what was seen of them.
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { EnqueueError, QueueFullError } from '#queue/errors/enqueue-errors.js';
import { InvalidOptionError } from '#queue/errors/errors.js';
import type { EnqueueOptions } from '#queue/enqueue/enqueue-options.js';
import { JobQueue } from '#queue/job-queue.js';
import type { JobRecord } from '#queue/model/job.js';
import { type RateLimit, ratesOf } from '#queue/model/limits.js';
import type { QueueOptions } from '#queue/model/queue-options.js';
import type { SlotRange } from '#queue/model/slots.js';
import type { BulkOptions } from '#worker/handlers/handler.js';
import type { Job } from '#worker/handlers/job.js';
import { Worker } from '#worker/worker.js';
import { Random } from '../chaos/random.js';
import { drawJob, drawQueue, drawRange, drawSlots } from './draw.js';

/** The time after which a job that has not ended counts as lost, in ms. A drawn rate starts all jobs within seconds. */
const PATIENCE_MS = 60_000;

export interface Payload {
  index: number;
  /** The attempts that fail. */
  fails: number;
  workMs: number;
  text: string;
  follow?: string;
}

export interface Planned {
  index: number;
  id: string;
  options: EnqueueOptions;
  payload: Payload;
  outcome: 'new' | 'existing' | 'full' | 'refused';
  /** By the clock of the host, before the enqueue. */
  askedAt: number;
}

/** An attempt, as its handler saw it. Instants are of the host, which is that of the server too. */
export interface Run {
  id: string;
  payload: Payload;
  metadata: object;
  group: string | undefined;
  worker: number;
  call: number;
  fence: number;
  claimedAt: number;
  from: number;
  to: number;
}

export interface Shape {
  queue: QueueOptions;
  workers: number;
  concurrency: number;
  prefetch: number | undefined;
  bulk: BulkOptions | undefined;
  /** The slots of the handler, if each enqueue may say its own number. */
  slots?: SlotRange | undefined;
  jobs: number;
  /** The chance of each option of a job. */
  share: number;
  /** The chance of a group. */
  groupShare: number;
  isPaused: boolean;
  members: number;
}

/** What the oracle judges. */
export interface Seen {
  seed: number;
  shape: Shape;
  name: string;
  planned: Planned[];
  runs: Run[];
  records: Map<string, JobRecord | null>;
  isOver: boolean;
  stats: Awaited<ReturnType<JobQueue['stats']>>;
  findings: string[];
  /** Faults that were seen at once. */
  faults: string[];
  members: string[];
}

function drawShape(random: Random): Shape {
  const queue = drawQueue(random, random.pick([0, 0.15, 0.4]));
  const share = random.pick([0, 0, 0.08, 0.2]);
  const most = [...ratesOf(queue), queue.groups?.rateLimit].reduce(
    (jobs, rate) => Math.min(jobs, jobsWithin(rate)),
    700,
  );
  const isPaused = random.chance(0.5);
  const jobs = Math.max(1, Math.min(most, random.pick([1, 30, 120, 300, 700])));
  if (isPaused && share === 0 && random.chance(0.4)) {
    queue.maxPending = random.between(1, jobs + 5);
  }
  const isAlone = random.chance(0.3);
  return {
    queue,
    workers: isAlone ? 1 : random.between(1, 3),
    concurrency: isAlone ? 1 : random.between(1, 20),
    prefetch: random.pick([undefined, 0, random.between(1, 20)]),
    bulk: random.chance(0.2) && !isAlone ? { size: Math.max(2, random.between(1, 20)), waitMs: random.between(0, 200), ...(random.chance(0.5) && { by: 'group' as const }) } : undefined, // prettier-ignore
    jobs,
    share,
    groupShare: queue.groups ? random.pick([share, 0.9]) : share,
    isPaused,
    members: queue.maxPending === undefined && random.chance(0.3) ? random.between(1, 40) : 0,
  };
}

/** Returns how many jobs a rate lets start within a few seconds, with costs and retries. */
function jobsWithin(rate: RateLimit | undefined): number {
  return rate ? Math.floor((rate.limit / rate.periodMs) * 1_000 * 2) : Infinity;
}

export class Round {
  private readonly random: Random;
  private readonly clients: Redis[] = [];
  private readonly workers: Worker[] = [];
  private readonly runs: Run[] = [];
  private readonly faults: string[] = [];
  private calls = 0;
  readonly shape: Shape;
  private readonly name: string;

  constructor(
    private readonly url: string,
    private readonly seed: number,
  ) {
    this.random = new Random(seed);
    const shape = drawShape(this.random);
    const slots = shape.bulk || shape.prefetch ? undefined : drawRange(seed, shape.concurrency);
    this.shape = { ...shape, ...(slots && { slots }) };
    this.name = `fuzz-${seed}`;
  }

  async run(): Promise<Seen> {
    const { shape, random } = this;
    const queue = this.queueOf();
    try {
      const startsFirst = random.chance(0.5);
      if (startsFirst) await this.start();
      if (shape.isPaused) await queue.pause();
      const members = await this.addBatch(queue);
      const planned = await this.enqueueAll(queue);
      await this.enqueueAgain(queue, planned);
      if (!startsFirst) await this.start();
      if (shape.isPaused) {
        await sleep(150); // longer than the short expiries
        await queue.resume();
      }
      const isOver = await this.end(queue);
      const stats = await queue.stats();
      const records = new Map<string, JobRecord | null>();
      for (const { id, outcome } of planned) {
        if (outcome === 'new') records.set(id, await queue.get(id));
      }
      const { findings } = await queue.doctor();
      return {
        seed: this.seed,
        shape,
        name: this.name,
        planned,
        members,
        runs: this.runs,
        records,
        isOver,
        stats,
        findings: findings.map(({ kind, subject }) => `${kind} ${subject}`),
        faults: this.faults,
      };
    } finally {
      await Promise.all(this.workers.map((worker) => worker.stop({ timeoutMs: 1_000 })));
      await queue.purge({ confirm: queue.name, everything: true }).catch(() => undefined);
      this.clients.forEach((client) => client.disconnect());
    }
  }

  private queueOf(): JobQueue {
    const client = new Redis(this.url, { maxRetriesPerRequest: null });
    client.on('error', () => undefined);
    this.clients.push(client);
    return new JobQueue(client, this.name, this.shape.queue);
  }

  private async start(): Promise<void> {
    const { workers, concurrency, prefetch, bulk, slots } = this.shape;
    for (let i = 0; i < workers; i++) {
      const handle = bulk
        ? { bulk, handle: (jobs: Job<Payload>[]) => this.handleAll(jobs, i) }
        : { handle: (job: Job<Payload>) => this.handle(job, i, ++this.calls), slots };
      const served = { queue: this.queueOf(), concurrency, ...(prefetch !== undefined && { prefetch }) };
      const worker = new Worker([{ ...served, handlers: { '*': handle } }], {
        sweepIntervalMs: 1_000,
        logFailures: false,
      });
      this.workers.push(worker);
      await worker.start();
    }
  }

  private async handleAll(jobs: Job<Payload>[], worker: number): Promise<unknown[]> {
    const { size, by } = this.shape.bulk!;
    if (jobs.length > size) this.faults.push(`a call had ${jobs.length} jobs, and its size is ${size}`);
    if (by && new Set(jobs.map(({ group }) => group)).size > 1) this.faults.push('a call had jobs of two groups');
    const call = ++this.calls;
    const ends = await Promise.allSettled(jobs.map((job) => this.handle(job, worker, call)));
    return ends.map((end) => (end.status === 'fulfilled' ? end.value : (end.reason as Error)));
  }

  private async handle(job: Job<Payload>, worker: number, call: number): Promise<{ index: number }> {
    const { id, payload, metadata, group, fence, claimedAt } = job;
    const from = performance.timeOrigin + performance.now();
    const run = {
      id,
      payload,
      metadata,
      group,
      worker,
      call,
      fence,
      claimedAt: claimedAt.getTime(),
      from,
      to: Infinity,
    };
    this.runs.push(run);
    const before = this.runs.filter((each) => each.id === id).length - 1;
    await (payload.workMs > 0 ? sleep(payload.workMs) : undefined);
    run.to = performance.timeOrigin + performance.now();
    if (before < payload.fails) {
      throw new Error(`planned failure ${before + 1} of ${payload.fails}`);
    }
    return { index: payload.index };
  }

  private payloadOf(index: number, options: EnqueueOptions): Payload {
    const { random, shape } = this;
    const most = options.maxAttempts ?? shape.queue.maxAttempts;
    const fails = random.chance(0.75) ? 0 : random.between(1, most === undefined ? 1 : most + 1);
    return { index, fails, workMs: random.pick([0, 0, 1, random.between(0, 15)]), text: `${random.next()} ü` };
  }

  private async enqueueAll(queue: JobQueue): Promise<Planned[]> {
    const { random, shape } = this;
    const planned: Planned[] = [];
    const slice = random.pick([1, 20, 700]);
    while (planned.length < shape.jobs) {
      const earlier = planned.flatMap(({ id, outcome }) => (outcome === 'new' ? [id] : []));
      const next = Array.from({ length: Math.min(slice, shape.jobs - planned.length) }, (_, i) => {
        const index = planned.length + i;
        const options = drawJob({ random, index, earlier, isPaused: shape.isPaused }, shape);
        const slots = this.shape.slots && drawSlots(this.seed, index);
        return this.enqueue(queue, index, slots === undefined ? options : { ...options, slots });
      });
      planned.push(...(await Promise.all(next)));
    }
    return planned;
  }

  private async enqueue(queue: JobQueue, index: number, options: EnqueueOptions): Promise<Planned> {
    const payload = this.payloadOf(index, options);
    const plan = { index, options, payload, askedAt: Date.now() };
    try {
      const { id, outcome } = await queue.enqueue(payload, options);
      return { ...plan, id, outcome: outcome === 'new' ? 'new' : 'existing' };
    } catch (error) {
      if (error instanceof QueueFullError) return { ...plan, id: '', outcome: 'full' };
      if (error instanceof InvalidOptionError) return { ...plan, id: '', outcome: 'refused' };
      const why = error instanceof EnqueueError ? `${error.message} ${String(error.cause)}` : String(error);
      this.faults.push(`the enqueue of ${JSON.stringify(options)} failed: ${why}`);
      return { ...plan, id: '', outcome: 'refused' };
    }
  }

  /** Repeats enqueues with an id of the caller's, which must add nothing. */
  private async enqueueAgain(queue: JobQueue, planned: readonly Planned[]): Promise<void> {
    for (const { options, outcome, payload } of planned.slice(0, 50)) {
      if (options.id === undefined || outcome !== 'new') continue;
      const again = await queue.enqueue({ ...payload, fails: 0, text: 'again' }, { id: options.id }).catch(String);
      if (typeof again === 'string' || again.outcome !== 'existing') {
        this.faults.push(
          `a second enqueue of the id ${options.id} was ${typeof again === 'string' ? again : again.outcome}`,
        );
      }
    }
  }

  private async addBatch(queue: JobQueue): Promise<string[]> {
    const { random, shape } = this;
    if (shape.members === 0) return [];
    const follow = (kind: string) => ({
      name: this.name,
      payload: { ...this.payloadOf(-1, {}), fails: 0, follow: kind },
    });
    const batch = queue.batch({ then: follow('then'), onFailure: follow('onFailure'), finally: follow('finally') });
    const ids: string[] = [];
    for (let i = 0; i < shape.members; i++) {
      const payload = { ...this.payloadOf(-1, {}), fails: random.chance(0.05) ? 1 : 0 };
      ids.push((await batch.add(this.name, payload, { maxAttempts: 1 })).id);
    }
    await batch.seal();
    return ids;
  }

  /** Waits until no job is left. Returns false if one is. */
  private async end(queue: JobQueue): Promise<boolean> {
    const until = performance.now() + PATIENCE_MS;
    while (performance.now() < until) {
      const { pending, processing, scheduled } = await queue.stats();
      if (pending + processing + scheduled === 0) return true;
      await sleep(100);
    }
    return false;
  }
}
