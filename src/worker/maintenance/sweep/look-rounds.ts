import type { JobQueue } from '../../../queue/job-queue.js';
import { keptArray } from '../../../queue/runtime/collections.js';
import type { StoreCalls } from '../../../queue/store/store-calls.js';
import type { OpenQueue } from './maintenance-right.js';

/** The number of queues that share a call. Of more queues, the empty ones take turns. */
const MOST_WITHOUT_TURNS = 325;

/** The most rounds from one look at an empty queue to the next. */
const MOST_ROUNDS = 3;

/**
 * Chooses which queues of a server each round looks at. With many queues an empty one has its turn each third round. That
 * is soon enough: a claim that comes in between does not expire before its visibility timeout.
 */
export class LookRounds {
  private round = 0;
  /** True if the last round found no work. */
  private hasRested = false;
  /** The time until which rounds are left out, by the monotonic clock. */
  private restsUntilMs = -Infinity;
  /** The queues of the last rounds, so that the calls for them are built once. */
  private readonly kept: (readonly StoreCalls[])[] = [];
  private readonly withWork = new WeakSet<JobQueue>();

  /** @param intervalMs the interval of the rounds */
  constructor(private readonly intervalMs: number) {}

  /** Looks at all queues in the next round, because another process maintained them until then. */
  restart(): void {
    this.round = 0;
    this.hadWork();
  }

  /**
   * Returns the time until the round after this one if it finds no work, in ms. It is an interval if a claim could expire
   * before. So it is after a round with work, because its right to maintain must not last long.
   */
  restMs(queues: readonly OpenQueue[]): number {
    const allowsRest = this.hasRested && queues.every(({ queue }) => this.roundsOf(queue) === MOST_ROUNDS);
    return allowsRest ? MOST_ROUNDS * this.intervalMs : this.intervalMs;
  }

  /** Returns whether a round without work was so recent that this one is left out. */
  rests(nowMs: number): boolean {
    return nowMs < this.restsUntilMs;
  }

  /** Notes the end of a round without work. @param restMs the time until the next one */
  wasIdle(nowMs: number, restMs: number): void {
    this.hasRested = true;
    this.restsUntilMs = restMs > this.intervalMs ? nowMs + restMs - this.intervalMs / 2 : -Infinity;
  }

  /** Notes the end of a round with work. */
  hadWork(): void {
    this.hasRested = false;
    this.restsUntilMs = -Infinity;
  }

  /** Notes whether a queue may have work, also after a look that failed. Then it is looked at in each round. */
  note(queue: JobQueue, mayHaveWork: boolean): void {
    if (mayHaveWork) {
      this.withWork.add(queue);
    } else {
      this.withWork.delete(queue);
    }
  }

  /** Returns the queues of the next round, and their calls. @param all true for a round that looks at all of them */
  next(queues: readonly OpenQueue[], all: boolean): { looked: readonly OpenQueue[]; calls: readonly StoreCalls[] } {
    const round = this.round++;
    const looked =
      all || round === 0 || queues.length <= MOST_WITHOUT_TURNS
        ? queues
        : queues.filter(({ queue }, i) => this.withWork.has(queue) || (i + round) % this.roundsOf(queue) === 0);
    const calls = looked.map((each) => each.calls);
    const kept = keptArray(this.kept[round % MOST_ROUNDS], calls);
    this.kept[round % MOST_ROUNDS] = kept;
    return { looked, calls: kept };
  }

  /** Returns a number of rounds that leaves live workers a heartbeat before a claim can expire. */
  private roundsOf({ options }: JobQueue): number {
    return Math.max(1, Math.min(MOST_ROUNDS, Math.floor(options.visibilityMs / 2 / this.intervalMs)));
  }
}
