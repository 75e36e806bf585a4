import { InvalidOptionError } from '../../queue/errors/errors.js';
import type { WorkerEvent } from '../../worker/handlers/attempt-middleware.js';

// A fixed text, so that classes decorated by another copy of the package are found.
const LISTENER_METADATA = 'nest-job-queue:event-listeners';

/** The types of a worker's events. */
export type JobEventType = WorkerEvent['type'];

/** The filter of jobs; all fields must match. */
export interface OnJobEventOptions {
  /** Only jobs of this queue. @default of all */
  queue?: string | undefined;
  /** The job's name. */
  name?: string | undefined;
}

/** The record of a decorator; checked when the app boots. */
export interface ListenerRecord {
  types: JobEventType | readonly JobEventType[];
  options: OnJobEventOptions;
}

/** Decorates a method that takes an event of a worker. */
export type ListenerDecorator = <Method extends (event: never) => unknown>(
  target: object,
  name: string | symbol,
  descriptor: TypedPropertyDescriptor<Method>,
) => void;

/**
 * Makes a method of any provider a listener for events of jobs in this process. They are `started`, `completed`,
 * `retry`, `failed`, `cancelled`, `released`, `lost` and `stuck`. It is called with a WorkerEvent once Redis has
 * confirmed the change. An error of a listener is logged and has no other effect. Nothing waits for the listener.
 *
 * A job that no handler got has no `started`. It has only `failed`, `cancelled` or `released`, with the reason as the
 * error. The last crash of a job is an event of the process whose sweep found it. The cancel of a waiting job is an
 * event of the process that called `cancel`. `JobQueueService.events` has the events of the whole fleet.
 *
 * A wrong type, an unknown option or a request-scoped provider stops the app's boot with an InvalidOptionError.
 *
 * @example
 * \@OnJobEvent('failed', { name: 'invoice' })
 * report({ job, error }: WorkerEvent<Invoice>) {
 *   return this.pager.alert(`invoice ${job.payload.number}: ${String(error)}`);
 * }
 */
export function OnJobEvent(
  types: JobEventType | readonly JobEventType[],
  options: OnJobEventOptions = {},
): ListenerDecorator {
  return (target, name, descriptor) => {
    const method: unknown = descriptor?.value;
    if (typeof method !== 'function' || typeof target === 'function') {
      throw new InvalidOptionError(`@OnJobEvent on ${String(name)}`, 'an instance method', 'something else');
    }
    const records = listenerRecords(method);
    Reflect.defineMetadata(LISTENER_METADATA, [{ types, options }, ...records], method);
  };
}

export function listenerRecords(method: object): ListenerRecord[] {
  return (Reflect.getOwnMetadata(LISTENER_METADATA, method) as ListenerRecord[] | undefined) ?? [];
}
