import type { Attempt } from '../attempt/attempt.js';
import type { FailureLog } from '../reports/failure-log.js';
import type { WorkerEvent } from '../reports/worker-event.js';

/** Receives the reports of a runner. */
export interface QueueRunnerObserver<Runner = unknown> {
  readonly failures: FailureLog;
  /** There is something to send or to fetch. */
  changed(): void;
  /** Absent without a listener, so that no event is created. */
  emit: ((event: WorkerEvent) => void) | undefined;
  /** Sends ended jobs before a waiting job begins, because that job may crash the process. */
  settle(): void;
  /** A job on its last chance must start when nothing else runs here. Its claim was requested at `askedAtMs`. */
  hold(runner: Runner, attempt: Attempt, askedAtMs: number): void;
  /** Releases the held jobs of a closed runner. */
  giveBackHeld(runner: Runner): void;
  /** Ends the wait in flight, which asks for more jobs than there is room for. */
  interruptWait(): void;
  readonly warn: (message: string) => void;
}
