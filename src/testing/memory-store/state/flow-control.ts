// Limits and groups: which waiting jobs may start now, whose turn it is, and when time lets the next one start. See docs/limits.md
// and docs/groups.md; lua/lib/limits and lua/lib/group do the same.
import type { GroupStats } from '../../../queue/model/group.js';
import type {
  GroupLimits,
  GroupsOptions,
  QueueLimits,
  RateLimit,
  RuntimeLimits,
} from '../../../queue/model/limits.js';
import type { Full } from '../../../queue/store/enqueue-call.js';
import type { ScoredSet } from './scored-set.js';
import type { PauseOptions } from '../../../queue/model/pause.js';
import { pauseNote } from './pause-note.js';

interface Bounds {
  maxPending?: number | undefined;
  maxPendingBytes?: number | undefined;
}

function definedOf({ maxPending, maxPendingBytes }: Bounds): Bounds {
  return {
    ...(maxPending !== undefined && { maxPending }),
    ...(maxPendingBytes !== undefined && { maxPendingBytes }),
  };
}

/** The part of a queue that flow control uses. */
interface FlowQueue {
  readonly options: QueueLimits & Bounds;
  readonly now: number;
  readonly pending: readonly string[];
  readonly prioritized: ScoredSet;
  readonly scheduled: ScoredSet;
  readonly claims: ScoredSet;
  readonly dead: ScoredSet;
  restsUntil: number;
  job(id: string): Record<string, string> | undefined;
}

/** The state of one group. */
interface Group {
  /** The settings of run time. */
  own?: GroupLimits;
  /** The settings of the code. */
  configured?: GroupLimits;
  pausedAt?: number;
  pause?: PauseOptions;
  restsUntil: number;
  /** Its last turn, in turns of a weight of 1. */
  turn: number;
  /** The theoretical arrival time of its rate, in ms. */
  arrival: number;
}

export class FlowControl {
  /** The limits that were set at run time. */
  set: RuntimeLimits | undefined;
  readonly groups = new Map<string, Group>();
  private arrival = 0;
  private turn = 0;

  constructor(private readonly queue: FlowQueue) {}

  get limits(): QueueLimits {
    const { maxRunning, rateLimit, groups } = this.queue.options;
    return this.set ?? { maxRunning, rateLimit, groups };
  }

  /** Returns whether a limit or a group bounds what may start. */
  get isActive(): boolean {
    const { maxRunning, rateLimit } = this.limits;
    return maxRunning !== undefined || rateLimit !== undefined || this.groups.size > 0;
  }

  group(name: string): Group {
    let group = this.groups.get(name);
    if (!group) {
      group = { restsUntil: 0, turn: this.turn, arrival: 0 };
      this.groups.set(name, group);
    }
    return group;
  }

  limitsOf(name: string): GroupLimits {
    const groups: GroupsOptions = this.limits.groups ?? {};
    const { ungroupedWeight: _weight, overrides: _overrides, ...all } = groups;
    return { ...all, ...this.ownLimitsOf(name) };
  }

  /** The settings of one group: those of run time, else those of the code. */
  ownLimitsOf(name: string): GroupLimits {
    const group = this.groups.get(name);
    return group?.own ?? group?.configured ?? {};
  }

  /** Takes up to `count` of the jobs that may start, by turns. @param ids in the order of their line */
  take(ids: readonly string[], count: number): string[] {
    const taken: string[] = [];
    const line = [...ids];
    while (taken.length < count && this.hasRoom(taken.length)) {
      const heads = this.openHeads(line, taken);
      if (heads.length === 0) {
        break;
      }
      const next = heads.reduce((best, head) => (this.isBefore(head.name, best.name) ? head : best));
      line.splice(line.indexOf(next.id), 1);
      taken.push(next.id);
      this.charge(next.name, this.queue.job(next.id));
    }
    return taken;
  }

  /** Returns whose turn it is; of groups with the same turn that of the first by name, as in a sorted set. */
  private isBefore(one: string | undefined, other: string | undefined): boolean {
    const difference = this.turnOf(one) - this.turnOf(other);
    return difference < 0 || (difference === 0 && (one ?? '') < (other ?? ''));
  }

