// The server of a simulation: checks the invariants before and after each call.
import type { MemoryQueue } from '#testing/memory-store/state/memory-queue.js';
import type { Plant } from './plants.js';
import type { Server } from './network.js';

interface Seen {
  status: string;
  token: string;
  fence: number;
  claimEnd: number | undefined;
}

/** Calls by which a process ends one of its own claims. */
const ENDS_OWN = new Set(['attemptComplete', 'attemptFail', 'attemptRelease']);
/**
 * Calls that must change nothing the second time. An extend is not one of them, because a repeat counts from its own
 * time.
 */
const REPEATABLE = new Set([
  'attemptClaim',
  'attemptComplete',
  'attemptFail',
  'attemptRelease',
  'jobEnqueue',
  'attemptStart',
]);

/** A call looks at each job of a slice several times: 330 looks in 30,000 steps. */
const MOST_LOOKS = 2_000;
/** The memory store searches all waiting jobs for a free group or a known name. The scripts do not. */
const UNBOUNDED = new Set(['attemptClaim']);

/** The id of an enqueue request does not come from the process's clock, so a seed does not repeat it. */
const DRAWN_OUTSIDE = /"request":"[^"]*",?|\\"request\\":\\"[^"\\]*\\",?/g;

export class WatchedServer implements Server {
  readonly violations = new Set<string>();
  /** The number of calls, by script. */
  readonly calls = new Map<string, number>();
  private digest = 0;
  private lookedAt = 0;
  private readonly watchedJobs = new Set<MemoryQueue['jobs']>();
  /** The tokens that each process was handed. */
  private readonly tokens = new Map<string, string>();

  constructor(
    private readonly queues: () => readonly MemoryQueue[],
    private readonly plant: Plant | undefined,
  ) {}

  run<Reply>(script: string, run: () => Reply, process: string, isRepeat: boolean): Reply {
    this.queues().forEach((queue) => this.countLooks(queue));
    const before = this.queues().map(seenIn);
    const stateBefore = isRepeat && REPEATABLE.has(script) ? this.state() : undefined;
    this.lookedAt = 0;
    const planted = this.plant?.before?.(script, this.queues(), isRepeat);
    const answer = run();
    this.plant?.after?.(script, this.queues(), planted);
    this.count(script, process);
    this.expectBound(script);
    this.queues().forEach((queue, i) => this.compare(queue, before[i] ?? new Map(), script, process));
    this.queues().forEach((queue) => this.countSlots(queue, script));
    if (stateBefore !== undefined && this.isImmediate(process, script)) {
      this.expectSame(script, stateBefore);
    }
    // A claim that brought nothing is not remembered: its repeat may bring what became due since.
    const tookNothing =
      script === 'attemptClaim' && this.claimCount() === before.reduce((sum, { size }) => sum + size, 0);
    this.last = tookNothing ? '' : `${process} ${script} ${this.total}`;
    return answer;
  }

  private last = '';

  private claimCount(): number {
    return this.queues().reduce((sum, { claims }) => sum + claims.size, 0);
  }

  private get total(): number {
    return [...this.calls.values()].reduce((sum, calls) => sum + calls, 0);
  }

  /** Returns whether no other call ran since the call that is repeated. */
  private isImmediate(process: string, script: string): boolean {
    return this.last === `${process} ${script} ${this.total - 1}`;
  }

  /** Records each call with its sender, script and time, and the places of jobs after it. */
  private count(script: string, process: string): void {
    this.calls.set(script, (this.calls.get(script) ?? 0) + 1);
    const places = this.queues().map(
      ({ now, jobs, pending, prioritized, scheduled, claims, dead, sequence }) =>
        `${now} ${jobs.size} ${pending.length} ${prioritized.size} ${scheduled.size} ${claims.size} ${dead.size} ${sequence}`,
    );
    this.digestOf(`${process} ${script} ${places.join(' ')}`);
  }

  private digestOf(text: string): void {
    for (let i = 0; i < text.length; i++) {
      this.digest = (Math.imul(this.digest, 31) + text.charCodeAt(i)) | 0;
    }
  }

  /** Returns a number that differs where any call of the run or any job at its end differs. */
  digestOfState(): number {
    this.digestOf(this.state().replace(DRAWN_OUTSIDE, ''));
    return this.digest;
  }

  /** Counts the jobs that calls look at, from the first call on that sees the queue. */
  private countLooks({ jobs }: MemoryQueue): void {
    if (this.watchedJobs.has(jobs)) {
      return;
    }
    this.watchedJobs.add(jobs);
    const get = jobs.get.bind(jobs);
    jobs.get = (id) => {
      this.lookedAt++;
      return get(id);
    };
  }

  /** Checks I4: the looks of a call are bounded, whatever the number of jobs. */
  private expectBound(script: string): void {
    if (this.lookedAt > MOST_LOOKS && !UNBOUNDED.has(script)) {
      this.violations.add(`I4: one call of ${script} looked at jobs ${this.lookedAt} times`);
    }
  }

  private expectSame(script: string, before: string): void {
    if (this.state() !== before) {
      this.violations.add(`I3: a repeated ${script} changed the queue`);
    }
  }

  private state(): string {
    return JSON.stringify(
      this.queues().map((queue) => [
        [...queue.jobs],
        queue.pending,
        [queue.prioritized, queue.scheduled, queue.claims, queue.dead].map((set) =>
          set.members().map((member) => [member, set.score(member)]),
        ),
        queue.totals,
      ]),
    );
  }

  /** Checks that no more jobs run than the queue and each of its groups allow. */
  private countSlots({ flow: { limits }, claims, jobs }: MemoryQueue, script: string): void {
    const { maxRunning = Infinity, groups } = limits;
    const claimed = claims.members();
    const ofGroups = claimed.flatMap((id) => jobs.get(id)?.group ?? []);
    const hasFullGroup = groups?.maxRunning === 1 && new Set(ofGroups).size < ofGroups.length;
    if (claimed.length > maxRunning || hasFullGroup) {
      this.violations.add(`limits: ${script} left more jobs running than maxRunning lets`);
    }
  }

  private compare(queue: MemoryQueue, before: Map<string, Seen>, script: string, process: string): void {
    for (const id of new Set([...before.keys(), ...queue.claims.members()])) {
      const now = seen(queue, id);
      const was = before.get(id) ?? { status: '', token: '', fence: 0, claimEnd: undefined };
      if (now.fence < was.fence && now.status !== '') {
        this.violations.add(`I2: the fence of ${id} went back in ${script}`);
      }
      if (now.token === was.token) {
        continue;
      }
      if (was.token === '' || script === 'attemptClaim') {
        this.tokens.set(`${id} ${now.token}`, process);
        if (script !== 'attemptClaim') {
          this.violations.add(`I2: ${script} gave ${id} a token`);
        }
      } else if (ENDS_OWN.has(script)) {
        if (this.tokens.get(`${id} ${was.token}`) !== process) {
          this.violations.add(`I2: ${script} of ${process} ended a claim of another on ${id}`);
        }
      } else if (script === 'sweepReclaim') {
        if (was.claimEnd === undefined || was.claimEnd > queue.now) {
          this.violations.add(
            `I5: the claim of ${id} was reclaimed ${was.claimEnd! - queue.now} ms before its end`,
          );
        }
      } else {
        this.violations.add(`I2: ${script} ended the claim of ${id}`);
      }
    }
  }
}

/** Returns the claimed jobs: only of these a call may change the token. */
function seenIn(queue: MemoryQueue): Map<string, Seen> {
  return new Map(queue.claims.members().map((id) => [id, seen(queue, id)]));
}

function seen(queue: MemoryQueue, id: string): Seen {
  const job = queue.jobs.get(id);
  return {
    status: job?.status ?? '',
    token: job?.claim_token ?? '',
    fence: Number(job?.fence ?? 0),
    claimEnd: queue.claims.score(id),
  };
}
