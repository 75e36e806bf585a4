import type { QueueStats } from '../queue/model/job.js';
import type { InstrumentKey, Labels } from './instruments.js';

/** A queue as far as metrics read it; a JobQueue is one. */
export interface MeasuredQueue {
  /** The name of the queue, a label of its metrics. */
  readonly name: string;
  /** Returns the figures of the queue. */
  stats(): Promise<QueueStats>;
}

/** One figure of the fleet. */
export interface FleetFigure {
  key: InstrumentKey;
  labels: Labels;
  value: number;
}

/** A scrape asks for each instrument by itself; they share one look at the queues, which is at most this old, in ms. */
const FRESH_MS = 1_000;

/** Reads the queues at a scrape, with one script call for each queue. */
export class FleetReader {
  private reading: Promise<FleetFigure[]> | undefined;
  private readAt = -Infinity;

  constructor(private readonly queues: () => readonly MeasuredQueue[]) {}

  /** All figures; of a queue whose Redis does not answer only that it is not up. Never rejects. */
  read(): Promise<FleetFigure[]> {
    const now = performance.now();
    if (!this.reading || now - this.readAt > FRESH_MS) {
      this.readAt = now;
      this.reading = Promise.all(this.queues().map(figuresOf)).then((lists) => lists.flat());
    }
    return this.reading;
  }
}

async function figuresOf(queue: MeasuredQueue): Promise<FleetFigure[]> {
  const labels = { queue: queue.name };
  const stats = await queue.stats().catch(() => undefined);
  return [{ key: 'up', labels, value: stats ? 1 : 0 }, ...(stats ? figures(labels, stats) : [])];
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
    figure('oldestAge', stats.oldestPendingAgeMs / 1_000),
    figure('expiredClaims', stats.expiredClaims),
    ...(stats.maintainedAt
      ? [figure('maintenance', Math.max(0, Date.now() - stats.maintainedAt.getTime()) / 1_000)]
      : []),
    figure('workers', stats.workers),
    figure('paused', stats.pausedAt ? 1 : 0),
    ...Object.entries(totals).map(([event, value]) => figure('jobs', value, { event })),
  ];
}
