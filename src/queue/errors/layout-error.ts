import { RedisUnsuitableError } from './errors.js';
import { show } from './show.js';

/** Another version of the library wrote the keys of a queue. This version cannot use their layout. */
export class QueueLayoutError extends RedisUnsuitableError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'QUEUE_LAYOUT';

  constructor(
    /** The name of the queue. */
    readonly queue: string,
    /** The layout in Redis. */
    readonly found: number,
    /** The layout that this version can use and that is the nearest to the one in Redis. */
    readonly known: number,
  ) {
    const [bound, age, remedy] =
      found > known
        ? ['most', 'a newer', 'Upgrade nest-job-queue in this process, or use another prefix']
        : ['least', 'an older', 'Let that version end the jobs and purge the queue, or use another prefix'];
    super(
      `Queue ${show(queue)} in Redis: expected a layout of at ${bound} ${known}, found ${found}, which ${age} version of ` +
        `nest-job-queue wrote. ${remedy}.`,
    );
  }
}
