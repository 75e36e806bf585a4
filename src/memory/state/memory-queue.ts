// The state of one queue, and the places of its jobs. A job is the hash that it would be in Redis.
import type { JobEvent } from '../../queue/model/job-event.js';
import { eventOf, type EventContent } from './event-of.js';
import type { ResolvedQueueOptions } from '../../queue/model/queue-options.js';
import type { AnnouncedContent } from '../../queue/codec/announced-content.js';
import type { WorkerDetails } from '../../queue/model/worker-record.js';
import type { ClaimBatch } from './claim-batch.js';
import { MemoryHistory } from './history.js';
import { Announcements } from './announcements.js';
import type { Durability } from '../../queue/model/job-options.js';
import type { StoredAction } from '../../queue/store/verbs/action-verbs.js';
import type { AskedOptions } from '../../queue/store/asked-options.js';
import { DroppedLetters } from './dead-letters/dropped-letters.js';
import { ErrorKinds } from './dead-letters/error-kinds.js';
import { Outcomes } from './dead-letters/outcomes.js';
import { FlowControl } from './flow-control.js';
import { EarlyEnds, FollowUpOutbox, type FollowUpBatch } from './follow-up-batch.js';
import { LimitWaits } from './limit-waits.js';
import { pauseAt, type Pause } from './pause.js';
import { removeFirst, ScoredSet } from './scored-set.js';

/** The fields of a job, with the names and the encoding of Redis. */
export type Hash = Record<string, string>;

/** Receives the changes of jobs, even if the queue publishes no events. */
export interface QueueObserver {
  /** Called when a job was added. @param asked the options of its enqueue @param durability its own, if any */
  enqueued(queue: MemoryQueue, id: string, asked: AskedOptions, durability?: Durability): void;
  /** Called when an attempt or a job ended, or a job was put back, as events say it. */
  changed(queue: MemoryQueue, id: string, status: string): void;
}

/** The part of the server that a queue uses. */
export interface QueueHost {
  observer?: QueueObserver;
  /** Returns the time of the server, in ms. */
  now(): number;
  /** Returns another queue of the same server and prefix, by its name; itself by its own. */
  find(queue: MemoryQueue, name: string): MemoryQueue | undefined;
  /** Returns the names of all queues of the same server and prefix. */
  names(queue: MemoryQueue): string[];
  /** Called when a job of the queue can be claimed, or a wait would last too long. */
  wake(queue: string): void;
  isMarked(queue: string): boolean;
  /** Ends the wait of a worker, which is to ask for its claims. */
  nudge(worker: string, queue: string): void;
  publish(queue: string, event: JobEvent): void;
  /** Returns whether anyone listens to the events of a queue. */
  isListened(queue: string): boolean;
}

