import { Injectable } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { z } from 'zod';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import { wholeOfShard } from '../../queue/model/spread.js';
import { checkOptions } from '../../queue/validation/validate-options.js';
import type { WorkerTrip } from '../../worker/fetch/fetch-loop.js';
import type { WorkerEvent, WorkerEventListener } from '../../worker/handlers/attempt-middleware.js';
import { QuietLogger } from '../connection/quiet-logger.js';
import { methodsOfProviders, type ProviderMethod } from './handler-explorer.js';

const EVENT_TYPES: readonly JobEventType[] = [
  'started',
  'completed',
  'retry',
  'failed',
  'cancelled',
  'released',
  'lost',
  'stuck',
];

const text = z.string({ error: 'expected text' }).min(1, 'expected text').optional();
const optionsSchema = z.strictObject({ queue: text, name: text }, { error: 'expected { queue?, name? }' });

/** Returns whether a queue is the asked one, or one of its shards. */
function isOfQueue(queue: string, asked: string | undefined): boolean {
  return asked === undefined || asked === queue || asked === wholeOfShard(queue);
}

/** Measures what the workers of a connection do. */
interface WorkerMeter {
  observe: WorkerEventListener;
  observeTrip: (trip: WorkerTrip) => void;
}

/** The methods decorated with `@OnJobEvent`, checked, by the type of event; and the meters of the workers. */
@Injectable()
export class JobListeners {
  private readonly byType = new Map<JobEventType, ((event: WorkerEvent) => void)[]>();
  private readonly meters: WorkerMeter[] = [];

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly logger: QuietLogger,
  ) {}

  /**
   * Finds and checks all listeners; to be called when every provider is made.
   *
   * @throws InvalidOptionError that names class and method
   */
  bind(): void {
    for (const found of methodsOfProviders(this.discovery)) {
      listenerRecords(found.method).forEach((record) => this.add(found, record));
    }
  }

  /** Adds a meter; to be called before the worker is made. */
  measure(meter: WorkerMeter): void {
    this.meters.push(meter);
  }

  /** Returns the function that the worker calls, or undefined without a listener, so that no event is created. */
  get listener(): WorkerEventListener | undefined {
    return this.byType.size === 0 && this.meters.length === 0
      ? undefined
      : (event) => {
          this.meters.forEach((meter) => meter.observe(event));
          this.byType.get(event.type)?.forEach((listener) => listener(event));
        };
  }

  /** Returns the function that the worker calls with each round trip, or undefined where nobody measures. */
  tripListener(own: ((trip: WorkerTrip) => void) | undefined): ((trip: WorkerTrip) => void) | undefined {
    return this.meters.length === 0
      ? own
      : (trip) => {
          this.meters.forEach((meter) => meter.observeTrip(trip));
          own?.(trip);
        };
  }

  private add(
    { typeName, instance, name, unusableScope }: ProviderMethod,
    { types, options }: ListenerRecord,
  ): void {
    const subject = `@OnJobEvent(${typeof types === 'string' ? JSON.stringify(types) : show(types)}) on ${typeName}.${String(name)}`;
    const filter = checkOptions(subject, optionsSchema, options);
    const list = Array.isArray(types) ? (types as unknown[]) : [types];
    const wrong = list.find((type) => !EVENT_TYPES.includes(type as JobEventType));
    if (wrong !== undefined || list.length === 0) {
      throw new InvalidOptionError(subject, EVENT_TYPES.join(', '), show(wrong));
    }
    if (unusableScope || !instance) {
      throw new InvalidOptionError(subject, 'a provider of the default scope', `a ${unusableScope ?? 'lazy'} one`);
    }
    const call = (event: WorkerEvent) => {
      const { job } = event;
      if (isOfQueue(job.queue, filter.queue) && (filter.name ?? job.name) === job.name) {
        void this.call(subject, () => (instance[name] as (event: WorkerEvent) => unknown).call(instance, event));
      }
    };
    for (const type of list as JobEventType[]) {
      this.byType.set(type, [...(this.byType.get(type) ?? []), call]);
    }
  }

  private async call(subject: string, listener: () => unknown): Promise<void> {
    try {
      await listener();
    } catch (error) {
      this.logger.error(`${subject} threw`, error);
    }
  }
}

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
interface ListenerRecord {
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

function listenerRecords(method: object): ListenerRecord[] {
  return (Reflect.getOwnMetadata(LISTENER_METADATA, method) as ListenerRecord[] | undefined) ?? [];
}
