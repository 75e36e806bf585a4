import type { QueueStats } from '../queue/model/job.js';
import { announcedLimits, type SharedLimitState } from '../queue/model/shared-limit.js';
import { shardOfName, shardsAmong, wholeOfShard, wholesOf } from '../queue/model/spread.js';
import type { WorkerRecord } from '../queue/model/worker-record.js';
import { systemClock } from '../queue/runtime/clock.js';
import { within } from '../queue/runtime/waits.js';
import type { OutboxWriter } from '../queue/store/outbox-writer.js';
import type { FleetFigure, InstrumentKey, Labels } from './instruments.js';

type Announced = Awaited<ReturnType<NonNullable<MeasuredQueue['workers']>>>;

/** A queue as far as metrics read it; a JobQueue is one. */
export interface MeasuredQueue {
  /** The name of the queue, a label of its metrics. */
  readonly name: string;
  /** Returns the figures of the queue. */
  stats(): Promise<QueueStats>;
  /** Returns its workers, whose slots are counted. Without it there is no such figure. */
  workers?(): Promise<readonly Pick<WorkerRecord, 'slots' | 'limits'>[]>;
  /** Returns a limit that the workers name. Without it there are no figures of limits. */
  sharedLimit?(name: string): { get(): Promise<SharedLimitState> };
}

/** A scrape asks for each instrument separately. They share a reading of the queues of at most this age, in ms. */
const FRESH_MS = 1_000;

/** Reads the queues at a scrape: two script calls for each queue, and one for each shared limit. */
export class FleetReader {
  private reading: Promise<FleetFigure[]> | undefined;
  private readAt = -Infinity;

  /** @param showsShards true if the figures of a queue with shards are exported for each of them */
  constructor(
    private readonly queues: () => readonly MeasuredQueue[],
    private readonly outbox: () => MeasuredOutbox | undefined,
    private readonly showsShards = false,
  ) {}

  /** Returns the figures to export. */
  async exported(): Promise<FleetFigure[]> {
    return this.showsShards ? withShards(await this.ofEach()) : this.read();
  }

  /** Returns all figures. Those of shards are joined to one queue. */
  async read(): Promise<FleetFigure[]> {
    return joinShards(await this.ofEach());
  }

  /** Returns the figures of each queue. One whose Redis does not reply has only the figure that it is down. Never rejects. */
  private ofEach(): Promise<FleetFigure[]> {
    const now = performance.now();
    if (!this.reading || now - this.readAt > FRESH_MS) {
      this.readAt = now;
      const outbox = this.outbox();
      this.reading = Promise.all([figuresOfAll(this.queues()), ...(outbox ? [outboxFigures(outbox)] : [])]).then(
        (lists) => lists.flat(),
      );
    }
    return this.reading;
  }
}

/** The figures of which a queue has the sum of its shards. It is up if all shards are. Of the others the highest counts. */
const SUMMED: readonly InstrumentKey[] = [
  'depth',
  'parked',
  'awaitingPermit',
  'deadLetters',
  'expiredClaims',
  'jobs',
];

function joinShards(all: readonly FleetFigure[]): FleetFigure[] {
  const joined = new Map<string, FleetFigure>();
  for (const { key, labels, value } of all) {
    const queue = labels.queue && wholeOfShard(labels.queue);
    const own = queue === undefined ? labels : { ...labels, queue };
    const id = JSON.stringify([key, own]);
    const known = joined.get(id);
    const join = SUMMED.includes(key) ? (a: number, b: number) => a + b : key === 'up' ? Math.min : Math.max;
    joined.set(id, known ? { ...known, value: join(known.value, value) } : { key, labels: own, value });
  }
  return [...joined.values()];
}

