import type { BackgroundRole } from '../../queue/runtime/background-role.js';
import { LONGEST_TIMER_MS } from '../../queue/runtime/bounds.js';
import type { Recurrence } from '../../queue/model/schedule.js';
import { nextTick } from '../../queue/schedules/recurrence.js';
import type { MaintenanceSchedule } from '../options/maintenance-options.js';

/** An instant, with the readings that operators take of a `nextDate()`. */
interface Instant {
  toMillis(): number;
  toJSDate(): Date;
  toISO(): string;
  /** Returns the ms since the epoch. */
  valueOf(): number;
}

/**
 * The clock of the maintenance, with the methods that operators use of a CronJob in the SchedulerRegistry of \@nestjs/schedule. It
 * is no CronJob of the package `cron`, so that an app without \@nestjs/schedule installs no second cron library.
 */
export class MaintenanceJob implements BackgroundRole {
  private readonly recurrence: Recurrence;
  private timer: NodeJS.Timeout | undefined;
  private nextAt = 0;
  private lastAt: number | undefined;

  constructor(
    readonly name: string,
    schedule: MaintenanceSchedule,
    /** Runs one turn. It never rejects. The registry may put a guard around it. */
    public fireOnTick: () => Promise<void>,
  ) {
    this.recurrence =
      'cron' in schedule
        ? { cron: schedule.cron, timeZone: schedule.timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone }
        : { everyMs: schedule.everyMs };
  }

  /** True from start to stop. */
  get isActive(): boolean {
    return this.timer !== undefined;
  }

  /** Returns the current time between two turns, in ms. */
  get periodMs(): number {
    const first = this.after(Date.now());
    return this.after(first) - first;
  }

  start(): void {
    if (!this.isActive) {
      this.plan();
    }
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  /** Runs one turn now, also while an earlier one waits for a server. The maintenance joins what still runs. */
  runOnce(): Promise<void> {
    this.lastAt = Date.now();
    return this.fireOnTick();
  }

  /** Returns the start of the last run; null before the first. */
  lastDate(): Date | null {
    return this.lastAt === undefined ? null : new Date(this.lastAt);
  }

  /** Returns the start of the next run. */
  nextDate(): Instant {
    return instant(this.isActive ? this.nextAt : this.after(Date.now()));
  }

  /** Returns the starts of the next runs. */
  nextDates(count: number): Instant[] {
    const dates: Instant[] = [];
    for (let at = this.nextDate(); dates.length < count; at = instant(this.after(at.toMillis()))) {
      dates.push(at);
    }
    return dates;
  }

  private after(ms: number): number {
    const { everyMs } = this.recurrence;
    return everyMs === undefined ? nextTick(this.recurrence, ms) : ms + everyMs;
  }

  private plan(): void {
    this.nextAt = this.after(Date.now());
    this.wait();
  }

  private wait(): void {
    const leftMs = Math.max(0, this.nextAt - Date.now());
    this.timer = setTimeout(() => this.onTimer(), Math.min(leftMs, LONGEST_TIMER_MS));
  }

  private onTimer(): void {
    if (Date.now() < this.nextAt) {
      this.wait();
      return;
    }
    this.plan();
    void this.runOnce();
  }
}

function instant(ms: number): Instant {
  const date = new Date(ms);
  return { toMillis: () => ms, toJSDate: () => date, toISO: () => date.toISOString(), valueOf: () => ms };
}
