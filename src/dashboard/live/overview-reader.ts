import { Injectable } from '@nestjs/common';
import { limitsInWords } from '../../inspect/limits-in-words.js';
import type { LimitsEntry, QueueSigns, SeenDeath } from '../../inspect/queue-signs.js';
import { RateWindow } from '../../inspect/rate-window.js';
import { readOutboxVerdict, type OutboxVerdict } from '../../inspect/outbox-verdict.js';
import { readServerVerdict } from '../../inspect/server-verdict.js';
import { GOES_ON_MS, withCause, type KindOfQueue } from '../../inspect/shared-errors.js';
import { ownRatesInWords } from '../../inspect/limit-rules.js';
import {
  deathsOf,
  lastLimitsEntries,
  MOST_SCHEDULES,
  readClaimed,
  readFacts,
  signsOf,
  type QueueFacts,
} from '../../inspect/signs.js';
import { OPTIONAL_MS, unreadable } from '../../inspect/unreadable.js';
import { hostOf } from '../../inspect/words.js';
import { QueueRegistry } from '../../nest/connection/queue-registry.js';
import type { JobQueue } from '../../queue/job-queue.js';
import type { HistoryMark } from '../../queue/model/history.js';
import type { JobRecord } from '../../queue/model/job.js';
import type { LimitsInForce } from '../../queue/model/limits.js';
import type { ScheduleRecord } from '../../queue/model/schedule.js';
import { slotsOfJob, type WorkerRecord } from '../../queue/model/worker-record.js';
import { systemClock } from '../../queue/runtime/clock.js';
import { groupBy } from '../../queue/runtime/collections.js';
import { within } from '../../queue/runtime/waits.js';
import type { ActionEntry } from '../../queue/store/action-entry.js';
import { serverNow } from '../actions/bulk-runs.js';
import { Redactor } from '../security/redactor.js';
import { ShownQueues } from '../shown-queues.js';
import { JobDescriber } from '../views/job-describer.js';
import { inOrder } from '../views/overview-changes.js';
import type { OverviewView, QueueView, EndedWorkerView, RunningView, WorkerView } from '../views/views.js';
import { HistoryCache, type HourReport } from './history-cache.js';
import { figuresOf, type UnreadQueue } from './queue-rows.js';

/** The time that the database of the outbox may take, in ms. Then the page says that it gives no answer. */
const OUTBOX_MS = 1_000;

/** The time between two readings of a queue that the app does not know, in ms. Schedules are read as often. */
const OTHERS_MS = 5_000;

/** The time for which dead workers are listed, in ms. */
const HOUR_MS = 3_600_000;

/** The time between two readings of the kinds of error of a queue, in ms. */
const KINDS_MS = 10_000;
/** The most actions that are read of a queue. */
const MOST_ENTRIES = 10;

/** The time between two looks for who set the limits of a queue, in ms. */
const LIMITS_MS = 60_000;

/** A queue as it was read. Its verdict is put into words once it is known who looks. */
type ReadQueue = Omit<QueueView, 'verdict'> & { signs: QueueSigns; history: HourReport };

/** All queues as they were read, before it is known who looks. */
export interface OverviewReading extends Omit<
  OverviewView,
  'queues' | 'unreadable' | 'shards' | 'sentence' | 'outbox' | 'errors' | 'timeline' | 'sharedLimits' | 'hasTopics'
> {
  outbox: OutboxVerdict | null;
  /** The kinds of error with a death in the last hour. */
  kinds: KindOfQueue[];
  /** The last actions on each queue. */
  entries: (ActionEntry & { queue: string })[];
  /** When this process first saw that the outbox needs a look; null while it needs none. */
  outboxSince: number | null;
  /** The deploys and outages of each queue. */
  deploys: { queue: string; mark: HistoryMark }[];
  /** The queues of the subscriptions of topics. */
  topicQueues: readonly string[];
  queues: ReadQueue[];
  unreadable: UnreadQueue[];
}

/** One queue as it was read, with its workers. */
interface QueueReading {
  view: ReadQueue;
  workers: SeenWorker[];
  claimed: ClaimedView[];
  deaths: (SeenDeath & { queue: string })[];
  deploys: HistoryMark[];
  /** True if jobs died in the last hour. */
  isDying: boolean;
}

