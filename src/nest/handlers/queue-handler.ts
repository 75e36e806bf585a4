import { InvalidOptionError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import { ANY_NAME, checkHandledName } from '../../queue/validation/names.js';
import type { FoundHandler } from './handler-explorer.js';

/** Checks the name of a handler, or what a handler of a whole queue has instead. @throws InvalidOptionError */
export function checkHandler({ subject, name, names, options, recurring }: FoundHandler): void {
  if (names === undefined) {
    return checkHandledName(name, `job name of ${subject}`);
  }
  if (options.queue === undefined) {
    const hint =
      "For one name write @JobHandler('email', { … }), for all names of a queue @JobHandler({ queue: 'jobs' }).";
    throw new InvalidOptionError(`${subject}.queue`, "a queue's name", 'none', hint);
  }
  if (names !== 'all' && names !== 'others') {
    throw new InvalidOptionError(`${subject}.names`, "'all' or 'others'", show(names));
  }
  if (recurring.length > 0) {
    const hint = 'Bind the recurring job to a handler of one name.';
    throw new InvalidOptionError(`@RecurringJob of ${subject}`, 'a handler of one name', 'one of every name', hint);
  }
}

/**
 * Refuses a handler of a whole queue beside handlers of names, unless it says so. It would run a job of a misspelled name, which
 * otherwise waits and is reported.
 *
 * @param handlers of one queue, by name
 * @throws InvalidOptionError
 */
export function refuseHidingNames(handlers: ReadonlyMap<string, FoundHandler>): void {
  const ofQueue = handlers.get(ANY_NAME);
  const other = [...handlers.values()].find((each) => each !== ofQueue);
  if (ofQueue?.names === 'all' && other) {
    throw new InvalidOptionError(
      ofQueue.subject,
      `no other handler in queue ${show(ofQueue.options.queue)}`,
      other.subject,
      "Add names: 'others' if it must get every other name, misspelled ones too.",
    );
  }
}

/** @throws InvalidOptionError */
export function refuseBulkInThread(subject: string, { bulk, thread }: { bulk?: unknown; thread?: unknown }): void {
  if (bulk !== undefined && thread !== undefined) {
    throw new InvalidOptionError(`${subject}.bulk`, 'none beside thread', show(bulk));
  }
}
