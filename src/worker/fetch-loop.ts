import type { ClaimAnswer } from '../queue/decode-job.js';
import { randomId } from '../queue/job-id.js';
import type { JobQueueLogger } from '../queue/logger.js';
import type { ScriptCall, Settled } from '../queue/script-runner.js';
import type { Lane } from './lane.js';
import type { Transport } from './transport.js';

/** How many round trips may be under way, so that Redis works on one while Node works on another. */
const TRIPS = 2;

/** The most claims and the most settlements of a kind that one queue has in one trip: a script must not run long. */
const MOST_PER_CALL = 500;

/** How long a queue rests whose script failed in a way that does not pass, in ms. */
const REST_AFTER_FAULT_MS = 1_000;

/** A call with what to do with its outcome. */
interface Errand<Answer = unknown> {
  call: ScriptCall<Answer>;
  done(outcome: Settled<Answer>): void;
}

/**
 * Settles what is finished and claims for what is free, for all lanes of a worker, in as few round trips as possible:
 * what ends within one tick travels together, and nothing waits for a timer.
 */
export class FetchLoop {
  private readonly freeStreams = Array.from({ length: TRIPS }, (_, i) => `trip${i}`);
  private scheduled = false;
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

  /** Sends what there is to send, at the end of this tick. */
  schedule(): void {
    if (!this.scheduled) {
      this.scheduled = true;
      process.nextTick(() => {
        this.scheduled = false;
        this.depart();
      });
    }
  }

  /** Resolves when no trip is under way and no settlement waits. */
  async idle(): Promise<void> {
    while (this.freeStreams.length < TRIPS || this.lanes.some((lane) => lane.hasSettlements)) {
      await new Promise<void>((resolve) => this.waitingForIdle.push(resolve));
    }
  }

  private depart(): void {
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
    const outcomes = await this.transport.carry(errands.map(({ call }) => call));
    this.freeStreams.push(stream);
    errands.forEach((errand, i) => errand.done(outcomes[i]!));
    this.onTrip(); // only now do the lanes know whether they are idle
    this.schedule();
  }

  private collect(stream: string): Errand[] {
    const errands: Errand[] = [];
    for (const lane of this.lanes) {
      this.addSettlements(lane, errands);
    }
    this.addClaims(stream, errands);
    return errands;
  }

  private addSettlements(lane: Lane, errands: Errand[]): void {
    if (!lane.hasSettlements) {
      return;
    }
    const { completions, failures, releases } = lane.takeSettlements(MOST_PER_CALL);
    const add = <Answer>(count: number, call: () => ScriptCall<Answer>, confirm: (answer: Answer) => void) => {
      if (count > 0) {
        errands.push({
          call: call(),
          done: (outcome) => this.conclude(lane, outcome, (answer) => confirm(answer as Answer)),
        });
      }
    };
    add(
      completions.length,
      () => lane.scripts.complete(completions),
      (lost) => lane.confirmCompletions(completions, lost),
    );
    add(
      failures.length,
      () => lane.scripts.fail(failures.map((each) => each.settlement)),
      (outcomes) => lane.confirmFailures(failures, outcomes),
    );
    add(
      releases.length,
      () => lane.scripts.release(releases.map((each) => each.settlement)),
      (outcomes) => lane.confirmReleases(releases, outcomes),
    );
  }

  /** Claims for the hungry lanes, each trip beginning with another, so that the process's own limit is shared fairly. */
  private addClaims(stream: string, errands: Errand[]): void {
    const hungry = this.lanes.filter((lane) => lane.hungry && lane.free > 0);
    if (hungry.length === 0 || this.capacity() <= 0) {
      return; // a turn in which nothing can be claimed is nobody's turn
    }
    this.turn = (this.turn + 1) % hungry.length;
    for (let i = 0; i < hungry.length; i++) {
      const lane = hungry[(this.turn + i) % hungry.length]!;
      const share = Math.ceil(this.capacity() / (hungry.length - i));
      const count = Math.min(lane.free, share, Math.ceil(lane.concurrency / TRIPS), MOST_PER_CALL);
      if (count > 0) {
        errands.push(this.claim(lane, count, stream));
      }
    }
  }

  private claim(lane: Lane, count: number, stream: string): Errand {
    lane.claiming += count;
    const request = { count, token: randomId(), worker: this.worker, stream, policies: lane.policies };
    return {
      call: lane.scripts.claim(request),
      done: (outcome) => {
        this.conclude(lane, outcome as Settled<ClaimAnswer>, (answer) => lane.take(answer, count));
        if (!outcome.ok) {
          lane.giveUpClaim(count);
        }
      },
    };
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
