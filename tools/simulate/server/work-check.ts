// Checks I4: the work of a call is bounded, whatever the number of jobs.
import type { MemoryQueue } from '#memory/state/memory-queue.js';

/** A call looks at each job of a slice several times. */
const MOST_LOOKS = 2_000;

/**
 * The times that a claim looks at each waiting job, beside one for each job that it takes. Two are for the names, and two for its reply.
 * The groups, the end of the line and the next start have one each. One is in reserve.
 */
const SEARCHES_OF_CLAIM = 8;

/** The most due jobs that one claim makes ready: a slice. */
const MOST_DUE = 100;

/**
 * The most jobs that one claim takes. A worker with a bulk handler starts 32 at once: 8 calls of 4 jobs. The rest is for
 * jobs ahead, which held-check.ts bounds.
 */
const MOST_TAKEN = 100;

/** The ways to walk through all jobs of a queue. */
const WALKS = ['forEach', 'keys', 'values', 'entries', Symbol.iterator] as const;

/** The sizes of the places of a queue before a call. */
interface Sizes {
  readonly line: number;
  readonly claimed: number;
  readonly scheduled: number;
}

const NEW: Sizes = { line: 0, claimed: 0, scheduled: 0 };

export class WorkCheck {
  private looks = 0;
  private readonly watched = new Set<MemoryQueue['jobs']>();

  /** Counts the jobs that calls look at, from the first call on that sees the queue. */
  before(queue: MemoryQueue): Sizes {
    const { jobs, claims, scheduled } = queue;
    if (!this.watched.has(jobs)) {
      this.watched.add(jobs);
      this.watch(jobs);
    }
    this.looks = 0;
    return { line: lineOf(queue), claimed: claims.size, scheduled: scheduled.size };
  }

  after(script: string, queues: readonly MemoryQueue[], before: readonly Sizes[]): string[] {
    const { looks } = this;
    const searches = queues.map((queue, i) => looksOfSearches(script, queue, before[i] ?? NEW));
    const isClaim = script === 'attemptClaim';
    const due = Math.max(0, ...queues.map(({ scheduled }, i) => (before[i] ?? NEW).scheduled - scheduled.size));
    const taken = Math.max(0, ...queues.map(({ claims }, i) => claims.size - (before[i] ?? NEW).claimed));
    return [
      ...(looks > MOST_LOOKS + Math.max(0, ...searches)
        ? [`I4: one call of ${script} looked at jobs ${looks} times`]
        : []),
      ...(isClaim && due > MOST_DUE ? [`I4: one claim made ${due} jobs ready`] : []),
      ...(isClaim && taken > MOST_TAKEN ? [`I4: one claim took ${taken} jobs`] : []),
    ];
  }

  private watch(jobs: MemoryQueue['jobs']): void {
    const get = jobs.get.bind(jobs);
    jobs.get = (id) => {
      this.looks++;
      return get(id);
    };
    for (const name of WALKS) {
      const walk = (jobs[name] as (...args: unknown[]) => unknown).bind(jobs);
      const counted = (...args: unknown[]) => {
        this.looks += jobs.size;
        return walk(...args);
      };
      Object.assign(jobs, { [name]: counted });
    }
  }
}

function lineOf({ pending, prioritized }: MemoryQueue): number {
  return pending.length + prioritized.size;
}

/** Returns the most looks that a call may spend on searches of one queue. Only the store in memory searches its lines. */
function looksOfSearches(script: string, queue: MemoryQueue, was: Sizes): number {
  const due = Math.max(0, was.scheduled - queue.scheduled.size);
  const returned = Math.max(0, was.claimed - queue.claims.size);
  const line = was.line + due + returned;
  // A job that goes back to its group searches the line for its place.
  const places = (due + returned) * line;
  if (script === 'attemptClaim') {
    const taken = Math.max(0, line - lineOf(queue));
    return places + (taken + SEARCHES_OF_CLAIM) * (line + runningLooks(queue, was.claimed + taken));
  }
  // It asks twice which groups have a free slot: of all waiting jobs, and of the first.
  return script === 'queueStats' ? line + 2 * runningLooks(queue, was.claimed) : places;
}

/** Returns how many looks it takes to count the running jobs of each group with a slot limit. */
function runningLooks({ flow }: MemoryQueue, running: number): number {
  return running * [...flow.groups.keys()].filter((name) => flow.limitsOf(name).maxRunning !== undefined).length;
}
