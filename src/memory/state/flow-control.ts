// Limits and groups: which waiting jobs may start now, and when the next one may; as lua/lib/limits and lua/lib/group.
import type { GroupStats } from '../../queue/model/group.js';
import type { GroupLimits, GroupsOptions, QueueLimits, RuntimeLimits } from '../../queue/model/limits.js';
import type { Full } from '../../queue/store/enqueue-call.js';
import { fullnessOf, type Bounds, type WaitingJobs } from './fullness.js';
import { withPlainHead } from './head-by-turn.js';
import { paid, rateOpensAt } from './gcra.js';
import { RateChanges } from './rate-changes.js';
import type { ScoredSet } from './scored-set.js';
import { GroupHolds } from './group-holds.js';
import type { GroupState } from './group-state.js';
import { pauseAt, pauseStats } from './pause.js';

/** The part of a queue that flow control uses. */
interface FlowQueue extends WaitingJobs {
  readonly options: Bounds;
  readonly claims: ScoredSet;
  readonly dead: ScoredSet;
  readonly sequence: number;
  restsUntil: number;
  restMs: number;
}

type IdTest = (id: string) => boolean;

/** The first job of a group, or of the jobs without one. */
interface Head {
  id: string;
  name: string | undefined;
  waitingJobs: number;
}

/** The jobs that a claim has taken. */
export interface TakenJobs {
  ids: string[];
  /** When the rate of the queue lets the next job start, where the claim ended there. */
  payableAt?: number;
}

export class FlowControl {
  /** The limits set at run time. */
  set: RuntimeLimits | undefined;
  /** The limits that a worker has announced; see lua/worker/register.lua. */
  configured: { worker: string; limits: QueueLimits } | undefined;
  readonly groups = new Map<string, GroupState>();
  /** True once the queue has had a job with a group. */
  hasGroups = false;
  arrival = 0;
  private turn = 0;
  readonly holds: GroupHolds;
  private readonly rates: RateChanges;

  constructor(private readonly queue: FlowQueue) {
    this.rates = new RateChanges(queue);
    this.holds = new GroupHolds(queue, this);
  }

  get limits(): QueueLimits {
    return this.set ?? this.configured?.limits ?? {};
  }

  /** Returns whether a limit or a group bounds what may start. */
  get isActive(): boolean {
    const { maxRunning, rateLimit } = this.limits;
    return maxRunning !== undefined || rateLimit !== undefined || this.hasGroups;
  }

  group(name: string): GroupState {
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

  /** Returns the settings of one group: those of run time, else those of the code. */
  ownLimitsOf(name: string): GroupLimits {
    const group = this.groups.get(name);
    return group?.own ?? group?.configured ?? {};
  }

  /**
   * Takes up to `count` of the jobs that may start, by turns. A group whose head has another name is passed over.
   *
   * @param ids in the order of their line.
   * @param fits returns whether the bytes of the claim have room for a job
   * @param isMine for a claim of certain names: returns whether it takes a job
   */
  take(ids: readonly string[], count: number, fits: IdTest, isMine?: IdTest): TakenJobs {
    const taken: string[] = [];
    const isMeant = (id: string) => !isMine || isMine(id);
    const line = ids.filter((id) => this.queue.job(id)?.group !== undefined || isMeant(id));
    const plain = new Set(line.filter((id) => this.queue.job(id)?.group === undefined));
    while (taken.length < count && this.hasRoom(taken.length)) {
      const order = withPlainHead(this.queue, line, { plain, taken, isNamed: isMine !== undefined });
      const [first, ...others] = this.openHeads(order, taken).filter(({ id }) => isMeant(id));
      const next =
        first && others.reduce((best, head) => (this.isBefore(head.name, best.name) ? head : best), first);
      if (!next || !fits(next.id)) {
        break;
      }
      const payableAt = rateOpensAt(this.limits.rateLimit, this.arrival, this.costOf(next.id));
      if (payableAt > this.queue.now) {
        return { ids: taken, payableAt }; // and none behind it
      }
      line.splice(line.indexOf(next.id), 1);
      taken.push(next.id);
      this.charge(next.name, this.queue.job(next.id));
    }
    return { ids: taken };
  }

  /** Returns which of two groups has the next turn. Equal turns are ordered by name, as in a sorted set. */
  private isBefore(one: string | undefined, other: string | undefined): boolean {
    const difference = this.turnOf(one) - this.turnOf(other);
    return difference < 0 || (difference === 0 && (one ?? '') < (other ?? ''));
  }

  /** Returns whether one of the waiting jobs may start now. */
  isOpen(ids: readonly string[]): boolean {
    return this.hasRoom(0) && this.openHeads(ids, []).length > 0;
  }

  /**
   * Returns when a rate or a rest lets one more job start; Infinity if time alone lets none start.
   *
   * @param ids the jobs that wait @param claimed what the claim that asks has taken
   */
  opensAt(ids: readonly string[], claimed: TakenJobs = { ids: [] }): number {
    const { maxRunning = Infinity, rateLimit } = this.limits;
    const { now, restsUntil, claims } = this.queue;
    if (claims.size + claimed.ids.length >= maxRunning) {
      return Infinity;
    }
    const heads = this.headsOf(ids).filter(({ name }) => !this.isBlocked(name, claimed.ids));
    const opens = heads.map(({ name, id }) => (name === undefined ? 0 : this.groupOpensAt(name, this.costOf(id))));
    const ofQueue = restsUntil > now ? restsUntil : (claimed.payableAt ?? rateOpensAt(rateLimit, this.arrival));
    return Math.min(Infinity, ...opens.map((at) => (at > now ? at : ofQueue)).filter((at) => at > now));
  }

  /** Rests the group of a job, or the queue for a job without a group. */
  rest(job: Record<string, string>, ms: number): void {
    const resting = job.group === undefined ? this.queue : this.group(job.group);
    const { now } = this.queue;
    if (now + ms > resting.restsUntil || resting.restsUntil > now + (resting.restMs ?? Infinity)) {
      resting.restsUntil = now + ms;
      resting.restMs = ms;
    }
  }

  /** Refunds the cost of a job that never started, unless its rate has changed since the claim. */
  refund(job: Record<string, string>): void {
    const { rateLimit, groups } = this.limits;
    this.arrival -= this.rates.refundOfQueue(job, rateLimit);
    if (job.group !== undefined) {
      const group = this.group(job.group);
      const own = this.ownLimitsOf(job.group).rateLimit;
      group.arrival -= this.rates.refundOfGroup(job, group, own, groups?.rateLimit);
    }
  }

  /** Changes the limits set at run time, or those that a worker has announced. Undefined removes them. */
  change(limits: Partial<Pick<FlowControl, 'set' | 'configured'>>): void {
    const before = this.limits;
    Object.assign(this, limits);
    this.rates.note(before, this.limits);
    const keepsSpent = this.limits.rateLimit ?? this.configured ?? (this.set && this.set === before);
    this.arrival = keepsSpent ? this.arrival : 0;
  }

  /** Sets the limits of one group; undefined clears them. */
  setGroup(name: string, limits: GroupLimits | undefined): void {
    const group = this.group(name);
    this.rates.noteGroup(group, limits);
    group.own = limits;
  }

  /** Returns why a job cannot be added. Bounds set at run time take precedence over bounds in code. */
  fullness(group: string | undefined, payload: string): Full | undefined {
    const ofGroup = group === undefined ? undefined : this.limitsOf(group);
    return fullnessOf(this.queue, this.set, group, ofGroup, payload);
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
      ...pauseStats(pauseAt(group?.pause, this.queue.now)),
      heldBy: this.holds.holderOf(name) ?? null,
      opensAt: opensAt > this.queue.now ? new Date(opensAt) : null,
      limits: this.ownLimitsOf(name),
    };
  }

