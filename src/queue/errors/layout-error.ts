import { RedisUnsuitableError } from './errors.js';
import { show } from './show.js';

/** A newer version of the library wrote the keys of a queue. This version does not know their layout. */
export class QueueLayoutError extends RedisUnsuitableError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'QUEUE_LAYOUT';

  constructor(
    /** The name of the queue. */
    readonly queue: string,
    /** The layout in Redis. */
    readonly found: number,
    /** The newest layout that this version knows. */
    readonly known: number,
  ) {
    super(
      `Queue ${show(queue)} in Redis: expected a layout of at most ${known}, found ${found}, which a newer version of ` +
        'nest-job-queue wrote. Upgrade nest-job-queue in this process, or use another prefix.',
    );
  }
}
