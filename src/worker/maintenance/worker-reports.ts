import { hostname } from 'node:os';
import { QueueLayoutError } from '../../queue/errors/errors.js';
import { permitsNeeded } from '../../queue/model/shared-limit.js';
import type { WorkerRecord, WorkerDetails, LongRun } from '../../queue/model/worker-record.js';
import { declareLostTopics, registerAgain, registerQueues } from '../../queue/register/register-queues.js';
import type { BackgroundRole } from '../../queue/runtime/background-role.js';
import { limitOf } from '../../queue/runtime/bounds.js';
import type { Timer, Clock } from '../../queue/runtime/clock.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import type { QueueStore } from '../../queue/store/queue-store.js';
import { AskedProfile } from '../attempt/asked-profile.js';
import type { Attempt } from '../attempt/attempt.js';
import { FaultLog } from '../reports/failure-log.js';
import type { QueueRunner } from '../runner/queue-runner.js';
import type { RepeatedStart } from './repeated-start.js';

/** A worker, as its reports describe it. */
export interface WorkerContext {
  readonly id: string;
  readonly runners: readonly QueueRunner[];
  readonly store: QueueStore;
  readonly logger: JobQueueLogger;
  /** The name of the app; '' for none. */
  readonly app: string;
  /** The version of the app; '' for none. */
  readonly version: string;
  /** Whether attempts may be profiled. */
  readonly profiles: boolean;
  /** The slots of all queues together; undefined without a limit. */
  readonly concurrency?: number | undefined;
  readonly repeats: RepeatedStart;
  /** Its place in its fleet, if it looks for jobs in turn with other workers. */
  readonly fleet?: FleetMember | undefined;
}

/** The place of a worker among those with the same queues and handlers; see FleetTurns. */
interface FleetMember {
  /** A digest of the queues and handlers. Undefined once the worker looks for jobs no more. */
  readonly fleet: string | undefined;
  /** The runner whose queue has the list of workers. */
  readonly keeper: QueueRunner;
  noteWorkers(listed: readonly WorkerRecord[] | Error): void;
}

/** Announces this worker, adds its measured times, and looks for handlers that run for long, at intervals. */
export class WorkerReports implements BackgroundRole {
  private readonly registration: WorkerRegistration;
  private readonly history: HistoryWriter;
  readonly longRuns: LongRuns;

  constructor(worker: WorkerContext) {
    this.registration = new WorkerRegistration(worker);
    this.history = new HistoryWriter(worker);
    this.longRuns = new LongRuns(worker.runners, worker.store.clock, worker.logger);
  }

  /** Resolves once the store knows the worker; see WorkerRegistration. */
  async start(): Promise<void> {
    await this.registration.start();
    this.history.start();
    this.longRuns.start();
  }

  /** Announces the worker, sends its measurements, and looks for long runs, now. */
  async runOnce(): Promise<void> {
    this.longRuns.runOnce();
    await Promise.all([this.registration.runOnce(), this.history.runOnce()]);
  }

  /** Announces a queue whose limits the store does not know. */
  announce(runner: QueueRunner): void {
    this.registration.open(runner);
  }

  /** Withdraws the registration and sends the remaining measurements. */
  async stop(): Promise<void> {
    this.longRuns.stop();
    await Promise.all([this.registration.stop(), this.history.stop()]);
  }

  /** Ends without a word to the store. */
  abandon(): void {
    this.longRuns.stop();
    this.registration.abandon();
    this.history.abandon();
  }
}

const ANNOUNCES_EVERY_MS = 10_000;
/** The age of an announcement, in ms, at which it is renewed. It lasts for 30 s. */
const RENEWED_MS = 15_000;
/** The age of a check of the whole announcement, in ms, at which it is repeated. A purge lets it expire after five minutes. */
const CHECKED_MS = 120_000;
/** The most workers that are listed. Beyond them several workers of a fleet have the same turn. */
const MOST_LISTED = 100;
/** The most stuck jobs that a worker names. */
const MOST_STUCK = 20;
/** The most names whose slots a worker announces. */
const MOST_WEIGHTS = 100;

/**
 * Announces the queues of this worker, and the limits of each queue and its handlers. Operators read "12 waiting, no
 * worker" from it, and sweeps use the limits. It repeats the announcement, so a purge may let it expire.
 *
 * A queue is not claimed from before Redis has its announcement. If a claim finds that Redis has lost the limits, the
 * queue is announced again before its next claim.
 */
