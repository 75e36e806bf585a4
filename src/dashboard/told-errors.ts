import { Injectable, Logger } from '@nestjs/common';
import { EnqueueError } from '../queue/errors/enqueue-errors.js';
import {
  JobQueueError,
  RedisOutOfMemoryError,
  RedisUnsuitableError,
  QueueLayoutError,
} from '../queue/errors/errors.js';
import { RedisKeyTypeError, RedisPermissionError } from '../queue/errors/redis-errors.js';
import { SafeLogger } from '../queue/errors/safe-logger.js';

/** The time between two lines of the log about the same kind of failure, in ms. A page asks each second. */
const QUIET_MS = 60_000;

/** Words for viewers of failures whose messages have addresses or keys. The first class that fits. */
const WORDS: readonly [type: abstract new (...args: never[]) => Error, words: string | undefined][] = [
  [QueueLayoutError, undefined],
  [RedisPermissionError, 'The Redis user of the app lacks a permission'],
  [RedisKeyTypeError, 'A key of the queue has the wrong type'],
  [RedisUnsuitableError, 'Redis gave no answer, or is not suitable'],
  [RedisOutOfMemoryError, 'Redis is full'],
  [EnqueueError, 'Redis did not take the job, or its answer was lost'],
  [JobQueueError, undefined],
  [Error, 'No answer came'],
];

/**
 * Says a failure to viewers. They may see a queue and need not know where Redis is, or how its keys are named. The log
 * has the whole error.
 */
@Injectable()
export class ToldErrors {
  private readonly logger = SafeLogger.of(new Logger('JobQueueDashboard'));
  private readonly loggedAt = new Map<string, number>();

  /** Returns a sentence for viewers, and logs the error. */
  tell(error: Error): string {
    const [, words] = WORDS.find(([type]) => error instanceof type) ?? [];
    if (words === undefined) {
      return error.message;
    }
    const now = performance.now();
    if (now - (this.loggedAt.get(words) ?? -Infinity) > QUIET_MS) {
      this.loggedAt.set(words, now);
      this.logger.warn(`The dashboard told its viewers: ${words}`, error);
    }
    return `${words}. The log of the app says more.`;
  }
}
