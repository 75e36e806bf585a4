import { ClaimLostError } from '../queue/errors.js';
import type { ClaimedJob } from '../queue/job.js';
import type { JobQueue } from '../queue/job-queue.js';
import { encodeJson } from '../queue/json.js';
import type { ClaimAnswer } from '../queue/decode-job.js';
import type { Policy } from '../queue/hot-path-scripts.js';
import type { FailOutcome, Failure, QueueScripts, Release, ReleaseOutcome } from '../queue/queue-scripts.js';
import { Attempt, type AttemptOwner } from './attempt.js';
import type { Handler } from './handler.js';
import { Job } from './job.js';
import { tellFleet } from './tell-fleet.js';
import { tellStart } from './tell-start.js';
import type { WorkerEvent } from './worker-event.js';

const LOG_LINES = 100;
const LONGEST_LOG_LINE = 1_000;

/** The delay of a job that no handler here knows, in ms; the script doubles it each time, up to a minute. */
const UNHANDLED_DELAY_MS = 1_000;

/** A settlement on its way, with the attempt it belongs to, or with the job that no handler was given, and why. */
export interface Settling<Settlement> {
  settlement: Settlement;
  attempt?: Attempt;
  refused?: { job: ClaimedJob; error: Error };
}

/** What a lane tells the worker. */
export interface LaneObserver {
  /** There is something to send or to fetch. */
  changed(): void;
  /** Absent while nobody listens, so that no event is made for nothing. */
  emit: ((event: WorkerEvent) => void) | undefined;
  /** A job on its last chance is to begin when nothing else runs here. */
  hold(lane: Lane, attempt: Attempt): void;
  warn(message: string): void;
}

/**
 * One queue in one worker: its slots, the attempts in them, and the settlements that wait for the next trip.
 * It sends nothing itself; the fetch loop and the idle wait do.
 */
export class Lane implements AttemptOwner {
  readonly running = new Set<Attempt>();
  private completions: Attempt[] = [];
  private failures: Settling<Failure>[] = [];
  private releases: Settling<Release>[] = [];
  /** Slots that claims under way may fill. */
  claiming = 0;
  /** Whether a claim may find something: true until one comes back short. */
  hungry = true;
  /** Whether the idle wait listens for this lane. */
  covered = false;
  /** ms until the next scheduled job is due, as of the last claim. */
  nextDueInMs: number | undefined;
  /** Set while no new jobs are to be claimed: a local pause, or a stop. */
  closed = false;
  private resting = false;
  /** The limits of all handlers, for the server to know. */
  readonly limits: readonly Policy[];
  /** Those that differ from the queue's, for claims. */
  readonly policies: readonly Policy[];

  constructor(
    readonly queue: JobQueue,
    readonly scripts: QueueScripts,
    readonly concurrency: number,
    private readonly handlers: ReadonlyMap<string, Handler>,
    private readonly observer: LaneObserver,
  ) {
    const { maxAttempts, maxCrashes } = queue.options;
    this.limits = [...handlers].map(([name, handler]) => ({
      name,
      maxAttempts: handler.maxAttempts ?? maxAttempts,
      maxCrashes: handler.maxCrashes ?? maxCrashes,
    }));
    this.policies = this.limits.filter(
      (limit) => limit.maxAttempts !== maxAttempts || limit.maxCrashes !== maxCrashes,
    );
  }

  get name(): string {
    return this.queue.name;
  }

  get maxPayloadBytes(): number {
    return this.queue.options.maxPayloadBytes;
  }

  get free(): number {
    return this.closed || this.resting ? 0 : Math.max(0, this.concurrency - this.running.size - this.claiming);
  }

  get hasSettlements(): boolean {
    return this.completions.length + this.failures.length + this.releases.length > 0;
  }

  /** Takes what a claim brought. `asked` slots were reserved for it. */
  take(answer: ClaimAnswer, asked: number): void {
    this.claiming -= asked;
    this.hungry = answer.jobs.length + answer.refused.length >= asked;
    this.nextDueInMs = answer.nextDueInMs;
    for (const { error, job, ...claim } of answer.refused) {
      this.observer.warn(`Job ${claim.id} of queue "${this.name}" cannot run: ${error.message}`);
      const refused = { job, error: Object.assign(new Error(error.message), { name: error.name }) };
      this.failures.push({ settlement: { ...claim, error, final: true, backoffMs: 0 }, refused });
    }
    for (const job of answer.jobs) {
      this.run(job);
    }
  }

  /** Claims nothing for a while. */
  rest(ms: number): void {
    this.resting = true;
    setTimeout(() => {
      this.resting = false;
      this.hungry = true;
      this.observer.changed();
    }, ms).unref();
  }

  /** Gives back slots whose claim failed. */
  giveUpClaim(asked: number): void {
    this.claiming -= asked;
  }

  private run(job: ClaimedJob): void {
    const handler = this.handlers.get(job.name);
    if (this.closed) {
      this.releases.push({ settlement: { ...refOf(job), reason: 'interruption', delayMs: 0 } });
    } else if (!handler) {
      this.refuseUnknownName(job);
    } else {
      const attempt = new Attempt(job, handler, this);
      this.running.add(attempt);
      if (job.alone) {
        this.observer.hold(this, attempt);
      } else {
        this.begin(attempt);
      }
    }
  }