export class WorkerRegistration implements BackgroundRole {
  private timer: Timer | undefined;
  private ended = false;
  /** The last announcement of each queue, until it and the description after it have ended. */
  private readonly sending = new Map<QueueRunner, Promise<Error | undefined>>();
  /** The queues that are announced until Redis has it. */
  private readonly repeated = new Set<QueueRunner>();
  private withdrawing: Promise<void> | undefined;
  private readonly startedAtMs: number;
  private readonly faults: FaultLog;
  /** The queues whose permissions are checked. An announcement of them may have been sent. */
  private readonly prepared = new Set<QueueRunner>();
  /** The last announced details of this worker for each queue. */
  private readonly described = new Map<QueueRunner, string>();
  /** The time of each queue's last announcement, by the monotonic clock. */
  private readonly announcedAtMs = new Map<QueueRunner, number>();
  /** The time at which each queue was last known to have the whole announcement, by the monotonic clock. */
  private readonly checkedAtMs = new Map<QueueRunner, number>();

  constructor(private readonly worker: WorkerContext) {
    this.startedAtMs = worker.store.clock.monotonic();
    this.faults = new FaultLog(worker.logger);
  }

  /**
   * Announces the worker. Resolves when Redis has the announcement of a queue. The others follow, because in a Cluster
   * their masters may be away. A stop in between revokes the announcements.
   *
   * @throws an error that does not pass, such as RedisPermissionError or QueueLayoutError; all announcements are revoked
   */
  async start(): Promise<void> {
    let errors: (Error | undefined)[] = [];
    const begin = async () => {
      errors = await Promise.all(this.worker.runners.map((runner) => this.announce(runner)));
      const stays = errors.find((error) => error && !this.worker.store.passes(error));
      if (stays ?? errors.every((error) => error)) {
        throw stays ?? errors[0]!;
      }
    };
    try {
      await this.worker.repeats.run('Announcing this worker', begin);
    } catch (error) {
      await this.stop();
      throw error;
    }
    if (this.ended) {
      return this.withdraw();
    }
    registerQueues(...this.worker.runners.map(({ queue }) => queue));
    this.timer = this.worker.store.clock.setInterval(() => void this.runOnce(), ANNOUNCES_EVERY_MS);
    this.worker.runners.filter((_, i) => errors[i]).forEach((runner) => this.open(runner));
  }

  /** Announces a queue whose limits Redis does not know. Its next claim waits for that. */
  open(runner: QueueRunner): void {
    const { announcement } = runner.outlook;
    announcement.note('lost');
    if (this.repeated.has(runner)) {
      return;
    }
    this.repeated.add(runner);
    const untilKnown = async () => {
      while (!announcement.allowsClaims) {
        const error = await this.announce(runner);
        if (error) throw error;
      }
      this.repeated.delete(runner); // in the step that saw it, so that no loss comes in between
    };
    void this.worker.repeats.run(announcing(runner.name), untilKnown).catch((error: Error) => {
      this.repeated.delete(runner);
      this.worker.logger.error(`${announcing(runner.name)} failed; trying again later: ${error.message}`);
    });
  }

  /**
   * Renews the announcements, for many queues together. Announces the queues again that have lost theirs. A queue that
   * waited for it is then claimed from.
   */
  async runOnce(): Promise<void> {
    const due = this.worker.runners.filter(
      (runner) => this.isOlder(this.announcedAtMs.get(runner), RENEWED_MS) || this.isLeft(runner),
    );
    const known = await this.renew(due);
    await Promise.all(due.map((runner, i) => (known[i] ? this.redescribe(runner) : this.announceAgain(runner))));
  }

  /** Returns whether a queue is not claimed from, and nobody announces it, after an error that does not pass. */
  private isLeft(runner: QueueRunner): boolean {
    return !runner.outlook.announcement.allowsClaims && !this.repeated.has(runner);
  }

