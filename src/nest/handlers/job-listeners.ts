import { Injectable } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { z } from 'zod';
import { checkOptions } from '../../queue/validation/validate-options.js';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import { wholeOfShard } from '../../queue/model/spread.js';
import type { WorkerTrip } from '../../worker/fetch/fetch-loop.js';
import type { WorkerEvent, WorkerEventListener } from '../../worker/handlers/attempt-middleware.js';
import { methodsOfProviders, type ProviderMethod } from './handler-explorer.js';
import { listenerRecords, type JobEventType, type ListenerRecord } from './on-job-event.decorator.js';
import { QuietLogger } from '../connection/quiet-logger.js';

const TYPES: readonly JobEventType[] = [
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
    const wrong = list.find((type) => !TYPES.includes(type as JobEventType));
    if (wrong !== undefined || list.length === 0) {
      throw new InvalidOptionError(subject, TYPES.join(', '), show(wrong));
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
