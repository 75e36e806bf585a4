import { QueueLayoutError } from '../../queue/errors/errors.js';
import { groupBy, keptIn } from '../../queue/runtime/collections.js';
import { SafeLogger } from '../../queue/errors/safe-logger.js';
import { show } from '../../queue/errors/show.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { UnreachedQueues } from '../../queue/operate/elsewhere.js';
import { tryToMaintainBatches } from '../../queue/operate/maintain-batches.js';
import { OpenedQueues } from '../../queue/operate/opened-queues.js';
import type { BackgroundRole } from '../../queue/runtime/background-role.js';
import { limitOf } from '../../queue/runtime/bounds.js';
import { systemClock, type Clock, type Timer } from '../../queue/runtime/clock.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import type { QueueStore, Settled, CallLimit, QueueAccess } from '../../queue/store/queue-store.js';
import type { Look } from '../../queue/store/queues-verbs.js';
import type { StoreCall } from '../../queue/store/store-call.js';
import type { StoreCalls } from '../../queue/store/store-calls.js';
import type { Place } from '../../queue/validation/key-table.js';
import type { Watched, TidyReply } from '../../queue/verbs/sweep.js';
import type { WorkerEventListener } from '../handlers/attempt-middleware.js';
import { FaultLog, FailureLog } from '../reports/failure-log.js';
import { heartbeatIntervalMs } from '../runner/heartbeat.js';
import { EndReports } from './end-reports.js';
import { ForeignClients } from './foreign-clients.js';
import {
  DueQueues,
  LOOKED_AT,
  REMAINS,
  LookRounds,
  MaintenanceRight,
  type HeldRight,
  type OpenQueue,
} from './maintenance-right.js';

/** The sweep of all queues among the runs in progress. It is the run of the only server too. */
const ALL_SERVERS = '';

/** The time of a reply that means that the server was away, in ms. A heartbeat, if that is longer. */
const LATE_MS = 1_000;

interface SweeperOptions {
  /** Receives each job whose last permitted crash it was; absent without a listener. */
  emit?: WorkerEventListener | undefined;
  failures?: FailureLog;
  /** Default: that of the first queue. The queues of an app may become known later. */
  clock?: Clock;
  /** The version of the app, for the history. */
  version?: string | undefined;
}

/**
 * Maintains queues in rounds. Of the processes with the same queues one has the right to, see MaintenanceRight. It looks at all
 * queues of a server together, and sweeps those with work. Each server is by itself, because another may be away.
 */
export class Sweeper implements BackgroundRole {
  private timer: Timer | undefined;
  /** The runs in progress, by server. */
  private readonly running = new Map<string, Promise<SweepReport>>();
  private stopped = false;
  private readonly foreignClients: ForeignClients;
  private readonly history: HistoryKeeper;
  private readonly failures: FailureLog;
  private readonly faults: FaultLog;
  private readonly clock: Clock;
  private readonly sweep: QueueSweep;
  private readonly due: DueQueues;
  private right: MaintenanceRight | undefined;
  private readonly opened = new WeakMap<JobQueue, OpenQueue>();
  private readonly rounds = new Map<string, LookRounds>();
  /** The minute of each server in which its idle queues were noted last. */
  private readonly notedIn = new Map<string, number>();

  constructor(
    private readonly queues: readonly JobQueue[],
    readonly intervalMs: number,
    logger: JobQueueLogger,
    { emit, failures, clock, version = '' }: SweeperOptions = {},
  ) {
    this.faults = new FaultLog(logger);
    this.clock = clock ?? queues[0]?.store.clock ?? systemClock;
    this.failures = failures ?? new FailureLog(SafeLogger.of(logger), true, this.clock);
    this.foreignClients = new ForeignClients(logger);
    this.history = new HistoryKeeper(intervalMs, version);
    const reports = new EndReports(logger, this.failures, emit);
    this.sweep = new QueueSweep(intervalMs, {
      logger,
      faults: this.faults,
      failures: this.failures,
      reports,
      foreignClients: this.foreignClients,
    });
    this.due = new DueQueues(this.clock);
  }

