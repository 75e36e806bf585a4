// Records the actions and replies of a simulation's processes, and checks the final state against them.
import type { QueueObserver, Fields, QueueView } from '#memory/server/observed-server.js';
import type { Job } from '#worker/handlers/job.js';
import { ranOutOfOrder, wronglyDead, type Counts } from '../../chaos/check/rules.js';
import { FAILING, MOST_ATTEMPTS, OPTIONS, TICK_ATTEMPTS } from '../release.js';
import { FollowRules } from './follow-rules.js';
import type { Fault, Known } from './known.js';
import { MIDDLEWARE_THROWS, MiddlewareRules } from './middleware-rules.js';
import { OnceRules } from './once-rules.js';
import { RunRules } from './run-rules.js';
import { StepRules } from './step-rules.js';
import { SharingRules } from './sharing-rules.js';
import { StreamRules } from './stream-rules.js';
import { ScheduleRules } from './schedule-rules.js';
import { UniqueRules } from './unique-rules.js';

const ENDED = new Set(['completed', 'failed', 'cancelled']);

type Started = Pick<Job, 'id' | 'attempt' | 'fence' | 'payload' | 'lastCheckpoint' | 'metadata'>;

export class History {
  readonly violations = new Set<string>();
  readonly jobs = new Map<string, Known>();
  private readonly fault: Fault = (violation) => void this.violations.add(violation);
  readonly runs = new RunRules(this.fault);
  readonly unique = new UniqueRules(this.jobs, this.fault);
  readonly follow = new FollowRules(this.jobs, this.fault);
  readonly schedules = new ScheduleRules(this.fault);
  readonly once = new OnceRules(this.fault);
  readonly steps = new StepRules(this.jobs, this.fault);
  readonly streams = new StreamRules(this.fault);
  readonly sharing = new SharingRules(this.fault);
  readonly middleware = new MiddlewareRules(this.fault);
  /** The jobs of each group, in the order of their enqueues. */
  private readonly groups = new Map<string, string[]>();
  private lastInOrder = -1;

  /** @param nowMs the time of the server, unless its clock has jumped */
  constructor(private readonly nowMs: () => number) {}

  /** Follows the changes that the server makes. */
  readonly observer: QueueObserver = {
    enqueued: (queue, id, asked) => {
      this.schedules.enqueued(queue, id);
      this.once.enqueued(id);
      if (!this.jobs.has(id)) {
        // The server made it: a tick, or a follow-up.
        this.sent(id, queue.name, queue.name === 'mixed' ? TICK_ATTEMPTS : MOST_ATTEMPTS);
        this.acknowledged(id);
      }
      this.unique.enqueued(queue, id, asked);
      this.follow.enqueued(queue, id);
    },
    changed: (_queue, id, status) => {
      if (ENDED.has(status)) {
        this.unique.ended(id, this.nowMs());
        this.follow.ended(id, status);
      }
    },
  };

  sent(id: string, queue: string, maxAttempts: number, more: Partial<Known> & { group?: string } = {}): void {
    const { group, ...others } = more;
    const flags = { removed: false, broken: false, refused: false, reset: false, again: false };
    const fresh = { fences: [], ok: [], acknowledged: false, isFinal: false, isPlain: false, hasOwnLimit: false };
    this.jobs.set(id, { queue, maxAttempts, ...fresh, ...flags, ...others });
    if (group !== undefined) {
      this.groups.set(group, [...(this.groups.get(group) ?? []), id]);
    }
  }

  acknowledged(id: string): void {
    this.jobs.get(id)!.acknowledged = true;
  }

  /** Called when the server's clock has jumped. @param nowMs its new time */
  clockJumped(nowMs: number): void {
    this.runs.clockJumped();
    this.lastInOrder--; // the claim of the last job may have expired, and then it begins again
    this.unique.clockJumped(nowMs);
    this.schedules.clockJumped(nowMs);
  }

  /** Called before a job is redriven or run again. */
  startsAnew(id: string): void {
    Object.assign(this.jobs.get(id) ?? {}, { reset: true, again: true });
    this.unique.startsAnew(id);
    this.runs.startsAnew(id);
  }

  started(started: Started): void {
    const { id, attempt, fence } = started;
    const job = this.jobs.get(id);
    if (!job) {
      this.fault(`I1: ${id} ran, and nobody enqueued it`);
      return;
    }
    job.fences.push(fence);
    if (attempt < 1 || attempt > job.maxAttempts) {
      this.fault(`I6: ${id} began attempt ${attempt} of ${job.maxAttempts}`);
    }
    if (!job.removed && !job.broken) {
      this.runs.started(started, this.nowMs()); // else it may be another job with its id
    }
    this.follow.started(id);
    this.middleware.started(started);
  }

  /** Returns the result of a handler: the fence of its claim. */
  returned({ id, fence }: Pick<Job, 'id' | 'fence'>): number {
    this.jobs.get(id)?.ok.push(fence);
    return fence;
  }

