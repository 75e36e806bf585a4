import { show } from '../../queue/errors/show.js';
import type { JobQueue } from '../../queue/job-queue.js';
import type { BackgroundRole } from '../../queue/runtime/background-role.js';
import { systemClock, type Clock, type Timer } from '../../queue/runtime/clock.js';
import { own, groupBy, keptIn, keptArray } from '../../queue/runtime/collections.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import { checkSchedule, encodeSchedule } from '../../queue/schedules/schedule.js';
import type { TickReport } from '../../queue/schedules/schedules.js';
import type { StoreCalls } from '../../queue/store/store-calls.js';
import type { Place } from '../../queue/validation/key-table.js';
import { checkKnown } from '../../queue/validation/validate-options.js';
import type { StoredSchedule } from '../../queue/verbs/schedule.js';
import { definitionOf } from '../handlers/define-handler.js';
import type { DeclaredSchedule, BulkHandler, Handler, HandlerFunction } from '../handlers/handler.js';
import { FaultLog } from '../reports/failure-log.js';

/** A queue of a worker, as far as it recurs. */
interface RecurringQueue {
  queue: JobQueue;
  handlers?: Readonly<Record<string, HandlerFunction | Handler | BulkHandler>>;
  schedules?: Readonly<Record<string, DeclaredSchedule>>;
}

/** Declares the schedules of a worker's code, and makes the ticks of all its queues. */
export class WorkerSchedules implements BackgroundRole {
  private readonly declarer: ScheduleDeclarer;
  private readonly ticker: ScheduleTicker;
  /** The checks of payloads by asynchronous schemas. */
  private readonly checks: Promise<unknown>[] = [];

  /** @throws InvalidOptionError, InvalidPayloadError */
  constructor(worker: string, queues: readonly RecurringQueue[], logger: JobQueueLogger, ticking?: TickingWorker) {
    const declared = queues.map((each) => ({
      queue: each.queue,
      schedules: Object.entries(each.schedules ?? {}).map(([id, schedule]) => this.declared(each, id, schedule)),
    }));
    this.declarer = new ScheduleDeclarer(
      worker,
      declared.filter(({ schedules }) => schedules.length > 0),
      logger,
    );
    this.ticker = new ScheduleTicker(
      queues.map(({ queue }) => queue),
      logger,
      ticking,
    );
  }

  /**
   * Declares before it ticks, so that an overdue tick finds its schedule active.
   *
   * @throws InvalidPayloadError of an asynchronous schema, before anything is declared
   */
  async start(): Promise<void> {
    await Promise.all(this.checks);
    await this.declarer.start();
    this.ticker.start();
  }

  /** Declares the schedules, then makes the ticks that are due. */
  async runOnce(): Promise<void> {
    await this.declarer.runOnce();
    await this.ticker.runOnce();
  }

  /** Looks for schedules of a queue again, because a wake came. */
  lookAgain(queue: JobQueue, foundJobs: boolean): void {
    this.ticker.lookAgain(queue, foundJobs);
  }

  async stop(): Promise<void> {
    await Promise.all([this.ticker.stop(), this.declarer.stop()]);
  }

  private declared(of: RecurringQueue, id: string, declared: DeclaredSchedule): StoredSchedule {
    checkKnown(`schedule ${show(id)}`, declared, ['recurrence', 'options', 'subject']);
    const { recurrence, subject } = declared;
    const options = withDefinition(of, declared.options);
    const schedule = encodeSchedule(of.queue, id, recurrence, options, subject);
    const check = checkSchedule(schedule, options?.definition, of.queue, subject);
    if (check) {
      // The start awaits the check. Without a start its rejection needs no handler.
      check.catch(() => undefined);
      this.checks.push(check);
    }
    return schedule;
  }
}

/** Returns the options with the definition of the handler, if they name none. */
function withDefinition(
  { queue, handlers = {} }: RecurringQueue,
  options: DeclaredSchedule['options'] = {},
): DeclaredSchedule['options'] {
  if (options === null || options.definition) {
    return options; // null is refused by the check of options
  }
  const { name = queue.name, ...rest } = options;
  const definition = definitionOf(own(handlers, name));
  return definition?.name === name ? { payload: null, ...rest, definition } : options;
}