  start(): void {
    this.timer = this.clock.setInterval(() => void this.runRound(), this.intervalMs);
  }

  /** Prevents further runs, ends a current one with its slice, and gives the right to maintain back. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.sweep.stop();
    this.clock.clear(this.timer);
    this.foreignClients.stop();
    await Promise.all(this.running.values());
    await this.right?.giveBack();
    this.failures.flush();
  }

  /**
   * Sweeps all queues, or returns the run in progress. It needs no right, because several sweeps do no harm. An error in
   * one queue does not stop the others.
   */
  runOnce(): Promise<SweepReport> {
    return this.runAlone(ALL_SERVERS, async (report) => {
      for (const queue of this.queues) {
        await this.sweepQueue(queue, report);
      }
    });
  }

  /**
   * Sweeps the queues that need it, if this process has the right to. Each server has its own rounds, so one without a reply
   * delays no other. Joins the round of a server that is in progress.
   *
   * @param only the server to maintain; undefined for all
   */
  async runRound(only?: string): Promise<SweepReport> {
    const servers = groupBy(this.queues, (queue) => queue.store.serverOf(queue.uncheckedCalls()));
    const chosen = [...servers].filter(([server]) => !this.stopped && (only === undefined || server === only));
    const rounds = chosen.map(([server, queues]) =>
      this.runAlone(server, async (report) => this.maintain(server, await this.openQueues(queues), report)),
    );
    return sumOf(await Promise.all(rounds));
  }

  private runAlone(server: string, run: (report: SweepReport) => Promise<void>): Promise<SweepReport> {
    return keptIn(this.running, server, async () => {
      const report = sumOf([]);
      try {
        await run(report);
      } finally {
        this.running.delete(server);
      }
      return report;
    });
  }

  /** Returns those queues of a server whose layout is known. */
  private async openQueues(queues: readonly JobQueue[]): Promise<readonly OpenQueue[]> {
    const unknown = queues.filter((queue) => queue.isRefused || !this.opened.has(queue));
    await Promise.all(
      unknown.map(async (queue) => {
        try {
          this.opened.set(queue, { queue, calls: await queue.calls() });
        } catch (error) {
          if (error instanceof QueueLayoutError) this.opened.delete(queue); // another version has it now
          this.failed(queue, error);
        }
      }),
    );
    return queues.flatMap((queue) => this.opened.get(queue) ?? []);
  }

  private async maintain(server: string, queues: readonly OpenQueue[], report: SweepReport): Promise<void> {
    if (queues.length === 0) {
      return;
    }
    const { store } = queues[0]!.queue;
    const rounds = this.rounds.get(server) ?? new LookRounds(this.intervalMs);
    this.rounds.set(server, rounds);
    let askedAtMs = this.clock.monotonic();
    if (rounds.rests(askedAtMs)) {
      return;
    }
    const { hasRight, idleAtMs, restMs } = await this.askRight(store, server, queues, rounds.restMs(queues));
    if (!hasRight) {
      return rounds.restart();
    }
    let tookMs = this.clock.monotonic() - askedAtMs;
    const limit = limitOf(this.intervalMs);
    const looksForRemains = this.due.looksForRemains(server);
    const { looked, calls } = rounds.next(queues, looksForRemains);
    const remains = looksForRemains ? await store.queues.look(calls, REMAINS, limit) : [];
    let looks: readonly Settled<Look>[];
    if (idleAtMs === undefined) {
      askedAtMs = this.clock.monotonic();
      looks = await store.queues.look(calls, LOOKED_AT, limit);
      tookMs = this.clock.monotonic() - askedAtMs;
    } else {
      looks = calls.map(() => ({ ok: true, reply: { atMs: idleAtMs, found: new Set<Place>() } }));
    }
    const notIdle = new Set<JobQueue>();
    for (const [i, opened] of looked.entries()) {
      const { queue } = opened;
      const look = looks[i]!;
      if (!look.ok) {
        this.failed(queue, look.error);
      }
      const isIdle = look.ok && !(await this.sweepIfDue(opened, { look: look.reply, tookMs }, remains[i], report));
      rounds.note(queue, !isIdle);
      if (!isIdle) {
        notIdle.add(queue);
      }
    }
    const idle = queues.filter(({ queue }) => !notIdle.has(queue));
    await this.noteIdle(server, idle, looks);
    if (restMs !== undefined && notIdle.size === 0) {
      rounds.wasIdle(askedAtMs, restMs);
    } else {
      rounds.hadWork();
    }
  }

