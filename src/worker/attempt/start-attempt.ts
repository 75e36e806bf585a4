import { ClaimLostError } from '../../queue/errors/errors.js';
import type { JobQueue } from '../../queue/job-queue.js';
import type { ClaimedJob } from '../../queue/model/job.js';
import { LONGEST_TRIP_MS } from '../../queue/runtime/bounds.js';
import type { StartedClaim } from '../../queue/store/attempt-forms.js';
import type { StartOutcome } from '../../queue/store/call-outcomes.js';
import type { StoreCalls } from '../../queue/store/store-calls.js';
import type { WorkerEvent } from '../handlers/attempt-middleware.js';
import type { Attempt } from './attempt.js';
import type { SettlementBuffer } from './settlement-buffer.js';

/** The runner that starts attempts and receives their results. */
export interface AttemptStarter {
  readonly queue: JobQueue;
  readonly calls: StoreCalls;
  readonly settlements: SettlementBuffer;
  readonly host: { emit: ((event: WorkerEvent) => void) | undefined; readonly warn: (message: string) => void };
  reportLost(attempt: Attempt): void;
}

/** The part of its visibility timeout for which a claim is certainly current. */
const SURE_SHARE = 0.5;

/** Returns whether a job needs a check in Redis before its start, because its old claim may have expired. */
export function mayBeLost(queue: JobQueue, agoMs: number): boolean {
  return agoMs > SURE_SHARE * queue.options.visibilityMs;
}

/** An attempt that has a slot now. */
export interface Starting {
  attempt: Attempt;
  /** The age of its claim; undefined if it starts at once, as the claim decided. */
  waitedMs: number | undefined;
}

/**
 * Calls the handlers of attempts, in order. First it sends the names and the starts of their jobs. Redis must have them
 * if a handler kills its worker. The starts travel together. It waits for the reply if a job may not start, or if the
 * client sends commands late. A claim that may have expired is extended first.
 */
export function startAttempts(owner: AttemptStarter, starting: readonly Starting[]): void {
  const ready = starting.filter((each) => !waitsForRedis(owner, each)).map(({ attempt }) => attempt);
  const prefetched = ready.filter(({ claim }) => claim.prefetched);
  if (prefetched.length > 0) {
    void reportMeanwhile(owner, prefetched);
  }
  ready.forEach((attempt) => start(owner, attempt));
}

/** Calls the handler of one attempt in the same way. Each plain job passes here, so it makes no lists. */
export function startAttempt(owner: AttemptStarter, starting: Starting): void {
  if (starting.attempt.claim.prefetched) {
    startAttempts(owner, [starting]);
  } else if (!waitsForRedis(owner, starting)) {
    start(owner, starting.attempt);
  }
}

/** Starts an attempt after a reply of Redis, if it needs one. */
function waitsForRedis(owner: AttemptStarter, { attempt, waitedMs }: Starting): boolean {
  const { nameless, isolated, prefetched, expires } = attempt.claim;
  const waited = waitedMs !== undefined;
  if (waited && mayBeLost(owner.queue, waitedMs)) {
    void startWhenExtended(owner, attempt);
    return true;
  }
  if (nameless || (waited && (isolated || expires)) || (prefetched && owner.queue.store.sendsLater)) {
    void startAfterReply(owner, attempt, waited);
    return true;
  }
  return false;
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
    attempt.leave();
  } else {
    await startAfterReply(owner, attempt, true);
  }
}

async function startAfterReply(owner: AttemptStarter, attempt: Attempt, waited: boolean): Promise<void> {
  const { claim } = attempt;
  const reply = await sendStart(owner, attempt, waited);
  if (attempt.isEnded) {
    attempt.leave();
  } else if (reply === 'started') {
    start(owner, attempt);
  } else if (reply === 'lost') {
    lose(owner, attempt);
    attempt.leave();
  } else {
    const { id, token, fence } = claim;
    const job = { ...claim, attempt: claim.attempt - 1 }; // the end refunds the attempt
    owner.settlements.refuse({ id, token, fence, job, error: reply });
    attempt.leave();
  }
}

