import type { WorkerRecord } from '../../queue/model/worker-record.js';
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
  /** The name of the app; '' for none. */
  readonly app: string;
  /** The version of the app; '' for none. */
  readonly version: string;
  /** Whether attempts may be profiled. */
  readonly profiles: boolean;
  /** The slots of all queues together; undefined without a limit. */
  readonly concurrency?: number | undefined;
  readonly repeats: RepeatedStart;
  /** Its place in its fleet, if it looks for jobs in turn with other workers. */
  readonly fleet?: FleetMember | undefined;
}

/** The place of a worker among those with the same queues and handlers; see FleetTurns. */
interface FleetMember {
  /** A digest of the queues and handlers. Undefined once the worker looks for jobs no more. */
  readonly fleet: string | undefined;
  /** The runner whose queue has the list of workers. */
  readonly keeper: QueueRunner;
  noteWorkers(listed: readonly WorkerRecord[] | Error): void;
}
