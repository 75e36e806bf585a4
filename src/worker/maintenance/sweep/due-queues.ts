import type { JobQueue } from '../../../queue/job-queue.js';
import type { Clock } from '../../../queue/runtime/clock.js';
import type { Look, Place } from '../../../queue/store/verbs/queues-verbs.js';
import type { Watched } from '../../../queue/store/verbs/sweep-verbs.js';

/** The places of jobs that have not ended, and of news for other queues. A queue with one of them is swept each round. */
const WORK: readonly Place[] = [
  'pending',
  'prioritized',
  'scheduled',
  'claims',
  'processing',
  'groupDepths',
  'groupsGated',
  'batches',
  'remoteMembers',
  'batchOutbox',
  'awaiting',
];

/** The places that a round looks at. Clients of the Redis pattern leave their failures in `failed`. */
export const LOOKED_AT: readonly Place[] = [...WORK, 'failed'];

/** The places of data that become old. */
export const REMAINS: readonly Place[] = [
  'completed',
  'cancelled',
  'dead',
  'unique',
  'uniqueExpiries',
  'scheduleOwners',
  'groupsResting',
];

/** The interval at which a queue with nothing but failures is swept, in ms. */
const FAILURES_MS = 60_000;

/** The interval of the looks for other remains, in ms. */
const REMAINS_MS = 600_000;

/** The interval at which a queue is swept that seems empty, in ms. Announcements of dead workers may be left. */
const EMPTY_MS = 86_400_000;

/** Decides by looks which queues a round of maintenance sweeps. It holds no queue that the process has released. */
export class DueQueues {
  private readonly sweptAt = new WeakMap<JobQueue, number>();
  private readonly looks = new WeakMap<JobQueue, Watched>();
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
      (look.found.has('failed') && now - (sweptAt ?? -Infinity) >= FAILURES_MS) ||
      (remains?.found.size ?? 0) > 0 ||
      now - (sweptAt ?? now) >= EMPTY_MS;
    if (isDue) {
      this.sweptAt.set(queue, now);
    } else if (sweptAt === undefined) {
      this.sweptAt.set(queue, now - this.clock.random() * EMPTY_MS); // not all queues in one round
    }
    return isDue;
  }

  /** Notes a look. Returns the looks that came without a gap until this one. */
  noteLook(queue: JobQueue, { atMs }: Look, gapMs: number): Watched {
    const before = this.looks.get(queue);
    const isUnbroken = before !== undefined && atMs >= before.toMs && atMs - before.toMs <= gapMs;
    const watched = { fromMs: isUnbroken ? before.fromMs : atMs, toMs: atMs };
    this.looks.set(queue, watched);
    return watched;
  }
}
