import { ClaimLostError } from '../../queue/errors/errors.js';
import type { Attempt } from './attempt.js';
import type { AttemptStarter } from './start-attempt.js';
import type { ClaimedJob } from '../../queue/model/job.js';
import type { JobQueue } from '../../queue/job-queue.js';
import type { StoreCalls } from '../../queue/store/store-calls.js';
import { LONGEST_TRIP_MS } from '../../queue/runtime/bounds.js';

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
