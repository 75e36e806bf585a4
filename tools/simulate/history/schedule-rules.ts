// The ticks of schedules, as the server made them.
import type { QueueView } from '#memory/server/observed-server.js';
import { latestNextTick, TICK_LATEST_MS } from '../../chaos/check/rules.js';
import { SCHEDULES, type ScheduleId } from '../release.js';
import type { Fault } from './known.js';

/**
 * The longest silence of a schedule after a jump, in ms. A jump ahead makes each declaration old, and workers declare every
 * 10 s. Each worker verifies due times every 5 s.
 */
const SILENT_MS = 16_000;

/** The longest silence while workers die and freeze, in ms. A frozen worker thaws within 12 s. */
const SILENT_AMONG_FAULTS_MS = SILENT_MS + 12_000;

/** How far the time in an id may be ahead of its tick, in ms. Where a time comes again, lua/schedule/tick.lua counts on. */
const REPEATED_AHEAD_MS = 99;

const SCHEDULED = /^@schedule:(.+):(\d{13})$/;

interface MadeTicks {
  ids: Set<string>;
  /** The number of ticks since the schedule was created. */
  count: number;
  createdAt: string | undefined;
  /** The latest due time of the next tick. Undefined after a change, a pause, a removal or a jump of the clock. */
  latestMs: number | undefined;
  /** The time of the server's last jump, or of a tick after it whose maker had read the old clock. Until the next tick. */
  silentSinceMs?: number | undefined;
  /** The jumps of the clock before the last tick. */
  jumps: number;
}

export class ScheduleRules {
  private readonly made = new Map<string, MadeTicks>();
  /** The time of the server after its last jump. What was due before is late without a fault. */
  private jumpedAtMs = -Infinity;
  private jumps = 0;
  private silentMs = SILENT_AMONG_FAULTS_MS;

  constructor(private readonly fault: Fault) {}

  /** Called before an operator changes a schedule: its next due time may be any. */
  changes(schedule: string): void {
    Object.assign(this.of(schedule), { latestMs: undefined, silentSinceMs: undefined });
  }

  /**
   * Called when the server's clock has jumped. Each schedule must tick soon after. Forgets the ticks of times that come
   * again: once such a job is gone, its id is free.
   */
  clockJumped(nowMs: number): void {
    this.jumpedAtMs = nowMs;
    this.jumps++;
    for (const ticks of this.made.values()) {
      ticks.ids.forEach((id) => dueOf(id) > nowMs && ticks.ids.delete(id));
      if (ticks.latestMs !== undefined || ticks.silentSinceMs !== undefined) {
        Object.assign(ticks, { latestMs: undefined, silentSinceMs: nowMs });
      }
    }
  }

  /** Called when no further fault comes. @param nowMs the time of the server */
  calm(nowMs: number): void {
    this.silentMs = SILENT_MS;
    for (const ticks of this.made.values()) {
      ticks.silentSinceMs &&= nowMs;
    }
  }

  /** Called when the server has added a job. */
  enqueued(queue: QueueView, id: string): void {
    const [, schedule] = SCHEDULED.exec(id) ?? [];
    if (schedule === undefined) {
      return;
    }
    const ticks = this.of(schedule);
    const [dueMs, { now }] = [dueOf(id), queue];
    const stored = queue.hash(queue.keys.schedule(schedule));
    // One tick makes one job, whatever number of processes make ticks.
    if (ticks.ids.has(id)) {
      this.fault(`tick: ${id} was made twice`);
    }
    ticks.ids.add(id);
    if (ticks.createdAt !== stored?.created_at_ms) {
      Object.assign(ticks, { createdAt: stored?.created_at_ms, count: 0 });
    }
    ticks.count++;
    if (stored?.paused_at_ms !== undefined) {
      this.fault(`tick: ${id} was made while the schedule was paused`);
    }
    if (dueMs > now + this.repeatedAheadMs) {
      this.fault(`tick: ${id} was made ${dueMs - now} ms before it was due`);
    }
    this.isOnTime(schedule, dueMs, now);
    this.isNext(schedule, ticks, dueMs, queue);
  }

  /** Checks that the counter of a schedule, which limits its jobs, counts each tick once, and that none is silent. */
  looks(queue: QueueView): void {
    const { keys, now } = queue;
    for (const id of queue.scheduleDue.members()) {
      const { ticks = '0', created_at_ms: created } = queue.hash(keys.schedule(id)) ?? {};
      const { count, createdAt } = this.of(id);
      if (Number(ticks) !== (createdAt === created ? count : 0)) {
        this.fault(`tick: ${id} counts ${ticks} ticks, and ${count} were made`);
      }
      const { silentSinceMs = Infinity } = this.of(id);
      if (now - silentSinceMs > this.silentMs) {
        this.fault(`tick: ${id} is silent since the server's clock jumped ${now - silentSinceMs} ms ago`);
      }
    }
  }

  /** Checks that no schedule is overdue for long while a process ticks. From then on none ticks. */
  finish(queues: readonly QueueView[]): void {
    this.made.forEach((ticks) => (ticks.silentSinceMs = undefined));
    for (const { scheduleDue, now } of queues) {
      const late =
        this.jumpedAtMs > now - TICK_LATEST_MS
          ? []
          : scheduleDue.members().filter((id) => scheduleDue.score(id)! <= now - TICK_LATEST_MS);
      late.forEach((id) => this.fault(`tick: ${id} is overdue since ${now - scheduleDue.score(id)!} ms`));
    }
  }

  private isOnTime(schedule: string, dueMs: number, nowMs: number): void {
    if (nowMs - Math.max(dueMs, this.jumpedAtMs) > TICK_LATEST_MS) {
      this.fault(`tick: that of ${dueMs} of ${schedule} waited ${nowMs - dueMs} ms`);
    }
  }

  /**
   * Checks that no tick is left out. Each is due no later than the first due time after the previous one was made. The
   * maker of the first tick after a jump may have read the clock before it. Then the next due time, if it is too late, is
   * moved soon.
   */
  private isNext(schedule: string, ticks: MadeTicks, dueMs: number, { now: nowMs, scheduleDue }: QueueView): void {
    const declared = SCHEDULES[schedule as ScheduleId];
    if (!declared) {
      return; // an operator changes it
    }
    if (ticks.latestMs !== undefined && dueMs > ticks.latestMs + this.repeatedAheadMs) {
      this.fault(`tick: of ${schedule} that of ${ticks.latestMs} was not made, but that of ${dueMs}`);
    }
    const latestMs = latestNextTick(nowMs, declared.everyMs);
    const isOfOldClock = ticks.jumps < this.jumps && (scheduleDue.score(schedule) ?? 0) > latestMs;
    ticks.latestMs = isOfOldClock ? undefined : latestMs;
    ticks.silentSinceMs = isOfOldClock ? nowMs : undefined;
    ticks.jumps = this.jumps;
  }

  /** How far the time in an id may be ahead, in ms. */
  private get repeatedAheadMs(): number {
    return this.jumpedAtMs > 0 ? REPEATED_AHEAD_MS : 0;
  }

  private of(schedule: string): MadeTicks {
    const known = this.made.get(schedule) ?? {
      ids: new Set<string>(),
      count: 0,
      createdAt: undefined,
      latestMs: undefined,
      jumps: 0,
    };
    this.made.set(schedule, known);
    return known;
  }
}

/** Returns the time in the id of a tick's job. */
function dueOf(id: string): number {
  return Number(SCHEDULED.exec(id)?.[2]);
}
