// A run in which an operator pauses the queue and a schedule, and an outage delays ticks.
import { cleanRun, type Run } from './clean-run.js';
import type { Control, Entry } from '../../histories/history.js';
import type { Look, SeenSchedule } from '../../histories/look.js';
import type { ScheduleId } from '../../processes/workload.js';

/** The server's clock less the monotonic one. */
const OFF_MS = 1_700_000_000_000;
/** Redis is frozen between. */
const FROZEN_MS = 4_900;
const THAWED_MS = 7_400;

/** Returns the time of the server's clock after this many ms. */
export function at(ms: number): number {
  return OFF_MS + ms;
}

export function tickId(schedule: ScheduleId, dueMs: number): string {
  return `@schedule:${schedule}:${at(dueMs)}`;
}

/** Returns a tick that was made `lateMs` after it was due, with its job completed. */
export function tickOf(schedule: ScheduleId, dueMs: number, lateMs = 3): Entry[] {
  const id = tickId(schedule, dueMs);
  const fence = dueMs + schedule.length;
  return [
    ['tick', 'start', id, fence, at(dueMs + lateMs)],
    ['tick', 'ok', id, fence],
    ['tick', 'completed', id, fence],
  ];
}

export function seen(dueMs: number, more: Partial<SeenSchedule> = {}): SeenSchedule {
  return { createdAtMs: at(0), pausedAtMs: 0, dueMs: dueMs && at(dueMs), skipped: 0, ...more };
}

interface Seen extends Partial<Omit<Look, 'schedules'>> {
  /** `undefined`: the schedule is gone. A schedule without an entry exists and has just been made. */
  schedules?: Partial<Record<ScheduleId, SeenSchedule | undefined>>;
}

export function lookedAt(ms: number, { schedules, ...more }: Seen = {}): Entry[] {
  const made = seen(ms, { createdAtMs: at(ms) });
  const all = { 'each-second': made, 'each-half': made, 'by-hand': made, ...schedules };
  const there = Object.entries(all).filter(([, schedule]) => schedule !== undefined);
  const look = { atMs: at(ms), askedMs: ms - 2, offMs: OFF_MS - 2, pausedAtMs: 0, sequence: 100, ...more };
  return [
    ['time', ms + 4],
    ['look', { ...look, schedules: Object.fromEntries(there) }],
  ];
}

/** Returns a call, its reply and the state seen after it. */
export function done(ms: number, control: Control, schedule: string, more: Seen, answer = 'true'): Entry[] {
  return [
    ['time', ms],
    ['asks', control, schedule],
    ['time', ms + 5],
    ['told', control, schedule, answer],
    ...lookedAt(ms + 10, more),
  ];
}

const paused = { pausedAtMs: at(3_000), sequence: 102 };
const resting = { schedules: { 'by-hand': seen(0, { pausedAtMs: at(4_001) }) } };

/** The operator's actions, in parts. Fences from 103 to 105 are taken while the queue is paused. */
export const OPERATED = {
  begun: lookedAt(2_500, { schedules: { 'each-second': seen(3_000), 'each-half': seen(3_000) } }),
  pause: done(3_000, 'pause', '', paused),
  stillPaused: lookedAt(3_300, { ...paused, sequence: 105 }),
  resume: done(3_310, 'resume', '', { sequence: 106 }),
  rest: done(4_000, 'pause-schedule', 'by-hand', resting, 'paused'),
  stillRests: lookedAt(4_600, resting),
  wake: done(4_610, 'resume-schedule', 'by-hand', { schedules: { 'by-hand': seen(4_750) } }, 'resumed'),
  run: done(4_650, 'run-now', 'by-hand', { schedules: { 'by-hand': seen(4_750) } }, 'by hand'),
} satisfies Record<string, Entry[]>;

/** The schedules as seen before the outage, and after all ticks were made. */
const ends: Entry[] = [
  ['process', 6, 'operator'],
  ...lookedAt(2_500, { schedules: { 'each-second': seen(3_000), 'each-half': seen(3_000) } }),
  ...lookedAt(7_900, { schedules: { 'each-second': seen(8_000), 'each-half': seen(8_000, { skipped: 1 }) } }),
];

/** @param parts replacements for parts of OPERATED */
export function operatedRun(parts: Partial<Record<keyof typeof OPERATED, Entry[]>> = {}): Run {
  const run = cleanRun();
  const ticks = [
    ...tickOf('each-second', 3_000),
    ...tickOf('each-second', 4_000),
    ...tickOf('each-second', 5_000, 2_410),
    ...tickOf('each-half', 3_000),
    ...tickOf('each-half', 3_500),
    ...tickOf('each-half', 4_000),
    ...tickOf('each-half', 4_500),
    ...tickOf('by-hand', 4_750),
  ];
  const byHand: Entry[] = [
    ['tick', 'start', 'by hand', 90, at(4_653)],
    ['tick', 'ok', 'by hand', 90],
    ['tick', 'completed', 'by hand', 90],
  ];
  run.files = {
    runner: [
      ['time', FROZEN_MS],
      ['fault', 'redis-freeze'],
      ['time', THAWED_MS],
      ['healed', 'redis-freeze'],
    ],
    operations: [['process', 5, 'operator'], ...Object.values({ ...OPERATED, ...parts }).flat()],
    ends,
    ...run.files,
  };
  run.files.worker!.push(['time', 8_000], ...ticks, ...byHand);
  run.snapshot.totals = { ...run.snapshot.totals, enqueued: 19, completed: 16 };
  return run;
}

/** Removes a tick, so that no worker ever saw it. */
export function leaveOut(run: Run, schedule: ScheduleId, dueMs: number): void {
  run.files.worker = run.files.worker!.filter((entry) => entry[2] !== tickId(schedule, dueMs));
}
