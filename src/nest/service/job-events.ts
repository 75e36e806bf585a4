import type { Subscriber } from 'rxjs';
import { z } from 'zod';
import { checkOptions } from '../../queue/validation/validate-options.js';
import type { JobEvent } from '../../queue/model/job-event.js';
import { decodeEvent } from '../../queue/store/decode-event.js';
import type { JobQueue } from '../../queue/job-queue.js';
import type { SafeLogger } from '../../queue/errors/safe-logger.js';
import { iterate } from './event-iterator.js';
import { SafeObservable } from './safe-observable.js';
import type { QueueRegistry } from '../connection/queue-registry.js';

const JOB_EVENT_STATUSES = [
  'completed',
  'failed',
  'cancelled',
  'retry',
  'released',
  'reclaimed',
  'lost',
  'stuck',
  'progress',
  'enqueued',
  'drained',
] as const;

/**
 * What is told of a job: how it ended; that it failed and will be tried again, was given back unfinished, lost its
 * worker, or made progress. `reclaimed`: a sweep took its claim back. `lost`: the worker that held the claim has learned
 * that it is no longer current. `stuck`: its handler goes on although its signal was aborted. `enqueued`, and `drained` (no job of the
 * queue waits or runs any more) are told where `eventExtras` of the queue asks for them. That a job has started is
 * told in its own process only (`@OnJobEvent`): a claim of many plain jobs would pay for each.
 */
export type JobEventStatus = (typeof JOB_EVENT_STATUSES)[number];

/** What happened to a job, anywhere in the fleet. */
export interface FleetJobEvent {
  /** The queue of the job. */
  queue: string;
  /** Empty for `drained`, which is of the queue. */
  id: string;
  /** The job's name; where a client of the Redis pattern told it without one, and for `drained`: the queue's. */
  name: string;
  /** What happened to the job. */
  status: JobEventStatus;
  /** From 1. Absent where none has begun, for `lost` and `stuck`, and from a client of the Redis pattern. */
  attempt?: number;
  /** The error's message, of `retry` and `failed`, up to 1,000 bytes. An encrypted one that is longer is absent. */
  error?: string;
  /** Of `progress`, up to 2,000 bytes of JSON; absent where it is longer. */
  progress?: unknown;
  /** Of `completed`, where `eventExtras.results` of the queue asks for it, up to 2,000 bytes of JSON. */
  result?: unknown;
}

/** Which events are meant; all that is given must hold. Each is one value or a list of them. */
export interface JobEventFilter {
  /** Only of these queues. */
  queue?: string | readonly string[];
  /** Only of jobs of these names. */
  name?: string | readonly string[];
  /** Only of these jobs. */
  id?: string | readonly string[];
  /** Only these happenings. */
  status?: JobEventStatus | readonly JobEventStatus[];
}

const texts = z
  .union([z.string().min(1), z.array(z.string().min(1)).min(1)], { error: 'expected text or an array of texts' })
  .optional();
const status = z.enum(JOB_EVENT_STATUSES);
const filterSchema = z.strictObject(
  {
    queue: texts,
    name: texts,
    id: texts,
    status: z
      .union([status, z.array(status).min(1)], {
        error: `expected ${JOB_EVENT_STATUSES.join(', ')}, or an array of them`,
      })
      .optional(),
  },
  { error: 'expected an object of filters' },
);

/**
 * The job events of the whole fleet, as an RxJS Observable and for `for await`: those of the queues that this process
 * knows, and of those it comes to know meanwhile. A connection is open only while somebody listens. What happens before
 * Redis has confirmed the subscription, or while the connection is cut, is not told: whoever must know also looks.
 *
 * A listener that throws is logged and harms nothing. All end when the app closes. Queues with `events: 'off'` are silent.
 *
 * @example jobs.events.where({ queue: 'email', status: 'failed' }).subscribe(({ id }) => alert(id));
 * @example for await (const { id, status } of jobs.events.where({ name: 'report' })) { … }
 */
export class JobEvents extends SafeObservable<FleetJobEvent> implements AsyncIterable<FleetJobEvent> {
  constructor(
    private readonly queues: QueueRegistry,
    private readonly logger: SafeLogger,
    /** All of them must hold. */
    private readonly filters: readonly JobEventFilter[] = [],
  ) {
    super(
      (error) => logger.error('A listener of job events threw', error),
      (subscriber) => this.open(subscriber),
    );
  }

  /**
   * Only the events that fit, those before it too: `where(a).where(b)` is what both let through.
   *
   * @throws InvalidOptionError
   */
  where(filter: JobEventFilter): JobEvents {
    const checked = checkOptions('events.where', filterSchema, filter);
    return new JobEvents(this.queues, this.logger, [...this.filters, checked]);
  }

  /** Listens from now on. Up to 10,000 events wait for a slow loop; beyond it the oldest are dropped, with a warning. */
  [Symbol.asyncIterator](): AsyncIterableIterator<FleetJobEvent> {
    return iterate(this, () =>
      this.logger.warn('A loop over job events is too slow: more than 10,000 waited, and the oldest are dropped.'),
    );
  }

  private open(subscriber: Subscriber<FleetJobEvent>): () => void {
    const names = commonQueues(this.filters);
    const acceptors = this.filters.map(acceptor);
    const accepts = (event: FleetJobEvent) => acceptors.every((accepted) => accepted(event));
    const stops: (() => void)[] = [];
    const follow = (queue: JobQueue) => {
      if (names && !names.includes(queue.name)) {
        return;
      }
      const hear = (told: JobEvent) => {
        const { name = queue.name, status: what, ...rest } = decodeEvent(queue.options.codec, told);
        const event = { queue: queue.name, name, status: what as JobEventStatus, ...rest };
        // A newer version, or anybody with the right to publish, may send others.
        if (JOB_EVENT_STATUSES.includes(event.status) && accepts(event)) {
          subscriber.next(event);
        }
      };
      listenTo(queue, hear).then(
        (stop) => (subscriber.closed ? stop() : void stops.push(stop)),
        (error: unknown) => subscriber.error(error),
      );
    };
    // Before the watch: a queue that is made by asking for it would be followed twice.
    const known = names ? names.map((name) => this.queues.queue(name)) : this.queues.all;
    const unwatch = this.queues.watch({ added: follow, closed: () => subscriber.complete() });
    [...new Set(known)].forEach(follow);
    return () => {
      unwatch();
      stops.forEach((stop) => stop());
    };
  }
}

async function listenTo(queue: JobQueue, hear: (event: JobEvent) => void): Promise<() => void> {
  return queue.store.subscribe(await queue.calls(), hear);
}

function listOf<Value extends string>(value: Value | readonly Value[] | undefined): readonly Value[] | undefined {
  return typeof value === 'string' ? [value] : value;
}

/** The queues that all filters name; undefined where none names any. */
function commonQueues(filters: readonly JobEventFilter[]): readonly string[] | undefined {
  const lists = filters.flatMap(({ queue }) => (listOf(queue) ? [listOf(queue)!] : []));
  return lists.length === 0
    ? undefined
    : lists.reduce((common, list) => common.filter((name) => list.includes(name)));
}

function acceptor({ name, id, status: what }: JobEventFilter): (event: FleetJobEvent) => boolean {
  const [names, ids, statuses] = [listOf(name), listOf(id), listOf(what)];
  return (event) =>
    (!names || names.includes(event.name)) &&
    (!ids || ids.includes(event.id)) &&
    (!statuses || statuses.includes(event.status));
}
