import type { FactoryProvider, InjectionToken } from '@nestjs/common';
import { PROPERTY_DEPS_METADATA, SELF_DECLARED_DEPS_METADATA } from '@nestjs/common/constants.js';
import { ModulesContainer } from '@nestjs/core';
import type { JobQueue } from '../../queue/job-queue.js';
import { partToken } from './connection-tokens.js';
import { getQueueToken } from './inject-queue.decorator.js';
import type { QueueRegistry } from './queue-registry.js';

/**
 * A provider of a queue that some class of the process declares, maybe one of another app. Only where a class of this app injects
 * it does the queue belong to what this process maintains.
 */
export function declaredQueueProvider(name: string, connection: string): FactoryProvider<JobQueue> {
  const token = getQueueToken(name, connection);
  return {
    provide: token,
    useFactory: (queues: QueueRegistry, modules: ModulesContainer) =>
      isInjected(token, modules) ? queues.queue(name) : queues.reference(name),
    inject: [partToken('queues', connection), ModulesContainer],
  };
}

/** A provider of a queue that this app asks for. */
export function queueProvider(name: string, connection: string): FactoryProvider<JobQueue> {
  return {
    provide: getQueueToken(name, connection),
    useFactory: (queues: QueueRegistry) => queues.queue(name),
    inject: [partToken('queues', connection)],
  };
}

/** Whether a class or a factory of the app asks for a token. */
function isInjected(token: InjectionToken, modules: ModulesContainer): boolean {
  for (const { providers, controllers, injectables } of modules.values()) {
    for (const { metatype, inject } of [...providers.values(), ...controllers.values(), ...injectables.values()]) {
      const asked: unknown[] = inject ?? tokensOf(metatype);
      if (asked.some((each) => each === token || (each as { token?: unknown } | null)?.token === token)) {
        return true;
      }
    }
  }
  return false;
}

/** The tokens that `@Inject` names in a class. */
function tokensOf(type: unknown): unknown[] {
  if (typeof type !== 'function') {
    return [];
  }
  const ofConstructor = listOf<{ param: unknown }>(Reflect.getMetadata(SELF_DECLARED_DEPS_METADATA, type));
  const ofProperties = listOf<{ type: unknown }>(Reflect.getMetadata(PROPERTY_DEPS_METADATA, type));
  return [...ofConstructor.map(({ param }) => param), ...ofProperties.map((property) => property.type)];
}

function listOf<Entry>(metadata: unknown): Entry[] {
  return Array.isArray(metadata) ? (metadata as Entry[]) : [];
}
