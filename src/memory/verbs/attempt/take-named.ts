// The jobs that a claim of certain names takes and leaves; see lua/lib/place/take_named.lua and unserved.lua.
import { handledAs } from '../../../queue/validation/names.js';
import type { UnhandledRefusal } from '../../../queue/store/claim-refusal.js';
import type { LeftJobs } from '../../../queue/store/store-calls.js';
import { WORKER_SEEN_MS } from '../../../queue/runtime/lifetimes.js';
import type { TakenJobs } from '../../state/flow-control.js';
import { startsNow } from '../../state/gcra.js';
import { headByTurn } from '../../state/head-by-turn.js';
import type { Hash, MemoryQueue } from '../../state/memory-queue.js';
import { removeFirst } from '../../state/scored-set.js';

/** Decides which jobs a claim of certain names takes, and remembers the others. */
export class NamedJobs {
  /** The verdicts on jobs that waited too long for a worker of their names, by id. */
  readonly overdue = new Map<string, UnhandledRefusal>();
  /** Names whose jobs have not waited too long yet. */
  private readonly young = new Set<string>();
  private readonly unserved = new Set<string>();
  private elsewhere = false;
  private readonly served: ReadonlySet<string>;

  constructor(
    private readonly queue: MemoryQueue,
    handlers: readonly { name: string }[],
  ) {
    this.served = new Set(handlers.map(({ name }) => name));
  }

  /** Returns the jobs that the claim left to others. It has read all jobs. */
  get left(): LeftJobs {
    return { cursor: -1, elsewhere: this.elsewhere, unserved: [...this.unserved] };
  }

  /** Looks at jobs until it has found `most` to take with a priority, and as many without. */
  find(most: number): string[] {
    const { prioritized, pending } = this.queue;
    return [prioritized.members(), pending].flatMap((ids) => {
      const found: string[] = [];
      for (const id of ids) {
        if (found.length >= most) {
          break;
        }
        found.push(...(this.mayTake(id) ? [id] : []));
      }
      return found;
    });
  }

  mayTake(id: string): boolean {
    const { queue } = this;
    const job = queue.job(id) ?? {};
    const name = job.name ?? queue.name;
    if (handledAs(this.served, name) !== undefined) {
      return true;
    }
    const announcedAt = queue.announced.lastOf(name);
    if (announcedAt > queue.now - WORKER_SEEN_MS) {
      this.elsewhere = true;
      return false;
    }
    this.unserved.add(name);
    return this.isOverdue(id, job, name, announcedAt);
  }

  /** Returns whether a job waited too long. If the first of a name did not, the others are not checked. */
  private isOverdue(id: string, job: Hash, name: string, announcedAt: number): boolean {
    const { now, options } = this.queue;
    const most = options.unhandledAgeMs;
    if (most === 0 || this.young.has(name) || now - announcedAt <= most) {
      return false;
    }
    const since = Number(job.unhandled_at_ms ?? job.ready_at_ms ?? job.enqueued_at_ms ?? now);
    const waited = now - Math.max(announcedAt, since);
    if (waited <= most) {
      this.young.add(name);
      return false;
    }
    this.overdue.set(id, this.verdictOn(name, waited, Number(job.unhandled ?? 0)));
    return true;
  }

  private verdictOn(name: string, waitedMs: number, times: number): UnhandledRefusal {
    const { liveWorkers: workers, announced, now } = this.queue;
    const known = announced.namesSince(now - WORKER_SEEN_MS);
    return { reason: 'unhandled', name, waitedMs, times, workers, known };
  }
}

/** The jobs that a claim has taken. `waiting` are the jobs that it found and left, because of a limit or its size. */
export interface Taken extends TakenJobs {
  waiting: readonly string[];
}

/** Takes jobs of certain names from a queue without groups. */
export function takeNamed(
  queue: MemoryQueue,
  named: NamedJobs,
  count: number,
  fits: (id: string) => boolean,
): Taken {
  const { flow } = queue;
  const { maxRunning = Infinity, rateLimit } = flow.limits;
  const rests = queue.restsUntil > queue.now;
  const slots = Math.min(count, Math.max(0, maxRunning - queue.claims.size));
  const room = rests ? 0 : Math.min(slots, startsNow(rateLimit, flow.arrival, queue.now));
  // One more job is looked for where it would wait for the rate or the rest.
  const found = named.find(room + (slots > 0 && (rests || rateLimit) ? 1 : 0));
  const taken = flow.isActive
    ? flow.take(found, room, fits, () => true)
    : { ids: takeByTurns(queue, found, room, fits) };
  taken.ids.forEach((id) => queue.takeFromLine(id));
  return { ...taken, waiting: found.filter((id) => !taken.ids.includes(id)) };
}

function takeByTurns(
  queue: MemoryQueue,
  found: readonly string[],
  count: number,
  fits: (id: string) => boolean,
): string[] {
  const urgent = found.filter((id) => queue.prioritized.has(id));
  const others = found.filter((id) => !queue.prioritized.has(id));
  const ids: string[] = [];
  while (ids.length < Math.min(count, found.length)) {
    const head = headByTurn({ urgent, others, rank: () => 0 }, queue.sequence + ids.length + 1, true)!;
    if (!fits(head)) {
      break;
    }
    removeFirst(urgent, head);
    removeFirst(others, head);
    ids.push(head);
  }
  return ids;
}
