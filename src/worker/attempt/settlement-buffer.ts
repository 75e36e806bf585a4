import type { CompleteReply, Release, UnsealedFailure } from '../../queue/store/attempt-forms.js';
import { show } from '../../queue/errors/show.js';
import type { ClaimedJob, RefusedJob } from '../../queue/model/job.js';
import { type StoredError, serializeError } from '../../queue/errors/stored-error.js';
import type { FailOutcome, ReleaseOutcome } from '../../queue/store/call-outcomes.js';
import { exhaustedError } from '../../queue/errors/errors.js';
import type { ContentRules } from '../../queue/codec/codec.js';
import type { Attempt } from './attempt.js';
import type { FailedJob, FailureLog } from '../reports/failure-log.js';
import { JobTexts, Job, type JobReporter } from '../handlers/job.js';
import type { QueueReporter } from './queue-reporter.js';
import type { WorkerEvent } from '../handlers/attempt-middleware.js';

/** A settlement in flight, with its attempt, or with the job that no handler got and the reason. */
export interface Settling<Settlement> {
  settlement: Settlement;
  attempt?: Attempt;
  refused?: { job: ClaimedJob; error: Error };
}

/** Settlements that travel together. */
interface Taken {
  completions: Attempt[];
  failures: Settling<UnsealedFailure>[];
  releases: Settling<Release>[];
}

/** Results of more bytes travel in several trips: heartbeats and claims would wait behind them. */
const MOST_RESULT_BYTES = 256 * 1_024;

/** Why a job goes back to the front, or the whole queue rests: nothing behind it may be claimed before. */
const GOES_FIRST = new Set<Release['reason']>(['interruption', 'rate_limited', 'outage', 'permit']);

/** Receives the results of settlements. */
interface SettlementOwner {
  readonly reports: JobReporter & Pick<QueueReporter, 'answered'>;
  readonly content: ContentRules;
  readonly host: {
    emit: ((event: WorkerEvent) => void) | undefined;
    readonly failures: FailureLog;
    readonly warn: (message: string) => void;
    changed(): void;
    holdsSettlements(owner: SettlementOwner): void;
  };
  reportLost(attempt: Attempt): void;
  /** Told where jobs may have ended whose batches are in other queues. */
  readonly batchReporter: { notify(stopsBatch?: boolean): void };
}

/** The settlements of a runner until they are sent, and what becomes of them. */
export class SettlementBuffer {
  private readonly unsent: Taken = { completions: [], failures: [], releases: [] };
  /** Ended attempts whose last reports are in flight. Redis would refuse a report that is sent again behind the end. */
  private readonly held = new Set<Attempt>();
  private inFlight = 0;
  /** The last taken batch, in flight while `inFlight` is not 0. */
  private taken: Taken | undefined;
  /** True if a settlement in flight releases a job that precedes all later ones in the queue. */
  private interruptionInFlight = false;

  constructor(private readonly owner: SettlementOwner) {}

  get isEmpty(): boolean {
    return this.waiting === 0;
  }

  /** The releases that wait here. */
  get releases(): readonly Settling<Release>[] {
    return this.unsent.releases;
  }

  /**
   * Returns whether the queue must not claim now. Released jobs go back to their places first. After an interruption the
   * claim waits until Redis has acknowledged them, because a lost call is sent again later.
   */
  get blocksClaims(): boolean {
    return this.releases.length > 0 || this.interruptionInFlight;
  }

  /** The number of settlements that wait here or are in flight. */
  get unsettled(): number {
    return this.waiting + this.inFlight;
  }

  /** True if settlements wait here that may be sent. */
  get hasUnsent(): boolean {
    return this.waiting > this.held.size;
  }

  private get waiting(): number {
    const { completions, failures, releases } = this.unsent;
    return completions.length + failures.length + releases.length + this.held.size;
  }

  complete(attempt: Attempt): void {
    this.add('completions', attempt, attempt);
  }

  fail(attempt: Attempt, settlement: UnsealedFailure): void {
    this.add('failures', attempt, { settlement, attempt });
  }

  release(attempt: Attempt, settlement: Release): void {
    this.add('releases', attempt, { settlement, attempt });
  }

