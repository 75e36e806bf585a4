import type { ScriptStore } from '../../memory/script-store.js';
import type { ObservedServer, QueueView } from '../../memory/server/observed-server.js';
import { JobQueueError } from '../../queue/errors/errors.js';
import { maintainBatches } from '../../queue/operate/maintain-batches.js';
import type { StoreCall } from '../../queue/store/store-call.js';
import type { StoreCalls } from '../../queue/store/store-calls.js';
import { handledAs } from '../../queue/validation/names.js';
import type { Job } from '../../worker/handlers/job.js';
import { turn, inRealTime, type VirtualClock } from '../time/virtual-clock.js';

/** The time a handler may do nothing visible here before the clock moves on beside it, in real ms. */
const PATIENCE_MS = 100;

/** The turns of the event loop that a worker needs to settle ended jobs. */
const SETTLING_TURNS = 20;

/** How often news of a batch goes from one queue to another until its follow-up is there. */
const STEPS_OF_NEWS = 4;

/** The number of moves to a next timer without an effect on a job, before the wait is given up. */
const MOST_IDLE_STEPS = 500;

/** The most attempts of one drain, so that an endlessly repeated job ends the test with an error. */
const MOST_ATTEMPTS = 100_000;

/** The end of a drain. */
interface DrainLimits {
  /** True to also run jobs enqueued for later. */
  delayed: boolean;
  /** The time a handler may do nothing visible here, in ms of real time. */
  timeoutMs: number;
  /** Returns whether enough has happened. */
  done: () => boolean;
  /** Returns how many attempts have ended. */
  attempts: () => number;
}

/** Moves the clock of in-memory queues so that jobs run at their times, whatever real time their handlers take. */
export class TestClock {
  constructor(
    private readonly clock: VirtualClock,
    private readonly queues: () => TestedQueue[],
    private readonly handlers: RunningHandlers,
  ) {}

  /** Moves on by `ms`. If nothing is due, it goes to the next due time in one step. */
  async advance(ms: number): Promise<void> {
    const until = this.clock.now() + ms;
    for (;;) {
      await this.handlers.settle(PATIENCE_MS);
      if (this.handlers.jobs.length > 0 || this.queues().some((queue) => queue.isBusy())) {
        if (!(await this.step(until))) {
          break;
        }
        continue;
      }
      const next = Math.min(...this.queues().map((queue) => queue.nextDueAt()));
      await this.jump(Math.min(next, until));
      if (next > until) {
        break;
      }
    }
    await this.jump(until);
    this.handlers.attend();
    await this.handlers.settle(PATIENCE_MS);
  }

  /**
   * Runs all due jobs and all that they cause. The clock goes to each retry.
   *
   * @throws JobQueueError if a handler does not end, or no worker runs waiting jobs
   */
  async drain({ delayed, timeoutMs, done, attempts }: DrainLimits): Promise<void> {
    const most = attempts() + MOST_ATTEMPTS;
    this.handlers.attend();
    for (let idle = 0, seen = attempts(); ; idle = seen === attempts() ? idle + 1 : 0, seen = attempts()) {
      await this.handlers.settle(timeoutMs);
      if (done()) {
        return;
      }
      this.refuseHanging(timeoutMs);
      if (attempts() > most || idle > MOST_IDLE_STEPS) {
        throw endless(attempts() > most, this.queues());
      }
      await this.maintain();
      const next = await this.nextRunAt(delayed);
      if (next <= this.clock.now() || (await this.gathers())) {
        await this.step(Infinity);
      } else if (next === Infinity) {
        return;
      } else {
        await this.jump(next);
      }
    }
  }

  /** Lets time pass until a promise settles, for waits on the clock while an app closes. */
  async runUntil(settled: Promise<unknown>): Promise<void> {
    const closing = { isOver: false };
    const end = () => void (closing.isOver = true);
    settled.then(end, end);
    await this.handlers.settle(PATIENCE_MS);
    while (!closing.isOver) {
      await this.step(Infinity);
      await this.handlers.settle(PATIENCE_MS);
    }
  }

  /**
   * Maintains all queues, until a job may run or no news of a batch may be left. An end goes to the queue of the batch. A cancel
   * goes from there to the members, and their ends come back. Then follow-ups go out.
   */
  private async maintain(): Promise<void> {
    const steps = this.queues().length > 1 ? STEPS_OF_NEWS : 1;
    for (let step = 0; step < steps; step++) {
      for (const queue of this.queues()) await queue.maintain();
      if (this.queues().some((queue) => queue.isRunnable())) return;
    }
  }

