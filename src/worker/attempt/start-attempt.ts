import type { ClaimedJob } from '../../queue/model/job.js';
import type { StoredError } from '../../queue/errors/stored-error.js';
import type { JobQueue } from '../../queue/job-queue.js';
import type { StoreCalls } from '../../queue/store/store-calls.js';
import type { Attempt } from './attempt.js';
import type { SettlementBuffer } from './settlement-buffer.js';
import type { WorkerEvent } from '../reports/worker-event.js';

/** The runner that starts attempts and receives their results. */
export interface AttemptStarter {
  readonly queue: JobQueue;
  readonly calls: StoreCalls;
  readonly settlements: SettlementBuffer;
  readonly host: { emit: ((event: WorkerEvent) => void) | undefined; readonly warn: (message: string) => void };
  idle(attempt: Attempt): void;
  reportLost(attempt: Attempt): void;
}

/** The part of its visibility timeout for which a claim is certainly current. */
const SURE_SHARE = 0.5;

/** Returns whether a job needs a check in Redis before its start, because its old claim may have expired. */
export function mayBeLost(queue: JobQueue, agoMs: number): boolean {
  return agoMs > SURE_SHARE * queue.options.visibilityMs;
}

/**
 * Calls the handler of an attempt. First it sends the job's name and its start, which Redis must have if the handler
 * kills its worker. It waits for the reply if the job may not start, or if the client sends commands late. A claim that
 * may have expired is extended first.
 *
 * @param waitedMs the age of its claim; undefined if it starts at once, as the claim decided
 */
export function startAttempt(owner: AttemptStarter, attempt: Attempt, waitedMs: number | undefined): void {
  const { nameless, isolated, prefetched, expires } = attempt.claim;
  const waited = waitedMs !== undefined;
  if (waited && mayBeLost(owner.queue, waitedMs)) {
    void startWhenExtended(owner, attempt);
    return;
  }
  if (nameless || (waited && (isolated || expires)) || (prefetched && owner.queue.store.sendsLater)) {
    void startWhenTold(owner, attempt, waited);
    return;
  }
  if (prefetched) {
    void reportMeanwhile(owner, attempt);
  }
  start(owner, attempt);
}

function start({ host }: AttemptStarter, attempt: Attempt): void {
  host.emit?.({ type: 'started', job: attempt.job });
  attempt.start();
}

/**
 * Extends the claim, then starts the job, so that it has all of its claim's time. Without a reply of Redis it is
 * released, because it may belong to another worker.
 */
async function startWhenExtended(owner: AttemptStarter, attempt: Attempt): Promise<void> {
  const { queue, calls, host } = owner;
  try {
    const { lost } = await queue.store.exec(calls.extend([attempt.claim]));
    if (lost.length > 0 && !attempt.isEnded) {
      lose(owner, attempt);
    }
  } catch (error) {
    host.warn(
      `Could not verify the claim of job ${attempt.id} of queue "${queue.name}"; releasing it: ` +
        (error as Error).message,
    );
    attempt.interrupt(error as Error);
  }
  if (attempt.isEnded) {
    owner.idle(attempt);
  } else {
    await startWhenTold(owner, attempt, true);
  }
}

async function startWhenTold(owner: AttemptStarter, attempt: Attempt, waited: boolean): Promise<void> {
  const { claim } = attempt;
  const reply = await sendStart(owner, claim, waited);
  if (attempt.isEnded) {
    owner.idle(attempt);
  } else if (reply === 'started') {
    start(owner, attempt);
  } else if (reply === 'lost') {
    lose(owner, attempt);
    owner.idle(attempt);
  } else {
    owner.settlements.refuse({ ...claim, attempt: claim.attempt - 1 }, reply); // the end refunds the attempt
    owner.idle(attempt);
  }
}

async function reportMeanwhile(owner: AttemptStarter, attempt: Attempt): Promise<void> {
  const reply = await sendStart(owner, attempt.claim, true);
  if (reply === 'lost' && !attempt.isEnded) {
    lose(owner, attempt);
  }
}

function lose(owner: AttemptStarter, attempt: Attempt): void {
  attempt.lose();
  owner.reportLost(attempt);
}

/**
 * Returns `lost` for a lost claim, or why a job must not start. Without a reply of Redis it starts.
 *
 * @param asks whether to report the start, and not only the name
 */
async function sendStart(
  { queue, calls, host }: AttemptStarter,
  claim: ClaimedJob,
  asks: boolean,
): Promise<'started' | 'lost' | StoredError> {
  try {
    if (claim.nameless) {
      await queue.store.exec(calls.setName(claim));
    }
    return asks ? await queue.store.exec(calls.start(claim)) : 'started';
  } catch (error) {
    host.warn(
      `Could not store the start of job ${claim.id} of queue "${queue.name}", so a crash of it would not count: ${(error as Error).message}`,
    );
    return 'started';
  }
}
