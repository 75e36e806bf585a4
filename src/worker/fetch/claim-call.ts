import type { Settled } from '../../queue/store/queue-store.js';
import type { StoreCall } from '../../queue/store/store-call.js';
import type { ClaimReply } from '../../queue/store/store-calls.js';
import type { QueueRunner } from '../runner/queue-runner.js';

interface RunnerClaim {
  readonly call: StoreCall<ClaimReply>;
  /** Receives the reply before `conclude` starts its jobs. */
  look(outcome: Settled<ClaimReply>): void;
  /** Receives the reply, or the final error. */
  conclude(outcome: Settled<ClaimReply>): void;
}

interface RunnerClaimRequest {
  worker: string;
  /** `trip` for a claim that is answered at once, `wait` for one behind a wait. */
  stream: 'trip' | 'wait';
  /** The number of slots to reserve. */
  count: number;
  /** The number of claims that share the bytes of the connection. */
  sharers: number;
}

/** Reserves slots of a runner and builds the claim for them, which asks for less after a cut. */
export function claimFor(runner: QueueRunner, { worker, stream, count, sharers }: RunnerClaimRequest): RunnerClaim {
  const { attemptLimits, budget, names } = runner;
  const slots = runner.capacity.beginAtOnce;
  const { only } = names;
  const { clock } = runner.queue.store;
  const askedAtMs = clock.monotonic();
  const token = clock.randomId();
  runner.claiming += count;
  runner.outlook.claims();
  runner.claimsInFlight[stream] = { token, worker, stream, askedAtMs };
  const { maxAttempts } = runner.otherLimits;
  const request = { count, token, worker, stream, maxAttempts, attemptLimits, slots, only, announces: true };
  const build = (bytes: number): StoreCall<ClaimReply> => {
    const mostBytes = Math.floor(bytes / sharers);
    const call = runner.calls.claim({ ...request, mostBytes });
    call.afterCut = () => build(budget.afterCut(bytes));
    return call;
  };
  const look = (outcome: Settled<ClaimReply>) => {
    if (outcome.ok) {
      runner.outlook.learn(outcome.reply, count);
      if (!runner.hasBegun && outcome.reply.jobs.some(({ isolated }) => isolated)) {
        runner.host.expectIsolated();
      }
    }
  };
  const conclude = (outcome: Settled<ClaimReply>) => {
    if (runner.claimsInFlight[stream]?.token === token) {
      runner.claimsInFlight[stream] = undefined; // else the next claim of the stream is already in flight
    }
    if (!outcome.ok) {
      runner.abandonClaim(count);
      return;
    }
    if (outcome.reply.isUnannounced) {
      runner.abandonClaim(count);
      runner.host.announce(runner);
      return;
    }
    if (stream === 'trip') {
      const tookMs = clock.monotonic() - askedAtMs;
      budget.answered(tookMs, outcome.reply.isFull);
      runner.prefetcher.tripEnded(tookMs);
    }
    if (stream === 'wait') {
      look(outcome);
    }
    runner.take(outcome.reply, count, askedAtMs);
  };
  return { call: build(budget.bytes), look, conclude };
}
