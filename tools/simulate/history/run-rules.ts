// An attempt must see earlier calls: the payload of the last change and the last checkpoint. It starts when it is due.
import type { Job } from '#worker/handlers/job.js';
import { startedEarly } from '../../chaos/check/rules.js';
import type { Fault } from './known.js';

/** A value that applies to the claims after a certain one. */
interface Since {
  fence: number;
  value: number;
}

type Started = Pick<Job, 'id' | 'fence' | 'payload' | 'lastCheckpoint'>;

export class RunRules {
  private number = 0;
  private readonly payloads = new Map<string, Since>();
  private readonly due = new Map<string, Since>();
  private readonly checkpoints = new Map<string, Since[]>();
  /** Checkpoints by their values, with the jobs and the claims that wrote them. */
  private readonly sent = new Map<number, { id: string; fence: number }>();
  /** The claims up to which a change may have deleted the checkpoints of a job. Infinity while the change has no reply. */
  private readonly stale = new Map<string, number>();
  /** The claims up to which a change surely deleted them. */
  private readonly deleted = new Map<string, number>();
  /** Jobs that were run again, with the last claim before that. */
  private readonly again = new Map<string, number>();

  private hasClockJumped = false;

  constructor(private readonly fault: Fault) {}

  /** Called when the server's clock has jumped. From then on its due times say nothing about the time that passed. */
  clockJumped(): void {
    this.hasClockJumped = true;
  }

  /** Returns a number for a payload or a checkpoint. Later ones are larger. */
  nextNumber(): number {
    return ++this.number;
  }

  /** Called before a call that deletes a job's checkpoint. */
  deletesCheckpoint(id: string): void {
    this.stale.set(id, Infinity);
  }

  /** Called with the reply to such a call. @param fence the last claim of the queue */
  deletedCheckpoint(id: string, fence: number): void {
    this.stale.set(id, fence);
  }

  /** Called when an update or a replacement of the payload was acknowledged. @param fence the last claim of the queue */
  replaced(id: string, value: number, fence: number): void {
    this.payloads.set(id, { fence, value });
    this.deleted.set(id, fence);
  }

  /** Sets or forgets the time before which a job must not start. @param fence the last claim before that is free to start */
  isDue(id: string, atMs: number | undefined, fence = 0): void {
    if (atMs === undefined) {
      this.due.delete(id);
    } else {
      this.due.set(id, { fence, value: atMs });
    }
  }

  checkpointSent({ id, fence }: Job, value: number): void {
    this.sent.set(value, { id, fence });
  }

  checkpointStored({ id, fence }: Job, value: number): void {
    const stored = this.checkpoints.get(id) ?? [];
    this.checkpoints.set(id, [...stored, { fence, value }]);
  }

  runsAgain(id: string, fence: number): void {
    this.again.set(id, fence);
  }

  /** Called before a job gets all its attempts again: its start time no longer binds it. */
  startsAnew(id: string): void {
    this.due.delete(id);
  }

  started(job: Started, nowMs: number): void {
    this.hasPayload(job);
    this.hasCheckpoint(job);
    const due = this.due.get(job.id);
    // A delay counts from the server's clock, whatever the clock of its producer says.
    if (due && !this.hasClockJumped && job.fence > due.fence && startedEarly(nowMs, due.value)) {
      this.fault(`I5: ${job.id} began ${due.value - nowMs} ms before it was due`);
    }
  }

  /** Checks that a job that was run again starts once more, unless it ended without a start. */
  finish(fencesOf: (id: string) => readonly number[], hasEndedOtherwise: (id: string) => boolean): void {
    for (const [id, fence] of this.again) {
      if (!hasEndedOtherwise(id) && !fencesOf(id).some((each) => each > fence)) {
        this.fault(`again: ${id} was run again, and never began`);
      }
    }
  }

  /** Checks that a claim after the reply to an update or a replacement has that payload, or a later one. */
  private hasPayload({ id, fence, payload }: Started): void {
    const last = this.payloads.get(id);
    if (last && fence > last.fence && !(Number(payload) >= last.value)) {
      this.fault(`payload: ${id} began with ${String(payload)} after it was changed to ${last.value}`);
    }
  }

  /** Checks that an attempt sees the last checkpoint of the earlier claims, or a later one, and no deleted one. */
  private hasCheckpoint({ id, fence, lastCheckpoint }: Started): void {
    const seen = Number(lastCheckpoint ?? 0);
    const stale = this.stale.get(id) ?? 0;
    const earlier = (this.checkpoints.get(id) ?? []).filter((each) => each.fence < fence && each.fence > stale);
    const least = Math.max(0, ...earlier.map(({ value }) => value));
    if (seen < least) {
      this.fault(`checkpoint: ${id} began with checkpoint ${seen}, and ${least} was stored`);
    }
    const source = seen === 0 ? undefined : this.sent.get(seen);
    const deleted = this.deleted.get(id) ?? 0;
    const isDeleted = source && source.fence <= deleted && fence > deleted;
    if (seen > 0 && (source?.id !== id || isDeleted)) {
      this.fault(
        `checkpoint: ${id} began with checkpoint ${seen}, which is ${isDeleted ? 'deleted' : 'of no job'}`,
      );
    }
  }
}
