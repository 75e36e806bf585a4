import type { KindCount } from '../../../queue/store/store-calls.js';

/** The most kinds that are counted apart; see lua/lib/kind/change_kind.lua. */
const MOST_KINDS = 100;
const OTHER = '@other';
const HOUR_MS = 3_600_000;

type Hash = Record<string, string>;

/** The count of one kind: `inHour` in the hour of the last death, `before` in the hour before that. */
interface Counted {
  count: number;
  firstAtMs: number;
  lastAtMs: number;
  inHour: number;
  before: number;
  lastId: string;
}

/** The kinds of error of the dead letters, counted when each job dies. */
export class ErrorKinds {
  private readonly counts = new Map<string, Counted>();

  /** The number of kinds. */
  get size(): number {
    return this.counts.size;
  }

  /** Counts a new dead letter, and writes the kind into its hash. */
  add(id: string, job: Hash, found: string, nowMs: number): void {
    this.leave(job);
    const kind = this.counts.has(found) || this.counts.size < MOST_KINDS ? found : OTHER;
    const known = this.counts.get(kind);
    const hours = known ? hourOf(nowMs) - hourOf(known.lastAtMs) : 0;
    const { count = 0, firstAtMs = nowMs, inHour = 0, before = 0 } = known ?? {};
    this.counts.set(kind, {
      count: count + 1,
      firstAtMs,
      lastAtMs: nowMs,
      inHour: hours === 0 ? inHour + 1 : 1,
      before: hours === 0 ? before : hours === 1 ? inHour : 0,
      lastId: id,
    });
    job.error_kind = kind;
  }

  /** Takes a job that leaves the dead letters out of its count. */
  leave(job: Hash | undefined): void {
    const kind = job?.error_kind;
    const known = kind === undefined ? undefined : this.counts.get(kind);
    if (job) {
      delete job.error_kind;
    }
    if (known && --known.count === 0) {
      this.counts.delete(kind!);
    }
  }

  /** @param find returns the hash of a job */
  list(nowMs: number, find: (id: string) => Hash | undefined): KindCount[] {
    return [...this.counts].map(([kind, { lastId, inHour, before, ...counted }]) => {
      const hours = hourOf(nowMs) - hourOf(counted.lastAtMs);
      const left = 1 - (nowMs % HOUR_MS) / HOUR_MS;
      const lastHour = hours === 0 ? inHour + before * left : hours === 1 ? inHour * left : 0;
      const last = find(lastId);
      const payloadBytes = Buffer.byteLength(last?.payload ?? '');
      return {
        kind,
        ...counted,
        lastHour: Math.min(counted.count, Math.round(lastHour)),
        ...(last?.error_kind === kind && { sample: { id: lastId, payloadBytes } }),
      };
    });
  }
}

function hourOf(ms: number): number {
  return Math.floor(ms / HOUR_MS);
}
