import type { Settled } from '../../queue/store/queue-store.js';
import type { StoreCall } from '../../queue/store/store-call.js';
import type { ClaimReply } from '../../queue/store/attempt-forms.js';
import type { ClaimInFlight, ClaimStream } from '../runner/claim-ledger.js';
import type { QueueRunner } from '../runner/queue-runner.js';

interface RunnerClaim {
  readonly call: StoreCall<ClaimReply>;
  /** Receives the reply before `conclude` starts its jobs. */
  learn(outcome: Settled<ClaimReply>): void;
  /** Receives the reply, or the final error. */
  conclude(outcome: Settled<ClaimReply>): void;
}

interface RunnerClaimRequest {
  worker: string;
  stream: ClaimStream;
  /** The number of slots to reserve. */
  count: number;
  /** How many of the jobs start at once. */
  atOnce: number;
  /** The time of the call, by the monotonic clock, in ms. Claims of one trip have the same. */
  askedAtMs: number;
  /** The number of claims that share the bytes of the connection. */
  sharers: number;
}

/** Reserves slots of a runner and builds the claim for them, which asks for less after a cut. */
export function claimFor(runner: QueueRunner, { sharers, ...asked }: RunnerClaimRequest): RunnerClaim {
  const claim = runner.claims.reserve(asked);
  runner.outlook.claims();
  return claimReserved(runner, claim, sharers);
}

/** Builds the claim for slots that are reserved. @param sharers the number of claims that share the bytes of the connection */
export function claimReserved(runner: QueueRunner, claim: ClaimInFlight, sharers: number): RunnerClaim {
  const { calls, limits, prefetcher } = runner;
  const { budget } = runner.claims;
  const { only } = runner.names;
  const { token, worker, stream, count, askedAtMs } = claim;
  const slots = runner.keys ? 0 : claim.atOnce; // with a key each job starts once it has its permit
  const { maxAttempts } = limits.others;
  const turnsInRow = runner.bulk?.sizeByGroup ?? 1;
  const waits = runner.keys || runner.capacity.heaviest > 1 ? count - slots : 0; // for their permits, or for more slots
  const units = runner.permits?.unitsOf(token);
  const build = (bytes: number): StoreCall<ClaimReply> => {
    // With two fields behind a spread V8 makes a hidden class for each object, and caches no read of it.
    const call = calls.claim({
      count,
      token,
      worker,
      stream,
      maxAttempts,
      attemptLimits: limits.own,
      slots,
      only,
      turnsInRow,
      waits,
      units,
      announces: true,
      mostBytes: Math.floor(bytes / sharers),
    });
    call.afterCut = () => build(budget.afterCut(bytes));
    return call;
  };
  const learn = (outcome: Settled<ClaimReply>) => {
    if (outcome.ok) {
      const { reply } = outcome;
      if (runner.permits?.hasPaid(token, reply)) delete reply.short;
      runner.permits?.learn(reply);
      runner.learn(reply, claim);
    }
  };
  const conclude = (outcome: Settled<ClaimReply>) => {
    if (!outcome.ok) {
      return runner.abandon(claim);
    }
    if (outcome.reply.isUnannounced) {
      runner.abandon(claim);
      return runner.host.announce(runner);
    }
    if (stream === 'trip') {
      const tookMs = runner.clock.monotonic() - askedAtMs;
      budget.answered(tookMs, outcome.reply.isFull);
      prefetcher.tripEnded(tookMs);
    } else {
      runner.learn(outcome.reply, claim);
    }
    runner.take(outcome.reply, claim);
  };
  return { call: build(budget.bytes), learn, conclude };
}