  /** Adds the end of an attempt, once the last reports of its job are answered. */
  private add<Kind extends keyof Taken>(kind: Kind, attempt: Attempt, end: Taken[Kind][number]): void {
    const answered = this.owner.reports.answered(attempt.claim);
    if (answered) {
      void this.hold(answered, kind, attempt, end);
    } else {
      this.put(kind, end);
    }
    this.owner.host.changed();
  }

  private async hold<Kind extends keyof Taken>(
    answered: Promise<unknown>,
    kind: Kind,
    attempt: Attempt,
    end: Taken[Kind][number],
  ): Promise<void> {
    this.held.add(attempt);
    await answered;
    this.held.delete(attempt);
    this.put(kind, end);
    this.owner.host.changed();
  }

  private put<Kind extends keyof Taken>(kind: Kind, end: Taken[Kind][number]): void {
    (this.unsent[kind] as Taken[Kind][number][]).push(end);
    this.owner.host.holdsSettlements(this.owner);
  }

  /**
   * Returns waiting settlements, at most `most` of each kind. They are in flight until the caller reports their
   * arrival.
   */
  take(most: number): Taken {
    const before = this.waiting;
    const { completions, failures, releases } = this.unsent;
    const taken = {
      completions: completions.splice(0, Math.min(most, this.completionsOfOneTrip())),
      failures: failures.splice(0, most),
      releases: releases.splice(0, most),
    };
    this.inFlight += before - this.waiting;
    this.taken = taken;
    this.interruptionInFlight = taken.releases.some(({ settlement }) => GOES_FIRST.has(settlement.reason));
    return taken;
  }

  /** Returns how many completions fit into one round trip, at least one. */
  private completionsOfOneTrip(): number {
    let bytes = 0;
    const { completions } = this.unsent;
    const beyond = completions.findIndex(({ result }, i) => (bytes += result.length) > MOST_RESULT_BYTES && i > 0);
    return beyond < 0 ? completions.length : beyond;
  }

  /** The attempts whose end is not acknowledged yet. Their claims must not expire until then. */
  get unacknowledged(): Attempt[] {
    const { completions, failures, releases } = this.unsent;
    const sent = this.inFlight > 0 ? this.taken : undefined;
    const attempts = [...this.held, ...completions, ...(sent?.completions ?? [])];
    const others = [...failures, ...releases, ...(sent?.failures ?? []), ...(sent?.releases ?? [])];
    return [...attempts, ...others.flatMap(({ attempt }) => attempt ?? [])];
  }

  /** Counts this many taken settlements as answered, or as failed. */
  arrived(count: number): void {
    this.inFlight -= count;
    this.interruptionInFlight &&= this.inFlight > 0;
  }

  /** Fails a job that must not run, without an attempt. */
  refuse({ job, error, isReadable }: RefusedJob): void {
    const { id, token, fence } = job;
    this.put('failures', {
      settlement: { id, token, fence, error, final: true, backoffMs: 0, ...(isReadable && { isReadable }) },
      refused: { job, error: Object.assign(new Error(error.message), { name: error.name }) },
    });
  }

  /**
   * Releases a job without a handler here to its place, for a worker that has one. @param isNew whether to log its name
   */
  releaseUnknown(job: ClaimedJob, isNew: boolean): void {
    const { id, token, fence, name, nameless, queue } = job;
    const why = `has the name ${show(name)}, which no handler of this worker knows`;
    if (isNew) {
      this.owner.host.warn(
        `Job ${id} of queue "${queue}" ${why}. This worker leaves jobs of this name to others from now on.`,
      );
    }
    this.put('releases', {
      settlement: { id, token, fence, reason: 'unhandled', delayMs: 0, unstarted: true, ...(nameless && { name }) },
      refused: { job, error: new Error(`The job ${why}.`) },
    });
  }

  /** Reports completions. A completion that must be sent again returns to the buffer. */
  confirmCompletions(attempts: readonly Attempt[], { lost, followed, hasEnds }: CompleteReply): void {
    const lostOnes = new Set(lost);
    attempts.forEach((attempt, i) => {
      if (lostOnes.has(i)) {
        this.owner.reportLost(attempt);
      } else if (followed.includes(i)) {
        attempt.becomeFollowed();
        this.put('completions', attempt);
      } else {
        this.owner.host.emit?.({ type: 'completed', job: attempt.job, result: attempt.outcome });
      }
    });
    if (hasEnds) {
      this.owner.batchReporter.notify();
    }
  }