const DECLARES_EVERY_MS = 10_000;

/** The schedules of one queue that this worker's code declares. */
interface QueueSchedules {
  queue: JobQueue;
  schedules: readonly StoredSchedule[];
}

/**
 * Keeps the schedules of this worker's code alive by repeated declarations. A schedule that no process declares stops.
 * A definition of another version is taken over when the last process that declared it stops.
 */
export class ScheduleDeclarer implements BackgroundRole {
  private timer: Timer | undefined;
  /** The declarations in progress, one at a time for each queue. So a master without a reply delays no other. */
  private readonly running = new Map<JobQueue, Promise<void>>();
  private stopped = false;
  private readonly faults: FaultLog;

  constructor(
    private readonly worker: string,
    private readonly declared: readonly QueueSchedules[],
    private readonly logger: JobQueueLogger,
  ) {
    this.faults = new FaultLog(logger);
  }

  private get clock(): Clock {
    return this.declared[0]?.queue.store.clock ?? systemClock;
  }

  /** Resolves when the schedules are known to the server. Those of other masters are repeated before. */
  async start(): Promise<void> {
    if (this.declared.length > 0 && !this.stopped) {
      this.timer = this.clock.setInterval(() => void this.runOnce(), DECLARES_EVERY_MS);
      await this.runOnce();
    }
  }

  /** Declares all once. Joins the declarations that are in progress. */
  async runOnce(): Promise<void> {
    await Promise.all(
      this.declared.map((each) =>
        keptIn(this.running, each.queue, () =>
          this.declare(each, true).finally(() => void this.running.delete(each.queue)),
        ),
      ),
    );
  }

  /** Releases the schedules, so that another version of the code need not wait for this one. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.clock.clear(this.timer);
    await Promise.all(
      this.declared.map(async (each) => {
        await this.running.get(each.queue);
        await this.declare(each, false);
      }),
    );
  }

  private async declare({ queue, schedules }: QueueSchedules, declares: boolean): Promise<void> {
    // While the server is away a call would only wait in the client.
    if (!queue.store.isReady) {
      return;
    }
    try {
      const replies = await queue.schedules.declare(this.worker, declares, schedules);
      const missing = schedules.filter((_, i) => replies[i] === 'upsert');
      const conflicts = schedules.filter((_, i) => replies[i] === 'conflict');
      await Promise.all(missing.map((schedule) => this.put(queue, schedule, conflicts)));
      conflicts.forEach((schedule) => this.logConflict(queue, schedule));
      this.faults.succeeded(queue.name);
    } catch (error) {
      this.faults.failed(
        queue.name,
        `Could not declare the schedules of queue "${queue.name}"; trying again`,
        error,
      );
    }
  }

  private async put(queue: JobQueue, schedule: StoredSchedule, conflicts: StoredSchedule[]): Promise<void> {
    if ((await queue.schedules.put(schedule, this.worker)) === 'conflict') {
      conflicts.push(schedule);
    }
  }

  private logConflict(queue: JobQueue, { id }: StoredSchedule): void {
    this.logger.warn(
      `Schedule "${id}" of queue "${queue.name}" has another definition in another process. That one stays in force until the process stops.`,
    );
  }
}

/** The longest interval between two looks at a queue, in ms, because other processes may make schedules. */
const LOOK_MS = 5_000;

/** The same without any schedule, while the process waits for jobs. A new or resumed schedule ends that wait. */
const REST_MS = 60_000;

/** The shortest time between two looks after wakes without a job, in ms. Each is a job that another claim took, or a schedule. */
const LOOKS_APART_MS = 1_000;

/** The most workers of a fleet that look one after another. */
const MOST_TURNS = 6;

/** The worker whose ticks these are. */
interface TickingWorker {
  /** Returns the turns of the worker in the looks of its fleet, see FleetTurns; undefined if it looks by itself. */
  turns(): { readonly areShared: boolean; untilNext(intervalMs: number, mostTurns: number): number } | undefined;
  /** Returns whether it waits for the markers of all its queues. */
  isWaiting(): boolean;
}

/** The number of queues that are asked one by one. */
const MOST_ASKED_ALONE = 4;

const DUE_PLACES: readonly Place[] = ['scheduleDue'];

const LOOK_LIMIT = { timeoutMs: LOOK_MS };

/** The most slices of ticks in one run. So a run ends even if more comes due than it can make. */
const MOST_SLICES = 100;

/**
 * Makes the ticks of schedules close to their due times. Every replica may do it: the server lets one of them make a
 * tick. The server's clock determines its waits. Each server has its own runs, so one without a reply delays no other.
 */
export class ScheduleTicker implements BackgroundRole {
  private stopped = false;
  private unsubscribe: (() => void)[] = [];
  private readonly runs = new Map<string, TimedRuns>();
  private readonly calls = new Map<JobQueue, StoreCalls>();
  /** The calls of the last look at each server, so that its keys are built once. */
  private readonly looked = new Map<string, readonly StoreCalls[]>();
  private readonly faults: FaultLog;
  /** The time of the last look at each server after a wake, by the monotonic clock. */
  private readonly lookedAgainAtMs = new Map<string, number>();
  /** The next look at each server after a wake. */
  private readonly planned = new Map<string, { readonly atMs: number; readonly timer: Timer }>();
  /** The servers whose next look is a rest away. */
  private readonly resting = new Set<string>();

