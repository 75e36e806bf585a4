// Decides from the histories and the final state of Redis whether the invariants I1 to I8 held.
import type { Facts } from '../histories/facts.js';
import {
  ADDED,
  CANCEL_ASKED,
  CANCELLED,
  DISCARD_ASKED,
  DISCARDED,
  DOUBT,
  FAILS,
  FINAL,
  LATER,
  NOT_ADDED,
  OPEN,
  PLANTED,
  REDRIVEN,
  REMOVE_ASKED,
  REMOVED,
} from '../histories/marks.js';
import { slowCalls, unbounded } from './bounds.js';
import { uncontrolled } from './controlled.js';
import { counters, miscounts, sumsOf, type Counter } from './counters.js';
import type { Jobs } from '../histories/jobs.js';
import { misflowed } from './flow.js';
import { misminuted } from './minutes.js';
import { misordered } from './order.js';
import { recurring } from './recurring.js';
import { wronglyDead } from './rules.js';
import { sharedJobs } from './shared-jobs.js';
import { overShared } from './shared-limit.js';
import type { Snapshot, StoredJob } from './snapshot.js';
import { MAX_ATTEMPTS, MAX_CRASHES } from '../processes/workload.js';

export interface Verdict {
  violations: string[];
  /** Jobs enqueued, recurring ones included. */
  jobs: number;
  completed: number;
  deadLetters: number;
  cancelled: number;
  /** Jobs whose enqueue got no reply and that left no trace. */
  unanswered: number;
  attempts: number;
  /** Handlers that ended well although another attempt of the same job did too: allowed, at least once. */
  doubles: number;
  /** Claims that were lost to the visibility timeout, as their worker learned. */
  refused: number;
  lost: number;
  /** Jobs and unique keys that the run misplaced. */
  misplaced: number;
  /** Planted faults that the doctor found and repaired: misplaced jobs and keys, and broken jobs. */
  repaired: number;
  /** Audits by the doctor beside the traffic, and how many of them came to an end. */
  audits: { asked: number; answered: number };
  /** Pauses of the queue during which no job started, where both ends of the pause were recorded. */
  pauses: number;
  /** Ticks of schedules. */
  ticks: number;
  /** The most commands that one call of a script was seen to call. */
  largestCall: number;
  /** The longest, in ms, that one call of a script took the server; 0 where none took 10. */
  slowestCallMs: number;
  counters: Counter[];
  /** Minutes that the queues' histories cover. */
  minutes: number;
}

/** Returns the verdict on a run, a pure function of its arguments. */
export function check(facts: Facts, snapshot: Snapshot): Verdict {
  const verdict: Verdict = {
    violations: [...snapshot.faults],
    jobs: 0,
    completed: 0,
    deadLetters: snapshot.jobs.filter(({ place }) => place === 'dead').length,
    cancelled: snapshot.totals.cancelled ?? 0,
    unanswered: 0,
    attempts: 0,
    doubles: 0,
    refused: facts.attempts.refused,
    lost: 0,
    misplaced: facts.remarks.damaged.size,
    repaired: facts.remarks.repaired.length,
    audits: facts.operations.audits,
    pauses: facts.operations.paused,
    ticks: facts.ticks.all.size,
    largestCall: facts.remarks.scripts.reduce((most, { commands }) => Math.max(most, commands), 0),
    slowestCallMs: Math.max(0, ...[...slowCalls(facts).values()].map((times) => times.at(-1)!)),
    counters: [],
    minutes: 0,
  };
  const stored = byJob(facts, snapshot, verdict);
  const shared = sharedJobs(facts, snapshot);
  for (const [process, jobs] of facts.jobs) {
    for (let number = 0; number < jobs.count; number++) {
      const name = `${process}:${number}`;
      const jobCheck = new JobCheck(name, jobs, number, stored.get(name), verdict);
      jobCheck.count();
      if (jobs.forgotten) jobCheck.isForgotten();
      else if (shared.names.has(name)) jobCheck.hasBounds();
      else jobCheck.holds();
    }
  }
  verdict.violations.push(...shared.violations(stored));
  verdict.violations.push(...misordered(facts, snapshot), ...recurring(facts, snapshot), ...uncontrolled(facts));
  verdict.violations.push(...misflowed(facts, snapshot), ...facts.steps.changed, ...overShared(facts));
  const sums = sumsOf(facts, shared.names);
  verdict.jobs += sums.ticks;
  verdict.completed = sums.completed + sums.doubts;
  verdict.counters = counters(facts, snapshot, sums);
  verdict.minutes = snapshot.minutes.closed;
  verdict.violations.push(...miscounts(verdict.counters, snapshot), ...misminuted(snapshot, facts.forgot));
  verdict.violations.push(...unexplained(facts), ...unbounded(facts));
  return verdict;
}

/** Returns the jobs in Redis by their names; none may be there twice. */
function byJob(facts: Facts, snapshot: Snapshot, { violations }: Verdict): Map<string, StoredJob> {
  const stored = new Map<string, StoredJob>();
  for (const job of snapshot.jobs) {
    const { work, place } = job;
    if (work) {
      const name = `${work.p}:${work.n}`;
      const other = stored.get(name);
      if (other) violations.push(`I3: job ${name} is there twice, as ${other.id} and as ${job.id}`);
      stored.set(name, job);
    } else if (place === 'waiting' || place === 'processing') {
      violations.push(`I1: ${job.id} still waits at the end (${place})`);
    } else if (place === 'dead' && !facts.plantedIds.has(job.id)) {
      violations.push(`I7: ${job.id} is a dead letter without a payload, and nobody broke it: ${job.lastError}`);
    }
  }
  return stored;
}