/** Reads all queues at one moment: a few commands for each, whatever its length. */
@Injectable()
export class OverviewReader {
  private readonly rates = new RateWindow();
  /** The last reading of each queue that the app does not know. */
  private readonly others = new KeptReads<QueueReading | UnreadQueue>(OTHERS_MS);
  /** The schedules of each queue. A schedule counts as late only after a minute. */
  private readonly schedules = new KeptReads<readonly ScheduleRecord[]>(OTHERS_MS);
  /** The kinds of error of each queue with a death in the last hour. */
  private readonly kinds = new KeptReads<KindOfQueue[]>(KINDS_MS);
  /** The last actions on each queue. */
  private readonly entries = new KeptReads<readonly ActionEntry[]>(LIMITS_MS);
  private outboxSince: number | null = null;
  /** The queues of the subscriptions of topics. */
  private readonly topicQueues = new KeptReads<readonly string[]>(OTHERS_MS);
  /** Who set the limits of each queue. The entry may be far back in its log. */
  private readonly limitsEntries = new KeptReads<LimitsEntry[]>(LIMITS_MS);
  /** When the last part of a reading arrived, by the clock of the store. */
  private heardAt = -Infinity;

  constructor(
    private readonly shown: ShownQueues,
    private readonly queues: QueueRegistry,
    private readonly describer: JobDescriber,
    private readonly history: HistoryCache,
    private readonly redactor: Redactor,
  ) {}

  async read(): Promise<Omit<OverviewReading, 'runs'>> {
    await this.shown.look();
    const names = this.shown.names();
    [this.others, this.schedules, this.kinds, this.entries, this.limitsEntries].forEach((kept) =>
      kept.keepOnly(new Set(names)),
    );
    const at = await this.now(names);
    // In parallel with the queues, because one master may be silent.
    const beside = Promise.all([
      readServerVerdict(this.queues.redis.store),
      readOutboxVerdict(this.queues.outbox, OUTBOX_MS),
      this.inTime(this.topicQueues.get('', at, () => this.shown.topicQueues().catch((): string[] => []))),
    ]);
    beside.catch(() => undefined); // awaited after the queues
    const all = await Promise.all(
      names.map((name) =>
        this.shown.isOther(name)
          ? this.others.get(name, at, () => this.readOther(name, at))
          : this.readOrVerdict(name, at),
      ),
    );
    const read = all.filter((each) => 'view' in each);
    const broken = all.filter((each) => 'verdict' in each);
    const [kinds, entries] = await Promise.all([this.dyingKinds(read, at), this.lastEntries(read, at)]);
    const [server = null, outbox = null, topicQueues = []] = await beside;
    const ended = endedOf(read.flatMap(({ deaths }) => deaths));
    const isOutboxTroubled = outbox?.severity === 'warning' || outbox?.severity === 'critical';
    this.outboxSince = isOutboxTroubled ? (this.outboxSince ?? at) : null;
    this.hear();
    return {
      at,
      server,
      outbox,
      queues: read.map(({ view }) => view),
      unreadable: broken,
      workers: workersOf(
        read.flatMap(({ workers }) => workers),
        read.flatMap(({ claimed }) => claimed),
      ).filter(({ id, holds }) => holds !== 0 || !ended.some((worker) => worker.id === id)),
      ended,
      kinds,
      entries,
      outboxSince: this.outboxSince,
      topicQueues,
      deploys: read.flatMap(({ view, deploys }) => deploys.map((mark) => ({ queue: view.name, mark }))),
    };
  }

  private inTime<Value>(reading: Promise<Value>): Promise<Value | undefined> {
    return within(systemClock, OPTIONAL_MS, reading, () => undefined);
  }

  /** Returns the kinds of error with a death in the last hour. */
  private async dyingKinds(read: readonly QueueReading[], atMs: number): Promise<KindOfQueue[]> {
    const dying = read.filter(({ isDying }) => isDying);
    const kinds = dying.map(({ view }) => this.kindsOf(view.name, atMs));
    return (await Promise.all(kinds)).flat();
  }

  private async lastEntries(read: readonly QueueReading[], atMs: number): Promise<OverviewReading['entries']> {
    const all = await Promise.all(
      read.map(async ({ view: { name } }) => {
        const found = await this.entries.get(name, atMs, () =>
          this.shown.readOrNote(name, this.shown.get(name).actionLog.latest({ limit: MOST_ENTRIES })),
        );
        return found.map((entry) => ({ ...entry, queue: name }));
      }),
    );
    return all.flat();
  }

  private kindsOf(name: string, atMs: number): Promise<KindOfQueue[]> {
    return this.kinds.get(name, atMs, async () => {
      const found = await this.shown.readOrNote(
        name,
        this.shown.get(name).deadLetters.kinds({ lastMs: GOES_ON_MS }),
      );
      return found.map(({ isNew: _isNew, ...kind }) =>
        withCause(name, kind, (sample) => this.redactor.record(sample)),
      );
    });
  }

