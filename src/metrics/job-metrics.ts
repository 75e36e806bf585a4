import { z } from 'zod';
import { wholeOfShard } from '../queue/model/spread.js';
import { keptIn } from '../queue/runtime/collections.js';
import { checkOptions } from '../queue/validation/validate-options.js';
import type { WorkerTrip } from '../worker/fetch/fetch-loop.js';
import type { StreamWriter } from '../worker/handlers/job.js';
import type { WorkerEvent } from '../worker/handlers/attempt-middleware.js';
import { FleetReader, type MeasuredQueue, type MeasuredOutbox } from './fleet-reader.js';
import type { Labels, FleetFigure } from './instruments.js';
import { type Meter, createInstruments } from './open-telemetry.js';
import { type Count, type Durations, ProcessFigures } from './process-figures.js';
import { type PrometheusClient, type PrometheusRegistry, registerInstruments } from './prometheus.js';

/** The options of the metrics. */
export interface JobMetricsOptions {
  /**
   * The queues whose depth, age and counters are read from Redis at each scrape, or a function that lists them.
   * @default none. They are the same in each process, so one process is enough; `max by (queue)` joins those of several
   */
  queues?: (readonly MeasuredQueue[] | (() => readonly MeasuredQueue[])) | undefined;
  /**
   * The job names that may be labels.
   * @default those whose handlers were called in this process, at most 200. Any other is counted as `other`, since a name may come from anybody
   */
  names?: readonly string[] | undefined;
  /** True if the figures of a queue with `spread` have a label `shard`. @default false: sums, and the worst age */
  shards?: boolean | undefined;
}

/** A process with more names than these counts the rest as `other`. */
const MOST_NAMES = 200;

const optionsSchema = z.strictObject(
  {
    queues: z
      .custom<NonNullable<JobMetricsOptions['queues']>>(
        (value) => typeof value === 'function' || Array.isArray(value),
        'expected an array of queues, or a function that returns one',
      )
      .optional(),
    names: z
      .array(z.string({ error: 'expected text' }), { error: 'expected an array of job names' })
      .readonly()
      .optional(),
    shards: z.boolean({ error: 'expected true or false' }).optional(),
  },
  { error: 'expected an object with queues, names, shards' },
);

/**
 * Measures jobs for Prometheus and OpenTelemetry. Costs nothing in Redis until a scrape.
 *
 * @example
 * const metrics = new JobMetrics({ queues: [queue] }).toPrometheus(promClient);
 * new Worker([{ queue, handlers }], { onEvent: metrics.observe, onTrip: metrics.observeTrip });
 */
export class JobMetrics {
  private readonly figures = new ProcessFigures();
  private readonly queues = new Map<string, QueueFigures>();
  private readonly trips = new Map<string, Durations>();
  private readonly fleet: FleetReader;
  private readonly names: Set<string>;
  private readonly fixedNames: boolean;
  /** The time when the handler of a running job was called, by `performance.now()`. */
  private readonly startedAt = new Map<WorkerEvent['job'], number>();

  /** @throws InvalidOptionError */
  constructor(options?: JobMetricsOptions);
  /** @internal */
  constructor(options?: JobMetricsOptions, outbox?: () => MeasuredOutbox | undefined);
  constructor(options: JobMetricsOptions = {}, outbox: () => MeasuredOutbox | undefined = () => undefined) {
    const { queues = [], names, shards } = checkOptions('metrics', optionsSchema, options);
    this.fleet = new FleetReader(() => (typeof queues === 'function' ? queues() : queues), outbox, shards);
    this.fixedNames = names !== undefined;
    this.names = new Set(names);
  }

  /**
   * Registers all instruments with prom-client.
   *
   * @param client the module: `import * as promClient from 'prom-client'`
   * @param registry default: that of the module
   */
  toPrometheus(client: PrometheusClient, registry: PrometheusRegistry = client.register): this {
    registerInstruments(registry, this.fleet, this.figures);
    return this;
  }

  /**
   * Registers all instruments with a meter of OpenTelemetry.
   *
   * @example new JobMetrics({ queues: [queue] }).toOpenTelemetry(metrics.getMeter('nest-job-queue'));
   */
  toOpenTelemetry(meter: Meter): this {
    createInstruments(meter, this.fleet, this.figures);
    return this;
  }

  /**
   * Reads what an autoscaler needs, by queue: the age of the oldest job that may run, depths and slots. Leaves out a
   * queue whose Redis does not reply, so that the autoscaler keeps its number of processes. Reads at most once a second.
   *
   * @example
   * \@Get('scaling') scaling() { return this.metrics.scalingReport(); } // { "email": { "oldestAgeSeconds": 41, … } }
   */
  async scalingReport(): Promise<Record<string, QueueScaling>> {
    return scalingReportOf(await this.fleet.read());
  }

  /** Counts an event of a worker. Bound: hand it over as `onEvent`, or call it from `@OnJobEvent`. */
  readonly observe = (event: WorkerEvent): void => {
    const { type, job } = event;
    if (type === 'started') {
      this.begin(job);
    } else if (type === 'stuck') {
      this.queueOf(job).of(this.labelOf(job)).gotStuck();
    } else {
      this.end(job, type);
    }
  };

