// Jobs that follow others: by `after`, and as the follow-ups of a batch.
import type { QueueView } from '#memory/server/observed-server.js';
import { misfired, type FollowUpKind } from '../../chaos/check/rules.js';
import type { Fault, Known } from './known.js';

interface KnownBatch {
  members: string[];
  hasOutcome: boolean;
  isCancelled: boolean;
  isSealed: boolean;
  fired: FollowUpKind[];
}

const FOLLOW_UP = /^@batch(?::|-of:\S+ )(.+):(then|on_failure|finally)$/;
const WELL = 'completed';

export class FollowRules {
  private readonly after = new Map<string, readonly string[]>();
  private readonly completed = new Set<string>();
  private readonly endedBadly = new Set<string>();
  private readonly batches = new Map<string, KnownBatch>();
  /** The queue of the batches. */
  private home: QueueView | undefined;

  constructor(
    private readonly jobs: ReadonlyMap<string, Known>,
    private readonly fault: Fault,
  ) {}

  /** Called before a job is enqueued that waits for others. */
  follows(id: string, after: readonly string[]): void {
    this.after.set(id, after);
  }

  /** Called before a batch is enqueued. @param hasOutcome whether a follow-up depends on the ends of its members */
  batch(id: string, members: readonly string[], hasOutcome: boolean): void {
    this.batches.set(id, { members: [...members], hasOutcome, isCancelled: false, isSealed: false, fired: [] });
  }

  /** Called before a batch is cancelled. */
  cancels(id: string): void {
    this.batches.get(id)!.isCancelled = true;
  }

  /** Called when the seal of a batch was acknowledged. */
  sealed(id: string): void {
    this.batches.get(id)!.isSealed = true;
  }

  ended(id: string, status: string): void {
    (status === WELL ? this.completed : this.endedBadly).add(id);
  }

  /** Checks that a job starts only once each job of its `after` has completed. */
  started(id: string): void {
    const open = (this.after.get(id) ?? []).filter((each) => !this.completed.has(each));
    if (open.length > 0 && !this.jobs.get(id)!.again) {
      this.fault(`after: ${id} began before ${open.join(', ')} had completed`);
    }
  }

  /** Checks that a batch fires after all members have ended: each follow-up at most once, and by their ends. */
  enqueued(queue: QueueView, id: string): void {
    const joined = this.batches.get(queue.field(queue.keys.job(id), 'batch') ?? '');
    if (joined) {
      this.home = queue;
    }
    if (joined && !joined.members.includes(id)) {
      joined.members.push(id); // by a running member
    }
    const [, batchId, kind] = FOLLOW_UP.exec(id) ?? [];
    const batch = batchId === undefined ? undefined : this.batches.get(batchId);
    if (!batch) {
      return;
    }
    batch.fired.push(kind as FollowUpKind);
    const ends = batch.members.map((member) => statusOf(this.home!, member) ?? 'removed');
    const faults = misfired(batch.fired, ends, batch.isCancelled);
    faults.forEach((fault) => this.fault(`batch: ${id} ${fault}`));
  }

  /** Checks that after a sweep no member of a failFast batch waits beside one that ended badly. */
  maintained(queue: QueueView): void {
    const { keys } = queue;
    for (const id of queue.scored(keys.batches).members()) {
      const { fail_fast: failFast, fired_at_ms: firedAt } = queue.hash(keys.batchRecord(id)) ?? {};
      if (failFast === undefined || firedAt !== undefined) {
        continue;
      }
      const members = queue.list(keys.batchRecord(id, 'members'));
      const open = queue.scored(keys.batchRecord(id, 'open')).members();
      const isBad = members.some((member) => ['failed', 'cancelled'].includes(statusOf(queue, member) ?? 'failed'));
      const waits = open.find((member) => {
        const { status = '', cancel_requested_at_ms: cancelled } = queue.job(member) ?? {};
        return ['pending', 'scheduled'].includes(status) && cancelled === undefined; // else its claim ends it
      });
      if (isBad && waits !== undefined) {
        this.fault(`batch: ${waits} still waits, and another member of ${id} ended badly`);
      }
    }
  }

  /**
   * Checks that a sealed batch fires in the end, and each of its follow-ups begins after its members.
   *
   * @param claimedAfter whether one job was claimed again after a claim of the other
   */
  finish(claimedAfter: (one: string, other: string) => boolean): void {
    for (const [id, { fired, members, isSealed, hasOutcome }] of this.batches) {
      const outcomes = fired.filter((kind) => kind !== 'finally');
      if (isSealed && (fired.length - outcomes.length !== 1 || outcomes.length !== Number(hasOutcome))) {
        this.fault(`batch: the follow-ups of ${id} were ${fired.join(', ') || 'none'}`);
      }
      for (const kind of fired) {
        const followUp = `@batch:${id}:${kind}`; // one in another queue has fences of that queue
        const late = members.filter((member) => claimedAfter(member, followUp));
        late.forEach((member) => this.fault(`batch: ${followUp} began before ${member} had ended`));
      }
    }
  }

  /** Returns whether a job of its `after` did not end well, so that it fails unstarted. */
  isUnmet(id: string): boolean {
    return (this.after.get(id) ?? []).some((each) => {
      const { removed, broken } = this.jobs.get(each)!;
      return removed || broken || this.endedBadly.has(each);
    });
  }
}

function statusOf(queue: QueueView, id: string): string | undefined {
  return queue.field(queue.keys.job(id), 'status');
}
