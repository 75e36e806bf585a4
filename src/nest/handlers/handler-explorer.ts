import { Injectable } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import { JobQueue } from '../../queue/job-queue.js';
import type { HandlerClass, Wrapper } from './handler-binder.js';
import {
  handlerRecords,
  handlerSubject,
  type HandlerRecord,
  recurringRecords,
  type RecurringRecord,
} from './job-handler.decorator.js';

/** A `@JobHandler` with its class and method. */
export interface FoundHandler extends HandlerRecord {
  /** The name of the handler in errors: the decorator, the class and the method. */
  subject: string;
  /** The schedules of its jobs. */
  recurring: RecurringRecord[];
  /** The provider; undefined while Nest has not made it. */
  instance: Record<PropertyKey, unknown> | undefined;
  method: string | symbol;
  type: HandlerClass;
  wrapper: Wrapper;
}

/** Finds every `@JobHandler` among the providers and controllers of the app, however they are provided. */
@Injectable()
export class HandlerExplorer {
  constructor(private readonly discovery: DiscoveryService) {}

  /** The number of providers and controllers that are known now. */
  get size(): number {
    return this.discovery.getProviders().length + this.discovery.getControllers().length;
  }

  find(): FoundHandler[] {
    return providersOf(this.discovery, handlersOf);
  }
}

/** A method of a provider or controller, and whether it can be called. */
export interface ProviderMethod extends Pick<FoundHandler, 'instance'> {
  /** The reason why it cannot be called; undefined if it can. */
  unusableScope: 'request-scoped' | 'transient' | undefined;
  typeName: string;
  name: string | symbol;
  method: object;
}

/** Returns the methods of all providers and controllers of the app, each once. */
export function methodsOfProviders(discovery: DiscoveryService): ProviderMethod[] {
  return providersOf(discovery, (wrapper, instance) => {
    const type = classOf(wrapper, instance);
    const unusableScope = unusableScopeOf(wrapper);
    return methodsOf(type?.prototype ?? null).map(([name, method]) => ({
      typeName: type!.name,
      name,
      method,
      instance,
      unusableScope,
    }));
  });
}

function providersOf<Found>(
  discovery: DiscoveryService,
  look: (wrapper: Wrapper, instance: FoundHandler['instance']) => Found[],
): Found[] {
  const seen = new Set<unknown>();
  return [...discovery.getProviders(), ...discovery.getControllers()].flatMap((wrapper) => {
    const instance: unknown = wrapper.instance;
    // A provider under two names is one handler. Queues are providers too, and have no handlers.
    if (wrapper.isAlias || (isObject(instance) && seen.has(instance)) || instance instanceof JobQueue) {
      return [];
    }
    seen.add(instance);
    return look(wrapper, isObject(instance) ? instance : undefined);
  });
}

function unusableScopeOf(wrapper: Wrapper): ProviderMethod['unusableScope'] {
  return !wrapper.isDependencyTreeStatic() ? 'request-scoped' : wrapper.isTransient ? 'transient' : undefined;
}

function handlersOf(wrapper: Wrapper, instance: FoundHandler['instance']): FoundHandler[] {
  const type = classOf(wrapper, instance);
  if (!type) {
    return [];
  }
  const foundAt = (place: object, method: string | symbol): FoundHandler[] => {
    const records = handlerRecords(place);
    const recurring = recurringRecords(place);
    if (recurring.length > 0 && records.length !== 1) {
      throw new InvalidOptionError(
        `@RecurringJob on ${type.name}.${String(method)}`,
        'one @JobHandler at the same place',
        records.map(({ name }) => `"${name}"`).join(', ') || 'none',
      );
    }
    return records.map((record) => ({
      ...record,
      subject: `${handlerSubject(record)} on ${type.name}.${String(method)}`,
      recurring,
      instance,
      method,
      type,
      wrapper,
    }));
  };
  return [
    ...foundAt(type, 'handle'),
    ...methodsOf(type.prototype).flatMap(([name, method]) => foundAt(method, name)),
  ];
}

/**
 * Returns the class that may be decorated. For a provider of a factory or a value it is the class of the instance. If a
 * test replaced a handler by a plain object, it is the class of the handler.
 */
function classOf({ metatype, inject, token }: Wrapper, instance: unknown): HandlerClass | undefined {
  if (metatype && !inject) {
    return metatype;
  }
  const prototype =
    instance === undefined ? null : (Object.getPrototypeOf(instance) as { constructor?: unknown } | null);
  const type = prototype?.constructor;
  return typeof type === 'function' && type !== Object ? type : typeof token === 'function' ? token : undefined;
}

/** Returns the methods of a class and its bases, read without calling a getter. */
function methodsOf(prototype: object | null): [string | symbol, object][] {
  const methods = new Map<string | symbol, object>();
  for (
    let each = prototype;
    each && each !== Object.prototype;
    each = Object.getPrototypeOf(each) as object | null
  ) {
    for (const name of Reflect.ownKeys(each)) {
      const value: unknown = Object.getOwnPropertyDescriptor(each, name)?.value;
      if (name !== 'constructor' && typeof value === 'function' && !methods.has(name)) {
        methods.set(name, value);
      }
    }
  }
  return [...methods];
}

function isObject(value: unknown): value is Record<PropertyKey, unknown> {
  return typeof value === 'object' && value !== null;
}
