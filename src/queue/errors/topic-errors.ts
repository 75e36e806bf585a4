import type { EnqueueItem } from './enqueue-errors.js';
import { JobQueueError } from './errors.js';
import { show } from './show.js';

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
