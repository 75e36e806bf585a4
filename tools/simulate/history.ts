// Records the actions and replies of a simulation's processes, and checks the final state against them.
import type { Hash, MemoryQueue } from '#testing/memory-store/state/memory-queue.js';
import type { Job } from '#worker/handlers/job.js';
import { ranOutOfOrder, wronglyDead, type Counts } from '../chaos/check/rules.js';
import { OPTIONS } from './release.js';

const ENDED = new Set(['completed', 'failed', 'cancelled']);

interface Known {
  queue: string;
  /** Fences of its claims whose handlers started. */
  fences: number[];
  acknowledged: boolean;
  maxAttempts: number;
  /** Handlers that returned. */
  ok: number;
  /** Somebody deleted it on purpose. */
  removed: boolean;
  broken: boolean;
  /** Set back to no attempts, by a redrive. */
  redriven: boolean;
}

export class History {
  readonly violations = new Set<string>();
  readonly jobs = new Map<string, Known>();
  /** The jobs of each group, in the order of their enqueues. */
  private readonly groups = new Map<string, string[]>();
  /** The members of each batch, by its follow-up. */
  private readonly members = new Map<string, readonly string[]>();
  private lastInOrder = -1;

  sent(id: string, queue: string, maxAttempts: number, group?: string): void {
    const fresh = { fences: [], acknowledged: false, ok: 0, removed: false, broken: false, redriven: false };
    this.jobs.set(id, { queue, maxAttempts, ...fresh });
    if (group !== undefined) {
      this.groups.set(group, [...(this.groups.get(group) ?? []), id]);
    }
  }

  /** Called before a batch is enqueued. */
  follows(followUp: string, members: readonly string[]): void {
    this.members.set(followUp, members);
  }

  acknowledged(id: string): void {
    this.jobs.get(id)!.acknowledged = true;
  }

  started({ id, attempt, fence }: Pick<Job, 'id' | 'attempt' | 'fence'>): void {
    const job = this.jobs.get(id);
    if (!job) {
      this.violations.add(`I1: ${id} ran, and nobody enqueued it`);
      return;
    }
    job.fences.push(fence);
    if (attempt < 1 || attempt > job.maxAttempts) {
      this.violations.add(`I6: ${id} began attempt ${attempt} of ${job.maxAttempts}`);
    }
  }

  ended(id: string): void {
    this.jobs.get(id)!.ok++;
  }

  /** Called when a plain job began in a queue with one worker. */
  inOrder(number: number): void {
    if (number <= this.lastInOrder) {
      this.violations.add(`I8: job ${number} of the ordered queue began after job ${this.lastInOrder}`);
    }
    this.lastInOrder = Math.max(this.lastInOrder, number);
  }

  /** Checks the final state, after all faults and all time. */
  finish(queues: readonly MemoryQueue[]): void {
    for (const queue of queues) {
      const left = queue.pending.length + queue.prioritized.size + queue.scheduled.size + queue.claims.size;
      if (left > 0) {
        const ids = [
          ...queue.pending,
          ...queue.prioritized.members(),
          ...queue.scheduled.members(),
          ...queue.claims.members(),
        ];
        this.violations.add(
          `I7: ${left} jobs of ${queue.name} never ended, such as ${JSON.stringify(queue.job(ids[0]!))}`,
        );
      }
    }
    for (const [id, known] of this.jobs) {
      const queue = queues.find(({ name }) => name === known.queue)!;
      this.finishJob(id, known, queue.jobs.get(id));
    }
    this.groups.forEach((ids, group) => this.finishGroup(group, ids));
    this.members.forEach((members, followUp) => this.finishBatch(followUp, members));
  }

  /** Checks that a group of one slot keeps its order through retries and crashes. */
  private finishGroup(group: string, ids: readonly string[]): void {
    const claimed = ids.filter((id) => this.jobs.get(id)!.fences.length > 0);
    claimed.slice(1).forEach((id, i) => {
      if (this.claimedAfter(claimed[i]!, id)) {
        this.violations.add(`order: ${id} of ${group} began before ${claimed[i]} had ended`);
      }
    });
  }

  private finishBatch(followUp: string, members: readonly string[]): void {
    for (const member of members) {
      if (this.claimedAfter(member, followUp)) {
        this.violations.add(`batch: ${followUp} began before ${member} had ended`);
      }
    }
  }

  /** Returns whether one job was claimed again after a claim of the other. */
  private claimedAfter(one: string, other: string): boolean {
    return ranOutOfOrder(
      Math.max(0, ...this.jobs.get(one)!.fences),
      Math.min(Infinity, ...this.jobs.get(other)!.fences),
    );
  }

  private finishJob(
    id: string,
    { queue, acknowledged, maxAttempts, ok, removed, broken, redriven }: Known,
    job: Hash | undefined,
  ): void {
    const status = job?.status;
    if (status === undefined && acknowledged && !removed) {
      this.violations.add(`I1: ${id} was acknowledged, and is gone`);
    }
    if (status === 'completed' && ok === 0) {
      this.violations.add(`I2: ${id} completed, and no handler returned`);
    }
    if (broken && !removed && status !== undefined && !ENDED.has(status)) {
      this.violations.add(`I7: ${id} lost its hash, and is ${status}`);
    }
    const counts = countsOf(job);
    const failed = counts.errors + counts.crashes;
    if (!redriven && !broken && status === 'failed') {
      // Jobs of the mixed queue have their own option, others the smaller of the two versions' values.
      const attempts = queue === 'mixed' ? maxAttempts : OPTIONS.maxAttempts;
      const most = { attempts, crashes: OPTIONS.maxCrashes };
      wronglyDead(counts, most).forEach((fault) => this.violations.add(`I6: ${id} ${fault}`));
    }
    if (!redriven && !broken && status === 'completed' && counts.attempts <= failed) {
      this.violations.add(
        `I6: ${id} counts ${counts.attempts} attempts, of which ${failed} failed before it completed`,
      );
    }
  }
}

/**
 * Returns a job's counts. A worker of the version with fewer attempts ends a job that exceeds them, which counts as
 * an error.
 */
function countsOf(job: Hash | undefined): Counts {
  const isExhausted = job?.attempt_log?.includes('"AttemptsExhausted"') ?? false;
  return {
    attempts: Number(job?.attempts ?? 0),
    errors: Number(job?.errors ?? 0) - (isExhausted ? 1 : 0),
    crashes: Number(job?.crashes ?? 0),
  };
}