  /** Returns whether one of the waiting jobs may start now. */
  isOpen(ids: readonly string[]): boolean {
    return this.hasRoom(0) && this.openHeads(ids, []).length > 0;
  }

  /** Returns when a job that waits for a rate or a rest may start; Infinity if none may. */
  opensAt(ids: readonly string[]): number {
    const names = new Set(ids.map((id) => this.queue.job(id)?.group));
    const times = [...names].flatMap((name) => (name === undefined ? [] : [this.groupOpensAt(name)]));
    return Math.min(
      Infinity,
      ...[...times, this.rateOpensAt(this.limits.rateLimit, this.arrival)].filter((at) => at > this.queue.now),
    );
  }

  /** Rests the group of a job, or the queue for a job without a group. */
  rest(job: Record<string, string>, ms: number): void {
    const until = this.queue.now + ms;
    if (job.group === undefined) {
      this.queue.restsUntil = Math.max(this.queue.restsUntil, until);
    } else {
      this.group(job.group).restsUntil = until;
    }
  }

  /** Refunds the cost of a job that never started. */
  refund(job: Record<string, string>): void {
    const cost = (rate: RateLimit | undefined) =>
      rate ? (Math.min(Number(job.cost ?? 1), rate.burst ?? 1) * rate.periodMs) / rate.limit : 0;
    this.arrival -= cost(this.limits.rateLimit);
    if (job.group !== undefined) {
      this.group(job.group).arrival -= cost(this.limitsOf(job.group).rateLimit);
    }
  }

  /** Returns why a job cannot be added. Bounds that were set at run time win over those of the code. */
  fullness(group: string | undefined, payload: string): Full | undefined {
    const { maxPending, maxPendingBytes } = { ...definedOf(this.queue.options), ...definedOf(this.set ?? {}) };
    const { pending, prioritized, scheduled } = this.queue;
    const later = scheduled.members();
    const all = [...pending, ...prioritized.members(), ...later];
    const ofQueue = this.reached(all, all, payload, { maxPending, maxPendingBytes });
    if (ofQueue || group === undefined) {
      return ofQueue && { ...ofQueue, group: undefined };
    }
    const line = this.waitingOf(group);
    const held = later.filter(
      (id) => this.queue.job(id)?.group === group && this.queue.job(id)?.fence === undefined,
    );
    const ofGroup = this.reached([...line, ...held], line, payload, this.limitsOf(group));
    return ofGroup && { ...ofGroup, group };
  }

  private reached(
    counted: readonly string[],
    weighed: readonly string[],
    payload: string,
    { maxPending, maxPendingBytes }: Bounds,
  ): Pick<Full, 'limit' | 'unit'> | undefined {
    if (maxPending !== undefined && counted.length >= maxPending) {
      return { limit: maxPending, unit: 'jobs' };
    }
    const sizes = weighed.map((id) => Buffer.byteLength(this.queue.job(id)?.payload ?? ''));
    const bytes = sizes.reduce((sum, size) => sum + size, Buffer.byteLength(payload));
    const isOver = maxPendingBytes !== undefined && bytes > maxPendingBytes;
    return isOver ? { limit: maxPendingBytes, unit: 'bytes' } : undefined;
  }

  /** Returns whether a group runs one job at a time, in their order. */
  isOrdered(name: string): boolean {
    return this.limitsOf(name).maxRunning === 1;
  }

  waitingOf(name: string): string[] {
    const { pending, prioritized } = this.queue;
    return [...prioritized.members(), ...pending].filter((id) => this.queue.job(id)?.group === name);
  }

