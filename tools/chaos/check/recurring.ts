// Ticks of schedules: none twice, none left out, none lost, and none while they rest. By the server's clock, whatever breaks.
import type { Facts } from '../histories/facts.js';
import { FORGOTTEN_MS, type Between } from '../histories/operations.js';
import { latestNextTick, TICK_LATEST_MS } from './rules.js';
import type { Snapshot } from './snapshot.js';
import type { Tick } from '../histories/ticks.js';
import { BY_HAND, SCHEDULES, type ScheduleId } from '../processes/workload.js';

/** A clock may be set back a little. */
const CLOCK_TOLERANCE_MS = 50;

interface MadeTick {
  id: string;
  schedule: string;
  dueMs: number;
  /** The time by the server's clock; `Infinity` if it is unknown. */
  madeMs: number;
}

export function recurring(facts: Facts, snapshot: Snapshot): string[] {
  const stored = new Set(snapshot.jobs.map(({ id }) => id));
  const made = madeTicks(facts, stored);
  return [
    ...ended(facts, stored),
    ...SCHEDULE_IDS.flatMap((schedule) => {
      const ticks = made.filter((tick) => tick.schedule === schedule);
      return facts.operations.between.flatMap((between) => [
        ...leftOut(schedule, ticks, between, facts),
        ...resting(schedule, ticks, between),
      ]);
    }),
    ...late(facts, made),
  ];
}

const SCHEDULE_IDS = Object.keys(SCHEDULES) as ScheduleId[];

/** Returns the ticks whose job was seen. A tick that was run by hand has no due time. */
function madeTicks(facts: Facts, stored: ReadonlySet<string>): MadeTick[] {
  const ids = new Set([...facts.ticks.all.keys(), ...stored]);
  return [...ids]
    .flatMap((id) => {
      const [, schedule, due] = /^@schedule:(.+):(\d{13})$/.exec(id) ?? [];
      const madeMs = facts.ticks.all.get(id)?.madeMs ?? Infinity;
      return schedule === undefined ? [] : [{ id, schedule, dueMs: Number(due), madeMs }];
    })
    .toSorted((a, b) => a.dueMs - b.dueMs);
}

function ended(facts: Facts, stored: ReadonlySet<string>): string[] {
  const twice = [...facts.ticks.all].filter(([, { completions }]) => completions > 1);
  const faults = twice.map(([id, tick]) => `I2: the recurring job ${id} was completed ${tick.completions} times`);
  // After a failover the counters check the ticks.
  if (facts.forgot || facts.mayForget(-Infinity, Infinity)) return faults;
  const lost = [...facts.ticks.all].filter(([id, tick]) => tick.sure && isOpen(tick) && !stored.has(id));
  const unrun = [...facts.operations.ran].filter((id) => !facts.ticks.all.has(id) && !stored.has(id));
  return [
    ...faults,
    ...lost.map(([id]) => `I1: the recurring job ${id} is lost: started, and nowhere`),
    ...unrun.map((id) => `I1: the recurring job ${id} is lost: run by hand and acknowledged, and nowhere`),
  ];
}

/** Returns whether no end of the tick was recorded. */
function isOpen({ completions, doubts }: Tick): boolean {
  return completions + doubts.size === 0;
}

/**
 * Returns ticks that were left out. A tick is due no later than the first due time after the previous one was made. Due
 * times that pass during an outage share one tick.
 */
function leftOut(
  schedule: ScheduleId,
  ticks: readonly MadeTick[],
  [before, after]: Between,
  facts: Facts,
): string[] {
  const [from, to] = [before.schedules[schedule], after.schedules[schedule]];
  // After a failover the new server may repeat ticks until it has caught up.
  const again = facts.mayForget(-Infinity, before.askedMs);
  if (again && from && from.dueMs <= before.atMs - FORGOTTEN_MS) return [];
  // A repeated call may have applied an operator's change twice.
  if (schedule === BY_HAND || !from?.dueMs || !to?.dueMs || from.createdAtMs !== to.createdAtMs) return [];
  const { everyMs } = SCHEDULES[schedule];
  const faults: string[] = [];
  let latestMs = from.dueMs;
  for (const { dueMs, madeMs } of ticks.filter((tick) => tick.dueMs >= from.dueMs && tick.dueMs < to.dueMs)) {
    if (dueMs > latestMs)
      faults.push(`tick: of ${schedule} that of ${latestMs} was not made, but that of ${dueMs}`);
    latestMs = latestNextTick(madeMs + CLOCK_TOLERANCE_MS, everyMs);
  }
  if (to.dueMs > latestMs) {
    faults.push(`tick: of ${schedule} that of ${latestMs} was not made, and ${to.dueMs} is due next`);
  }
  return faults.length > to.skipped - from.skipped ? faults : [];
}

/** Returns ticks that were made while the schedule was paused or removed: at both looks, by the same pause. */
function resting(schedule: ScheduleId, ticks: readonly MadeTick[], [before, after]: Between): string[] {
  const [from, to] = [before.schedules[schedule], after.schedules[schedule]];
  const paused = from !== undefined && from.pausedAtMs > 0 && from.pausedAtMs === to?.pausedAtMs;
  if (!paused && (from || to)) return [];
  return ticks
    .filter(({ madeMs }) => madeMs > before.atMs && madeMs < after.atMs)
    .map(({ id }) => `tick: ${id} was made while the schedule was ${paused ? 'paused' : 'not there'}`);
}

function late(facts: Facts, made: readonly MadeTick[]): string[] {
  const offMs = facts.operations.between.reduce((most, [, look]) => Math.max(most, look.offMs), -Infinity);
  const ticks = made.filter(({ madeMs }) => Number.isFinite(madeMs));
  const waits = facts.operations.between.flatMap(([, { atMs, schedules }]) =>
    Object.entries(schedules).map(([schedule, { dueMs }]) => ({ schedule, dueMs, madeMs: dueMs && atMs })),
  );
  return [
    ...ticks.flatMap(({ id, schedule, dueMs, madeMs }) => {
      const after = missedAfterMs(schedule);
      return madeMs - dueMs > after
        ? [`tick: ${id} was made ${madeMs - dueMs} ms late, and is left out after ${after}`]
        : [];
    }),
    ...[...ticks, ...waits]
      .map((tick) => ({ ...tick, lateMs: tick.madeMs - tick.dueMs - outageMs(tick, facts, offMs) }))
      .filter(({ lateMs }) => lateMs > TICK_LATEST_MS)
      .map(
        ({ schedule, dueMs, lateMs }) =>
          `tick: of ${schedule} that of ${dueMs} waited ${lateMs} ms while nothing was broken`,
      ),
  ];
}

function missedAfterMs(schedule: string): number {
  const options: { everyMs: number; missedAfterMs?: number } | undefined = SCHEDULES[schedule as ScheduleId];
  return options?.missedAfterMs ?? Infinity;
}

/** Returns how much of the wait overlapped a fault, or all of it if the clocks could not be compared. */
function outageMs({ dueMs, madeMs }: { dueMs: number; madeMs: number }, { remarks }: Facts, offMs: number): number {
  if (offMs === -Infinity) return Infinity;
  return remarks.faults.reduce((sum, { beganMs, healedMs }) => {
    return sum + Math.max(0, Math.min(madeMs, healedMs + offMs) - Math.max(dueMs, beganMs + offMs));
  }, 0);
}
