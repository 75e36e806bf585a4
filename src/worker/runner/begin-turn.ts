import { AsyncResource } from 'node:async_hooks';
import type { Clock } from '../../queue/runtime/clock.js';
import type { Attempt } from '../attempt/attempt.js';
import { startAttempts, type AttemptStarter, type Starting } from '../attempt/start-attempt.js';
import type { Prefetcher } from './prefetcher.js';
import type { SharedTurns } from './queue-runner-host.js';

/** The runner whose waiting jobs begin. */
interface TurnOwner extends AttemptStarter {
  readonly clock: Clock;
  readonly prefetcher: Prefetcher;
  readonly capacity: { readonly hasSlot: boolean; readonly hasTurn: boolean };
  readonly state: { readonly running: number };
  /** Undefined without a bulk handler. */
  readonly bulk: { beginDue(): void } | undefined;
  readonly host: AttemptStarter['host'] & { settle(): void; readonly shared?: SharedTurns | undefined };
  /** Gives an attempt a slot. Returns false if it has ended before its start. */
  givesSlot(attempt: Attempt): boolean;
}

/**
 * Begins the waiting jobs of a runner: at once, or together with others of the same turn. The handlers of many slots often
 * end in one turn of the event loop, because timers and replies come together. Their successors share the call that
 * stores their starts.
 */
export class BeginTurn {
  /** True if a job began in this turn while others ran. */
  private hasBegun = false;
  private isAsked = false;

  constructor(private readonly owner: TurnOwner) {}

  /** Begins jobs here, or where it is the turn of another queue. */
  ask(): void {
    const { bulk, host } = this.owner;
    if (bulk || !host.shared) {
      this.askHere();
    }
    host.shared?.ask();
  }

  /** Begins jobs if a slot is free. Not within the end of another job, because its completion is sent first. */
  askHere(): void {
    const { prefetcher, bulk, capacity, state } = this.owner;
    if ((prefetcher.isEmpty && !bulk) || !capacity.hasSlot || this.isAsked) {
      return;
    }
    const othersRun = state.running > 0;
    if (this.hasBegun && othersRun) {
      this.isAsked = true;
      return;
    }
    void Promise.resolve().then(this.begin); // a test may fake queueMicrotask
    if (othersRun && !this.hasBegun) {
      this.hasBegun = true;
      this.owner.clock.afterReads(this.endTurn);
    }
  }

  private readonly endTurn = (): void => {
    this.hasBegun = false;
    if (this.isAsked) {
      this.isAsked = false;
      this.begin();
    }
  };

  /** Bound to where the runner was made, and not to the end of the job before. */
  private readonly begin = AsyncResource.bind((): void => {
    const { owner } = this;
    const starting: Starting[] = [];
    while (!owner.prefetcher.isEmpty && owner.capacity.hasTurn) {
      const { attempt, askedAtMs } = owner.prefetcher.next()!;
      if (owner.givesSlot(attempt)) {
        starting.push({ attempt, waitedMs: owner.clock.monotonic() - askedAtMs });
      }
    }
    if (starting.length > 0) {
      owner.host.settle();
      startAttempts(owner, starting);
    }
    owner.bulk?.beginDue();
    owner.host.shared?.ask();
  });
}
