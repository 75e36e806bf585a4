import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import type { QueueStore } from '../../queue/store/queue-store.js';
import type { QueueRunner } from '../runner/queue-runner.js';
import type { RepeatedStart } from './repeated-start.js';

/** A worker, as its reports describe it. */
export interface WorkerContext {
  readonly id: string;
  readonly runners: readonly QueueRunner[];
  readonly store: QueueStore;
  readonly logger: JobQueueLogger;
  /** The version of the app; '' for none. */
  readonly version: string;
  /** The slots of all queues together; undefined without a limit. */
  readonly concurrency?: number | undefined;
  readonly repeats: RepeatedStart;
  /** A digest of its queues and handlers, if it looks for jobs in turn with other workers. */
  readonly fleet?: string | undefined;
}
