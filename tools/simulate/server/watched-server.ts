// The server of a simulation: checks the invariants before and after each call.
import type { MemoryQueue } from '#memory/state/memory-queue.js';
import type { ClaimReply } from '#queue/store/store-calls.js';
import type { HoldReply } from '#queue/store/verbs/sweep-verbs.js';
import type { Plant } from '../plants/plant.js';
import { ClaimCheck } from './claim-check.js';
import { HeldCheck } from './held-check.js';
import type { SentCall, Server } from './network.js';
import { stateOf } from './queue-state.js';
import { RightCheck } from './right-check.js';
import { overTaken } from './slot-check.js';
import { WorkCheck } from './work-check.js';

/**
 * Calls that must change nothing the second time. An extend is not one of them, because a repeat counts from its own
 * time. Neither is a reschedule.
 */
const REPEATABLE = new Set([
  'attemptClaim',
  'attemptComplete',
  'attemptFail',
  'attemptRelease',
  'attemptStart',
  'attemptCheckpoint',
  'jobEnqueue',
  'onceEnqueue',
  'jobCancel',
  'jobRemove',
  'jobUpdate',
  'jobPromote',
  'jobSetPriority',
  'jobRunAgain',
  'deadLetterRedrive',
  'batchCreate',
  'batchSeal',
  'scheduleTick',
  'scheduleRun',
]);

/** Calls whose repeat must get the whole reply again. */
const TOLD_AGAIN = new Set(['attemptFail', 'attemptRelease', 'jobEnqueue']);

/** The id of an enqueue request does not come from the process's clock, so a seed does not repeat it. */
const DRAWN_OUTSIDE = /"request":"[^"]*",?|\\"request\\":\\"[^"\\]*\\",?/g;

/** The stack of a stored error also shows who started the run. */
const STACK = /,?\\"stack\\":\\"(?:[^\\]|\\\\[^"]|\\\\\\")*\\"/g;

export class WatchedServer implements Server {
  readonly violations = new Set<string>();
  /** The number of calls, by script. */
  readonly calls = new Map<string, number>();
  private digest = 0;
  /** The call that ran last, unless its repeat may change something. */
  private last: SentCall | undefined;
  /** What the reply of that call says of its jobs. */
  private lastTold = '';
  /** The time of the server when that call ran. */
  private lastAtMs = 0;
  /** The number of jobs that each call took when it ran first. */
  private taken = new WeakMap<SentCall, number>();
  private readonly claims = new ClaimCheck(this.violations);
  private readonly work = new WorkCheck();
  private readonly rights = new RightCheck();
  private readonly held: HeldCheck;

  /**
   * @param looks checks the queues after a call of a process
   * @param steadyMs a time that never jumps
   */
  constructor(
    private readonly queues: () => readonly MemoryQueue[],
    private readonly plant: Plant | undefined,
    private readonly looks: (script: string, process: string) => void,
    steadyMs: () => number,
  ) {
    this.held = new HeldCheck(steadyMs);
  }

  run<Reply>(call: SentCall, run: () => Reply): Reply {
    const { script, process } = call;
    const isRepeat = this.taken.has(call);
    const queues = this.queues();
    const before = queues.map((queue) => this.claims.before(queue));
    const stateBefore = isRepeat && REPEATABLE.has(script) && !this.isFreed(script) ? stateOf(queues) : undefined;
    const planted = this.plant?.before?.(script, queues, isRepeat);
    this.rights.before(queues);
    const workBefore = queues.map((queue) => this.work.before(queue));
    const reply = run();
    this.plant?.after?.(script, queues, planted);
    this.work.after(script, queues, workBefore).forEach((fault) => this.violations.add(fault));
    this.count(script, process);
    queues.forEach((queue, i) => this.claims.after(queue, before[i] ?? new Map(), script, process));
    const taken = this.claimCount() - before.reduce((sum, { size }) => sum + size, 0);
    this.held.ended(script, process, -taken);
    if (script === 'attemptClaim') {
      queues.flatMap((queue, i) => overTaken(queue, before[i]!)).forEach((fault) => this.violations.add(fault));
      queues
        .flatMap((queue, i) => this.held.tooMany(queue, process, before[i]!))
        .forEach((fault) => this.violations.add(fault));
      this.takesOnce(call, taken);
    }
    if (script === 'sweepHold') {
      this.rights.after(process, (reply as HoldReply).hasRight).forEach((fault) => this.violations.add(fault));
    }
    this.looks(script, process);
    const told = toldBy(script, reply);
    if (stateBefore !== undefined && this.last === call) {
      this.expectSame(script, stateBefore);
      if (told !== this.lastTold) {
        this.violations.add(`I3: a repeated ${script} got another reply`);
      }
    }
    this.lastTold = told;
    this.lastAtMs = this.queues()[0]?.now ?? 0;
    // A claim that brought nothing is not remembered: its repeat may bring what became due since.
    this.last = script === 'attemptClaim' && taken === 0 ? undefined : call;
    this.taken.set(call, this.taken.get(call) ?? taken);
    return reply;
  }

  /** Takes no later call for the repeat of an earlier one. The server forgets calls by its clock, which has jumped. */
  forgetCalls(): void {
    this.taken = new WeakMap();
    this.last = undefined;
    this.rights.forget();
  }

  /** Returns whether a repeat may add the job that a unique key kept away. The time of the key has ended in between. */
  private isFreed(script: string): boolean {
    return (
      script === 'jobEnqueue' &&
      this.lastTold.includes('kept') &&
      this.queues().some(({ uniqueExpiries, now }) =>
        [...uniqueExpiries.values()].some((until) => until > this.lastAtMs && until <= now),
      )
    );
  }

  /** Checks that a repeated claim takes nothing more, even after other calls. */
  private takesOnce(call: SentCall, taken: number): void {
    if (taken > 0 && (this.taken.get(call) ?? 0) > 0) {
      this.violations.add(`I3: a repeated claim of ${call.process} took ${taken} more jobs`);
    }
  }

  private claimCount(): number {
    return this.queues().reduce((sum, { claims }) => sum + claims.size, 0);
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
    this.digestOf(stateOf(this.queues()).replace(DRAWN_OUTSIDE, '').replace(STACK, ''));
    return this.digest;
  }

  private expectSame(script: string, before: string): void {
    if (stateOf(this.queues()) !== before) {
      this.violations.add(`I3: a repeated ${script} changed the queue`);
    }
  }
}

/** Returns what a reply says of the jobs of a call. A completion may find its job expired, and a claim counts the time. */
function toldBy(script: string, reply: unknown): string {
  if (script === 'attemptClaim') {
    const { jobs, refused } = reply as ClaimReply;
    return JSON.stringify([...jobs, ...refused].map(({ id, fence }) => [id, fence]));
  }
  return TOLD_AGAIN.has(script) ? JSON.stringify(reply) : '';
}