  /** Measures a round trip of a worker. Bound: hand it over as `onTrip`. */
  readonly observeTrip = ({ operation, durationMs }: WorkerTrip): void => {
    const durations = keptIn(this.trips, operation, () => this.figures.newDurations('operation', { operation }));
    durations.add(durationMs / 1_000);
  };

  private begin(job: WorkerEvent['job']): void {
    if (!this.fixedNames && this.names.size < MOST_NAMES) {
      this.names.add(job.name);
    }
    this.startedAt.set(job, performance.now());
    const queue = this.queueOf(job);
    queue.running.value++;
    const figures = queue.of(this.labelOf(job));
    const readyAt = job.readyAt.getTime();
    if (job.attempt === 1 && readyAt > 0) {
      const waitedMs = Math.max(0, job.claimedAt.getTime() - readyAt);
      figures.waited(waitedMs / 1_000);
    }
  }

  private end(job: WorkerEvent['job'], outcome: string): void {
    const queue = this.queueOf(job);
    const { usedStream } = job;
    if (usedStream) queue.of(this.labelOf(job)).streamed(usedStream.written);
    const startedAt = this.startedAt.get(job);
    if (startedAt === undefined) {
      queue.of(this.labelOf(job)).ended(outcome, undefined);
      return;
    }
    this.startedAt.delete(job);
    queue.running.value--;
    queue.of(this.labelOf(job)).ended(outcome, (performance.now() - startedAt) / 1_000);
  }

  private queueOf({ queue }: Pick<WorkerEvent['job'], 'queue'>): QueueFigures {
    return keptIn(this.queues, queue, () => {
      const whole = wholeOfShard(queue);
      return whole === queue ? new QueueFigures(this.figures, queue) : this.queueOf({ queue: whole });
    });
  }

  /** Returns the name as far as it may be a label. */
  private labelOf({ name }: WorkerEvent['job']): string {
    return this.names.has(name) ? name : 'other';
  }
}

/** The figures of one queue in this process. */
class QueueFigures {
  readonly running: Count;
  private readonly names = new Map<string, NameFigures>();

  constructor(
    private readonly figures: ProcessFigures,
    private readonly queue: string,
  ) {
    this.running = figures.newCount('running', { queue });
  }

  /** @param name the label, which limits the number of names */
  of(name: string): NameFigures {
    return keptIn(this.names, name, () => new NameFigures(this.figures, { queue: this.queue, name }));
  }
}

/** The figures of attempts with one outcome. */
interface EndFigures {
  attempts: Count;
  /** Absent until a handler was called. */
  run?: Durations;
}

/** The figures of one job name in a queue. Each other line appears with its first measurement. */
class NameFigures {
  /** Begins with 0, because Prometheus sees no increase in a line that appears. */
  private readonly stuckCount: Count;
  private waits: Durations | undefined;
  private streams: { readonly chunks: Count; readonly bytes: Count } | undefined;
  private readonly ends = new Map<string, EndFigures>();

  constructor(
    private readonly figures: ProcessFigures,
    private readonly labels: Labels,
  ) {
    this.stuckCount = figures.newCount('stuck', labels);
  }

  waited(seconds: number): void {
    this.waits ??= this.figures.newDurations('wait', this.labels);
    this.waits.add(seconds);
  }

  gotStuck(): void {
    this.stuckCount.value++;
  }

  streamed({ chunks, bytes }: StreamWriter['written']): void {
    this.streams ??= {
      chunks: this.figures.newCount('streamChunks', this.labels),
      bytes: this.figures.newCount('streamBytes', this.labels),
    };
    this.streams.chunks.value += chunks;
    this.streams.bytes.value += bytes;
  }

  /** @param seconds how long the handler ran; undefined where none was called */
  ended(outcome: string, seconds: number | undefined): void {
    const end = keptIn<string, EndFigures>(this.ends, outcome, () => ({
      attempts: this.figures.newCount('attempts', { ...this.labels, outcome }),
    }));
    end.attempts.value++;
    if (seconds !== undefined) {
      end.run ??= this.figures.newDurations('run', end.attempts.labels);
      end.run.add(seconds);
    }
  }
}

/** What an autoscaler needs to know of one queue. */
export interface QueueScaling {
  /** How long the oldest job that may run has been claimable, in seconds; 0 where none waits. Jobs that a group holds back do not count. */
  oldestAgeSeconds: number;
  /** Pending jobs. */
  waiting: number;
  /** Jobs that are claimed now. */
  running: number;
  /** The slots of the workers of the queue. A job may take several. Absent where one of them does not say so. */
  slots?: number;
}

/** Picks the figures of each queue whose Redis replied. */
function scalingReportOf(figures: readonly FleetFigure[]): Record<string, QueueScaling> {
  const queues = new Map<string, Map<string, number>>();
  for (const { key, labels, value } of figures) {
    const queue = queues.get(labels.queue!) ?? new Map<string, number>();
    queues.set(labels.queue!, queue.set(labels.state ?? key, value));
  }
  return Object.fromEntries(
    [...queues].filter(([, queue]) => queue.get('up') === 1).map(([name, queue]) => [name, scalingOf(queue)]),
  );
}

function scalingOf(queue: ReadonlyMap<string, number>): QueueScaling {
  const slots = queue.get('slots');
  return {
    oldestAgeSeconds: queue.get('unheldAge')!,
    waiting: queue.get('pending')!,
    running: queue.get('processing')!,
    ...(slots !== undefined && { slots }),
  };
}
