// A queue of a test: what is left to do in it, and when. The scripts say so: a claim is asked, and taken back.
import { maintainBatches } from '../../queue/operate/maintain-batches.js';
import type { StoreCall } from '../../queue/store/store-call.js';
import type { StoreCalls } from '../../queue/store/store-calls.js';
import { handledAs } from '../../queue/validation/names.js';
import type { ObservedServer } from '../../memory/server/observed-server.js';
import type { QueueView } from '../../memory/server/queue-view.js';
import type { ScriptStore } from '../../memory/script-store.js';

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
