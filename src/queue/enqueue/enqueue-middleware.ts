import { compose } from '../model/compose.js';
import { InvalidOptionError } from '../errors/errors.js';
import { counted, show } from '../errors/show.js';
import type { JobQueueLogger } from '../runtime/logger.js';
import type { QueueOptions } from '../model/queue-options.js';
import type { TransactionHandle } from '../store/outbox-writer.js';
import type { JobHandle } from '../results/job-handle.js';
import type { JobDefinition } from './define-job.js';
import type { EnqueueOptions } from './enqueue-options.js';

/** A job of a request, before it is checked and encoded. */
export interface RequestedJob {
  /** The name that selects its handler. */
  readonly name: string;
  /** The enqueued payload. */
  payload: unknown;
  /** May be changed: `job.options.metadata = { ...job.options.metadata, requestId }`. */
  options: EnqueueOptions;
}

/** Resolves once all other parts of a call over several queues were checked too. Rejects if one of them was refused. */
export type EnqueueGate = () => Promise<void>;

/** An enqueue in the middleware. */
export interface EnqueueRequest {
  /** The name of the queue. */
  readonly queue: string;
  /** The method that was called. */
  readonly method: 'enqueue' | 'enqueueMany';
  /** The definition that checks the jobs; undefined for an enqueue without one. */
  readonly definition: JobDefinition | undefined;
  /** The jobs of the call, in order: one of `enqueue`, all of `enqueueMany`. */
  readonly jobs: readonly RequestedJob[];
  /** The transaction in which the jobs are stored; absent if they go to Redis at once. */
  readonly transaction?: TransactionHandle;
  /** True if the jobs of each group are added in the order of the commits. */
  readonly ordered?: boolean;
  /** Passed before the first step of a part of a larger call. @internal */
  readonly gate?: EnqueueGate;
  /** The keys of each job, by which its shard was chosen. Absent in a queue without shards. @internal */
  readonly keys?: readonly string[];
}

/** Acts around the enqueues of a JobQueue. */
export interface EnqueueMiddleware {
  /**
   * Called once for each call of `enqueue` or `enqueueMany`. Return what `next()` resolves to: the handles of the jobs,
   * in their order. A throw refuses the call. A throw before `next()` writes nothing.
   */
  enqueue?(request: EnqueueRequest, next: () => Promise<JobHandle[]>): Promise<JobHandle[]>;
}

/** The options of a JobQueue: those of the queue, its middleware and its logger. */
export interface JobQueueOptions extends QueueOptions {
  /** Acts around each enqueue of this object, the first outermost. The ticks of schedules do not pass it. @default none */
  middleware?: readonly EnqueueMiddleware[] | undefined;
  /**
   * The logger of warnings, for example about a name that no live worker handles. The queues of a Redis client share
   * the logger that was set last, also by a Worker. An error of the logger does not affect jobs. Default: that of the
   * client's other queues, else none.
   *
   * @example new JobQueue(redis, 'email', { logger: { log: console.log, warn: console.warn, error: console.error } });
   */
  logger?: JobQueueLogger | undefined;
}

type MiddlewareMethod = 'attempt' | 'bulk' | 'enqueue' | 'event';

/** @throws InvalidOptionError unless it is a list of objects with one of the methods */
export function checkMiddleware<Middleware extends object>(
  subject: string,
  middleware: readonly Middleware[] | undefined,
): readonly Middleware[] {
  if (middleware !== undefined && !Array.isArray(middleware)) {
    throw new InvalidOptionError(subject, 'a list of middleware', show(middleware));
  }
  middleware?.forEach((each, i) => {
    const { attempt, bulk, enqueue, event } = (each ?? {}) as Partial<Record<MiddlewareMethod, unknown>>;
    const methods = [attempt, bulk, enqueue, event].filter((method) => method !== undefined);
    if (methods.length === 0 || methods.some((method) => typeof method !== 'function')) {
      throw new InvalidOptionError(
        `${subject}[${i}]`,
        'an object with a method attempt, bulk, enqueue or event',
        show(each),
      );
    }
  });
  return middleware ?? [];
}

/** Returns the options of the queue itself. A value that is no object is left to their check. */
export function queueOptionsOf(options: JobQueueOptions): QueueOptions {
  if (typeof options !== 'object' || options === null) {
    return options;
  }
  const { middleware: _middleware, logger: _logger, ...others } = options;
  return others;
}

/** Returns the options that decide the shard of a job, as text. */
export function keysOf({ options }: RequestedJob): string {
  const { id, group, unique } = (options ?? {}) as { id?: unknown; group?: unknown; unique?: { key?: unknown } };
  return JSON.stringify([id, group, unique?.key].map((key) => (typeof key === 'string' ? key : null)));
}

/** Runs a request through the middleware of its queue, which may return anything; see {@link checkHandles}. */
export type EnqueueChain = (request: EnqueueRequest) => JobHandle[] | Promise<JobHandle[]>;

/** Composes the middleware of a queue once. Returns undefined if no middleware acts on enqueues. */
export function enqueueChain(
  queue: string,
  middleware: readonly EnqueueMiddleware[] | undefined,
  end: (request: EnqueueRequest) => Promise<JobHandle[]>,
): EnqueueChain | undefined {
  const acting = checkMiddleware(middlewareOf(queue), middleware).filter((each) => each.enqueue);
  if (acting.length === 0) {
    return undefined;
  }
  return compose<EnqueueRequest, JobHandle[]>(
    acting.map((each) => (request, next) => each.enqueue!(request, next)),
    end,
  );
}

/** @throws InvalidOptionError if a middleware returned something else than the handles */
export function checkHandles(queue: string, handles: unknown, count: number): void {
  if (!Array.isArray(handles) || handles.length !== count) {
    const found = Array.isArray(handles) ? `${handles.length}` : show(handles);
    throw new InvalidOptionError(
      middlewareOf(queue),
      `the ${counted(count, 'handle')} that next() resolves to`,
      found,
    );
  }
}

/** Returns how errors name the middleware of a queue. */
function middlewareOf(queue: string): string {
  return `queue ${JSON.stringify(queue)}.middleware`;
}

/** Returns a job of a request. Its options are a copy, which middleware may change. */
export function requestedJob(
  queue: string,
  definition: JobDefinition | undefined,
  payload: unknown,
  options: EnqueueOptions | undefined,
): RequestedJob {
  // A value that is no object is left to the check of options.
  const own = options === null || typeof options !== 'object' ? (options ?? {}) : { ...options };
  return { name: definition?.name ?? own.name ?? queue, payload, options: own };
}
