import type { InjectionToken } from '@nestjs/common';
import type { ModuleRef, NestContainer } from '@nestjs/core';

/** Returns Nest's container, which knows the modules and the global prefix. No provider reaches it but through a field of `ref`. */
export function containerOf(ref: ModuleRef): NestContainer {
  return Reflect.get(ref, 'container') as NestContainer;
}

/** Returns a provider of the app, or undefined if it has none of that token. */
export function findProvider<Provided>(
  app: Pick<ModuleRef, 'get'>,
  token: InjectionToken<Provided>,
): Provided | undefined {
  try {
    return app.get(token, { strict: false });
  } catch (error) {
    const { name, message } = error as Error;
    if (name === 'UnknownElementException' || /does not exist/.test(message)) {
      return undefined;
    }
    throw error;
  }
}