  private async nextRunAt(delayed: boolean): Promise<number> {
    const queues = this.queues();
    if (queues.some((queue) => queue.isRunnable())) return this.clock.now();
    return Math.min(...(await Promise.all(queues.map((queue) => queue.nextRunAt(delayed)))));
  }

  /** Returns whether jobs wait in a worker, and not only for the reply to their settlement. */
  private async gathers(): Promise<boolean> {
    for (let i = 0; i < SETTLING_TURNS; i++) {
      if (this.handlers.jobs.length > 0 || !this.queues().some((queue) => queue.isGathering())) {
        return false;
      }
      await turn();
    }
    return true;
  }

  private async step(until: number): Promise<boolean> {
    return this.clock.fireNext(until);
  }

  private async jump(at: number): Promise<void> {
    this.queues().forEach((queue) => queue.keepAlive(at));
    await this.clock.jump(at);
  }

  private refuseHanging(timeoutMs: number): void {
    const [job] = this.handlers.jobs;
    if (job) {
      throw new TestingError(
        `The handler of job ${job.id} ("${job.name}") did nothing for ${timeoutMs} ms of real time, so drain() gave up. ` +
          'Move the clock by advance(ms) where it waits for a timeout, or raise drain({ timeoutMs }).',
      );
    }
  }
}

/** Thrown if a test asks for something that cannot happen. */
export class TestingError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'TESTING';
}

function endless(isLoop: boolean, queues: TestedQueue[]): TestingError {
  const names = queues.filter((queue) => isLoop || queue.isRunnable()).map(({ name }) => `"${name}"`);
  return new TestingError(
    isLoop
      ? `drain() ran ${MOST_ATTEMPTS.toLocaleString('en')} attempts and jobs are still due in ${names.join(', ')}: does a job enqueue itself?`
      : `Jobs wait in ${names.join(', ')}, and no worker claims them. Is the worker paused, or do its jobs wait for a limit?`,
  );
}

interface Running {
  readonly job: Job;
  /** True after it did nothing for so long that it seems to wait for the clock. */
  waits: boolean;
}

/** The handlers that run now, and whether they do something or wait for the clock of the test. */
export class RunningHandlers {
  private readonly running = new Set<Running>();
  private readonly waiters = new Set<() => void>();

  /** Runs an attempt, and knows of it until it ends. */
  async track<Result>(job: Job, attempt: () => Promise<Result>): Promise<Result> {
    const running = { job, waits: false };
    this.running.add(running);
    try {
      return await attempt();
    } finally {
      this.running.delete(running);
      this.active();
    }
  }

  /** Runs a call of several attempts, and knows of each until it ends. */
  trackAll<Result>(jobs: readonly Job[], call: () => Promise<Result>): Promise<Result> {
    const [first, ...others] = jobs;
    return first ? this.track(first, () => this.trackAll(others, call)) : call();
  }

  /** Lets a wait for handlers look again, because something happened. */
  active(): void {
    this.waiters.forEach((wake) => wake());
    this.waiters.clear();
  }

  /** Returns the jobs whose handlers run. */
  get jobs(): Job[] {
    return [...this.running].map(({ job }) => job);
  }

  /**
   * Waits until no handler runs, or every running handler waits for the clock.
   *
   * @param patienceMs how long a handler may do nothing visible here before it counts as waiting, in real ms
   */
  async settle(patienceMs: number): Promise<void> {
    for (;;) {
      await turn();
      const awaited = [...this.running].filter(({ waits }) => !waits);
      if (awaited.length === 0) {
        return;
      }
      const change = new Promise<void>((resolve) => this.waiters.add(resolve));
      if (!(await inRealTime(patienceMs, change))) {
        awaited.forEach((each) => (each.waits = true));
      }
    }
  }

  /** Gives every handler time again, also a handler that seemed to wait for the clock. */
  attend(): void {
    this.running.forEach((each) => (each.waits = false));
  }
}

// A queue of a test: what is left to do in it, and when. The scripts say so: a claim is asked, and taken back.

/** The time limit of a call, by the clock of the test. */
const CALL_LIMIT = { timeoutMs: 60_000 };

/** A line of a wait for a signal that is open, see docs/internals/signals.md. */
const OPEN_WAIT = /\tsignal\t\d+\t\d*\t$/m;

/** The score of a job that no time starts: the year 9999. */
const NEVER_MS = 253_402_300_799_000;