  /** Returns the time of Redis in epoch ms, by the first readable queue. Of a queue with shards the first reply counts. */
  private async now(names: readonly string[]): Promise<number> {
    for (const [whole, shards] of groupBy(names, (name) => this.queues.wholeOf(name))) {
      try {
        const at = await Promise.any(shards.map((name) => serverNow(this.shown.get(name))));
        this.hear();
        return at;
      } catch (error) {
        const [first] = (error as AggregateError).errors as [unknown];
        if (!this.shown.isOther(whole)) unreadable(whole, first);
      }
    }
    return Date.now();
  }

  /** Returns a function that says whether Redis replies: it sent anything within this many ms, since this call. */
  listen(): (silentMs: number) => boolean {
    const { store } = this.queues.redis;
    const patience = store.patience(store.clock.monotonic());
    // The patience of a Cluster knows only replies that are owed now. So the parts of the reading count too.
    return (silentMs) => patience(silentMs) > 0 || store.clock.monotonic() - this.heardAt < silentMs;
  }

  private hear(): void {
    this.heardAt = this.queues.redis.store.clock.monotonic();
  }

  private readOrVerdict(name: string, atMs: number): Promise<QueueReading | UnreadQueue> {
    return this.shown
      .inTime(name, this.readQueue(this.shown.get(name), atMs))
      .catch((error: unknown): UnreadQueue => ({ name, verdict: this.shown.verdictOn(name, error) }));
  }

  /** Reads a queue that the app does not know. */
  private async readOther(name: string, atMs: number): Promise<QueueReading | UnreadQueue> {
    const read = await this.readOrVerdict(name, atMs);
    if ('view' in read) {
      read.view.isOther = true;
      if (this.redactor.hidesAll(name)) {
        read.view.isHidden = true;
      }
    } else {
      read.isOther = true;
    }
    return read;
  }

  private async readQueue(queue: JobQueue, atMs: number): Promise<QueueReading> {
    let reading: Promise<JobRecord[]> | undefined;
    const readsClaimed = () => (reading ??= readClaimed(queue));
    const [read] = await Promise.all([
      readFacts(queue, {
        history: () => this.history.read(queue, 1),
        schedules: () =>
          this.schedules.get(queue.name, atMs, () => queue.schedules.list({ limit: MOST_SCHEDULES })),
        limitsEntries: () => this.limitsEntries.get(queue.name, atMs, () => lastLimitsEntries(queue)),
        claimed: readsClaimed,
      }),
      this.redactor.learn(queue.name),
    ]);
    this.hear();
    const facts = { ...read, history: { ...read.history, at: new Date(atMs) } };
    const claimed = facts.stats.processing > 0 ? await readsClaimed() : [];
    return {
      view: this.view(facts),
      workers: [...facts.workers, ...(facts.silent ?? [])].map((worker) => ({ ...worker, queue: queue.name })),
      claimed: claimed.map((job) => this.claimed(job)),
      deaths: deathsOf(facts.history, facts.workers, HOUR_MS).map((death) => ({ ...death, queue: queue.name })),
      deploys: facts.history.marks.filter(({ kind }) => kind !== 'death'),
      isDying: hasDied(facts),
    };
  }

  private view(facts: QueueFacts): ReadQueue {
    const { queue: name, stats, limits, history } = facts;
    const signs = signsOf(facts, this.rates.add(name, stats.totals));
    return {
      ...figuresOf(signs, history),
      limits:
        [limitsInWords(limits, facts.limitsSet, history.at), ownRatesInWords(signs)].filter(Boolean).join('; ') ||
        null,
      limitsSet: limitsSetOf(limits),
      signs,
      history,
    };
  }

  private claimed(job: JobRecord): ClaimedView {
    return {
      id: job.id,
      name: job.name,
      queue: job.queue,
      label: this.describer.labelOf(job),
      attempt: job.attempts,
      claimedAt: job.claimedAt?.getTime() ?? null,
      worker: job.worker ?? null,
      isPrefetched: job.unstarted === true,
      ...(job.slots !== undefined && { slots: job.slots }),
    };
  }
}

/** Returns whether jobs died in the last hour: by its closed minutes, or since the last of them. */
function hasDied({ stats, history: { points, closed } }: QueueFacts): boolean {
  const sinceClosed = (stats.totals['failed'] ?? 0) - (closed?.totals['failed'] ?? 0);
  return stats.failed > 0 && (sinceClosed > 0 || points.some(({ failed }) => failed > 0));
}

function limitsSetOf({ maxRunning, rateLimit, source }: LimitsInForce): QueueView['limitsSet'] {
  return { ...(maxRunning !== undefined && { maxRunning }), ...(rateLimit && { rateLimit }), source };
}

