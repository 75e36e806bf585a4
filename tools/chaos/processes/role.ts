// What each role of a process gets and returns.
import type { RedisClient } from '#queue/redis/redis-client.js';
import type { JobQueueLogger } from '#queue/runtime/logger.js';
import type { HistoryWriter } from '../histories/history.js';
import type { ProcessOptions, Report } from './process-options.js';

/** The tools of every role. */
export interface Tools {
  options: ProcessOptions;
  redis: RedisClient;
  history: HistoryWriter;
  logger: JobQueueLogger;
  report: (report: Report) => void;
  /** The time the next handler blocks the event loop, in ms. */
  blockMs: number;
}

/** Ends a role. */
export type Stop = () => Promise<void>;
