import { AsyncResource } from 'node:async_hooks';
import { Observable, Subscriber, type Observer, type Operator, type Subscription } from 'rxjs';
import { z } from 'zod';
import type { SafeLogger } from '../../queue/errors/safe-logger.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { JOB_EVENT_STATUSES, type JobEvent, type JobEventStatus } from '../../queue/model/job-event.js';
import { decodeEvent } from '../../queue/store/decode-event.js';
import { checkOptions } from '../../queue/validation/validate-options.js';
import { LISTENER_THREW } from '../../worker/handlers/attempt-middleware.js';
import type { QueueRegistry } from '../connection/queue-registry.js';

/**
 * An observable whose listeners may throw. RxJS would throw such an error again from a timer, which ends the process.
 * Here `report` gets it, and the subscription continues, behind operators too. A listener runs in the async context in
 * which it subscribed.
 */
export class SafeObservable<Value> extends Observable<Value> {
  /** @internal */
  constructor(
    /** @internal */
    protected readonly report: (error: unknown) => void,
    subscribe?: (subscriber: Subscriber<Value>) => (() => void) | void,
  ) {
    super(subscribe);
  }

  /** @internal */
  override lift<Other>(operator?: Operator<Value, Other>): Observable<Other> {
    const lifted = new SafeObservable<Other>(this.report);
    lifted.source = this;
    lifted.operator = operator as Operator<unknown, Other>;
    return lifted;
  }

  /** Subscribes like any Observable. Errors of the listener are reported. */
  override subscribe(
    listener?: ((value: Value) => void) | Partial<Observer<Value>> | null,
    error?: ((error: unknown) => void) | null,
    complete?: (() => void) | null,
  ): Subscription {
    if (listener instanceof Subscriber) {
      return super.subscribe(listener); // an operator's own listener, which passes on what it catches
    }
    const observer: Partial<Observer<Value>> =
      typeof listener === 'object' && listener !== null
        ? listener
        : { next: listener ?? undefined, error: error ?? undefined, complete: complete ?? undefined };
    const guard = AsyncResource.bind((call: () => void): void => {
      try {
        call();
      } catch (thrown) {
        this.report(thrown);
      }
    });
    return super.subscribe({
      next: (value) => guard(() => observer.next?.(value)),
      error: (failure: unknown) => guard(() => (observer.error ? observer.error(failure) : this.report(failure))),
      complete: () => guard(() => observer.complete?.()),
    });
  }
}

/** An event of a job, anywhere in the fleet. */
export interface FleetJobEvent {
  /** The queue of the job. */
  queue: string;
  /** Empty for `drained`, which is of the queue. With `spread` it is of all shards. */
  id: string;
  /** The job's name. The queue's name for `drained`, and for an event of a client of the Redis pattern without a name. */
  name: string;
  /** The new status of the job. */
  status: JobEventStatus;
  /**
   * The attempt, from 1. Absent before the first attempt, for `lost` and `stuck`, and from a client of the Redis
   * pattern.
   */
  attempt?: number;
  /** The error's message, of `retry` and `failed`, up to 1,000 bytes. A longer encrypted message is absent. */
  error?: string;
  /** The value of `progress`, up to 2,000 bytes of JSON; absent if it is longer. */
  progress?: unknown;
  /** The result of `completed`, up to 2,000 bytes of JSON, if `eventExtras.results` of the queue asks for it. */
  result?: unknown;
}

/** The filter of events; all fields must match. Each is one value or a list. */
export interface JobEventFilter {
  /** Only these queues. */
  queue?: string | readonly string[] | undefined;
  /** Only jobs of these names. */
  name?: string | readonly string[] | undefined;
  /** Only these jobs. */
  id?: string | readonly string[] | undefined;
  /** Only events of these statuses. */
  status?: JobEventStatus | readonly JobEventStatus[] | undefined;
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
 * The job events of the whole fleet, as an RxJS Observable and for `for await`. It covers all queues that this process
 * knows, and adds new ones as they become known. A connection is open only while there is a listener. Events before
 * Redis has confirmed the subscription, or while the connection is cut, are missed. Callers that must not miss the end
 * of a job also poll.
 *
 * An error of a listener is logged and has no other effect. All end when the app closes. Queues with `events: 'off'`
 * are silent.
 *
 * @example jobs.events.where({ queue: 'email', status: 'failed' }).subscribe(({ id }) => alert(id));
 * @example for await (const { id, status } of jobs.events.where({ name: 'report' })) { … }
 */
export class JobEvents extends SafeObservable<FleetJobEvent> implements AsyncIterable<FleetJobEvent> {
  /** @internal */
  constructor(
    private readonly queues: QueueRegistry,
    private readonly logger: SafeLogger,
    /** All of them must match. */
    private readonly filters: readonly JobEventFilter[] = [],
  ) {
    super(
      (error) => logger.error(LISTENER_THREW, error),
      (subscriber) => this.open(subscriber),
    );
  }