export class MemoryQueue {
  readonly jobs = new Map<string, Hash>();
  /** The times when jobs expire, in ms. */
  readonly forgottenAt = new Map<string, number>();
  /** The jobs without a priority, the next to be claimed first. */
  readonly pending: string[] = [];
  readonly prioritized = new ScoredSet();
  readonly scheduled = new ScoredSet();
  /** The times until which delayed jobs count for the `maxPending` of their groups, in ms. */
  readonly enqueuedLater = new Map<string, number>();
  readonly claims = new ScoredSet();
  readonly dead = new ScoredSet();
  readonly kinds = new ErrorKinds();
  readonly outcomes = new Outcomes();
  readonly completed: string[] = [];
  readonly failed: string[] = [];
  readonly cancelled: string[] = [];
  readonly unique = new Map<string, string>();
  readonly uniqueExpiries = new Map<string, number>();
  /** The owner that an enqueue replaced, by its request or id. */
  readonly replaced = new Map<string, string>();
  readonly batches = new Map<string, ClaimBatch>();
  /** Batches with a follow-up, by their ids. */
  readonly followUps = new Map<string, FollowUpBatch>();
  /** The largest fence of each source of entries, and the keys of its marked entries. */
  readonly once = { fences: new Map<string, number>(), marks: new Map<string, ScoredSet>() };
  /** The last look for alerts, and the record of the told alerts. */
  readonly alerts = { look: '', lookedAtMs: 0, record: '' };
  /** The action log, oldest entry first. */
  readonly actions: StoredAction[] = [];
  readonly earlyEnds = new EarlyEnds();
  readonly outbox = new FollowUpOutbox();
  readonly totals: Record<string, number> = {};
  /** The details of workers, and when each started, in ms. */
  readonly workerDetails = new Map<string, { startedAt: number; details: WorkerDetails }>();
  /** The time until which the details of workers are kept, in ms. */
  detailsKeptUntil = Infinity;
  readonly schedules = new Map<string, Hash>();
  readonly scheduleDue = new ScoredSet();
  readonly scheduleOwners = new Map<string, number>();
  readonly flow: FlowControl = new FlowControl(this);
  readonly waits = new LimitWaits();
  dropped = new DroppedLetters();
  readonly history: MemoryHistory = new MemoryHistory(this);
  /** The storage format that the last worker announced. */
  content: AnnouncedContent | undefined;
  sequence = 0;
  /** The last pause. Its time may be over. */
  pause: Pause | undefined;
  /** Which process maintains a set of queues, and until when. The intervals in which other ones ask, by their numbers. */
  readonly maintainers = new Map<string, { until: number; lengthMs: number; process: string; turns: number[] }>();
  lastSweepAt: number | undefined;
  sweepHold = { until: 0, count: 0 };
  /** The time until which nothing is claimed, since a handler met a limit. */
  restsUntil = 0;
  /** The length of that rest, in ms. */
  restMs = Infinity;
  /** The longest visibility timeout of a claim, in ms. */
  longestVisibilityMs = 0;
  /** The largest `maxPayloadBytes` that a worker or producer announced. */
  largestPayloadBytes = 0;
  /** The longest unique window that an enqueue asked for, in ms. */
  longestWindowMs: number | undefined;
  /** The number of ended jobs when the queue last published that it is drained. */
  drainedAfter = '';
  private lastAnnounced = new Announcements();

  /** @param options those of the process whose call runs */
  constructor(
    readonly name: string,
    public options: ResolvedQueueOptions,
    readonly host: QueueHost,
  ) {}

  get now(): number {
    return this.host.now();
  }

  /** Returns what workers announced and a purge has not forgotten. */
  get announced(): Announcements {
    if (this.lastAnnounced.expiresAt <= this.now) {
      this.lastAnnounced = new Announcements();
    }
    return this.lastAnnounced;
  }

  get workers(): Announcements['workers'] {
    return this.announced.workers;
  }

  get names(): Announcements['names'] {
    return this.announced.names;
  }

  /** Returns a job's hash; undefined once it is forgotten. */
  job(id: string): Hash | undefined {
    if ((this.forgottenAt.get(id) ?? Infinity) <= this.now) {
      this.drop(id);
    }
    return this.jobs.get(id);
  }

  /** Forgets a job's hash. */
  drop(id: string): boolean {
    this.enqueuedLater.delete(id);
    this.forgottenAt.delete(id);
    this.kinds.leave(this.jobs.get(id));
    return this.jobs.delete(id);
  }

  count(total: string, by = 1): void {
    if (by > 0) {
      this.totals[total] = (this.totals[total] ?? 0) + by;
    }
  }

  /** Publishes an event, as lua/lib/core/emit.lua does; `content` is JSON. */
  emit(id: string, status: string, more: EventContent = {}): void {
    this.host.observer?.changed(this, id, status);
    if (this.options.events !== 'off') {
      this.host.publish(this.name, eventOf(id, status, this.job(id), more));
    }
  }

  /** Puts a new, retried, redriven or promoted job behind all others of its priority; with `lifo` before them. */
  toBack(id: string, job: Hash, readyAt: number | undefined = this.now, isLifo = false): void {
    if (job.group !== undefined && job.rank !== undefined && this.flow.isOrdered(job.group)) {
      return this.toFront(id, job, readyAt); // a retry runs before the others of its group
    }
    this.toEnd(id, job, readyAt, isLifo);
  }