  confirmFailures(failures: readonly Settling<UnsealedFailure>[], outcomes: readonly FailOutcome[]): void {
    failures.forEach((settling, i) => {
      this.logFailure(settling, outcomes[i]!);
      this.reportOutcome(settling, outcomes[i]!);
    });
    this.notifyOfFailures(failures.filter((_, i) => outcomes[i] !== 'retry'));
    this.notifyOfCancels(outcomes);
  }

  /** Delivers the ends of cancelled jobs soon. A newer job of the same unique key may wait for them. */
  private notifyOfCancels(outcomes: readonly (FailOutcome | ReleaseOutcome)[]): void {
    if (outcomes.includes('cancelled')) {
      this.owner.batchReporter.notify();
    }
  }

  private notifyOfFailures(failures: readonly Settling<UnsealedFailure | Release>[]): void {
    const claims = failures.map(({ attempt, refused }) => attempt?.claim ?? refused!.job);
    // Unlike the reply of a completion, this one does not say whether its batch has sent follow-ups to other queues.
    if (claims.some(({ options }) => options.member !== undefined)) {
      this.owner.batchReporter.notify();
    }
    if (claims.some(({ options }) => options.stopsBatch)) {
      this.owner.batchReporter.notify(true);
    }
  }

  confirmReleases(releases: readonly Settling<Release>[], outcomes: readonly ReleaseOutcome[]): void {
    releases.forEach((settling, i) => {
      const { attempt, refused, settlement } = settling;
      if (attempt && outcomes[i] === 'failed') {
        const { reason, most } = settlement;
        const error = exhaustedError(reason === 'snooze' ? reason : 'rate_limited', attempt.id, most!);
        attempt.exhaust(error);
        this.owner.host.failures.deadLetter(attempt.job, serializeError(error));
      } else if (refused && outcomes[i] === 'failed') {
        const { job, error } = refused;
        this.owner.host.failures.deadLetter(job, this.shown(job, serializeError(error)));
      }
      this.reportOutcome(settling, outcomes[i]!);
    });
    this.notifyOfFailures(releases.filter((_, i) => outcomes[i] !== 'released'));
    this.notifyOfCancels(outcomes);
  }

  /** Logs the failure. A job that was refused before its handler ran has used no attempt. */
  private logFailure({ settlement, attempt, refused }: Settling<UnsealedFailure>, outcome: FailOutcome): void {
    const { failures } = this.owner.host;
    const claim = attempt?.claim ?? refused!.job;
    const job: FailedJob = attempt?.isCalled ? attempt.job : { ...claim, attempt: 0 };
    const error = settlement.isReadable ? settlement.error : this.shown(claim, settlement.error, attempt);
    if (outcome === 'failed') {
      failures.deadLetter(job, error);
    } else if (outcome === 'retry') {
      failures.attempt(job, error, settlement.backoffMs);
    } else if (outcome === 'lost' && attempt) {
      failures.lost(job, error);
    }
  }

  /** Redacts an error, because it may quote hidden parts of a payload. */
  private shown(claim: ClaimedJob, error: StoredError, attempt?: Attempt): StoredError {
    const { redact } = this.owner.content;
    if (redact === undefined) {
      return error;
    }
    return (attempt?.job.texts ?? new JobTexts(redact, claim)).shown.error(error);
  }

  private reportOutcome(
    { settlement, attempt, refused }: Settling<UnsealedFailure | Release>,
    outcome: FailOutcome | ReleaseOutcome,
  ): void {
    if ('reason' in settlement && settlement.reason === 'permit' && outcome !== 'cancelled') {
      return; // for everybody else it was never claimed
    }
    if (attempt && outcome === 'lost') {
      this.owner.reportLost(attempt);
    } else if (attempt) {
      this.owner.host.emit?.({ type: outcome, job: attempt.job, error: attempt.outcome });
    } else if (refused && outcome !== 'lost') {
      this.owner.host.emit?.({
        type: outcome,
        job: new Job(refused.job, this.owner.reports),
        error: refused.error,
      });
    }
  }
}