export class TestedQueue {
  private readonly calls: StoreCalls;

  constructor(
    private readonly server: ObservedServer,
    private readonly store: ScriptStore,
    readonly view: QueueView,
  ) {
    this.calls = store.callsOf(view.name, view.options);
  }

  get name(): string {
    return this.view.name;
  }

  get hasWorker(): boolean {
    return this.view.workers.size > 0;
  }

  exec<Reply>(build: (calls: StoreCalls) => StoreCall<Reply>): Promise<Reply> {
    return this.store.exec(build(this.calls));
  }

  /** Returns whether the worker gets a job by its next claim. Before its first one: whether jobs wait. */
  isRunnable(): boolean {
    if (!this.hasWorker) return false;
    const claim = this.server.nextClaim(this.view, true);
    return claim ? claim.jobs.length + claim.refused.length > 0 : this.view.line.length > 0;
  }

  /** Returns whether a live worker holds a job that waits for others of its bulk call. */
  isGathering(): boolean {
    const { claims, keys, workers } = this.view;
    return claims.members().some((id) => workers.has(this.view.field(keys.job(id), 'worker') ?? ''));
  }

  /** Returns whether time must pass step by step: a job is claimed, or waits for a present worker. */
  isBusy(): boolean {
    return this.view.claims.size > 0 || this.isRunnable();
  }

  /**
   * Returns the next due time of a job that has run, or when a limit opens. A job that waits for a signal does not count. It is
   * Infinity if there is neither, or the queue is paused.
   *
   * @param delayed whether delayed jobs that never ran count too, and the time limits of waits for a signal
   */
  async nextRunAt(delayed: boolean): Promise<number> {
    const { view } = this;
    const claim = this.hasWorker ? this.server.nextClaim(view, false) : undefined;
    if (!claim) return Infinity;
    const next = view.scheduled.members().find((id) => {
      const job = view.job(id);
      return this.isHandled(job?.name) && (delayed || (job?.fence !== undefined && !waitsForSignal(job.waits)));
    });
    const scheduledAt = next === undefined ? Infinity : view.scheduled.score(next)!;
    const dueAt = scheduledAt < NEVER_MS ? scheduledAt : Infinity;
    const nextAt = Math.min(dueAt, view.now + (claim.nextDueInMs ?? Infinity));
    const isPaused = nextAt < Infinity && (await this.exec((calls) => calls.stats())).pausedAt !== null;
    return isPaused ? Infinity : nextAt;
  }

  /** Returns the next time after now at which a claim would get a job, or a schedule has a tick. */
  nextDueAt(): number {
    const { view } = this;
    const claim = this.server.nextClaim(view, true);
    const firstAt = (times: readonly number[]) => times.find((at) => at > view.now) ?? Infinity;
    const scheduled = () => firstAt(view.scheduled.members().map((id) => view.scheduled.score(id)!));
    const tick = firstAt(view.scheduleDue.members().map((id) => view.scheduleDue.score(id)!));
    return Math.min(tick, claim ? view.now + (claim.nextDueInMs || Infinity) : scheduled());
  }

  /** Ends jobs that must not run and sends follow-ups, as maintenance does. */
  async maintain(): Promise<void> {
    const { name, store, view } = this;
    // The script looks at these keys first, and returns. Its compilation would cost a test file 40 ms of CPU.
    if (!view.hasBatches) return;
    const access = { name, options: view.options, store, callLimit: CALL_LIMIT };
    const calls = () => Promise.resolve(this.calls);
    await maintainBatches({ ...access, calls, exec: (build) => this.exec(build) });
  }

  /**
   * Lets live workers and their schedules count as such until a time. A jump of the clock skips their heartbeats and the
   * repeats of their declarations.
   */
  keepAlive(atMs: number): void {
    if (!this.hasWorker) return;
    for (const set of [this.view.workers, this.view.scheduleOwners]) {
      set.members().forEach((member) => set.put(member, atMs));
    }
  }

  private isHandled(name = this.name): boolean {
    const { view } = this;
    const limits = view.hash(view.keys.handlerLimits) ?? {};
    return handledAs({ has: (each) => view.names.has(each) || Object.hasOwn(limits, each) }, name) !== undefined;
  }
}

/** Returns whether a job waits for a signal. Only the test sends it, so no time that passes by itself does its work. */
function waitsForSignal(waits = ''): boolean {
  return OPEN_WAIT.test(waits);
}
