import { JobQueueError } from './errors.js';
import { show } from './show.js';

/** The outcome of one job of a failed enqueue. */
export interface EnqueueItem {
  /** The id of the job. For `kept` and `replaced` it is that of the holder. */
  id: string;
  /**
   * `not-sent`, `unknown`: the error's outcome for this job. Other values mean that it was written, see
   * `JobHandle.outcome`.
   */
  outcome: 'new' | 'existing' | 'kept' | 'replaced' | 'stored' | 'not-sent' | 'unknown';
}

/**
 * An enqueue got no reply in time, or its connection failed. Many jobs travel in steps of 500, so some may have been
 * written: `items` has the outcome of each.
 *
 * @example
 * catch (error) {
 *   // Adds only the missing jobs.
 *   await queue.enqueueMany(jobs.map((job, i) => ({ ...job, id: error.jobIds[i] })));
 * }
 */
export class EnqueueError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'ENQUEUE';

  /** One item for each job of the call, in order. */
  readonly items: readonly EnqueueItem[];

  constructor(
    /**
     * `not-sent`: nothing was written. `unknown`: all or a part may have been written. Repeat it with `jobIds`, which
     * adds no job twice.
     */
    readonly outcome: 'not-sent' | 'unknown',
    /** The name of the queue. */
    readonly queue: string,
    /** The ids to repeat the call with, in the order of its jobs. */
    readonly jobIds: readonly string[],
    /** The place of Redis, and the error. For a refusal by Redis also what to do. */
    readonly reason: string,
    options: ErrorOptions & { items?: readonly EnqueueItem[] } = {},
  ) {
    const remedy =
      outcome === 'not-sent' ? 'Nothing was written.' : 'It may have been written: repeat it with the same id.';
    super(
      `Enqueue to "${queue}" failed: ${reason.replace(/\.$/, '')}. ${remedy} Job ${jobIds.slice(0, 3).join(', ')}.`,
      options,
    );
    this.items = options.items ?? jobIds.map((id) => ({ id, outcome }));
  }
}

/**
 * The content was not stored, because the queue is encrypted, and this process has no codec that encrypts. Nothing was
 * written.
 */
export class EncryptedQueueError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'ENCRYPTED_QUEUE';

  constructor(
    /** The name of the queue. */
    readonly queue: string,
  ) {
    super(
      `Queue "${queue}" is encrypted, and the payload is not: a process without the key would store it in the clear. ` +
        'Use the app that has the codec. Nothing was written.',
    );
  }
}

/**
 * The job was not added, because too many jobs or payload bytes wait in the queue or in the group. Of many jobs, those
 * that fitted were added: `items` has the outcome of each. Slow down, or add it later.
 *
 * @example if (error instanceof QueueFullError) response.status(429);
 */
export class QueueFullError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'QUEUE_FULL';

  /** The full group; undefined if the queue is full. */
  readonly group: string | undefined;
  /** The bound: `maxPending` jobs, or `maxPendingBytes`. */
  readonly limit: number;
  /** The counted event. */
  readonly unit: 'jobs' | 'bytes';

  constructor(
    /** The name of the queue. */
    readonly queue: string,
    { group, limit, unit }: { group: string | undefined; limit: number; unit: 'jobs' | 'bytes' },
    /** One item for each job of the call, in order; `not-sent` for a refused one. */
    readonly items: readonly EnqueueItem[],
  ) {
    const place = group === undefined ? `Queue "${queue}"` : `Group "${group}" of queue "${queue}"`;
    const expected =
      unit === 'jobs'
        ? `fewer than ${limit} waiting jobs (maxPending)`
        : `at most ${limit} bytes of waiting payloads, its own among them (maxPendingBytes)`;
    super(
      `${place} is full: expected ${expected}. ` +
        `${items.filter(({ outcome }) => outcome === 'not-sent').length} of ${items.length} jobs were not added. Add them later.`,
    );
    this.group = group;
    this.limit = limit;
    this.unit = unit;
  }
}

/** Nothing was published, because no app has declared a subscription of the topic. */
export class NoSubscriptionError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'NO_SUBSCRIPTION';

  constructor(
    /** The name of the topic. */
    readonly topic: string,
  ) {
    super(
      `Topic ${show(topic)} has no subscription, so nobody would get the publication. Nothing was written. Start an app with ` +
        `@OnTopic(${show(topic)}), check the spelling, or publish with ifNone: 'ignore'.`,
    );
  }
}

/** A publication ended halfway, or is perhaps on its way to a worker. Publish again with its id, which adds what is missing. */
export class PublishError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'PUBLISH';

  constructor(
    /** The name of the topic. */
    readonly topic: string,
    /** The id of the publication. With it a repeat adds no job twice. */
    readonly publicationId: string,
    /** One item for each subscription, with the outcome of its job. With `fanOut: 'worker'` one for the publication. */
    readonly items: readonly EnqueueItem[],
    cause: Error,
  ) {
    const there = items.filter(({ outcome }) => outcome !== 'not-sent' && outcome !== 'unknown').length;
    const what =
      there > 0
        ? `ended halfway: ${there} of ${items.length} jobs are there`
        : 'got no reply, and may be on its way';
    super(
      `Publication ${publicationId} of topic ${show(topic)} ${what}. ` +
        `Publish it again with id ${show(publicationId)}, which adds no job twice. The cause: ${cause.message}`,
      { cause },
    );
  }
}