  /** Puts a job behind all others of its priority, also if its group keeps an order. */
  toEnd(id: string, job: Hash, readyAt: number | undefined, isLifo = false): void {
    job.status = 'pending';
    this.flow.hasGroups ||= job.group !== undefined;
    if (readyAt !== undefined) {
      job.ready_at_ms = String(readyAt);
    }
    if (job.priority || job.group !== undefined) {
      job.rank = String(Number(job.priority ?? 0) * -(2 ** 40) + ++this.sequence);
    }
    if (job.priority) {
      this.prioritized.set(id, Number(job.rank));
    } else if (isLifo) {
      this.pending.unshift(id);
    } else {
      this.pending.push(id);
    }
    this.host.wake(this.name);
  }

  /** Puts a job before all others, or with a priority or a group to its old place. For a release or a reclaim. */
  toFront(id: string, job: Hash, readyAt = this.now): void {
    job.status = 'pending';
    job.ready_at_ms = String(readyAt);
    if (job.priority) {
      this.prioritized.set(id, Number(job.rank));
    } else if (job.group !== undefined) {
      this.pending.splice(this.placeInGroup(job), 0, id);
    } else {
      this.pending.unshift(id);
    }
    this.host.wake(this.name);
  }

  /** Returns where a job without a priority belongs in the line of its group, by its rank. */
  private placeInGroup({ group, rank }: Hash): number {
    const later = this.pending.findIndex((id) => {
      const other = this.job(id);
      return other?.group === group && Number(other?.rank) > Number(rank);
    });
    return later < 0 ? this.pending.length : later;
  }

  toLater(id: string, job: Hash, dueAt: number): void {
    job.status = 'scheduled';
    job.due_at_ms = String(dueAt);
    this.scheduled.set(id, dueAt);
    if (this.scheduled.members()[0] === id) {
      this.host.wake(this.name); // a wait lasts until the due time known at its start
    }
  }

  /** Takes a waiting job out of its place. Returns whether it was in one. */
  takeOut(id: string): boolean {
    this.flow.holds.endHold(id, this.job(id)?.group);
    return this.scheduled.delete(id) || this.takeFromLine(id);
  }

  /** Takes a claimable job out of its place, for a claim. */
  takeFromLine(id: string): boolean {
    return this.prioritized.delete(id) || removeFirst(this.pending, id);
  }

  /** Called when a claim has ended, so a limit may let another job start. */
  freed(): void {
    if (this.flow.isActive && this.hasClaimable) {
      this.host.wake(this.name);
    }
  }

  /** Returns the waiting jobs, the most urgent first. */
  get line(): string[] {
    return [...this.prioritized.members(), ...this.pending];
  }

  /** Returns how many workers are live. */
  get liveWorkers(): number {
    return this.announced.liveWorkers(this.now).length;
  }

  /** Forgets what maintenance and the last worker left, if no worker, job, schedule or open batch is left. */
  forgetIfUnused(): void {
    const { workers, claims, scheduled, dead, completed, cancelled, scheduleDue, followUps } = this;
    const sizes = [workers, claims, scheduled, dead, scheduleDue].map(({ size }) => size);
    const isUsed = this.hasClaimable || sizes.some((size) => size > 0) || completed.length + cancelled.length > 0;
    if (!isUsed && [...followUps.values()].every(({ endedAt }) => endedAt !== undefined)) {
      this.forgetSweeps();
      this.announced.forgetHandlers();
    }
  }

  /** Forgets when maintenance ran, and the announced storage format. */
  forgetSweeps(): void {
    this.content = undefined;
    this.dropped = new DroppedLetters();
    this.lastSweepAt = undefined;
    this.sweepHold = { until: 0, count: 0 };
    this.longestWindowMs = undefined;
    this.largestPayloadBytes = 0;
  }

  /** Forgets everything, as if the queue had never been used. */
  erase(): void {
    const parts = { flow: new FlowControl(this), history: new MemoryHistory(this) };
    Object.assign(this, new MemoryQueue(this.name, this.options, this.host), parts);
  }

  /** The pause, unless its time is over. */
  get paused(): Pause | undefined {
    return pauseAt(this.pause, this.now);
  }

  /** Returns whether something can be claimed now. */
  get hasClaimable(): boolean {
    return this.pending.length + this.prioritized.size > 0;
  }
}