  /** Starts the handler, unless a stop or a lost claim came first. */
  begin(attempt: Attempt): void {
    const { nameless, alone } = attempt.claim;
    if (attempt.isEnded) {
      this.idle(attempt);
      return;
    }
    this.observer.emit?.({ type: 'started', job: attempt.job });
    if (nameless || alone) {
      void this.tellAndStart(attempt);
    } else {
      attempt.start();
    }
  }

  private async tellAndStart(attempt: Attempt): Promise<void> {
    const current = await tellStart(this, attempt.claim, (message) => this.observer.warn(message));
    if (!current && !attempt.isEnded) {
      attempt.lose();
      this.reportLost(attempt);
    }
    if (attempt.isEnded) {
      this.idle(attempt);
    } else {
      attempt.start();
    }
  }

  /** A job that no handler here knows goes back, delayed, for a worker that does; the queue gives up after ten times. */
  private refuseUnknownName(job: ClaimedJob): void {
    const why = `has the name "${job.name}", which no handler of this worker knows`;
    this.observer.warn(`Job ${job.id} of queue "${this.name}" ${why}; it goes back.`);
    this.releases.push({
      settlement: { ...refOf(job), reason: 'unhandled', delayMs: UNHANDLED_DELAY_MS },
      refused: { job, error: new Error(`The job ${why}.`) },
    });
    this.observer.changed();
  }

  completed(attempt: Attempt): void {
    this.completions.push(attempt);
    this.observer.changed();
  }

  failed(attempt: Attempt, failure: Failure): void {
    this.failures.push({ settlement: failure, attempt });
    this.observer.changed();
  }

  released(attempt: Attempt, release: Release): void {
    this.releases.push({ settlement: release, attempt });
    this.observer.changed();
  }

  idle(attempt: Attempt): void {
    const wasFull = this.free === 0;
    this.running.delete(attempt);
    // A lane with a slot to spare is waited for, or claims anyway; a full one may have missed what came meanwhile.
    if (wasFull && !this.covered) {
      this.hungry = true;
    }
    this.observer.changed();
  }

  /** The settlements that wait, at most `most` of each kind; they are the caller's now. */
  takeSettlements(most: number) {
    return {
      completions: this.completions.splice(0, most),
      failures: this.failures.splice(0, most),
      releases: this.releases.splice(0, most),
    };
  }

  /** Completions that could not be sent as they were; they wait for the next trip. */
  takeBack(completions: readonly Attempt[]): void {
    this.completions.unshift(...completions);
  }

  /** What became of completions: the positions of those whose claim was lost. */
  confirmCompletions(attempts: readonly Attempt[], lost: readonly number[]): void {
    const lostOnes = new Set(lost);
    attempts.forEach((attempt, i) => {
      if (lostOnes.has(i)) {
        this.reportLost(attempt);
      } else {
        this.observer.emit?.({ type: 'completed', job: attempt.job, result: attempt.outcome });
      }
    });
  }

  confirmFailures(failures: readonly Settling<Failure>[], outcomes: readonly FailOutcome[]): void {
    failures.forEach((settling, i) => this.reportOutcome(settling, outcomes[i]!));
  }

  confirmReleases(releases: readonly Settling<Release>[], outcomes: readonly ReleaseOutcome[]): void {
    releases.forEach((settling, i) => this.reportOutcome(settling, outcomes[i]!));
  }

  private reportOutcome(
    { attempt, refused }: Settling<Failure | Release>,
    outcome: FailOutcome | ReleaseOutcome,
  ): void {
    if (attempt && outcome === 'lost') {
      this.reportLost(attempt);
    } else if (attempt) {
      this.observer.emit?.({ type: outcome, job: attempt.job, error: attempt.outcome });
    } else if (refused && outcome !== 'lost') {
      this.observer.emit?.({ type: outcome, job: new Job(refused.job, this), error: refused.error });
    }
  }

  reportLost(attempt: Attempt): void {
    this.observer.warn(`${new ClaimLostError(attempt.id).message} (queue "${this.name}")`);
    this.observer.emit?.({ type: 'lost', job: attempt.job });
    void tellFleet(this, attempt.claim, 'lost', this.observer.warn);
  }

  reportStuck(attempt: Attempt): void {
    this.observer.warn(
      `The handler of job ${attempt.id} (${attempt.job.name}) goes on although its signal was aborted; it keeps its slot.`,
    );
    this.observer.emit?.({ type: 'stuck', job: attempt.job });
    void tellFleet(this, attempt.claim, 'stuck', this.observer.warn);
  }

  async progress(job: ClaimedJob, value: unknown): Promise<void> {
    const json = encodeJson('progress', value, this.maxPayloadBytes);
    await this.fenced(job, await this.queue.runner.run(this.scripts.progress(job, json)));
  }

  async log(job: ClaimedJob, message: string): Promise<void> {
    const line = JSON.stringify(message.slice(0, LONGEST_LOG_LINE));
    await this.fenced(job, await this.queue.runner.run(this.scripts.log(job, LOG_LINES, [line])));
  }

  private async fenced(job: ClaimedJob, current: boolean): Promise<void> {
    if (!current) {
      [...this.running].find((attempt) => attempt.claim === job)?.lose();
      throw new ClaimLostError(job.id);
    }
  }
}

function refOf({ id, token, fence }: ClaimedJob) {
  return { id, token, fence };
}
