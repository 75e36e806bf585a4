import type { QueueStats } from '../queue/model/job.js';
import type { WorkerRecord } from '../queue/model/worker-record.js';
import type { FleetFigure, InstrumentKey, Labels } from './instruments.js';
import { outboxFigures, type MeasuredOutbox } from './outbox-figures.js';

/** A queue as far as metrics read it; a JobQueue is one. */
export interface MeasuredQueue {
  /** The name of the queue, a label of its metrics. */
  readonly name: string;
  /** Returns the figures of the queue. */
  stats(): Promise<QueueStats>;
  /** Returns its workers, whose slots are counted. Without it there is no such figure. */
  workers?(): Promise<readonly Pick<WorkerRecord, 'slots'>[]>;
}

/** A scrape asks for each instrument separately. They share a reading of the queues of at most this age, in ms. */
const FRESH_MS = 1_000;

/** Reads the queues at a scrape, with two script calls for each queue. */
export class FleetReader {
  private reading: Promise<FleetFigure[]> | undefined;
  private readAt = -Infinity;

  constructor(
    private readonly queues: () => readonly MeasuredQueue[],
    private readonly outbox: () => MeasuredOutbox | undefined,
  ) {}

  /** Returns all figures. A queue whose Redis does not reply has only the figure that it is down. Never rejects. */
  read(): Promise<FleetFigure[]> {
    const now = performance.now();
    if (!this.reading || now - this.readAt > FRESH_MS) {
      this.readAt = now;
      const outbox = this.outbox();
      const parts = [...this.queues().map(figuresOf), ...(outbox ? [outboxFigures(outbox)] : [])];
      this.reading = Promise.all(parts).then((lists) => lists.flat());
    }
    return this.reading;
  }
}

/** The first values of the counters that alerts use. Prometheus sees no increase in a counter that appears. */
const NO_EVENTS = { enqueued: 0, completed: 0, failed: 0, retried: 0, reclaimed: 0, crashed: 0, dropped: 0 };

async function figuresOf(queue: MeasuredQueue): Promise<FleetFigure[]> {
  const labels = { queue: queue.name };
  const [stats, workers] = await Promise.all([
    queue.stats().catch(() => undefined),
    queue.workers?.().catch(() => undefined),
  ]);
  return [
    { key: 'up', labels, value: stats ? 1 : 0 },
    ...(stats ? figures(labels, stats) : []),
    ...(workers ? slotsOf(labels, workers) : []),
  ];
}

function slotsOf(labels: Labels, workers: readonly Pick<WorkerRecord, 'slots'>[]): FleetFigure[] {
  return workers.some(({ slots }) => slots === undefined)
    ? []
    : [{ key: 'slots', labels, value: workers.reduce((sum, { slots = 0 }) => sum + slots, 0) }];
}

function figures(labels: Labels, stats: QueueStats): FleetFigure[] {
  const { pending, scheduled, processing, completed, cancelled, totals } = stats;
  const depths = { pending, scheduled, processing, completed, cancelled };
  const figure = (key: InstrumentKey, value: number, more?: Labels) => ({
    key,
    labels: { ...labels, ...more },
    value,
  });
  return [
    ...Object.entries(depths).map(([state, value]) => figure('depth', value, { state })),
    figure('deadLetters', stats.failed),
    figure('errorKinds', stats.errorKinds ?? 0),
    figure('oldestAge', stats.oldestPendingAgeMs / 1_000),
    figure('unheldAge', stats.oldestUnheldAgeMs / 1_000),
    figure('scheduleLate', sinceMs(stats.schedulesOverdueSince, stats) / 1_000),
    figure('unserved', stats.unserved.length),
    figure('expiredClaims', stats.expiredClaims),
    ...(stats.maintainedAt
      ? [figure('maintenance', Math.max(0, stats.at.getTime() - stats.maintainedAt.getTime()) / 1_000)]
      : []),
    figure('workers', stats.workers),
    figure('paused', stats.pausedAt ? 1 : 0),
    ...Object.entries({ ...NO_EVENTS, ...totals }).map(([event, value]) => figure('jobs', value, { event })),
  ];
}

function sinceMs(since: Date | undefined, { at }: QueueStats): number {
  return since ? Math.max(0, at.getTime() - since.getTime()) : 0;
}
