// The attempts in the histories: their starts, the ends of their handlers, and the replies to their settlements.
import type { Settlement } from './history.js';
import { CANCELLED, DOUBT } from './marks.js';
import type { Reading } from './reading.js';

export interface Claim {
  fence: number;
  /** The time when its handler was called, after the claim. */
  startMs: number;
}

/** An attempt that ended otherwise than by a completion. */
export interface Settled {
  what: Settlement;
  fence: number;
  /** The time when its handler had ended, before the settlement was sent. */
  endMs: number;
}

export class Attempts {
  /** The first attempts of jobs whose order is promised, by the process that enqueued them. */
  readonly first = new Map<number, [number: number, fence: number][]>();
  /** Claims of jobs that were started more than once. */
  readonly claims = new Map<string, Claim[]>();
  readonly settlements = new Map<string, Settled[]>();
  /** The earliest allowed start of a job, and its actual start. */
  readonly dueMs = new Map<string, number>();
  readonly startedMs = new Map<string, number>();
  /** Settlements that came too late and were refused. */
  refused = 0;
  /** Instants of the monotonic clock (ms) at which a job was completed. */
  readonly activeMs = new Set<number>();
  /** Settlements without a reply, by `process:number:fence`, with the handler's result and end. */
  private readonly open = new Map<string, { ok: boolean; endMs: number }>();
  private readonly lost = new Set<string>();
  private readonly unsureClaims = new Set<string>();

  constructor(private readonly reading: Reading) {}

  start(process: number, number: number, attempt: number, fence: number): void {
    const key = `${process}:${number}`;
    const { sure, nowMs } = this.reading;
    this.reading.of(process, number, (jobs) => {
      jobs.starts[number]!++;
      jobs.mostAttempts[number] = Math.max(jobs.mostAttempts[number]!, attempt);
      // A claim that the server lost is made again, perhaps by the same number.
      if (!sure) {
        this.unsureClaims.add(`${this.reading.process}/${key}:${fence}`);
        return;
      }
      jobs.lastFence[number] = Math.max(jobs.lastFence[number]!, fence);
      if (jobs.firstFence[number] === 0) {
        jobs.firstFence[number] = fence;
        jobs.firstStartMs[number] = nowMs;
      } else {
        const first = { fence: jobs.firstFence[number]!, startMs: jobs.firstStartMs[number]! };
        listOf(this.claims, key, first).push({ fence, startMs: nowMs });
      }
    });
    if (attempt === 1 && sure) this.first.get(process)?.push([number, fence]);
    if (this.dueMs.has(key)) {
      this.startedMs.set(key, Math.min(this.startedMs.get(key) ?? Infinity, nowMs));
    }
  }

  /** Called when the handler returned. */
  ok(process: number, number: number, fence: number): void {
    this.reading.of(process, number, (jobs) => jobs.oks[number]!++);
    this.end(process, number, fence, true);
  }

  /** Called when the handler ended; its settlement may be in flight. */
  end(process: number, number: number, fence: number, ok = false): void {
    const key = `${process}:${number}:${fence}`;
    if (!this.lost.delete(key)) this.open.set(key, { ok, endMs: this.reading.nowMs });
  }

  settled(what: Settlement, process: number, number: number, fence: number): void {
    const { reading } = this;
    const key = `${process}:${number}:${fence}`;
    const end = this.open.get(key);
    this.open.delete(key);
    if (what === 'lost') this.refused++;
    if (what === 'completed') {
      this.activeMs.add(reading.nowMs);
      // Where a fence was reused, the settlement of a lost claim looks like a repeat of the later one.
      const unsure = !reading.sure || this.unsureClaims.has(`${reading.process}/${key}`);
      if (unsure) return reading.mark(process, number, DOUBT);
      reading.of(process, number, (jobs) => {
        jobs.completions[number]!++;
        jobs.completedFence[number] = Math.max(jobs.completedFence[number]!, fence);
      });
      return;
    }
    if (what === 'cancelled' && reading.sure) reading.mark(process, number, CANCELLED);
    if (what === 'lost') {
      if (!end) this.lost.add(key);
    } else if (end && reading.sure) {
      listOf(this.settlements, `${process}:${number}`).push({ what, fence, endMs: end.endMs });
    }
  }

  /** Keeps what is open now as open. */
  finish(): void {
    for (const [key, { ok }] of this.open) {
      const [process, number] = key.split(':').map(Number);
      if (ok) this.reading.mark(process!, number!, DOUBT);
    }
    this.open.clear();
    this.lost.clear();
  }
}

function listOf<Item>(lists: Map<string, Item[]>, key: string, ...first: Item[]): Item[] {
  let list = lists.get(key);
  if (!list) lists.set(key, (list = first));
  return list;
}