  /** Has the right also after an error, because a server that cannot keep the right still needs maintenance. */
  private async askRight(
    store: QueueStore,
    server: string,
    queues: readonly OpenQueue[],
    restMs: number,
  ): Promise<HeldRight> {
    this.right ??= new MaintenanceRight(store, this.intervalMs, (each) => void this.runRound(each));
    const step = `right ${server}`;
    try {
      const held = await this.right.holds(server, queues, restMs);
      this.faults.succeeded(step);
      return held;
    } catch (error) {
      this.faults.failed(step, 'Could not ask which process maintains the queues, so this one does too', error);
      return { hasRight: true };
    }
  }

  private async sweepIfDue(
    { queue, calls }: OpenQueue,
    { look, tookMs }: { look: Look; tookMs: number },
    remains: Settled<Look> | undefined,
    report: SweepReport,
  ): Promise<boolean> {
    const isLate = tookMs > Math.max(LATE_MS, heartbeatIntervalMs(queue.options));
    const connection = queue.store.connectionOf(calls);
    const watched = this.due.noteLook(queue, look, { gapMs: this.sweep.gapMs(queue), connection, isLate });
    const isDue = this.due.isDue(queue, look, remains?.ok ? remains.reply : undefined);
    if (this.stopped || !(isDue || this.foreignClients.areAtWork(queue))) {
      return false;
    }
    await this.sweepQueue(queue, report, watched);
    return true;
  }

  private async sweepQueue(queue: JobQueue, report: SweepReport, watched?: Watched): Promise<void> {
    try {
      await this.sweep.run(queue, report, watched);
      await this.history.keep(queue);
      this.faults.succeeded(queue.name);
    } catch (error) {
      this.failed(queue, error);
    }
  }

  /** Closes minutes that are over, and notes once a minute that these queues had no work. */
  private async noteIdle(
    server: string,
    idle: readonly OpenQueue[],
    looks: readonly Settled<Look>[],
  ): Promise<void> {
    for (const { queue } of idle.filter((each) => this.history.isOpen(each.queue))) {
      await this.history.keepOpen(queue).catch((error: unknown) => this.failed(queue, error));
    }
    const minute = Math.floor((looks.find((look) => look.ok)?.reply.atMs ?? 0) / 60_000);
    if (this.stopped || idle.length === 0 || this.notedIn.get(server) === minute) {
      return;
    }
    this.notedIn.set(server, minute);
    const note = { everyMs: this.intervalMs, gapMs: this.history.gapMs };
    const { store } = idle[0]!.queue;
    const calls = idle.map((each) => each.calls);
    const outcomes = await store.queues.noteIdle(calls, note, limitOf(this.intervalMs));
    for (const [i, { queue }] of idle.entries()) {
      const outcome = outcomes[i]!;
      if (!outcome.ok) {
        this.failed(queue, outcome.error);
      } else if (outcome.reply) {
        await this.history.keep(queue).catch((error: unknown) => this.failed(queue, error));
      }
    }
  }

  private failed({ name }: JobQueue, error: unknown): void {
    this.faults.failed(name, `Could not sweep queue "${name}"; the next sweep tries again`, error);
  }
}

