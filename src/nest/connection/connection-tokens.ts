// Apart from the decorators, because nest-job-queue/metrics runs without Nest.
import { InvalidOptionError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';

/** The name of the connection of a `forRoot` without a name. */
export const DEFAULT_CONNECTION = 'default';

/** Injects the name of the connection that a module belongs to. */
export const CONNECTION_NAME = Symbol.for('nest-job-queue:connection-name');

/** Injects the worker of a connection, also into another copy of the package. */
export const LIFECYCLE: symbol = Symbol.for('nest-job-queue:lifecycle');

/** Injects the registry of prom-client that has the metrics of this process. */
export const METRICS_REGISTRY: symbol = Symbol.for('nest-job-queue:metrics-registry');

/** The parts of a connection that other modules of the app may inject. */
export type ConnectionPart = 'service' | 'queues' | 'handlers' | 'lifecycle' | 'listeners';

/** Returns the token of a part or a queue of a connection. Its text says what is missing, for Nest's error. */
export function partToken(part: ConnectionPart | `queue "${string}"`, connection: string): string {
  const options = connection === DEFAULT_CONNECTION ? '' : `{ name: '${connection}' }`;
  return `${part} of JobQueueModule.forRoot(${options})`;
}

/** @throws InvalidOptionError */
export function checkConnectionName(subject: string, name: unknown): string {
  if (typeof name !== 'string' || !/^[\w-]{1,64}$/.test(name)) {
    throw new InvalidOptionError(subject, '1 to 64 of A-Z a-z 0-9 _ -', show(name));
  }
  return name;
}
