import { SafeLogger } from '../errors/safe-logger.js';
import { show } from '../errors/show.js';
import type { EnqueueReply } from '../store/enqueue-call.js';
import type { QueueStore } from '../store/queue-store.js';

/** The most remembered names of a queue. */
const MOST_NAMES = 1_000;

/** How the id of an ended job becomes free. */
const UNTIL = {
  completed: 'has completed. The id is free once its result is forgotten, after `resultTtlMs`',
  failed: 'is a dead letter. The id is free once you discard it',
  cancelled: 'was cancelled. The id is free once the job is forgotten, after `cancelledTtlMs`',
} as const satisfies Record<NonNullable<EnqueueReply['ended']>, string>;

/**
 * Returns a function that logs, once per name, that the job of an enqueue's id has ended. Such an enqueue adds nothing.
 * Code from other queues relies on an id that is free at the end of its job.
 */
export function endedIdWarning(queue: {
  name: string;
  store: QueueStore;
}): (name: string, reply: EnqueueReply) => void {
  const said = new Set<string>();
  return (name, { id, ended }) => {
    if (ended === undefined || said.has(name) || said.size >= MOST_NAMES) {
      return;
    }
    said.add(name);
    SafeLogger.of(queue.store.logger).warn(
      `An enqueue of ${show(name)} in queue "${queue.name}" added nothing, because its id is in use: job ${show(id)} ` +
        `${UNTIL[ended]}. To allow one job at a time, use \`unique\` instead of \`id\`.`,
    );
  };
}