/** Reads something of each queue at most once in some time, by the clock of Redis. */
class KeptReads<Value> {
  private readonly reads = new Map<string, { atMs: number; read: Promise<Value> }>();

  constructor(private readonly keptMs: number) {}

  get(queue: string, atMs: number, read: () => Promise<Value>): Promise<Value> {
    const known = this.reads.get(queue);
    if (known && atMs - known.atMs < this.keptMs && atMs >= known.atMs) {
      return known.read;
    }
    const kept = { atMs, read: read() };
    kept.read.catch(() => void this.reads.delete(queue));
    this.reads.set(queue, kept);
    return kept.read;
  }

  /** Forgets the queues that have gone. */
  keepOnly(queues: ReadonlySet<string>): void {
    [...this.reads.keys()].filter((queue) => !queues.has(queue)).forEach((queue) => this.reads.delete(queue));
  }
}

/** A worker as one queue knows it. */
interface SeenWorker extends WorkerRecord {
  queue: string;
}

/** A claimed job with its worker. Its enqueue may have asked for `slots`. */
interface ClaimedView extends RunningView {
  worker: string | null;
  isPrefetched: boolean;
}

/** Joins the workers of the queues: one entry for each process, with its jobs. */
export function workersOf(seen: readonly SeenWorker[], claimed: readonly ClaimedView[]): WorkerView[] {
  const byId = new Map<string, WorkerView>();
  for (const each of seen) {
    const worker = byId.get(each.id) ?? newWorker(each.id);
    byId.set(each.id, { ...worker, ...joinedWorker(worker, each) });
  }
  for (const { worker: id, isPrefetched, slots: asked, ...job } of claimed) {
    // Also the claims of a client without an announcement, or of a worker that is gone.
    const owner = id ?? 'another client';
    const worker = byId.get(owner) ?? newWorker(owner);
    const seenBy = seen.find((each) => each.id === owner && each.queue === job.queue);
    const slots = seenBy ? slotsOfJob(seenBy, { name: job.name, ...(asked !== undefined && { slots: asked }) }) : 1;
    (isPrefetched ? worker.prefetched : worker.running).push({ ...job, ...(slots > 1 && { slots }) });
    byId.set(owner, worker);
  }
  return [...byId.values()]
    .map((worker) => ({
      ...worker,
      running: inOrder(worker.running),
      prefetched: inOrder(worker.prefetched),
    }))
    .toSorted((a, b) => a.id.localeCompare(b.id));
}

/** The most dead workers that are listed. */
const MOST_ENDED = 100;

/** Joins the dead workers of the queues: one entry for each process, the last first. */
export function endedOf(deaths: readonly (SeenDeath & { queue: string })[]): EndedWorkerView[] {
  const byId = new Map<string, EndedWorkerView>();
  for (const { worker: id, at, how, jobs, ran, queue } of deaths) {
    const known = byId.get(id);
    byId.set(id, {
      id,
      ...hostOf(id),
      how,
      at: Math.max(known?.at ?? 0, at.getTime()),
      jobs: (known?.jobs ?? 0) + jobs,
      ran: [...(known?.ran ?? []), ...ran.map((job) => ({ queue, ...job }))],
    });
  }
  return [...byId.values()].toSorted((a, b) => b.at - a.at || a.id.localeCompare(b.id)).slice(0, MOST_ENDED);
}

function joinedWorker(worker: WorkerView, seen: SeenWorker): Partial<WorkerView> {
  const {
    queue,
    seenAt,
    startedAt,
    host,
    pid,
    app,
    version,
    slots,
    processSlots = Infinity,
    stuck = [],
    holds,
  } = seen;
  const isNew = worker.queues.length === 0;
  return {
    queues: [...worker.queues, queue],
    seenAt: Math.max(worker.seenAt, seenAt.getTime()),
    host: host ?? worker.host,
    pid: pid ?? worker.pid,
    app: app ?? worker.app,
    version: version ?? worker.version,
    startedAt: startedAt?.getTime() ?? worker.startedAt,
    slots: slots === undefined ? worker.slots : Math.min(processSlots, (worker.slots ?? 0) + slots),
    // It is silent only if all its queues say so.
    holds: holds === undefined || (worker.holds === null && !isNew) ? null : (worker.holds ?? 0) + holds,
    stuck: [...worker.stuck, ...stuck.map((job) => ({ ...job, queue }))],
  };
}

function newWorker(id: string): WorkerView {
  return {
    id,
    ...hostOf(id),
    seenAt: 0,
    slots: null,
    app: null,
    version: null,
    startedAt: null,
    queues: [],
    running: [],
    prefetched: [],
    stuck: [],
    holds: null,
  };
}
