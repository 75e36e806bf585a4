// A batch with a follow-up, as a queue in memory keeps it; see lua/batch.
import { BATCH_RECORD_MS } from '../../queue/runtime/lifetimes.js';
import { followUpOf, refTo } from '../../queue/store/job-ref.js';
import type { EncodedBatch } from '../../queue/store/verbs/batch-verbs.js';
import {
  FOLLOW_UP_KINDS,
  type BatchMemberStatus,
  type BatchRecord,
  type JobReference,
  type MemberEnd,
} from '../../queue/model/batch.js';

/** The follow-ups of a queue's batches that wait for their queues, and the newest fence of their senders. */
export class FollowUpOutbox {
  /** By their places: queue, batch and id with tabs between. */
  readonly entries = new Map<string, MemberEnd>();
  fence = 0;

  has(batch: string, { queue, id }: JobReference): boolean {
    return this.entries.has(placeOf({ queue, batch, id }));
  }
}

/** Returns the place of an entry in an outbox. */
export function placeOf({ queue, batch, id }: Pick<MemberEnd, 'queue' | 'batch' | 'id'>): string {
  return refTo(queue, refTo(batch, id));
}

export type EndStatus = Exclude<BatchMemberStatus, 'open'>;

export class FollowUpBatch {
  /** All members in the order in which they joined: an id, or a reference to a job of another queue. */
  readonly members: string[] = [];
  /** The members that have not ended. After firing, the follow-ups that have not. */
  readonly open = new Set<string>();
  readonly outcomes = new Map<string, { status: EndStatus; detail: string }>();
  sealedAt: number | undefined;
  stoppedAt: number | undefined;
  isCancelled = false;
  firedAt: number | undefined;
  endedAt: number | undefined;

  constructor(
    readonly definition: EncodedBatch,
    readonly createdAt: number,
  ) {}

  /** Adds a member. Members never leave a batch. */
  join(member: string): void {
    if (!this.isMember(member)) {
      this.members.push(member);
      this.open.add(member);
    }
  }

  isMember(member: string): boolean {
    return this.open.has(member) || this.outcomes.has(member);
  }

  /** Returns whether a job may join. A sealed batch takes the jobs that one of its open members adds. */
  takes(member: string, adder?: string): boolean {
    const mayGrow = adder !== undefined && this.firedAt === undefined && this.open.has(adder);
    return this.sealedAt === undefined || this.isMember(member) || mayGrow;
  }

  /** Opens the batch again, after a member was redriven or run again before the batch fired. */
  openAgain(member: string): void {
    if (this.firedAt === undefined && this.outcomes.delete(member)) {
      this.open.add(member);
    }
  }

  isForgotten(now: number): boolean {
    return now - (this.endedAt ?? this.sealedAt ?? this.createdAt) >= BATCH_RECORD_MS && !this.isWaiting;
  }

  /** Returns whether the outcomes can still be read. */
  isReadable(now: number): boolean {
    return this.endedAt === undefined || now - this.endedAt < this.definition.resultTtlMs;
  }

  record(queue: string, outbox: FollowUpOutbox): BatchRecord {
    const count = (status: EndStatus) =>
      [...this.outcomes.values()].filter((outcome) => outcome.status === status).length;
    const { sealedAt, firedAt, endedAt } = this;
    const state =
      endedAt !== undefined
        ? 'ended'
        : firedAt !== undefined
          ? 'fired'
          : sealedAt === undefined
            ? 'open'
            : 'sealed';
    return {
      id: this.definition.id,
      queue,
      state,
      followUps: this.followUps(queue, outbox),
      stopped: this.stoppedAt !== undefined,
      total: this.members.length,
      open: firedAt === undefined ? this.open.size : 0,
      completed: count('completed'),
      failed: count('failed'),
      cancelled: count('cancelled'),
      removed: count('removed'),
      createdAt: new Date(this.createdAt),
      ...(sealedAt !== undefined && { sealedAt: new Date(sealedAt) }),
      ...(firedAt !== undefined && { firedAt: new Date(firedAt) }),
      ...(endedAt !== undefined && { endedAt: new Date(endedAt) }),
    };
  }

  private followUps(home: string, outbox: FollowUpOutbox): BatchRecord['followUps'] {
    const { id, followUps } = this.definition;
    return FOLLOW_UP_KINDS.flatMap((kind) => {
      const asked = followUps.find((each) => each.kind === kind);
      const { elsewhere } = asked ?? {};
      const place = elsewhere ? refTo(elsewhere.queue, elsewhere.id) : '';
      const isOnItsWay = elsewhere !== undefined && outbox.has(id, elsewhere);
      return asked ? [followUpOf({ queue: home, id }, kind, { elsewhere: place, isOnItsWay })] : [];
    });
  }

  private get isWaiting(): boolean {
    return this.sealedAt !== undefined && this.endedAt === undefined;
  }
}

/** Ends of jobs of other queues that came before the enqueue of the job that waits for them. */
export class EarlyEnds {
  private readonly byWaiting = new Map<string, Map<string, string>>();

  /** Keeps the first end of a job. @param waiting the job that is not here yet */
  keep(waiting: string, before: string, status: string): void {
    const ends = this.byWaiting.get(waiting) ?? new Map<string, string>();
    this.byWaiting.set(waiting, ends.set(before, ends.get(before) ?? status));
  }

  /** Returns the ends by job, and forgets them. */
  take(waiting: string): ReadonlyMap<string, string> {
    const ends = this.byWaiting.get(waiting);
    this.byWaiting.delete(waiting);
    return ends ?? new Map();
  }
}