  /** Called when middleware threw, before or after the handler: the attempt fails. */
  threw({ id, fence }: Pick<Job, 'id' | 'fence'>): void {
    const job = this.jobs.get(id);
    if (job) {
      job.ok = job.ok.filter((each) => each !== fence);
    }
  }

  /** Called when a plain job began in a queue with one worker. */
  inOrder(number: number): void {
    if (number <= this.lastInOrder) {
      this.fault(`I8: job ${number} of the ordered queue began after job ${this.lastInOrder}`);
    }
    this.lastInOrder = Math.max(this.lastInOrder, number);
  }

  /** Checks the final state, after all faults and all time. */
  finish(queues: readonly QueueView[]): void {
    for (const queue of queues) {
      const ids = [...queue.line, ...queue.scheduled.members(), ...queue.claims.members()];
      if (ids.length > 0) {
        const job = JSON.stringify(queue.job(ids[0]!));
        this.fault(`I7: ${ids.length} jobs of ${queue.name} never ended, such as ${ids[0]} ${job}`);
      }
    }
    const jobOf = (id: string, queue: string) => queues.find(({ name }) => name === queue)!.job(id);
    this.jobs.forEach((known, id) => this.finishJob(id, known, jobOf(id, known.queue)));
    this.groups.forEach((ids, group) => this.finishGroup(group, ids));
    this.follow.finish((one, other) => this.claimedAfter(one, other));
    this.runs.finish(
      (id) => this.jobs.get(id)!.fences,
      (id) => {
        const { status, last_error: error, crashes } = jobOf(id, 'mixed') ?? {};
        const isCrashed = status === 'failed' && crashes !== undefined; // a lost reply of a claim is a crash too
        const { removed, broken } = this.jobs.get(id)!;
        return removed || broken || isCrashed || status === 'cancelled' || error === MIDDLEWARE_THROWS;
      },
    );
  }

  /** Checks that a group of one slot keeps its order through retries and crashes. */
  private finishGroup(group: string, ids: readonly string[]): void {
    const claimed = ids.filter((id) => this.jobs.get(id)!.fences.length > 0);
    claimed.slice(1).forEach((id, i) => {
      if (this.claimedAfter(claimed[i]!, id)) {
        this.fault(`order: ${id} of ${group} began before ${claimed[i]} had ended`);
      }
    });
  }

  /** Returns whether one job was claimed again after a claim of the other. */
  private claimedAfter(one: string, other: string): boolean {
    return ranOutOfOrder(
      Math.max(0, ...(this.jobs.get(one)?.fences ?? [])),
      Math.min(Infinity, ...(this.jobs.get(other)?.fences ?? [])),
    );
  }

  private finishJob(id: string, known: Known, job: Fields | undefined): void {
    const status = job?.status;
    const { acknowledged, removed, broken, ok, refused } = known;
    if (status === undefined && acknowledged && !removed) {
      this.fault(`I1: ${id} was acknowledged, and is gone`);
    }
    if (refused && !removed && !broken && (status !== undefined || known.fences.length > 0)) {
      this.fault(`I3: ${id} is there although its producer was told that it was not added`);
    }
    // The result is the fence of the claim whose handler returned it.
    if (status === 'completed' && !ok.includes(Number(job!.result))) {
      this.fault(`I2: ${id} completed with the result ${job!.result}, and its handlers returned ${ok.join(', ')}`);
    }
    if (broken && !removed && status !== undefined && !ENDED.has(status)) {
      this.fault(`I7: ${id} lost its hash, and is ${status}`);
    }
    if (!known.reset && !broken && job) {
      this.finishCounts(id, known, job);
    }
  }

  private finishCounts(id: string, { queue, maxAttempts, hasOwnLimit, isFinal }: Known, job: Fields): void {
    const counts = countsOf(job);
    const failed = counts.errors + counts.crashes;
    if (job.status === 'failed' && this.follow.isUnmet(id)) {
      return; // it never began
    }
    if (job.status === 'failed') {
      // Jobs of the mixed queue have their own option, most others the smaller of the two versions' values.
      const attempts = hasOwnLimit || queue === 'mixed' ? maxAttempts : OPTIONS.maxAttempts;
      const most = { attempts, crashes: OPTIONS.maxCrashes };
      const kind = { isFinal: isFinal || job.payload === JSON.stringify(FAILING) };
      wronglyDead(counts, most, kind).forEach((fault) => this.fault(`I6: ${id} ${fault}`));
    }
    if (job.status === 'completed' && counts.attempts <= failed) {
      this.fault(`I6: ${id} counts ${counts.attempts} attempts, of which ${failed} failed before it completed`);
    }
  }
}

/** Returns the counts of a job. A worker with fewer attempts ends a job that exceeds them, which counts as an error. */
function countsOf(job: Fields): Counts {
  const isExhausted = job.attempt_log?.includes('"AttemptsExhausted"') ?? false;
  return {
    attempts: Number(job.attempts ?? 0),
    errors: Number(job.errors ?? 0) - (isExhausted ? 1 : 0),
    crashes: Number(job.crashes ?? 0),
  };
}
