import type { JobQueue } from '../../queue/job-queue.js';
import type { BackgroundRole } from '../../queue/runtime/background-role.js';
import type { Clock, Timer } from '../../queue/runtime/clock.js';
import type { ServerConnection } from './server-connection.js';

/** The time without a call after which a process releases a queue that it only requested, in ms. */
export const UNUSED_MS = 5 * 60_000;

/** The interval of the looks at unused queues, in ms. */
export const LOOK_MS = 60_000;

/** The most queues whose jobs are counted at the same time. */
const MOST_AT_ONCE = 50;

/** The list of known queues. */
interface KnownQueues {
  /** Returns whether a listener follows all known queues. */
  isWatched(): boolean;
  add(queue: JobQueue): void;
  remove(queues: ReadonlySet<JobQueue>): void;
}

/**
 * The queues that only calls of this process name. A name that is no longer used must cost nothing. So the process
 * releases its queue after some minutes. It keeps a queue with jobs that wait or run, because their maintenance may be its own.
 *
 * An app may hold such a queue. Its next call makes the queue known again.
 */
export class RequestedQueues implements BackgroundRole {
  /** The time of the last request of each queue, by the monotonic clock. */
  private readonly usedAt = new Map<JobQueue, number>();
  /** The released queues that the app still holds. */
  private readonly released = new Map<string, WeakRef<JobQueue>>();
  private timer: Timer | undefined;
  private running: Promise<void> | undefined;

  constructor(
    private readonly redis: Pick<ServerConnection, 'store'>,
    private readonly known: KnownQueues,
  ) {}

  /** Notes a request. @param isNew true if the request made the queue known */
  used(queue: JobQueue, isNew: boolean): void {
    if (isNew) {
      this.taken(queue);
    }
    if (isNew || this.usedAt.has(queue)) {
      this.usedAt.set(queue, this.clock.monotonic());
      this.start();
    }
  }

  /** Keeps a queue as long as the process runs. */
  keep(queue: JobQueue): void {
    this.taken(queue);
    this.usedAt.delete(queue);
  }

  /** Returns the queue that the app still holds, so that a name has one object. */
  heldByApp(name: string): JobQueue | undefined {
    return this.released.get(name)?.deref();
  }

  /** Starts with the first request. A further call changes nothing. */
  start(): void {
    if (!this.timer) {
      this.timer = this.clock.setInterval(() => void this.runOnce(), LOOK_MS);
      this.timer.unref();
    }
  }

  stop(): void {
    this.clock.clear(this.timer);
  }

  /** Releases each queue that no call used for five minutes, if none of its jobs waits or runs. Joins a look in progress. */
  runOnce(): Promise<void> {
    this.running ??= this.look().finally(() => {
      this.running = undefined;
    });
    return this.running;
  }

  private async look(): Promise<void> {
    this.released.forEach((queue, name) => queue.deref() ?? this.released.delete(name));
    const unused = this.unused();
    const idle = new Set<JobQueue>();
    for (let i = 0; i < unused.length; i += MOST_AT_ONCE) {
      const looks = unused
        .slice(i, i + MOST_AT_ONCE)
        .map(async (queue) => (await isIdle(queue)) && idle.add(queue));
      await Promise.all(looks);
    }
    // A call may have come meanwhile.
    const gone = new Set(this.unused().filter((queue) => idle.has(queue)));
    if (gone.size > 0) {
      gone.forEach((queue) => this.release(queue));
      this.known.remove(gone);
    }
  }

  private get clock(): Clock {
    return this.redis.store.clock;
  }

  private unused(): JobQueue[] {
    const since = this.clock.monotonic() - UNUSED_MS;
    return this.known.isWatched() ? [] : [...this.usedAt].flatMap(([queue, at]) => (at <= since ? [queue] : []));
  }

  private release(queue: JobQueue): void {
    this.usedAt.delete(queue);
    this.released.set(queue.name, new WeakRef(queue));
    queue.onUse = () => {
      this.known.add(queue);
      this.used(queue, true);
    };
  }

  private taken(queue: JobQueue): void {
    queue.onUse = undefined;
    this.released.delete(queue.name);
  }
}

/** Returns whether no job of a queue waits or runs. A queue that cannot be read stays. */
async function isIdle(queue: JobQueue): Promise<boolean> {
  try {
    const { pending, scheduled, processing } = await queue.stats();
    return pending + scheduled + processing === 0;
  } catch {
    return false; // the next look asks again
  }
}
