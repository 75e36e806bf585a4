import type { JobQueue } from '../../queue/job-queue.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import type { BackgroundRole } from '../../queue/runtime/background-role.js';
import { ForeignClients } from './foreign-clients.js';
import { QueueLayoutError } from '../../queue/errors/errors.js';
import { SafeLogger } from '../../queue/errors/safe-logger.js';
import { groupBy, keptIn } from '../../queue/runtime/collections.js';
import { limitOf } from '../../queue/runtime/bounds.js';
import { systemClock, type Clock, type Timer } from '../../queue/runtime/clock.js';
import type { QueueStore, Settled } from '../../queue/store/queue-store.js';
import type { Look } from '../../queue/store/queues-verbs.js';
import type { Place } from '../../queue/validation/key-table.js';
import type { Watched } from '../../queue/verbs/sweep.js';
import { FaultLog } from '../reports/fault-log.js';
import { FailureLog } from '../reports/failure-log.js';
import { HistoryKeeper } from './history-keeper.js';
import { EndReports } from './end-reports.js';
import type { WorkerEventListener } from '../handlers/worker-event.js';
import { heartbeatIntervalMs } from '../runner/heartbeat.js';
import { DueQueues, LOOKED_AT, REMAINS } from './sweep/due-queues.js';
import { LookRounds } from './sweep/look-rounds.js';
import { MaintenanceRight, type HeldRight, type OpenQueue } from './sweep/maintenance-right.js';
import { QueueSweep, type SweepReport } from './sweep/queue-sweep.js';

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
