import type { Attempt } from '../attempt/attempt.js';
import type { FailureLog } from '../reports/failure-log.js';
import type { WorkerEvent } from '../reports/worker-event.js';

/** What a runner tells the worker. */
export interface QueueRunnerObserver<Runner = unknown> {
  readonly failures: FailureLog;
  /** There is something to send or to fetch. */
  changed(): void;
  /** Absent while nobody listens, so that no event is made for nothing. */
  emit: ((event: WorkerEvent) => void) | undefined;
  /** A job begins that waited for the end of another: what has ended is sent before, as the job may crash the process. */
  settle(): void;
  /** A job on its last chance, whose claim was asked for at `askedAtMs`, is to begin when nothing else runs here. */
  hold(runner: Runner, attempt: Attempt, askedAtMs: number): void;
  /** Those of a runner that is closed go back. */
  giveBackHeld(runner: Runner): void;
  /** Ends the wait for jobs that is in flight: it asks for more than there is room for. */
  interruptWait(): void;
  readonly warn: (message: string) => void;
}