/** Charges a job that started uncharged and runs: from now on the death of the worker is its crash. */
export function charge(owner: AttemptStarter, attempt: Attempt): void {
  if (attempt.charge()) {
    const { id, token, fence } = attempt.claim;
    void reportMeanwhile(owner, [attempt], [{ id, token, fence }]); // it runs, so it cannot expire
  }
}

async function reportMeanwhile(
  owner: AttemptStarter,
  attempts: readonly Attempt[],
  claims: readonly StartedClaim[] = attempts.map(({ claim }) => claim),
): Promise<void> {
  const outcomes = await sendStarts(owner, claims);
  attempts.forEach((attempt, i) => {
    if (outcomes[i] === 'lost' && !attempt.isEnded) {
      lose(owner, attempt);
    }
  });
}

function lose(owner: AttemptStarter, attempt: Attempt): void {
  attempt.lose();
  owner.reportLost(attempt);
}

/**
 * Sends the name of a job, and then its start. Without a reply of Redis it starts.
 *
 * @param asks whether to report the start, and not only the name
 */
async function sendStart(
  owner: AttemptStarter,
  { claim, isUncharged: uncharged }: Attempt,
  asks: boolean,
): Promise<StartOutcome> {
  if (claim.nameless) {
    try {
      await owner.queue.store.exec(owner.calls.setName(claim));
    } catch (error) {
      warnOfStart(owner, claim, error as Error);
      return 'started';
    }
  }
  return asks ? (await sendStarts(owner, [uncharged ? { ...claim, uncharged } : claim]))[0]! : 'started';
}

/** Returns the outcome of each start. Without a reply of Redis all start. */
async function sendStarts(owner: AttemptStarter, claims: readonly StartedClaim[]): Promise<StartOutcome[]> {
  try {
    return await owner.queue.store.exec(owner.calls.start(claims));
  } catch (error) {
    claims.forEach((claim) => warnOfStart(owner, claim, error as Error));
    return claims.map(() => 'started');
  }
}

function warnOfStart({ queue, host }: AttemptStarter, { id }: StartedClaim, { message }: Error): void {
  host.warn(
    `Could not store the start of job ${id} of queue "${queue.name}", so a crash of it would not count: ${message}`,
  );
}

/** The runner of the attempt in trouble. */
type Troubled = Pick<AttemptStarter, 'queue' | 'calls' | 'host'> & { readonly name: string };

/** Reports a lost claim of a running job to the log, the listeners and the fleet. */
export function reportLost(runner: Troubled, attempt: Attempt): void {
  const { host, name } = runner;
  host.warn(`${new ClaimLostError(attempt.id).message} (queue "${name}")`);
  host.emit?.({ type: 'lost', job: attempt.job });
  void publishEvent(runner, attempt.claim, 'lost', host.warn);
}

/** Reports a handler that continues after its signal aborted to the log, the listeners and the fleet. */
export function reportStuck(runner: Troubled, attempt: Attempt): void {
  const { host, name } = runner;
  host.warn(
    `The handler of job ${attempt.id} (${attempt.job.name}) of queue "${name}" still runs although its signal was ` +
      'aborted, and keeps its slot. Pass job.signal to every call that the handler makes.',
  );
  host.emit?.({ type: 'stuck', job: attempt.job });
  void publishEvent(runner, attempt.claim, 'stuck', host.warn);
}

/** Publishes an event that only this worker knows. A failure is ignored, because events may be lost. */
async function publishEvent(
  { queue, calls }: { queue: JobQueue; calls: StoreCalls },
  claim: ClaimedJob,
  status: 'lost' | 'stuck',
  warn: (message: string) => void,
): Promise<void> {
  if (queue.options.events === 'off') {
    return;
  }
  try {
    await queue.store.exec(calls.publish({ ...claim, status }), { timeoutMs: LONGEST_TRIP_MS });
  } catch (error) {
    warn(
      `Could not publish the event "${status}" of job ${claim.id} of queue "${queue.name}": ${(error as Error).message}`,
    );
  }
}
