// The server of a simulation: checks the invariants before and after each call.
import type { QueueView } from '#memory/server/observed-server.js';
import { VERBS } from '#queue/verbs/table.js';
import { rowsIn } from '#queue/verbs/verb.js';
import type { ClaimReply } from '#queue/store/attempt-forms.js';
import type { HoldReply } from '#queue/verbs/sweep.js';
import { ClaimCheck } from './claim-check.js';
import { HeldCheck } from './held-check.js';
import type { SentCall, Server } from './network.js';
import { stateOf } from './queue-state.js';
import { sizesOf } from './queue-reads.js';
import { RightCheck } from './right-check.js';
import type { SimulatedServer } from './simulated-server.js';
import { overTaken } from './slot-check.js';
import { overWorked } from './work-check.js';

/** Calls that must change nothing the second time. */
const REPEATABLE = new Set(rowsIn(VERBS).flatMap(({ script, repeat }) => (repeat === 'same' ? [script] : [])));

/** Calls whose repeat must get the whole reply again. */
const TOLD_AGAIN = new Set(['attemptFail', 'attemptRelease', 'jobEnqueue', 'jobEnqueueNewest']);

/** The id of a request, and the process of an action or a worker: no seed repeats them. */
const DRAWN_OUTSIDE =
  /"request":"[^"]*",?|\\"request\\":\\"[^"\\]*\\",?|"by","[^"]*"|\\"host\\":\\"[^"]*\\",\\"pid\\":\d+,?/g;

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
  /** The work of the server when that call had ended. */
  private lastWork = -1;
  /** The places of each queue after that call. */
  private lastSizes: ReturnType<typeof sizesOf>[] = [];
  /** The number of jobs that each call took when it ran first. */
  private taken = new WeakMap<SentCall, number>();
  private readonly claims = new ClaimCheck(this.violations);
  private readonly rights = new RightCheck();
  private readonly held: HeldCheck;

  /**
   * @param looks checks the queues after a call of a process
   * @param steadyMs a time that never jumps
   */
  constructor(
    private readonly server: SimulatedServer,
    private readonly looks: (script: string, process: string) => void,
    steadyMs: () => number,
  ) {
    this.held = new HeldCheck(steadyMs);
  }

  run<Reply>(call: SentCall, run: () => Reply): Reply {
    const { process } = call;
    const script = verbOf(call.script);
    const { server } = this;
    const { queues } = server;
    const isUnchanged = server.work === this.lastWork;
    const before = queues.map((queue) => this.claims.before(queue, isUnchanged));
    const isRepeatOfLast = this.last === call && REPEATABLE.has(script) && !this.isFreed(script);
    const stateBefore = isRepeatOfLast ? stateOf(server) : undefined;
    const sizesBefore = queues.map(({ scheduled }, i) => ({ scheduled: scheduled.size, claims: before[i]!.size }));
    const workBefore = server.work;
    server.last = undefined;
    const reply = run();
    const work = server.work - workBefore;
    // A script has the keys of one queue, as in a Cluster. So the others are as they were.
    const isSame = ({ keys }: QueueView, i: number) =>
      isUnchanged && before[i] !== undefined && server.last?.keys[0]?.startsWith(keys.base) === false;
    const sizes = server.queues.map((queue, i) => (isSame(queue, i) && this.lastSizes[i]) || sizesOf(queue));
    this.lastSizes = sizes;
    overWorked(script, work, sizesBefore, sizes).forEach((fault) => this.violations.add(fault));
    this.count(script, process, sizes);
    server.queues.forEach((queue, i) => {
      if (!isSame(queue, i)) this.claims.after(queue, before[i] ?? new Map(), script, process);
    });
    this.lastWork = server.work;
    const taken = sizes.reduce((sum, { claims }, i) => sum + claims - (before[i]?.size ?? 0), 0);
    this.held.ended(script, process, -taken);
    if (script === 'attemptClaim') {
      queues.flatMap((queue, i) => overTaken(queue, before[i]!)).forEach((fault) => this.violations.add(fault));
      queues
        .flatMap((queue, i) => this.held.tooMany(queue, process, before[i]!))
        .forEach((fault) => this.violations.add(fault));
      this.takesOnce(call, taken);
    }
    if (script === 'sweepHold') {
      const { keys, args } = server.last!;
      const { hasRight } = reply as HoldReply;
      this.rights
        .after(`${keys[0]} ${args[0]}`, process, hasRight, server.now())
        .forEach((fault) => this.violations.add(fault));
    }
    this.looks(script, process);
    const told = toldBy(script, reply);
    if (stateBefore !== undefined) {
      this.expectSame(script, stateBefore);
      if (told !== this.lastTold) {
        this.violations.add(`I3: a repeated ${script} got another reply`);
      }
    }
    this.lastTold = told;
    this.lastAtMs = server.now();
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
      (script === 'jobEnqueue' || script === 'jobEnqueueNewest') &&
      this.lastTold.includes('kept') &&
      this.server.queues.some((queue) => {
        const ends = queue.scored(queue.keys.uniqueExpiries);
        return ends.members().some((key) => ends.score(key)! > this.lastAtMs && ends.score(key)! <= queue.now);
      })
    );
  }

  /** Checks that a repeated claim takes nothing more, even after other calls. */
  private takesOnce(call: SentCall, taken: number): void {
    if (taken > 0 && (this.taken.get(call) ?? 0) > 0) {
      this.violations.add(`I3: a repeated claim of ${call.process} took ${taken} more jobs`);
    }
  }

  /** Records each call with its sender, script and time, and the places of jobs after it. */
  private count(script: string, process: string, sizes: readonly object[]): void {
    this.calls.set(script, (this.calls.get(script) ?? 0) + 1);
    const places = sizes.map((each) => Object.values(each).join(' '));
    this.digestOf(`${process} ${script} ${this.server.now()} ${this.server.keys.size} ${places.join(' ')}`);
  }

  private digestOf(text: string): void {
    for (let i = 0; i < text.length; i++) {
      this.digest = (Math.imul(this.digest, 31) + text.charCodeAt(i)) | 0;
    }
  }

  /** Returns a number that differs where any call of the run or any job at its end differs. */
  digestOfState(): number {
    this.digestOf(stateOf(this.server).replace(DRAWN_OUTSIDE, '').replace(STACK, ''));
    return this.digest;
  }

  private expectSame(script: string, before: string): void {
    if (stateOf(this.server) !== before) {
      this.violations.add(`I3: a repeated ${script} changed the queue`);
    }
  }
}

/** Returns the script of a call, as plain queues call it. A claim under limits with costs has the text of a claim, and lines of its own. */
function verbOf(script: string): string {
  return script === 'attemptClaimLimited' ? 'attemptClaim' : script;
}

/** Returns what a reply says of the jobs of a call. A completion may find its job expired, and a claim counts the time. */
function toldBy(script: string, reply: unknown): string {
  if (script === 'attemptClaim') {
    const { jobs, refused } = reply as ClaimReply;
    return JSON.stringify([...jobs, ...refused].map(({ id, fence }) => [id, fence]));
  }
  return TOLD_AGAIN.has(script) ? JSON.stringify(reply) : '';
}