  /**
   * Filters the events; `where(a).where(b)` has the events that match both.
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
      this.logger.warn(
        'A loop over job events is too slow: more than 10,000 wait, and the oldest are dropped. Do less work in the loop.',
      ),
    );
  }

  private open(subscriber: Subscriber<FleetJobEvent>): () => void {
    const names = inAll(this.filters.map(({ queue }) => queue));
    const acceptors = this.filters.map(acceptor);
    const ids = inAll(this.filters.map(({ id }) => id));
    const stops: (() => void)[] = [];
    const follow = (queue: JobQueue) => {
      const whole = this.queues.wholeOf(queue.name);
      if (names && !names.includes(whole)) {
        return;
      }
      const forward = (published: JobEvent) => {
        const { id, name = whole, status: what } = published;
        const subject = { queue: whole, id, name, status: what as JobEventStatus };
        // A newer version, or anybody with the permission to publish, may send other statuses.
        if (JOB_EVENT_STATUSES.includes(subject.status) && acceptors.every((accepts) => accepts(subject))) {
          subscriber.next({ ...decodeEvent(queue.options.codec, queue.name, published), ...subject });
        }
      };
      listenTo(queue, forward, ids).then(
        (stop) => (subscriber.closed ? stop() : void stops.push(stop)),
        (error: unknown) => subscriber.error(error),
      );
    };
    // Before the watch, because a queue that this call creates would be followed twice.
    const known = names
      ? names.flatMap((name) => this.queues.spreadOf(name)?.shards ?? this.queues.requested(name))
      : this.queues.all;
    const closed = () => subscriber.complete();
    const unwatch = this.queues.watch({ added: follow, closed, keepsAll: true });
    [...new Set(known)].forEach(follow);
    return () => {
      unwatch();
      stops.forEach((stop) => stop());
    };
  }
}

async function listenTo(
  queue: JobQueue,
  forward: (event: JobEvent) => void,
  ids: readonly string[] | undefined,
): Promise<() => void> {
  return queue.store.subscribe(await queue.calls(), forward, ids);
}

function listOf<Value extends string>(value: Value | readonly Value[] | undefined): readonly Value[] | undefined {
  return typeof value === 'string' ? [value] : value;
}

/** Returns the values that all filters name; undefined if none names any. */
function inAll(fields: readonly (string | readonly string[] | undefined)[]): readonly string[] | undefined {
  const lists = fields.flatMap((field) => (field === undefined ? [] : [listOf(field)!]));
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

/** The number of events that may wait for a slower loop. Beyond that the oldest are dropped. */
const MOST_WAITING = 10_000;

/**
 * Returns the values of an observable for `for await`. Subscribes now, until the loop or the observable ends.
 *
 * @param onOverflow called once, when values are dropped because the loop is too slow
 */
function iterate<Value>(values: Observable<Value>, onOverflow: () => void): AsyncIterableIterator<Value> {
  const waiting: Value[] = [];
  const asking: ((result: IteratorResult<Value>) => void)[] = [];
  let done = false;
  let dropped = false;
  let failure: { error: unknown } | undefined;
  const end = () => {
    done = true;
    asking.splice(0).forEach((answer) => answer({ done: true, value: undefined }));
  };
  const take = (value: Value) => {
    const answer = asking.shift();
    if (answer) {
      answer({ done: false, value });
      return;
    }
    if (waiting.push(value) > MOST_WAITING) {
      waiting.shift();
      if (!dropped) {
        dropped = true;
        onOverflow();
      }
    }
  };
  const fail = (error: unknown) => {
    failure = { error };
    end();
  };
  const listening = values.subscribe({ next: take, error: fail, complete: end });
  return {
    next: async () => {
      if (waiting.length > 0) {
        return { done: false, value: waiting.shift()! };
      }
      if (failure) {
        throw failure.error;
      }
      return done ? { done, value: undefined } : new Promise((resolve) => asking.push(resolve));
    },
    return: async () => {
      listening.unsubscribe();
      end();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