/** Collects the records and the stored state of a single job. */
class JobCheck {
  private readonly state: number;
  private readonly marks: number;
  private readonly completions: number;

  constructor(
    private readonly name: string,
    private readonly jobs: Jobs,
    private readonly number: number,
    private readonly stored: StoredJob | undefined,
    private readonly verdict: Verdict,
  ) {
    this.state = jobs.state[number]!;
    this.marks = jobs.marks[number]!;
    this.completions = jobs.completions[number]!;
  }

  count(): void {
    const { verdict } = this;
    const oks = this.jobs.oks[this.number]!;
    verdict.attempts += this.jobs.starts[this.number]!;
    verdict.doubles += Math.max(0, oks - 1);
    if (this.state === OPEN && this.jobs.starts[this.number] === 0 && !this.stored) verdict.unanswered++;
    if (this.state === ADDED) verdict.jobs++;
  }

  isForgotten(): void {
    if (this.stored) this.fault('I1', `was lost with the server's data, and is ${this.stored.place}`);
  }

  holds(): void {
    this.hasBounds();
    if (this.completions > 1) this.fault('I2', `was completed ${this.completions} times`);
    if (this.state === NOT_ADDED) this.isNotThere();
    else if (this.state === 0) this.isUnheardOf();
    else if (this.stored) this.isInItsPlace(this.stored);
    else if (this.state !== OPEN) this.hasEnded();
    if (this.has(CANCELLED) && this.completions > 0) this.fault('I1', 'was cancelled and completed');
    if (this.has(REMOVED) && (this.stored || this.jobs.starts[this.number])) {
      this.fault('I1', 'was removed and is there');
    }
    if (this.has(DISCARDED) && this.stored) this.fault('I1', `was discarded and is ${this.stored.place}`);
    if (this.has(DISCARDED) && this.completions > 0)
      this.fault('I1', 'was discarded, a dead letter, and was completed');
  }

  hasBounds(): void {
    const { mostAttempts, lastFence, completedFence } = this.jobs;
    if (mostAttempts[this.number]! > MAX_ATTEMPTS) {
      this.fault('I6', `had attempt ${mostAttempts[this.number]} of ${MAX_ATTEMPTS}`);
    }
    // A later claim ends the earlier one: the completion is stale, or the job had already ended.
    if (this.completions > 0 && lastFence[this.number]! > completedFence[this.number]!) {
      const [last, done] = [lastFence[this.number], completedFence[this.number]];
      this.fault('I2', `was completed by the claim with fence ${done}, and claimed with fence ${last}`);
    }
  }

  private isNotThere(): void {
    if (this.stored || this.jobs.starts[this.number]! > 0) {
      this.fault('I3', 'is there although its producer got the reply that it was not added');
    }
  }

  private isUnheardOf(): void {
    if (this.stored || this.jobs.starts[this.number]! > 0) this.fault('I1', 'is there and was never enqueued');
  }

  private isInItsPlace(job: StoredJob): void {
    const { place, resultFence } = job;
    if (place === 'completed') {
      const done = this.jobs.completedFence[this.number]!;
      if (this.jobs.oks[this.number] === 0) this.fault('I2', 'is completed and no handler of it returned');
      if (this.completions > 0 && resultFence !== done) {
        this.fault(
          'I2',
          `has the result of the claim ${resultFence}, and ${done} got the reply that it was completed`,
        );
      }
      return;
    }
    if (this.completions > 0) this.fault('I1', `was completed and is ${place}`);
    if (place === 'processing') this.fault('I1', 'is still claimed at the end');
    if (place === 'waiting' && !this.has(LATER)) this.fault('I1', 'still waits at the end');
    if (place === 'cancelled' && !this.has(CANCEL_ASKED)) this.fault('I1', 'was cancelled by nobody');
    if (place === 'dead' && !this.has(PLANTED)) this.isRightlyDead(job);
  }

  /** Checks that crashes, a final failure or the last attempt account for a dead letter. */
  private isRightlyDead(job: StoredJob): void {
    const kind = { canFail: this.has(FAILS), isFinal: this.has(FINAL), isRedriven: this.has(REDRIVEN) };
    for (const fault of wronglyDead(job, { attempts: MAX_ATTEMPTS, crashes: MAX_CRASHES }, kind)) {
      this.fault('I6', `${fault}: ${job.lastError}`);
    }
  }

  private hasEnded(): void {
    if (this.completions > 0 || this.has(DOUBT | CANCEL_ASKED | CANCELLED | REMOVE_ASKED | DISCARD_ASKED | PLANTED))
      return;
    this.verdict.lost++;
    this.fault('I1', `is lost: acknowledged, started ${this.jobs.starts[this.number]} times, and nowhere`);
  }

  private has(marks: number): boolean {
    return (this.marks & marks) !== 0;
  }

  private fault(invariant: string, what: string): void {
    this.verdict.violations.push(`${invariant}: job ${this.name} ${what}`);
  }
}

/**
 * Returns repairs of the doctor that no planted fault explains, because no script leaves a fault behind. The final
 * state shows whether every fault was repaired. The doctor's reports do not: a reply can be lost, and a sweep frees
 * unique keys too.
 */
function unexplained(facts: Facts): string[] {
  return facts.remarks.repaired
    .filter(({ subject }) => !facts.remarks.damaged.has(subject) && !facts.plantedIds.has(subject))
    .map(({ kind, subject, found }) => `doctor: ${kind} ${subject}, which nobody planted: ${found}`);
}
