import { Inject, type Provider, type Type } from '@nestjs/common';
import { checkQueueName } from '../../queue/validation/names.js';
import { DEFAULT_CONNECTION, checkConnectionName, partToken } from './connection-tokens.js';

const DECLARED = Symbol.for('nest-job-queue:declared-queues');

/**
 * Injects the JobQueue of a name, in any provider or controller of the app, without any registration. With `isGlobal: false`, and in
 * a module that is loaded lazily, the module imports `JobQueueModule.forFeature(name)`.
 *
 * @param connection the name of a `forRoot({ name })`. Default: the `forRoot` without a name
 * @throws InvalidOptionError for a name that cannot be part of a key
 * @example constructor(@InjectQueue('video') private readonly videos: JobQueue) {}
 * @example constructor(@InjectQueue('invoice', 'billing') private readonly invoices: JobQueue) {}
 */
export function InjectQueue(
  name: string,
  connection: string = DEFAULT_CONNECTION,
): PropertyDecorator & ParameterDecorator {
  checkQueueName(name);
  declareQueue(name, connection);
  return Inject(getQueueToken(name, connection));
}

/** Returns the token of a queue, for `app.get` and for `overrideProvider` in tests. */
export function getQueueToken(name: string, connection: string = DEFAULT_CONNECTION): string {
  return partToken(`queue "${name}"`, checkConnectionName('connection', connection));
}

/**
 * Injects the JobQueueService of a connection. That of the `forRoot` without a name is injected by its class.
 *
 * @example constructor(@InjectJobQueueService('billing') private readonly billing: JobQueueService) {}
 */
export function InjectJobQueueService(connection: string): PropertyDecorator & ParameterDecorator {
  return Inject(getJobQueueServiceToken(connection));
}

/** Returns the token of the JobQueueService of a connection. */
export function getJobQueueServiceToken(connection: string): string {
  return partToken('service', checkConnectionName('connection', connection));
}

/** Remembers a queue that some class of the process injects or handles, so that there is a provider of it. */
export function declareQueue(name: string, connection: string): void {
  declaredNames(connection).add(name);
}

/** Returns the queues of a connection that classes of the process have declared by now. */
export function declaredNames(connection: string): Set<string> {
  const declared = ((globalThis as Record<symbol, unknown>)[DECLARED] ??= new Map()) as Map<string, Set<string>>;
  const names = declared.get(connection) ?? new Set<string>();
  declared.set(connection, names);
  return names;
}

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
