import type { Provider, Type } from '@nestjs/common';
import { DEFAULT_CONNECTION, partToken } from './connection-tokens.js';

// One list for the process. A loader such as tsx gives ES modules and CommonJS modules a copy of the package each.
const CLASSES = Symbol.for('nest-job-queue:service-classes');

/** Remembers the JobQueueService of a loaded copy of the package. */
export function addServiceClass(type: Type): void {
  serviceClasses().add(type);
}

/** Returns providers of the service, by the class of every copy of the package that is loaded by now. */
export function serviceProviders(): { provide: Type; useExisting: string }[] {
  return [...serviceClasses()].map((provide) => ({
    provide,
    useExisting: partToken('service', DEFAULT_CONNECTION),
  })) satisfies Provider[];
}

function serviceClasses(): Set<Type> {
  return ((globalThis as Record<symbol, unknown>)[CLASSES] ??= new Set()) as Set<Type>;
}