  /** Returns for each queue whether it has the announcement of this worker. */
  private async renew(runners: readonly QueueRunner[]): Promise<boolean[]> {
    const { id: worker, store, fleet, profiles } = this.worker;
    const checks = runners.some((runner) => this.isOlder(this.checkedAtMs.get(runner), CHECKED_MS));
    const now = store.clock.monotonic();
    const queues = runners.map(({ calls, limits }) => ({ calls, handlers: limits.all }));
    const lists = fleet && { calls: fleet.keeper.calls, most: MOST_LISTED };
    if (checks) declareLostTopics(store); // a Cluster may lose their register alone
    const outcomes = await store.queues.renew(queues, { worker, checks, lists }, limitOf(ANNOUNCES_EVERY_MS));
    return runners.map((runner, i) => {
      const outcome = outcomes[i]!;
      if (runner === fleet?.keeper) {
        fleet.noteWorkers(outcome.ok ? (outcome.reply.workers ?? []) : outcome.error);
      }
      const profile = outcome.ok && profiles ? outcome.reply.profile : undefined;
      runner.askForProfile(profile ? new AskedProfile(profile, worker, runner) : undefined);
      const isKnown =
        outcome.ok && outcome.reply.isKnown && runner.outlook.announcement.allowsClaims && !this.ended;
      if (isKnown) {
        this.noteAnnounced(runner, now, checks);
        this.faults.succeeded(announcing(runner.name));
      }
      return isKnown;
    });
  }

  private isOlder(atMs: number | undefined, ageMs: number): boolean {
    return atMs === undefined || this.worker.store.clock.monotonic() - atMs >= ageMs;
  }

  /** @param isChecked true if the queue has the whole announcement */
  private noteAnnounced(runner: QueueRunner, atMs: number, isChecked: boolean): void {
    this.announcedAtMs.set(runner, atMs);
    if (isChecked) {
      this.checkedAtMs.set(runner, atMs);
    }
  }

  private async announceAgain(runner: QueueRunner): Promise<void> {
    const error = await this.announce(runner);
    const what = announcing(runner.name);
    if (error) {
      this.faults.failed(what, `${what} failed`, error, error instanceof QueueLayoutError ? 'error' : 'warn');
    } else {
      this.faults.succeeded(what);
    }
  }

  /** Takes the announcement back. */
  async stop(): Promise<void> {
    this.abandon();
    await this.withdraw();
  }

  /** Ends without telling the server, which forgets a silent worker itself. */
  abandon(): void {
    this.ended = true;
    this.worker.repeats.end();
    this.worker.store.clock.clear(this.timer);
  }

  /** Waits for announcements in flight first: sent again by its text, one could arrive after the withdrawal. */
  private withdraw(): Promise<void> {
    this.withdrawing ??= this.takeAllBack();
    return this.withdrawing;
  }

  private async takeAllBack(): Promise<void> {
    await Promise.all(this.sending.values());
    await Promise.all([...this.prepared].map((runner) => this.takeBack(runner)));
  }

  private async takeBack(runner: QueueRunner): Promise<void> {
    try {
      await this.worker.store.exec(
        runner.calls.workers.register({ worker: this.worker.id, serves: false }),
        limitOf(ANNOUNCES_EVERY_MS),
      );
      await this.describe(runner, undefined);
    } catch (error) {
      if (!(error instanceof QueueLayoutError)) {
        this.worker.logger.warn(`${announcing(runner.name)} could not be taken back: ${(error as Error).message}`);
      }
    }
  }

  /** Announces one queue, and describes this worker to it. While a call is in flight, waits for that one. Returns its error. */
  private announce(runner: QueueRunner): Promise<Error | undefined> {
    const before = this.sending.get(runner);
    if (before && runner.outlook.announcement.isInFlight) {
      return before;
    }
    const sent = this.send(runner).finally(() => {
      if (this.sending.get(runner) === sent) this.sending.delete(runner);
    });
    this.sending.set(runner, sent);
    return sent;
  }

  private async send(runner: QueueRunner): Promise<Error | undefined> {
    const { announcement } = runner.outlook;
    const allowedClaims = announcement.allowsClaims;
    announcement.note('send');
    try {
      if (!this.prepared.has(runner)) {
        await this.worker.store.prepare(runner.calls);
        this.prepared.add(runner);
      }
      await this.worker.store.exec(
        runner.calls.workers.register({ worker: this.worker.id, serves: true, handlers: runner.limits.all }),
        limitOf(ANNOUNCES_EVERY_MS),
      );
    } catch (error) {
      const isRefused = error instanceof QueueLayoutError;
      announcement.note(isRefused ? 'refused' : 'failed');
      if (isRefused) {
        runner.queue.refuse();
        this.worker.repeats.lost(announcing(runner.name), error);
      }
      return error as Error;
    }
    announcement.note('stored');
    this.worker.repeats.succeeded(announcing(runner.name));
    if (this.announcedAtMs.has(runner)) {
      registerAgain(runner.queue); // Redis has lost the announcement, and so maybe the register
    }
    this.noteAnnounced(runner, this.worker.store.clock.monotonic(), true);
    if (announcement.allowsClaims && !allowedClaims) {
      runner.announced();
    }
    this.described.delete(runner); // the server may have lost it too
    await this.redescribe(runner);
    return undefined;
  }

