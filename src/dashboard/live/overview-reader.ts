import { Injectable } from '@nestjs/common';
import type { JobQueue } from '../../queue/job-queue.js';
import type { JobRecord } from '../../queue/model/job.js';
import { QueueRegistry } from '../../nest/connection/queue-registry.js';
import { serverNow } from '../actions/run-store.js';
import { Redactor } from '../security/redactor.js';
import { JobDescriber } from '../views/job-describer.js';
import type { OverviewView, QueueView } from '../views/views.js';
import type { QueueVerdictView } from '../views/verdict-views.js';
import { LIST_BYTES } from '../../inspect/search/walk-state.js';
import { ShownQueues } from '../shown-queues.js';
import { readOutboxVerdict } from '../../inspect/servers/outbox-verdict.js';
import { readServerVerdict } from '../../inspect/servers/server-verdict.js';
import { drainWords } from '../../inspect/rule.js';
import { readFacts, signsOf, type QueueFacts } from '../../inspect/signs.js';
import { findingOf } from '../../inspect/verdict.js';
import type { LimitsInForce } from '../../queue/store/verbs/limit-verbs.js';
import { HistoryCache, lastHourOf } from './history-cache.js';
import { limitsInWords } from '../../inspect/limits-in-words.js';
import { RateWindow } from './rate-window.js';
import { overallVerdict, verdictView, worseFact, worstQueueFirst } from './verdict-view.js';
import { workersOf, type ClaimedView, type SeenWorker } from './workers-view.js';

/** The most claimed jobs that one reading takes of a queue. */
const MOST_CLAIMED = 100;
/** The time that the database of the outbox may take, in ms. Then the page says that it gives no answer. */
const OUTBOX_MS = 1_000;

/** The time between two readings of a queue that the app does not know, in ms. */
const OTHERS_MS = 5_000;

/** One queue as it was read. */
interface QueueReading {
  view: QueueView;
  workers: SeenWorker[];
  claimed: ClaimedView[];
}

/** Reads all queues at one moment: a few commands for each, whatever its length. */
@Injectable()
export class OverviewReader {
  private readonly rates = new RateWindow();
  /** The last reading of each queue that the app does not know. */
  private readonly others = new Map<string, { atMs: number; read: QueueReading | QueueVerdictView }>();
  /** When the last part of a reading arrived, by the clock of the store. */
  private heardAt = -Infinity;

  constructor(
    private readonly shown: ShownQueues,
    private readonly queues: QueueRegistry,
    private readonly describer: JobDescriber,
    private readonly history: HistoryCache,
    private readonly redactor: Redactor,
  ) {}

  async read(): Promise<Omit<OverviewView, 'runs'>> {
    await this.shown.look();
    const names = this.shown.names();
    const known = new Set(names);
    [...this.others.keys()].filter((name) => !known.has(name)).forEach((name) => this.others.delete(name));
    const at = await this.now(names);
    const all = await Promise.all(
      names.map((name) => (this.shown.isOther(name) ? this.readOther(name, at) : this.readOrVerdict(name, at))),
    );
    const read = all.filter((each) => 'view' in each);
    const broken = all.filter((each) => 'verdict' in each);
    const queues = read.map(({ view }) => view).toSorted(worstQueueFirst);
    const [server = null, outbox = null] = await Promise.all([
      readServerVerdict(this.queues.redis.store),
      readOutboxVerdict(this.queues.outbox, OUTBOX_MS),
    ]);
    this.hear();
    return {
      at,
      server,
      outbox,
      sentence: overallVerdict(worseFact(server, outbox), [...queues, ...broken]),
      queues,
      unreadable: broken,
      workers: workersOf(
        read.flatMap(({ workers }) => workers),
        read.flatMap(({ claimed }) => claimed),
      ),
    };
  }

  /** Returns the time of Redis in epoch ms, by the first readable queue. */
  private async now(names: readonly string[]): Promise<number> {
    for (const name of names) {
      try {
        const at = await serverNow(this.shown.get(name));
        this.hear();
        return at;
      } catch (error) {
        this.shown.verdictOn(name, error);
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

  private readOrVerdict(name: string, atMs: number): Promise<QueueReading | QueueVerdictView> {
    return this.readQueue(this.shown.get(name), atMs).catch((error: unknown): QueueVerdictView => ({
      name,
      verdict: verdictView(this.shown.verdictOn(name, error)),
    }));
  }

  /** Reads a queue that the app does not know, at most once in some seconds. */
  private async readOther(name: string, atMs: number): Promise<QueueReading | QueueVerdictView> {
    const known = this.others.get(name);
    if (known && atMs - known.atMs < OTHERS_MS && atMs >= known.atMs) {
      return known.read;
    }
    const read = await this.readOrVerdict(name, atMs);
    if ('view' in read) {
      read.view.isOther = true;
      if (this.redactor.hidesAll(name)) {
        read.view.isHidden = true;
      }
    } else {
      read.isOther = true;
    }
    this.others.set(name, { atMs, read });
    return read;
  }

  private async readQueue(queue: JobQueue, atMs: number): Promise<QueueReading> {
    const [read] = await Promise.all([
      readFacts(queue, this.history.read(queue, 1)),
      this.redactor.learn(queue.name),
    ]);
    this.hear();
    const facts = { ...read, history: { ...read.history, at: new Date(atMs) } };
    const claimed =
      facts.stats.processing > 0
        ? await queue.list('processing', { limit: MOST_CLAIMED, mostBytes: LIST_BYTES })
        : [];
    return {
      view: this.view(facts),
      workers: facts.workers.map((worker) => ({ ...worker, queue: queue.name })),
      claimed: claimed.map((job) => this.claimed(job)),
    };
  }

  private view(facts: QueueFacts): QueueView {
    const { queue: name, stats, limits, history } = facts;
    const { pending, scheduled, processing, completed, failed, cancelled } = stats;
    const rates = this.rates.add(name, stats.totals);
    const signs = signsOf(facts);
    return {
      name,
      depths: { pending, scheduled, processing, completed, failed, cancelled },
      oldestPendingAgeMs: stats.oldestPendingAgeMs,
      drains: drainWords(signs) ?? null,
      expiredClaims: stats.expiredClaims,
      workers: stats.workers,
      pausedAt: stats.pausedAt?.getTime() ?? null,
      pausedUntil: stats.pausedUntil?.getTime() ?? null,
      totals: stats.totals,
      rates,
      ...lastHourOf(history),
      limits: limitsInWords(limits),
      limitsSet: figuresOf(limits),
      verdict: verdictView(findingOf(signs)),
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
    };
  }
}

function figuresOf({ maxRunning, rateLimit, source }: LimitsInForce): QueueView['limitsSet'] {
  return { ...(maxRunning !== undefined && { maxRunning }), ...(rateLimit && { rateLimit }), source };
}
