import type { ModuleRef, NestContainer } from '@nestjs/core';

/** Returns Nest's container, which knows the modules and the global prefix. No provider reaches it but through a field of `ref`. */
export function containerOf(ref: ModuleRef): NestContainer {
  return Reflect.get(ref, 'container') as NestContainer;
}