  /** Sends the details of this worker for operators, if they have changed. */
  private async redescribe(runner: QueueRunner): Promise<void> {
    const what = `Describing this worker to queue "${runner.name}"`;
    await this.describe(runner, this.detailsOf(runner)).then(
      () => this.faults.succeeded(what),
      (error: Error) => this.faults.failed(what, `${what} failed`, error),
    );
  }

  private async describe(runner: QueueRunner, details: WorkerDetails | undefined): Promise<void> {
    const text = JSON.stringify(details ?? null);
    if (this.described.get(runner) === text) {
      return;
    }
    const ageMs = this.worker.store.clock.monotonic() - this.startedAtMs;
    await this.worker.store.exec(
      runner.calls.workers.describe({ worker: this.worker.id, details, ageMs }),
      limitOf(ANNOUNCES_EVERY_MS),
    );
    this.described.set(runner, text);
  }

  private detailsOf(runner: QueueRunner): WorkerDetails {
    const { app, version, concurrency, fleet, profiles } = this.worker;
    const weights = runner.capacity.announced.slice(0, MOST_WEIGHTS);
    const limits = permitsNeeded(runner.queue);
    const costly = (runner.permits?.costs ?? [])
      .filter(({ cost }) => cost > 1)
      .map(({ limit, cost }) => [limit, cost] as const);
    const stuck = [...runner.attempts].filter((attempt) => attempt.stuck).slice(0, MOST_STUCK);
    return {
      host: hostname(),
      pid: process.pid,
      ...(app !== '' && { app }),
      ...(version !== '' && { version }),
      slots: runner.capacity.concurrency,
      ...(weights.length > 0 && { weights }),
      ...(concurrency !== undefined && { processSlots: concurrency }),
      ...(fleet?.fleet !== undefined && { fleet: fleet.fleet }),
      ...(limits.length > 0 && { limits: limits.map(({ limit }) => limit) }),
      ...(costly.length > 0 && { limitCosts: Object.fromEntries(costly) }),
      ...(!profiles && { unprofiled: true as const }),
      ...(runner.state.isClosed && { paused: true as const }),
      ...(stuck.length > 0 && { stuck: stuck.map(stuckDetails) }),
    };
  }
}

/** Returns a stuck job as it is announced. */
function stuckDetails({ id, claim: { name, options } }: Attempt): NonNullable<WorkerDetails['stuck']>[number] {
  return { id, name, ...(options.slots !== undefined && { slots: options.slots }) };
}

/** Names the announcement of a queue in logs. */
function announcing(queue: string): string {
  return `Announcing this worker to queue "${queue}"`;
}

/** The interval at which a worker adds its measurements, in ms. A worker without an ended job sends nothing. */
const HISTORY_EVERY_MS = 10_000;
/**
 * The interval at which a worker reports its app's version, in ms. A version that was not reported for ten minutes is
 * new.
 */
const VERSION_EVERY_MS = 300_000;

/** The content of one call. It keeps its id until there is a reply, so that it counts once. */
interface Measurements {
  id: string;
  counts: readonly (string | number)[];
}

/**
 * Adds this worker's wait and run times to the history of its queues, one call per queue in ten seconds. Reports the
 * app's version, so that a deploy of workers without maintenance is marked too.
 */
class HistoryWriter implements BackgroundRole {
  private timer: Timer | undefined;
  private readonly unsent = new Map<QueueRunner, Measurements>();
  private readonly failing = new Set<QueueRunner>();
  private writing: Promise<unknown> | undefined;
  private ended = false;
  private versionSaidAt = -Infinity;

  constructor(private readonly worker: WorkerContext) {}

  start(): void {
    if (!this.ended && this.worker.runners.some(({ durations }) => durations)) {
      this.timer = this.worker.store.clock.setInterval(() => void this.runOnce(), HISTORY_EVERY_MS);
      void this.sayVersion();
    }
  }

  /** Adds the remaining measurements. */
  async stop(): Promise<void> {
    this.abandon();
    await this.writing;
    await this.runOnce();
  }

  /** Ends without a word to the server. */
  abandon(): void {
    this.ended = true;
    this.worker.store.clock.clear(this.timer);
  }