  constructor(
    private readonly queues: readonly JobQueue[],
    private readonly logger: JobQueueLogger,
    private readonly worker?: TickingWorker,
  ) {
    this.faults = new FaultLog(logger);
  }

  start(): void {
    if (this.stopped) {
      return; // by a stop that did not wait for the start
    }
    this.unsubscribe = this.queues.map((queue) =>
      queue.schedules.onChange(() => void this.runsAt(this.serverOf(queue)).runOnce()),
    );
    void this.runOnce();
  }

  /** Prevents further runs, and ends the current ones with their slices. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.unsubscribe.forEach((end) => end());
    await Promise.all([...this.runs.values()].map((runs) => runs.stop()));
  }

  /** Makes all due ticks. A call during a run adds another run after it. */
  async runOnce(): Promise<void> {
    const servers = new Set(this.queues.map((queue) => this.serverOf(queue)));
    await Promise.all([...servers].map((server) => this.runsAt(server).runOnce()));
  }

  /**
   * Looks at a queue again, because a wake came, and another process may have made a schedule. Soon, if the wake came without a
   * job. One that came with a job may be of both. Then only a worker at rest looks, as soon as one that is not.
   */
  lookAgain(queue: JobQueue, foundJobs: boolean): void {
    if (this.stopped || (foundJobs && this.resting.size === 0)) return;
    const { clock } = queue.store;
    const server = this.serverOf(queue);
    const now = clock.monotonic();
    const soonestMs = (this.lookedAgainAtMs.get(server) ?? -Infinity) + LOOKS_APART_MS;
    const atMs = foundJobs ? now + LOOK_MS : Math.max(now, soonestMs);
    const planned = this.planned.get(server);
    if ((planned && planned.atMs <= atMs) || (foundJobs && !this.resting.has(server))) return;
    clock.clear(planned?.timer);
    const look = () => {
      this.planned.delete(server);
      this.lookedAgainAtMs.set(server, clock.monotonic());
      if (!this.stopped) void this.runsAt(server).runOnce();
    };
    const timer = clock.setTimeout(look, atMs - now);
    timer.unref();
    this.planned.set(server, { atMs, timer });
  }

  private runsAt(server: string): TimedRuns {
    const clock = this.queues[0]?.store.clock ?? systemClock;
    return keptIn(this.runs, server, () => new TimedRuns(clock, () => this.tickServer(server)));
  }

  /** Returns the server of a queue; '' also while the store is away. */
  private serverOf(queue: JobQueue): string {
    return queue.store.isReady ? queue.store.serverOf(this.callsOf(queue)) : '';
  }

  private callsOf(queue: JobQueue): StoreCalls {
    return keptIn(this.calls, queue, () => queue.uncheckedCalls());
  }

