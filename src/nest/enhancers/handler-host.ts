import type { ContextId, DiscoveryService } from '@nestjs/core';

/** A provider or controller as Nest keeps it. */
export type Wrapper = ReturnType<DiscoveryService['getProviders']>[number];

/** The class and the method of a handler, and where Nest keeps it. */
export interface Decorated {
  /** The name of the handler in errors. */
  subject: string;
  type: HandlerClass;
  method: string | symbol;
  wrapper: Wrapper;
}

/** A handler that Nest found. */
export interface FoundMethod extends Decorated {
  /** The provider; undefined while Nest has not made it. */
  instance: HandlerHost['instance'] | undefined;
}

/** The class of a handler, with any constructor. */
export interface HandlerClass {
  readonly name: string;
  readonly prototype: object;
}

/** An instance of a handler's class with the function that Nest calls. */
export interface HandlerHost {
  wrapper: Wrapper;
  instance: Record<PropertyKey, unknown>;
  /** Calls the handler; has the metadata of its method. */
  callback: (...args: unknown[]) => unknown;
  /** The context of scoped enhancers; undefined for static ones. */
  contextId: ContextId | undefined;
}

export type Call = (instance: HandlerHost['instance'], args: unknown[]) => unknown;
