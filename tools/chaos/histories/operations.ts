// Operators in the histories: their calls, the states they saw after them, and audits.
import type { Control, Entry } from './history.js';
import type { Look } from './look.js';
import type { Reading } from './reading.js';

type Operation = Extract<Entry, ['asks' | 'told' | 'look' | 'audit' | 'audited', ...unknown[]]>;

interface Noted extends Look {
  /** The time when its reply had come, by the monotonic clock. */
  notedMs: number;
}

/** The time in which a failover's losses are settled: workers learn of lost claims, and ticks are made again. */
export const FORGOTTEN_MS = 5_000;

/** Two successive looks of one operator at one server, without a failover between or shortly before them. */
export type Between = readonly [before: Noted, after: Noted];

/** The state that an operator saw after the reply to a call and before the next call. Times by the monotonic clock. */
export interface Effect {
  control: Control;
  schedule: string;
  look: Noted;
  /** The time when the previous call on the same queue or schedule was made; `-Infinity` if that got no reply. */
  fromMs: number;
}

interface Call {
  control: Control;
  schedule: string;
  askedMs: number;
  answer?: string;
}

export class Operations {
  readonly between: Between[] = [];
  readonly effects: Effect[] = [];
  /** Acknowledged jobs of schedules that were run by hand. */
  readonly ran = new Set<string>();
  readonly audits = { asked: 0, answered: 0 };
  /** Descriptions of claims that were made while the queue was paused. */
  readonly begunPaused: string[] = [];
  /** Fences taken while the queue was paused, by claims or as ranks of jobs. */
  private readonly pauses: { above: number; upTo: number; sinceMs: number }[] = [];
  private calls = new Map<string, Call>();
  /** The call that has no look after it yet. */
  private latest: { call: Call; fromMs: number } | undefined;
  private seen: Noted | undefined;

  constructor(private readonly reading: Reading) {}

  /** Called before the next file. */
  begin(): void {
    this.calls = new Map();
    this.latest = undefined;
    this.seen = undefined;
  }

  add(operation: Operation): void {
    switch (operation[0]) {
      case 'asks':
        return this.asks(operation[1], operation[2]);
      case 'told':
        return this.told(operation[1], operation[2], operation[3]);
      case 'look':
        return this.look(operation[1]);
      case 'audit':
        this.audits.asked++;
        return;
      default:
        this.audits.answered++;
    }
  }

  /** Called for a claim of a job of the queue that operators pause. */
  claim(who: string, fence: number): void {
    const { nowMs, sure } = this.reading;
    const made = ({ above, upTo, sinceMs }: (typeof this.pauses)[number]) =>
      fence > above && fence <= upTo && nowMs >= sinceMs;
    if (sure && this.pauses.some(made)) this.begunPaused.push(`${who} began by the claim with fence ${fence}`);
  }

  private asks(control: Control, schedule: string): void {
    const last = this.calls.get(schedule);
    const fromMs = last && last.answer === undefined ? -Infinity : (last?.askedMs ?? this.reading.nowMs);
    const call: Call = { control, schedule, askedMs: this.reading.nowMs };
    this.calls.set(schedule, call);
    this.latest = { call, fromMs };
  }

  private told(control: Control, schedule: string, answer: string): void {
    const call = this.calls.get(schedule);
    if (call) call.answer = answer;
    if (control === 'run-now' && this.reading.sure && !this.reading.isLost) this.ran.add(answer);
  }

  private look(look: Look): void {
    const noted: Noted = { ...look, notedMs: this.reading.nowMs };
    if (this.seen) this.compare([this.seen, noted]);
    this.seen = noted;
    const { latest } = this;
    if (latest === undefined || latest.call.answer === undefined || latest.call.answer === 'missing') return;
    const { control, schedule } = latest.call;
    this.effects.push({ control, schedule, look: noted, fromMs: latest.fromMs });
    this.latest = undefined;
  }

  private compare(between: Between): void {
    const [before, after] = between;
    // After a failover the new server reuses the lost names and fences.
    if (this.reading.isLost || this.reading.mayForget(before.askedMs - FORGOTTEN_MS, after.notedMs)) return;
    this.between.push(between);
    if (before.pausedAtMs > 0 && before.pausedAtMs === after.pausedAtMs) {
      this.pauses.push({ above: before.sequence, upTo: after.sequence, sinceMs: before.askedMs });
    }
  }

  /** The number of pauses that were checked. */
  get paused(): number {
    return this.pauses.length;
  }
}