/** Returns the figures with the number of the shard as a label. */
function withShards(all: readonly FleetFigure[]): FleetFigure[] {
  const isShard = shardsAmong([...new Set(all.flatMap(({ labels: { queue } }) => queue ?? []))]);
  return all.map((figure) => {
    const { queue } = figure.labels;
    if (queue === undefined || !isShard(queue)) {
      return figure;
    }
    const shard = String(shardOfName(queue)?.shard ?? 0);
    return { ...figure, labels: { ...figure.labels, queue: wholeOfShard(queue), shard } };
  });
}

/** The most limits of which a scrape has figures. */
const MOST_LIMITS = 100;

/** The first values of the counters that alerts use. Prometheus sees no increase in a counter that appears. */
const NO_EVENTS = { enqueued: 0, completed: 0, failed: 0, retried: 0, reclaimed: 0, crashed: 0, dropped: 0 };

async function figuresOfAll(queues: readonly MeasuredQueue[]): Promise<FleetFigure[]> {
  const read = await Promise.all(queues.map(readQueue));
  const readers = new Map<string, MeasuredQueue>();
  read.forEach(({ workers }, i) => announcedLimits(workers).forEach((limit) => readers.set(limit, queues[i]!)));
  const shown = [...readers].slice(0, MOST_LIMITS);
  const limits = await Promise.all(shown.map(([limit, queue]) => figuresOfLimit(limit, queue)));
  return [...read.flatMap(({ found }) => found), ...limits.flat()];
}

async function readQueue(queue: MeasuredQueue): Promise<{ found: FleetFigure[]; workers: Announced }> {
  const labels = { queue: queue.name };
  const [stats, workers] = await Promise.all([
    queue.stats().catch(() => undefined),
    queue.workers?.().catch(() => undefined),
  ]);
  const found: FleetFigure[] = [
    { key: 'up', labels, value: stats ? 1 : 0 },
    ...(stats ? figures(labels, stats) : []),
    ...(workers ? slotsOf(labels, workers) : []),
  ];
  return { found, workers: workers ?? [] };
}

async function figuresOfLimit(limit: string, queue: MeasuredQueue): Promise<FleetFigure[]> {
  const state = await queue
    .sharedLimit?.(limit)
    .get()
    .catch(() => undefined);
  const figure = (key: InstrumentKey, value: number, more: Labels = {}): FleetFigure => {
    return { key, labels: { limit, ...more }, value };
  };
  return state
    ? [
        figure('limitRunning', state.running),
        ...(state.maxRunning === undefined ? [] : [figure('limitMost', state.maxRunning)]),
        figure('limitWaiting', wholesOf(state.waiting).length),
        figure('limitClosed', Number((state.pausedAt ?? state.restsUntil) !== undefined)),
        ...Object.entries(state.waitingKeys ?? {}).map(([of, keys]) => figure('limitKeys', keys, { state: of })),
      ]
    : [];
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
    figure('parked', stats.parked ?? 0),
    figure('awaitingPermit', stats.awaitingPermit ?? 0),
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

/** The outbox of an app, as far as metrics read it. */
export type MeasuredOutbox = Pick<OutboxWriter, 'signs' | 'relayed'>;

/** The longest wait of a scrape for the database, in ms. The figures of the queues wait as long. */
const MOST_MS = 1_000;

/** Returns the figures of the outbox. Without those of the table, if its database gives no answer. Never rejects. */
async function outboxFigures({ signs, relayed }: MeasuredOutbox): Promise<FleetFigure[]> {
  const found = signs && (await within(systemClock, MOST_MS, signs(), () => undefined).catch(() => undefined));
  return [
    ...(found
      ? [
          rows('waiting', found.waiting - found.setAside),
          rows('set_aside', found.setAside),
          rows('failed', found.failed),
          { key: 'outboxAge' as const, labels: {}, value: found.oldestAgeMs / 1_000 },
        ]
      : []),
    ...[...(relayed ?? [])].map(([queue, value]) => ({ key: 'outboxRelayed' as const, labels: { queue }, value })),
  ];
}

function rows(state: string, value: number): FleetFigure {
  return { key: 'outboxRows', labels: { state }, value };
}