  stats(name: string): GroupStats {
    const waiting = this.waitingOf(name);
    const group = this.groups.get(name);
    const opensAt = this.groupOpensAt(name);
    const readyAt = Number(this.queue.job(waiting[0] ?? '')?.ready_at_ms ?? this.queue.now);
    return {
      name,
      pending: waiting.length,
      running: this.runningOf(name),
      oldestPendingAgeMs: this.queue.now - readyAt,
      pausedAt: group?.pausedAt === undefined ? null : new Date(group.pausedAt),
      ...pauseNote(group?.pause),
      heldBy: this.holderOf(name) ?? null,
      opensAt: opensAt > this.queue.now ? new Date(opensAt) : null,
      limits: this.ownLimitsOf(name),
    };
  }

  private hasRoom(taken: number): boolean {
    const { maxRunning, rateLimit } = this.limits;
    return (
      (maxRunning === undefined || this.queue.claims.size + taken < maxRunning) &&
      this.rateOpensAt(rateLimit, this.arrival) <= this.queue.now
    );
  }

  /** The first waiting job of each group that may start one. Jobs without a group are one group. */
  private openHeads(ids: readonly string[], taken: readonly string[]): { id: string; name: string | undefined }[] {
    const heads = new Map<string | undefined, string>();
    for (const id of ids) {
      const name = this.queue.job(id)?.group;
      if (!heads.has(name)) {
        heads.set(name, id);
      }
    }
    return [...heads].map(([name, id]) => ({ name, id })).filter(({ name }) => this.mayStart(name, taken));
  }

  /** Returns whether a group may start one more job than the claim has taken. */
  mayStart(name: string | undefined, taken: readonly string[] = []): boolean {
    if (name === undefined) {
      return true;
    }
    const { maxRunning } = this.limitsOf(name);
    const running = this.runningOf(name) + taken.filter((id) => this.queue.job(id)?.group === name).length;
    return (
      this.group(name).pausedAt === undefined &&
      this.groupOpensAt(name) <= this.queue.now &&
      (maxRunning === undefined || running < maxRunning) &&
      this.holderOf(name) === undefined
    );
  }

  /** The job behind which an ordered group waits: one that waits for its retry, or by option a dead letter. */
  private holderOf(name: string): string | undefined {
    if (!this.isOrdered(name)) {
      return undefined;
    }
    const isOfGroup = (id: string) => this.queue.job(id)?.group === name;
    const retry = this.queue.scheduled
      .members()
      .find((id) => isOfGroup(id) && this.queue.job(id)?.fence !== undefined);
    const holds = this.limitsOf(name).onDeadHead === 'hold';
    return retry ?? (holds ? this.queue.dead.members().find(isOfGroup) : undefined);
  }

  private runningOf(name: string): number {
    return this.queue.claims.members().filter((id) => this.queue.job(id)?.group === name).length;
  }

  private groupOpensAt(name: string): number {
    const { restsUntil, arrival } = this.group(name);
    return Math.max(restsUntil, this.rateOpensAt(this.limitsOf(name).rateLimit, arrival));
  }

  /** GCRA: a burst may start at once, then one each interval. */
  private rateOpensAt(rate: RateLimit | undefined, arrival: number): number {
    if (!rate) {
      return 0;
    }
    const { limit, periodMs, burst = 1 } = rate;
    return Math.ceil(arrival + periodMs / limit - (burst * periodMs) / limit);
  }

  private turnOf(name: string | undefined): number {
    return Math.max(this.group(name ?? '').turn, this.turn);
  }

  private charge(name: string | undefined, job: Record<string, string> | undefined): void {
    const cost = Number(job?.cost ?? 1);
    const group = this.group(name ?? '');
    const weight = (name === undefined ? this.limits.groups?.ungroupedWeight : this.limitsOf(name).weight) ?? 1;
    this.turn = this.turnOf(name);
    group.turn = this.turn + cost / weight;
    this.arrival = this.paid(this.limits.rateLimit, this.arrival, cost);
    group.arrival = this.paid(name === undefined ? undefined : this.limitsOf(name).rateLimit, group.arrival, cost);
  }

  private paid(rate: RateLimit | undefined, arrival: number, cost: number): number {
    if (!rate) {
      return arrival;
    }
    const { limit, periodMs, burst = 1 } = rate;
    return Math.max(arrival, this.queue.now) + (Math.min(cost, burst) * periodMs) / limit;
  }
}
