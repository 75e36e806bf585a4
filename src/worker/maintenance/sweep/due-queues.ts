import type { JobQueue } from '../../../queue/job-queue.js';
import type { Clock } from '../../../queue/runtime/clock.js';
import type { Look } from '../../../queue/store/queues-verbs.js';
import { type Place, placesSwept } from '../../../queue/validation/key-table.js';
import type { Watched } from '../../../queue/verbs/sweep.js';

const WORK = placesSwept('round');
const SELDOM = placesSwept('minute');

/** The places that a round looks at. A look for `due` finds `scheduled` too. */
export const LOOKED_AT: readonly Place[] = [...WORK, ...SELDOM.filter((place) => place !== 'scheduled')];

/** The places of data that become old. */
export const REMAINS = placesSwept('remains');

/** The interval at which a queue with nothing else is swept, in ms. */
const SELDOM_MS = 60_000;

/** The interval of the looks for other remains, in ms. */
const REMAINS_MS = 600_000;

/** The interval at which a queue is swept that seems empty, in ms. Announcements of dead workers may be left. */
const EMPTY_MS = 86_400_000;

/** What a look shows of the server. */
interface LookNotes {
  /** The time between two looks that means that the server was away, in ms. */
  gapMs: number;
  /** What stands for the connection; see QueueStore. */
  connection: object | undefined;
  /** True if the reply took so long that a claim may have expired meanwhile. */
  isLate: boolean;
}

interface NotedLooks extends Pick<Watched, 'fromMs' | 'toMs'> {
  connection: object | undefined;
  /** When an outage was met last, by the monotonic clock. */
  outageAt: number | undefined;
}

/** Decides by looks which queues a round of maintenance sweeps. It holds no queue that the process has released. */
export class DueQueues {
  private readonly sweptAt = new WeakMap<JobQueue, number>();
  private readonly looks = new WeakMap<JobQueue, NotedLooks>();
  /** The time of the last look for remains, by server. */
  private readonly remainsAt = new Map<string, number>();

  constructor(private readonly clock: Clock) {}

  /** Returns whether the round is to look for remains too. */
  looksForRemains(server: string): boolean {
    const now = this.clock.monotonic();
    if (now - (this.remainsAt.get(server) ?? -Infinity) < REMAINS_MS) {
      return false;
    }
    this.remainsAt.set(server, now);
    return true;
  }

  /** Returns whether a queue is to be swept now. @param remains the look for remains, if the round had one */
  isDue(queue: JobQueue, look: Look, remains: Look | undefined): boolean {
    const now = this.clock.monotonic();
    const sweptAt = this.sweptAt.get(queue);
    const isDue =
      WORK.some((place) => look.found.has(place)) ||
      (SELDOM.some((place) => look.found.has(place)) && now - (sweptAt ?? -Infinity) >= SELDOM_MS) ||
      (remains?.found.size ?? 0) > 0 ||
      now - (sweptAt ?? now) >= EMPTY_MS;
    if (isDue) {
      this.sweptAt.set(queue, now);
    } else if (sweptAt === undefined) {
      this.sweptAt.set(queue, now - this.clock.random() * EMPTY_MS); // not all queues in one round
    }
    return isDue;
  }

  /**
   * Notes a look. Returns the looks that came without a gap until this one, and how long ago an outage was met. An outage
   * shorter than a gap shows by a new connection, or by a late reply.
   */
  noteLook(queue: JobQueue, { atMs }: Look, { gapMs, connection, isLate }: LookNotes): Watched {
    const now = this.clock.monotonic();
    const before = this.looks.get(queue);
    const isUnbroken = before !== undefined && atMs >= before.toMs && atMs - before.toMs <= gapMs;
    const isOutage = isLate || (before !== undefined && before.connection !== connection);
    const outageAt = isOutage ? now : before?.outageAt;
    const [fromMs, toMs] = [isUnbroken ? before.fromMs : atMs, atMs];
    this.looks.set(queue, { fromMs, toMs, connection, outageAt });
    return { fromMs, toMs, ...(outageAt !== undefined && { sinceOutageMs: Math.round(now - outageAt) }) };
  }
}