  private hasRoom(taken: number): boolean {
    const { maxRunning = Infinity, rateLimit } = this.limits;
    return this.queue.claims.size + taken < maxRunning && rateOpensAt(rateLimit, this.arrival) <= this.queue.now;
  }

  /** Returns the first waiting job of each group that may start one. Jobs without a group are one group. */
  private openHeads(ids: readonly string[], taken: readonly string[]): Head[] {
    return this.headsOf(ids).filter(({ name, id }) => this.mayStart(name, taken, this.costOf(id)));
  }

  private headsOf(ids: readonly string[]): Head[] {
    const heads = new Map<string | undefined, Head>();
    for (const id of ids) {
      const name = this.queue.job(id)?.group;
      const head = heads.get(name) ?? { id, name, waitingJobs: 0 };
      head.waitingJobs++;
      heads.set(name, head);
    }
    return [...heads.values()];
  }

  /** Returns whether a group may start one more job than the claim has taken. */
  mayStart(name: string | undefined, taken: readonly string[] = [], cost = 1): boolean {
    return name === undefined || (!this.isBlocked(name, taken) && this.groupOpensAt(name, cost) <= this.queue.now);
  }

  /** Returns whether a group is paused without an end, held or without a free slot. Then time alone starts none of its jobs. */
  private isBlocked(name: string | undefined, taken: readonly string[]): boolean {
    if (name === undefined) {
      return false;
    }
    const { maxRunning } = this.limitsOf(name);
    const { pause } = this.group(name);
    return (
      (pause && pause.untilMs === undefined) ||
      (maxRunning !== undefined && this.runningOf(name, taken) >= maxRunning) ||
      this.holds.holderOf(name) !== undefined
    );
  }

  private runningOf(name: string, taken: readonly string[] = []): number {
    return [...this.queue.claims.members(), ...taken].filter((id) => this.queue.job(id)?.group === name).length;
  }

  /** Returns how many jobs wait in groups if none of these may start one, else 0. Looks at each job once. */
  get heldByGroups(): number {
    const { prioritized, pending } = this.queue;
    const heads = this.headsOf([...prioritized.members(), ...pending]).filter(({ name }) => name !== undefined);
    const mayStart = heads.some(({ name, id }) => this.mayStart(name, [], this.costOf(id)));
    return mayStart ? 0 : heads.reduce((sum, { waitingJobs }) => sum + waitingJobs, 0);
  }

  private costOf(id: string): number {
    return Number(this.queue.job(id)?.cost ?? 1);
  }

  private groupOpensAt(name: string, cost = 1): number {
    const { restsUntil, pause, arrival } = this.group(name);
    return Math.max(restsUntil, pause?.untilMs ?? 0, rateOpensAt(this.limitsOf(name).rateLimit, arrival, cost));
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
    this.arrival = paid(this.limits.rateLimit, this.arrival, cost, this.queue.now);
    const rate = name === undefined ? undefined : this.limitsOf(name).rateLimit;
    group.arrival = paid(rate, group.arrival, cost, this.queue.now);
  }
}
