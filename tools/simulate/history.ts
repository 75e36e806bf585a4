// What the processes of a simulation did and were told, and what must follow from it at the end.
import type { Hash, MemoryQueue } from '#testing/memory-store/state/memory-queue.js';

const ENDED = new Set(['completed', 'failed', 'cancelled']);

interface Known {
  queue: string;
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
  private lastInOrder = -1;

  sent(id: string, queue: string, maxAttempts: number): void {
    const fresh = { acknowledged: false, ok: 0, removed: false, broken: false, redriven: false };
    this.jobs.set(id, { queue, maxAttempts, ...fresh });
  }

  acknowledged(id: string): void {
    this.jobs.get(id)!.acknowledged = true;
  }

  started(id: string, attempt: number): void {
    const job = this.jobs.get(id);
    if (!job) {
      this.violations.add(`I1: ${id} ran, and nobody enqueued it`);
      return;
    }
    if (attempt < 1 || attempt > job.maxAttempts) {
      this.violations.add(`I6: ${id} began attempt ${attempt} of ${job.maxAttempts}`);
    }
  }

  ended(id: string): void {
    this.jobs.get(id)!.ok++;
  }

  /** A plain job began in a queue with one worker. */
  inOrder(number: number): void {
    if (number <= this.lastInOrder) {
      this.violations.add(`I8: job ${number} of the ordered queue began after job ${this.lastInOrder}`);
    }
    this.lastInOrder = Math.max(this.lastInOrder, number);
  }

  /** Checks what is left once all faults are over and all time has passed. */
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
  }

  private finishJob(
    id: string,
    { acknowledged, ok, removed, broken, redriven }: Known,
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
    const failed = Number(job?.errors ?? 0) + Number(job?.crashes ?? 0);
    if (!redriven && !broken && status === 'completed' && Number(job!.attempts) <= failed) {
      this.violations.add(
        `I6: ${id} counts ${job!.attempts} attempts, of which ${failed} failed before it completed`,
      );
    }
  }
}
