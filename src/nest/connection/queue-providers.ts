import type { FactoryProvider, InjectionToken } from '@nestjs/common';
import { PROPERTY_DEPS_METADATA, SELF_DECLARED_DEPS_METADATA } from '@nestjs/common/constants.js';
import { ModulesContainer } from '@nestjs/core';
import type { JobQueue } from '../../queue/job-queue.js';
import { partToken } from './connection-tokens.js';
import { getQueueToken } from './inject-queue.decorator.js';
import type { QueueRegistry } from './queue-registry.js';

/**
 * Returns the provider of a queue that a class of the process declares, perhaps a class of another app. An app
 * maintains the queue only if a class of this app injects it.
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

/** Returns a provider of a queue that this app asks for. */
export function queueProvider(name: string, connection: string): FactoryProvider<JobQueue> {
  return {
    provide: getQueueToken(name, connection),
    useFactory: (queues: QueueRegistry) => queues.queue(name),
    inject: [partToken('queues', connection)],
  };
}

/**
 * The tokens that the classes and factories of an app inject, and the number of its modules at that time. A lazy module
 * loads later.
 */
const askedTokens = new WeakMap<ModulesContainer, { modules: number; tokens: ReadonlySet<unknown> }>();

/** Returns whether a class or a factory of the app asks for a token. */
function isInjected(token: InjectionToken, modules: ModulesContainer): boolean {
  let asked = askedTokens.get(modules);
  if (asked?.modules !== modules.size) {
    asked = { modules: modules.size, tokens: new Set(allAsked(modules)) };
    askedTokens.set(modules, asked);
  }
  return asked.tokens.has(token);
}

function allAsked(modules: ModulesContainer): unknown[] {
  const wrappers = [...modules.values()].flatMap(({ providers, controllers, injectables }) => [
    ...providers.values(),
    ...controllers.values(),
    ...injectables.values(),
  ]);
  // An optional dependency of a factory is { token, optional }.
  return wrappers.flatMap(({ metatype, inject }) =>
    (inject ?? tokensOf(metatype)).flatMap((each) => [each, (each as { token?: unknown } | null)?.token]),
  );
}

/** Returns the tokens that `@Inject` names in a class. */
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
