import { Inject, Scope, type FactoryProvider } from '@nestjs/common';
import { checkQueueName } from '../../queue/model/names.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { QueueRegistry } from './queue-registry.js';

const INJECTED = Symbol.for('nest-job-queue:injected-queues');

/**
 * Injects the JobQueue of a name, in any provider or controller of the app, without any registration.
 *
 * A module that is loaded lazily after the boot uses `JobQueueService.queue(name)` instead.
 *
 * @throws InvalidOptionError for a name that cannot be part of a key
 * @example constructor(@InjectQueue('video') private readonly videos: JobQueue) {}
 */
export function InjectQueue(name: string): PropertyDecorator & ParameterDecorator {
  checkQueueName(name);
  injectedNames().add(name);
  return Inject(getQueueToken(name));
}

/** The token of a queue, for `overrideProvider` in tests. */
export function getQueueToken(name: string): string {
  return `nest-job-queue:queue:${name}`;
}

/**
 * A provider for each queue that any class of the process has injected by now. They are transient: one that this app
 * does not use is never made.
 */
export function injectedQueueProviders(): FactoryProvider<JobQueue>[] {
  return [...injectedNames()].map((name) => ({
    provide: getQueueToken(name),
    useFactory: (registry: QueueRegistry) => registry.queue(name),
    inject: [QueueRegistry],
    scope: Scope.TRANSIENT,
  }));
}

function injectedNames(): Set<string> {
  return ((globalThis as Record<symbol, unknown>)[INJECTED] ??= new Set<string>()) as Set<string>;
}