function sumOf(reports: readonly SweepReport[]): SweepReport {
  const sum: SweepReport = { reclaimed: 0, promoted: 0, adopted: 0 };
  for (const { reclaimed, promoted, adopted } of reports) {
    sum.reclaimed += reclaimed;
    sum.promoted += promoted;
    sum.adopted += adopted;
  }
  return sum;
}

/** The most jobs that one script call of a sweep moves. */
const MOST_MOVED = 200;

/** The most slices of a kind in one run. So a run ends even if more expires than it can reclaim. */
const MOST_SLICES = 500;

/** The most kept records of one look. */
const KEPT_SLICE = 100;

/** The most looks at kept records in one run. */
const MOST_KEPT_LOOKS = 50;

/** The most waiting jobs that one call to another queue asks about. */
const MOST_ASKED = 500;

/** How late a sweep may be without a gap, in ms. */
const LEAST_LATE_MS = 1_000;

/** The most unreached queues that a warning names. */
const MOST_NAMED = 5;

/** The longest time that a sweep relies on another process's tidy, in ms. */
const LONGEST_PACE_MS = 30_000;

/** The result of one sweep. */
interface SweepReport {
  reclaimed: number;
  promoted: number;
  adopted: number;
}

/** The parts of a process that learn from its sweeps. */
interface SweepListeners {
  readonly logger: JobQueueLogger;
  readonly faults: FaultLog;
  readonly failures: FailureLog;
  readonly reports: EndReports;
  readonly foreignClients: ForeignClients;
}

/**
 * Sweeps one queue. Reclaims expired claims, promotes due jobs, and adopts jobs of clients of the Redis pattern. Also
 * deletes old data and maintains batches. A stop ends a sweep with its slice.
 */
class QueueSweep {
  private stopped = false;

  constructor(
    private readonly intervalMs: number,
    private readonly listeners: SweepListeners,
  ) {}

  /** Ends each sweep with its slice. */
  stop(): void {
    this.stopped = true;
  }

  /** Returns the time without a sweep that means that the server was away, and not that a sweeper was late. */
  gapMs({ options }: JobQueue): number {
    const half = options.visibilityMs / 2;
    return Math.max(half, this.intervalMs + Math.min(this.intervalMs, Math.max(half, LEAST_LATE_MS)));
  }

  /** @param watched the unbroken looks at the queue until now, if the caller looks */
  async run(queue: JobQueue, report: SweepReport, watched?: Watched): Promise<void> {
    await this.reclaim(queue, report, watched);
    await this.inSlices(async () => {
      const moved = await this.exec(queue, (calls) => calls.sweep.promote({ limit: MOST_MOVED }));
      report.promoted += moved;
      return moved === MOST_MOVED;
    });
    await this.adopt(queue, report);
    let [looksAtKept, looksAtStreams] = [false, false];
    await this.inSlices(async (i) => {
      const tidied = await this.exec(queue, (calls) =>
        calls.sweep.tidy({ limit: MOST_MOVED, paceMs: i === 0 ? this.paceMs : 0 }),
      );
      this.listeners.failures.dropped(queue.name, tidied.dropped);
      this.warnOfIds(queue, tidied.remembered);
      ({ looksAtKept, looksAtStreams } = tidied);
      return tidied.more;
    });
    if (looksAtKept) {
      const limit = limitOf(this.intervalMs);
      this.report(queue, 'the records of', await restoreLifetimes(queue, limit, () => this.stopped));
    }
    if (looksAtStreams) {
      await this.inSlices(() => this.exec(queue, (calls) => calls.streams.tidy({ limit: MOST_MOVED })));
    }
    await this.maintainBatches(queue);
  }