  /** Adds the measurements of each queue. A call during a run returns that run. */
  runOnce(): Promise<unknown> {
    this.writing ??= Promise.all([
      this.sayVersion(),
      ...this.worker.runners.map((runner) => this.writeOf(runner)),
    ]).finally(() => (this.writing = undefined));
    return this.writing;
  }

  private async sayVersion(): Promise<void> {
    const now = this.worker.store.clock.monotonic();
    if (
      this.worker.version === '' ||
      this.ended ||
      now - this.versionSaidAt < VERSION_EVERY_MS ||
      !this.worker.store.isReady
    ) {
      return;
    }
    this.versionSaidAt = now;
    const recorded = this.worker.runners.filter(({ durations }) => durations);
    await Promise.all(recorded.map((runner) => this.reportVersionTo(runner)));
  }

  private async reportVersionTo(runner: QueueRunner): Promise<void> {
    try {
      await this.worker.store.exec(
        runner.calls.history.reportVersion({ version: this.worker.version }),
        limitOf(HISTORY_EVERY_MS),
      );
    } catch (error) {
      this.warnOnce(runner, error as Error);
    }
  }

  private async writeOf(runner: QueueRunner): Promise<void> {
    try {
      for (let batch = this.nextOf(runner); batch && this.worker.store.isReady; batch = this.nextOf(runner)) {
        this.unsent.set(runner, batch);
        const call = runner.calls.history.addDurations({
          worker: this.worker.id,
          batch: batch.id,
          counts: batch.counts,
        });
        await this.worker.store.exec(call, limitOf(HISTORY_EVERY_MS));
        this.unsent.delete(runner);
        this.failing.delete(runner);
      }
    } catch (error) {
      this.warnOnce(runner, error as Error);
    }
  }

  private warnOnce(runner: QueueRunner, { message }: Error): void {
    if (!this.failing.has(runner)) {
      this.failing.add(runner);
      this.worker.logger.warn(`Could not add to the history of queue "${runner.name}"; trying again: ${message}`);
    }
  }

  private nextOf(runner: QueueRunner): Measurements | undefined {
    const left = this.unsent.get(runner);
    const counts = left ? [] : (runner.durations?.take() ?? []);
    return left ?? (counts.length > 0 ? { id: this.worker.store.clock.randomId(), counts } : undefined);
  }
}

/** The time that a handler without a timeout may run before it is reported, in ms. */
const LONG_RUN_MS = 900_000;

const LONG_RUNS_EVERY_MS = 60_000;

/** Reports handlers without a `timeoutMs` that run for long, because a hanging call keeps its slot for ever. */
class LongRuns implements BackgroundRole {
  private timer: Timer | undefined;
  /** The handlers that were reported, by queue and name. Each is reported once. */
  private readonly reported = new Set<string>();

  constructor(
    private readonly runners: readonly QueueRunner[],
    private readonly clock: Clock,
    private readonly logger: JobQueueLogger,
  ) {}

  start(): void {
    this.timer = this.clock.setInterval(() => this.runOnce(), LONG_RUNS_EVERY_MS);
    this.timer.unref();
  }

  stop(): void {
    this.clock.clear(this.timer);
  }

  /** The oldest run of each handler that runs for so long now. */
  get list(): LongRun[] {
    const nowMs = this.clock.monotonic();
    return this.runners.flatMap((runner) => {
      const oldest = new Map<string, LongRun>();
      for (const { job, unboundedSinceMs = nowMs } of runner.attempts) {
        const { queue, id, name, attempt } = job;
        const forMs = nowMs - unboundedSinceMs;
        if (forMs > LONG_RUN_MS && forMs > (oldest.get(name)?.forMs ?? 0)) {
          oldest.set(name, { queue, id, name, attempt, forMs: Math.round(forMs) });
        }
      }
      return [...oldest.values()];
    });
  }

  /** Reports each handler that runs for long and was not reported. */
  runOnce(): void {
    for (const run of this.list) {
      const handler = JSON.stringify([run.queue, run.name]);
      if (!this.reported.has(handler)) {
        this.reported.add(handler);
        this.logger.warn(longRunInWords(run));
      }
    }
  }
}

/** Returns what a handler does for long, and the remedy. */
function longRunInWords({ queue, id, name, forMs }: LongRun): string {
  return (
    `The handler of job ${id} (${name}) of queue "${queue}" has run for ${Math.floor(forMs / 60_000)} minutes and has no ` +
    'timeoutMs. Set timeoutMs and pass job.signal on, because a call that hangs keeps its slot.'
  );
}