  /** Ticks the queues of a server that may have schedules. Returns the time to the next run; undefined without queues. */
  private async tickServer(server: string): Promise<number | undefined> {
    const nextInMs = this.worker?.turns()?.untilNext(LOOK_MS, MOST_TURNS) ?? LOOK_MS;
    // While the server is away a call would only wait in the client.
    if (this.queues.some(({ store }) => !store.isReady)) {
      return nextInMs;
    }
    const servers = groupBy(this.queues, (queue) => this.serverOf(queue));
    [...servers.keys()].filter((each) => !this.runs.has(each)).forEach((each) => void this.runsAt(each).runOnce());
    const queues = servers.get(server);
    if (!queues) {
      this.runs.delete(server); // its slots have moved
      this.looked.delete(server);
      this.resting.delete(server);
      return undefined;
    }
    const dueInMs = await Promise.all(
      (await this.withSchedules(server, queues)).map((queue) => this.tickQueue(queue)),
    );
    const nextDueInMs = Math.min(...dueInMs);
    const isAtRest = nextDueInMs === Infinity && this.worker?.isWaiting() && !this.worker.turns()?.areShared;
    if (isAtRest) this.resting.add(server);
    else this.resting.delete(server);
    return isAtRest ? REST_MS : Math.max(1, Math.min(nextInMs, nextDueInMs));
  }

  /** Returns the queues of a server that may have schedules. One look for many costs less than a call for each. */
  private async withSchedules(server: string, queues: readonly JobQueue[]): Promise<readonly JobQueue[]> {
    if (this.queues.length <= MOST_ASKED_ALONE) {
      return queues;
    }
    const calls = keptArray(
      this.looked.get(server),
      queues.map((queue) => this.callsOf(queue)),
    );
    this.looked.set(server, calls);
    const looks = await queues[0]!.store.queues.look(calls, DUE_PLACES, LOOK_LIMIT);
    return queues.filter((_, i) => {
      const look = looks[i]!;
      return !look.ok || look.reply.found.size > 0;
    });
  }

  /** Makes the due ticks of a queue. Returns the time to the next one, after an error that to the next try. */
  private async tickQueue(queue: JobQueue): Promise<number> {
    let nextDueInMs = Infinity;
    try {
      for (let i = 0, more = true; i < MOST_SLICES && more && !this.stopped; i++) {
        const report = await queue.schedules.tick();
        nextDueInMs = Math.min(nextDueInMs, report.nextDueInMs ?? Infinity);
        // If no tick could be made, another look would find the same.
        more = report.more && report.enqueued + report.skipped > 0;
        this.logFaults(queue, report);
        if (report.moved > 0) {
          this.logger.warn(
            `The due times of ${report.moved} schedules of queue "${queue.name}" came from a clock that was ahead; they tick by the clock of now.`,
          );
        }
      }
      this.faults.succeeded(queue.name);
    } catch (error) {
      this.faults.failed(queue.name, `Could not make the ticks of queue "${queue.name}"; trying again`, error);
      nextDueInMs = Math.min(nextDueInMs, LOOK_MS); // it may have schedules
    }
    return nextDueInMs;
  }

  private logFaults(queue: JobQueue, { faults }: TickReport): void {
    faults.forEach(({ id, reason }) =>
      this.logger.warn(`Schedule "${id}" of queue "${queue.name}" cannot tick here: ${reason}`),
    );
  }
}

/** Runs that each set the time of the next one. */
class TimedRuns {
  private timer: Timer | undefined;
  private running: Promise<void> | undefined;
  private again = false;
  private stopped = false;

  /** @param run does the work. Returns the ms until the next run; undefined for none */
  constructor(
    private readonly clock: Clock,
    private readonly run: () => Promise<number | undefined>,
  ) {}

  /** Runs now. A call during a run adds another run after it. */
  runOnce(): Promise<void> {
    if (this.running) {
      this.again = true;
    }
    this.running ??= this.runAll().finally(() => {
      this.running = undefined;
    });
    return this.running;
  }

  /** Prevents further runs. Resolves when the current one has ended. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.clock.clear(this.timer);
    await this.running;
  }

  private async runAll(): Promise<void> {
    this.clock.clear(this.timer);
    let nextInMs: number | undefined;
    do {
      this.again = false;
      nextInMs = await this.run();
    } while (this.again && !this.stopped);
    this.clock.clear(this.timer);
    if (!this.stopped && nextInMs !== undefined) {
      this.timer = this.clock.setTimeout(() => void this.runOnce(), nextInMs);
    }
  }
}