  /** Says that ids of ended jobs are soon free before their time, or already are. */
  private warnOfIds(queue: JobQueue, remembered: TidyReply['remembered']): void {
    if (remembered) {
      const { ids, bound } = remembered;
      const now = ids < bound ? 'Beyond that' : 'So';
      this.listeners.logger.warn(
        `Queue "${queue.name}" remembers ${ids} of at most ${bound} ids of ended jobs. ${now} the ids that expire first are ` +
          'free before their time. Raise `rememberedIds`, or lower `resultTtlMs`.',
      );
    }
  }

  private async maintainBatches(queue: JobQueue): Promise<void> {
    const { reports } = this.listeners;
    const unreached = await tryToMaintainBatches(queue, {
      limit: limitOf(this.intervalMs),
      isStopped: () => this.stopped,
      onFailed: (ids) => reports.unmet(queue, ids),
    });
    this.report(queue, 'the batches of', unreached);
  }

  /** Logs which other queues could not be reached; it is no reason to stop. */
  private report(queue: JobQueue, subject: string, unreached: ReadonlyMap<string, unknown>): void {
    const { faults } = this.listeners;
    const step = `other queues for ${subject} ${queue.name}`;
    if (unreached.size > 0) {
      const what = `Could not reach other queues for ${subject} queue "${queue.name}"; the next sweep tries again`;
      faults.failed(step, what, new Error(unreachedInWords(unreached)));
    } else {
      faults.succeeded(step);
    }
  }

  /** Reclaims expired claims. After a gap live workers get one heartbeat before that. */
  private async reclaim(queue: JobQueue, report: SweepReport, watched: Watched | undefined): Promise<void> {
    await this.inSlices(async () => {
      const { reclaimed, more } = await this.exec(queue, (calls) =>
        calls.sweep.reclaim({
          limit: MOST_MOVED,
          gapMs: this.gapMs(queue),
          waitMs: heartbeatIntervalMs(queue.options),
          everyMs: this.intervalMs,
          watched,
        }),
      );
      report.reclaimed += reclaimed.length;
      await this.listeners.reports.reclaimed(queue, reclaimed);
      return more;
    });
  }

  private async adopt(queue: JobQueue, report: SweepReport): Promise<void> {
    const { failures, reports, foreignClients } = this.listeners;
    const adopted = await this.exec(queue, (calls) =>
      calls.sweep.adoptForeign({ limit: MOST_MOVED, paceMs: this.paceMs }),
    );
    report.adopted += adopted.reclaimed.length + adopted.deadLetters;
    failures.adopted(queue.name, adopted.deadLetters);
    await reports.reclaimed(queue, adopted.reclaimed);
    await foreignClients.saw(queue, adopted);
  }

  /** Less than the interval, so that a lone process misses no turn if its timer is slightly early. */
  private get paceMs(): number {
    return Math.floor(0.75 * Math.min(this.intervalMs, LONGEST_PACE_MS));
  }

  private exec<Reply>(queue: JobQueue, build: (calls: StoreCalls) => StoreCall<Reply>): Promise<Reply> {
    return queue.exec(build, limitOf(this.intervalMs));
  }

  private async inSlices(slice: (i: number) => Promise<boolean>): Promise<void> {
    for (let i = 0; i < MOST_SLICES && !this.stopped; i++) {
      if (!(await slice(i))) {
        return;
      }
    }
  }
}

/**
 * Gives the records of ended jobs back their lifetimes, once nobody waits to read them. Asks other queues about the jobs
 * there. A record whose queues cannot be asked is kept until a later run.
 *
 * @returns the other queues that raised an error, each with its first
 */
