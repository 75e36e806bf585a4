import { randomId } from '../queue/job-id.js';
import type { JobQueueLogger } from '../queue/logger.js';
import type { ClaimRequest } from '../queue/hot-path-scripts.js';
import type { FailOutcome, Failure, Release, ReleaseOutcome } from '../queue/queue-scripts.js';
import type { ScriptCall, Settled } from '../queue/script-runner.js';
import type { Attempt } from './attempt.js';
import type { Lane } from './lane.js';
import type { Settling } from './outbox.js';
import type { Transport } from './transport.js';

/** How many round trips may be under way, so that Redis works on one while Node works on another. */
const TRIPS = 2;

/** The most claims and the most settlements of a kind that one queue has in one trip: a script must not run long. */
const MOST_PER_CALL = 500;

/** How long a queue rests whose script failed in a way that does not pass, in ms. */
const REST_AFTER_FAULT_MS = 1_000;

/** A call with what to do with its outcome, and the call to make next where it failed. */
interface Errand {
  call: ScriptCall<unknown>;
  done: (outcome: Settled<unknown>) => void;
  orElse?: () => Errand;
}

/**
 * Settles what is finished and claims for what is free, for all lanes of a worker, in as few round trips as possible:
 * what ends within one tick travels together, and nothing waits for a timer.
 */
export class FetchLoop {
  private readonly freeStreams = Array.from({ length: TRIPS }, (_, i) => `trip${i}`);
  private turn = 0;
  private waitingForIdle: (() => void)[] = [];

  constructor(
    private readonly worker: string,
    private readonly lanes: readonly Lane[],
    private readonly capacity: () => number,
    private readonly transport: Transport,
    private readonly logger: JobQueueLogger,
    private readonly onTrip: () => void,
  ) {}

  /** Resolves when no trip is under way and no settlement waits. */
  async idle(): Promise<void> {
    while (this.freeStreams.length < TRIPS || this.lanes.some((lane) => !lane.outbox.isEmpty)) {
      await new Promise<void>((resolve) => this.waitingForIdle.push(resolve));
    }
  }

  /** Sends what there is to send, as far as trips are free. */
  depart(): void {
    while (this.freeStreams.length > 0) {
      const errands = this.collect(this.freeStreams.at(-1)!);
      if (errands.length === 0) {
        break;
      }
      void this.travel(this.freeStreams.pop()!, errands);
    }
    if (this.freeStreams.length === TRIPS) {
      this.waitingForIdle.splice(0).forEach((resolve) => resolve());
    }
  }

  private async travel(stream: string, errands: Errand[]): Promise<void> {
    let open = errands;
    while (open.length > 0) {
      const outcomes = await this.transport.carry(open.map(({ call }) => call));
      open.forEach(({ done }, i) => done(outcomes[i]!));
      open = open.flatMap(({ orElse }, i) => (orElse && !outcomes[i]!.ok ? [orElse()] : []));
    }
    this.freeStreams.push(stream);
    this.onTrip(); // only now do the lanes know whether they are idle
  }

  /** What each lane has to send: its settlements, and a claim for what is free, which takes the completions along. */
  private collect(stream: string): Errand[] {
    const claims = this.shareOfClaims();
    return this.lanes.flatMap((lane) => {
      const { completions, failures, releases } = lane.outbox.take(MOST_PER_CALL);
      const count = claims.get(lane) ?? 0;
      const errands: Errand[] = [];
      if (failures.length > 0) {
        errands.push(this.fail(lane, failures));
      }
      if (releases.length > 0) {
        errands.push(this.release(lane, releases));
      }
      if (completions.length > 0 && count > 0) {
        errands.push(this.exchange(lane, completions, this.reserve(lane, count, stream)));
      } else if (completions.length > 0) {
        errands.push(this.complete(lane, completions));
      } else if (count > 0) {
        errands.push(this.claim(lane, this.reserve(lane, count, stream)));
      }
      return errands;
    });
  }

  /** How many to claim for whom: each trip begins with another lane, so that the process's own limit is shared fairly. */
  private shareOfClaims(): Map<Lane, number> {
    const claims = new Map<Lane, number>();
    const hungry = this.lanes.filter((lane) => lane.hungry && lane.free > 0);
    let capacity = this.capacity();
    if (hungry.length === 0 || capacity <= 0) {
      return claims; // a turn in which nothing can be claimed is nobody's turn
    }
    this.turn = (this.turn + 1) % hungry.length;
    for (let i = 0; i < hungry.length; i++) {
      const lane = hungry[(this.turn + i) % hungry.length]!;
      const share = Math.ceil(capacity / (hungry.length - i));
      const count = Math.min(lane.free, share, Math.ceil(lane.room / TRIPS), MOST_PER_CALL);
      claims.set(lane, count);
      capacity -= count;
    }
    return claims;
  }

  private complete(lane: Lane, completions: Attempt[]): Errand {
    const confirm = (lost: number[]) => lane.outbox.confirmCompletions(completions, lost);
    return errand(lane.scripts.complete(completions), (outcome) => this.conclude(lane, outcome, confirm));
  }

  private fail(lane: Lane, failures: Settling<Failure>[]): Errand {
    const call = lane.scripts.fail(failures.map(({ settlement }) => settlement));
    const confirm = (outcomes: FailOutcome[]) => lane.outbox.confirmFailures(failures, outcomes);
    return errand(call, (outcome) => this.conclude(lane, outcome, confirm));
  }

  private release(lane: Lane, releases: Settling<Release>[]): Errand {
    const call = lane.scripts.release(releases.map(({ settlement }) => settlement));
    const confirm = (outcomes: ReleaseOutcome[]) => lane.outbox.confirmReleases(releases, outcomes);
    return errand(call, (outcome) => this.conclude(lane, outcome, confirm));
  }

  private claim(lane: Lane, request: ClaimRequest): Errand {
    return errand(lane.scripts.claim(request), (outcome) => {
      this.conclude(lane, outcome, (answer) => lane.take(answer, request.count));
      if (!outcome.ok) {
        lane.giveUpClaim(request.count);
      }
    });
  }

  private exchange(lane: Lane, completions: Attempt[], request: ClaimRequest): Errand {
    const exchange = errand(lane.scripts.exchange(completions, request), (outcome) => {
      this.conclude(lane, outcome, ({ lost, claimed }) => {
        lane.outbox.confirmCompletions(completions, lost);
        lane.take(claimed, request.count);
      });
      if (!outcome.ok) {
        lane.outbox.takeBack(completions);
      }
    });
    // Either half may be at fault: while the lane rests the completions travel alone. The claim may have been made; asked
    // for once more with its token, it answers those jobs.
    return { ...exchange, orElse: () => this.claim(lane, request) };
  }

  private reserve(lane: Lane, count: number, stream: string): ClaimRequest {
    lane.claiming += count;
    return { count, token: randomId(), worker: this.worker, stream, policies: lane.policies, isolates: true };
  }

  /** An error that does not pass is a fault of the data or of the setup: it is said, and the queue rests for a moment. */
  private conclude<Answer>(lane: Lane, outcome: Settled<Answer>, confirm: (answer: Answer) => void): void {
    if (outcome.ok) {
      confirm(outcome.answer);
      return;
    }
    this.logger.error(`Queue "${lane.name}": ${outcome.error.message}`);
    lane.rest(REST_AFTER_FAULT_MS);
  }
}

function errand<Answer>(call: ScriptCall<Answer>, done: (outcome: Settled<Answer>) => void): Errand {
  return { call, done: (outcome) => done(outcome as Settled<Answer>) };
}
