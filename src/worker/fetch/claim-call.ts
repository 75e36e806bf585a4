import { randomId } from '../../queue/model/random-id.js';
import type { ScriptCall, Settled } from '../../queue/redis/script-runner.js';
import type { ClaimAnswer } from '../../queue/store/decode-job.js';
import type { QueueRunner } from '../attempt/queue-runner.js';

export interface RunnerClaim {
  readonly call: ScriptCall<ClaimAnswer>;
  /** To be told of the answer, or of the error that will not pass. */
  conclude(outcome: Settled<ClaimAnswer>): void;
}

export interface RunnerClaimRequest {
  worker: string;
  /** `trip` for a claim that is answered at once, `wait` for one behind a wait. */
  stream: 'trip' | 'wait';
  /** How many slots to reserve. */
  count: number;
  /** How many claims share the bytes of the connection. */
  sharers: number;
}

/** Reserves slots of a runner and builds the claim for them, which asks for less after a cut. */
export function claimFor(runner: QueueRunner, { worker, stream, count, sharers }: RunnerClaimRequest): RunnerClaim {
  const { attemptLimits, slots, budget, names } = runner;
  const { only } = names;
  const askedAtMs = performance.now();
  const token = randomId();
  runner.claiming += count;
  runner.claimsUnderWay.set(stream, { token, worker, stream, askedAtMs });
  const build = (bytes: number): ScriptCall<ClaimAnswer> => {
    const mostBytes = Math.floor(bytes / sharers);
    const call = runner.scripts.claim({ count, token, worker, stream, attemptLimits, slots, mostBytes, only });
    call.afterCut = () => build(budget.afterCut(bytes));
    return call;
  };
  const conclude = (outcome: Settled<ClaimAnswer>) => {
    runner.claimsUnderWay.delete(stream);
    if (!outcome.ok) {
      runner.giveUpClaim(count);
      return;
    }
    if (stream === 'trip') {
      budget.answered(performance.now() - askedAtMs, outcome.answer.isFull);
    }
    runner.take(outcome.answer, count, askedAtMs);
  };
  return { call: build(budget.bytes), conclude };
}
