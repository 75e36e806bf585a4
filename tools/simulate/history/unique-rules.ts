// The holders of unique keys.
import type { AskedOptions } from '#queue/store/asked-options.js';
import type { QueueView } from '#memory/server/observed-server.js';
import { LONGEST_WAIT_MS } from '../release.js';
import type { Fault, Known } from './known.js';

const WAITS = new Set(['pending', 'scheduled']);

interface Window {
  id: string;
  untilMs: number;
  lengthMs: number;
}

export class UniqueRules {
  private readonly windows = new Map<string, Window>();
  /** The time when each job ended last, by the server's clock. */
  private readonly endedAtMs = new Map<string, number>();
  /** The jobs that were to be redriven or run again. */
  private readonly again = new Set<string>();

  constructor(
    private readonly jobs: ReadonlyMap<string, Known>,
    private readonly fault: Fault,
  ) {}

  /** Forgets the times that are over by the new time. Maintenance frees such keys, and the clock may go back then. */
  clockJumped(nowMs: number): void {
    for (const [key, { untilMs }] of this.windows) {
      if (untilMs <= nowMs) {
        this.windows.delete(key);
      }
    }
  }

  ended(id: string, nowMs: number): void {
    this.endedAtMs.set(id, nowMs);
  }

  /** Called before a job is redriven or run again. */
  startsAnew(id: string): void {
    this.again.add(id);
  }

  /** Forgets the ends of the jobs that wait again. Called after each call that may redrive jobs or run them again. */
  reopened(queue: QueueView): void {
    for (const id of this.again) {
      if (WAITS.has(queue.field(queue.keys.job(id), 'status') ?? '')) {
        this.endedAtMs.delete(id);
      }
    }
  }

  /**
   * Checks that no other job is added within the time of a key, counted from the enqueue of its holder. A time that is
   * longer than the clock of now can make it does not count.
   */
  enqueued({ now }: QueueView, id: string, { unique }: AskedOptions): void {
    this.endedAtMs.delete(id); // the hash of an ended job of this id may have been deleted
    if (typeof unique?.for !== 'object') {
      return;
    }
    const { key, for: window } = unique;
    const last = this.windows.get(key);
    if (
      last &&
      last.id !== id &&
      now < last.untilMs &&
      last.untilMs <= now + last.lengthMs &&
      !this.isGone(last.id)
    ) {
      this.fault(`unique: ${id} got the key ${key} ${last.untilMs - now} ms before ${last.id} lost it`);
    }
    this.windows.set(key, { id, untilMs: now + window.ms, lengthMs: window.ms });
  }

  /** Checks that an enqueue is kept away only by a job that had not ended when it was sent. */
  kept(id: string, owner: string, sentAtMs: number): void {
    const endedAtMs = this.endedAtMs.get(owner) ?? Infinity;
    if (!this.jobs.has(owner) || endedAtMs < sentAtMs) {
      this.fault(`unique: ${id} was kept away by ${owner}, which had ended`);
    }
  }

  /**
   * Checks that of one key at most one job waits, and with `unfinished` none beside it runs. The claim of a `pending` job ends its
   * hold. A redriven job, or one that is run again, takes a free key only.
   */
  looks(queue: QueueView): void {
    const holders = new Map<string, string>();
    for (const id of [...queue.line, ...queue.scheduled.members(), ...queue.claims.members()]) {
      const unique = queue.jobField(id, 'unique');
      if (unique === undefined || this.jobs.get(id)?.again || waitsForStopped(queue, id)) {
        continue;
      }
      this.startsWithin(queue, id);
      if (queue.jobField(id, 'unique_for') !== 'unfinished' && queue.jobField(id, 'fence') !== undefined) {
        continue;
      }
      const other = holders.get(unique);
      if (other !== undefined) {
        this.fault(`unique: ${other} and ${id} hold the key ${unique}`);
      }
      holders.set(unique, id);
    }
  }

  /** Checks that a debounce starts within its bound of the first enqueue, unless an attempt came in between. */
  private startsWithin(queue: QueueView, id: string): void {
    if (queue.jobField(id, 'unique') !== 'bounded' || queue.jobField(id, 'fence') !== undefined) {
      return;
    }
    const [dueAt, since] = [queue.jobField(id, 'due_at_ms'), queue.jobField(id, 'enqueued_at_ms')].map(Number);
    if (dueAt! > Math.max(queue.now, since! + LONGEST_WAIT_MS)) {
      this.fault(`unique: ${id} starts ${dueAt! - since!} ms after its first enqueue`);
    }
  }

  private isGone(id: string): boolean {
    const job = this.jobs.get(id);
    return job === undefined || job.removed || job.broken;
  }
}

/** Returns whether a job waits for the end of the older one of its key, which it stops. */
function waitsForStopped(queue: QueueView, id: string): boolean {
  return queue.jobField(id, 'supersedes') !== undefined && queue.jobField(id, 'after') !== undefined;
}