export async function restoreLifetimes(
  queue: QueueAccess,
  limit: CallLimit,
  isStopped: () => boolean,
): Promise<ReadonlyMap<string, unknown>> {
  const others = new OpenedQueues(queue, limit);
  const unreached = new UnreachedQueues(queue.name, others);
  let read: string[] = [];
  for (let i = 0; i < MOST_KEPT_LOOKS && !isStopped(); i++) {
    const { more, kept } = await queue.exec((calls) => calls.sweep.lookAtKept({ limit: KEPT_SLICE, read }), limit);
    const readers = kept.flatMap(({ id, waiting }) => waiting.map((job) => ({ ...job, record: id })));
    const left = new Map(kept.map(({ id, waiting }) => [id, waiting.length]));
    await unreached.callOthers(readers, async (name, each) => {
      for (let start = 0; start < each.length; start += MOST_ASKED) {
        const slice = each.slice(start, start + MOST_ASKED);
        const stillRead = await others.run(name, (calls) =>
          calls.batches.readers({ ids: slice.map(({ id }) => id) }),
        );
        slice.forEach(({ record }, at) => left.set(record, left.get(record)! - (stillRead[at] ? 0 : 1)));
      }
      return 0;
    });
    read = [...left].filter(([, count]) => count === 0).map(([id]) => id);
    if (!more && read.length === 0) {
      break;
    }
  }
  return unreached.all;
}

/** Returns the errors of the first unreached queues, and how many more there are. */
function unreachedInWords(unreached: ReadonlyMap<string, unknown>): string {
  const named = [...unreached].slice(0, MOST_NAMED);
  const errors = named.map(([name, error]) => `queue ${show(name)}: ${(error as Error).message}`);
  const others = unreached.size - named.length;
  return [...errors, ...(others > 0 ? [`and ${others} more`] : [])].join('; ');
}

/** The time without maintenance, in ms, after which a fleet that maintains each few seconds was away. */
const LEAST_GAP_MS = 180_000;

/** Closes each minute of the histories, once for the whole fleet. A second replica changes nothing. */
class HistoryKeeper {
  /** The end of each queue's open minute, by the monotonic clock. */
  private readonly dueAt = new WeakMap<JobQueue, number>();
  /** The queues that were kept since their last minute was closed for good. */
  private readonly open = new WeakSet<JobQueue>();

  /**
   * @param intervalMs how often the caller maintains its queues
   * @param version that of the app; '' for none
   */
  constructor(
    private readonly intervalMs: number,
    private readonly version: string,
  ) {}

  /** Returns the time between two closed minutes that counts as an outage, in ms. */
  get gapMs(): number {
    return Math.max(LEAST_GAP_MS, 3 * this.intervalMs);
  }

  /** Closes the minute of a queue once it is over. Costs one call a minute, and two more in the closing process. */
  async keep(queue: JobQueue, begins = true): Promise<void> {
    this.open.add(queue);
    if (!this.isDue(queue)) {
      return;
    }
    const limit = limitOf(this.intervalMs);
    const leftMs = await queue.exec(
      (calls) => calls.history.reportVersion({ version: this.version, begins }),
      limit,
    );
    this.dueAt.set(queue, queue.store.clock.monotonic() + (leftMs > 0 ? leftMs : await this.close(queue)));
  }

  /**
   * Closes the minute in which a queue was kept last. After that an idle queue costs nothing. A queue that was purged with
   * all its keys gets none.
   */
  async keepOpen(queue: JobQueue): Promise<void> {
    if (this.isOpen(queue)) {
      await this.keep(queue, false);
      this.open.delete(queue);
    }
  }

  /** Returns whether the minute in which a queue was kept last is over, and not closed. */
  isOpen(queue: JobQueue): boolean {
    return this.open.has(queue) && this.isDue(queue);
  }

  private isDue(queue: JobQueue): boolean {
    return queue.options.history && queue.store.clock.monotonic() >= (this.dueAt.get(queue) ?? -Infinity);
  }

  private async close(queue: JobQueue): Promise<number> {
    const limit = limitOf(this.intervalMs);
    const { pending, processing, oldestPendingAgeMs } = await queue.exec((calls) => calls.stats(), limit);
    const reading = { pending, processing, oldestPendingAgeMs, version: this.version };
    return queue.exec((calls) => calls.history.closeMinute({ ...reading, gapMs: this.gapMs }), limit);
  }
}
