import type { MetricsReply } from './metrics/question.js';

/** The variable that makes a process a worker process, and has its name. */
export const PROCESS_NAME = 'NEST_JOB_QUEUE_PROCESS';
/** The variable with the time limit of a stop without the supervisor's request, in ms. */
export const STOP_TIMEOUT = 'NEST_JOB_QUEUE_STOP_TIMEOUT_MS';

/** Marks the messages of this module: loaders and watchers use the same channel. */
const MARK = 'nest-job-queue';

/** An error that a worker process reports. */
export interface ReportedError {
  /** The name of an Error. */
  name: string;
  /** The message of an Error. */
  message: string;
  /** The stack of an Error. */
  stack?: string;
}

/** A worker of a process, and the queues that it serves. */
export interface ServingWorker {
  id: string;
  queues: readonly string[];
}

/** The messages of a worker process to its supervisor; `stopping`: it stops by itself; `pong` answers a `ping`. */
export type FromChild =
  | { type: 'hello' }
  | { type: 'booted' }
  | { type: 'serves'; worker: ServingWorker }
  | { type: 'running' }
  | { type: 'disconnected' }
  | { type: 'failed'; error: ReportedError }
  | { type: 'stopping' }
  | { type: 'pong' }
  | { type: 'metrics'; id: number; reply: MetricsReply }
  | { type: 'reclaimed'; worker: string; error?: string };

/** The messages of the supervisor to a worker process. */
export type ToChild =
  | { type: 'ping' }
  | { type: 'stop' }
  | { type: 'metrics'; id: number }
  | { type: 'reclaim'; worker: ServingWorker };

export function pack(message: FromChild | ToChild): object {
  return { [MARK]: message };
}

/** Returns the message from the channel; undefined if another sender sent it. */
function unpack(received: unknown): unknown {
  return (received as Record<string, unknown> | null)?.[MARK];
}

export function fromChild(received: unknown): FromChild | undefined {
  return unpack(received) as FromChild | undefined;
}

export function toChild(received: unknown): ToChild | undefined {
  return unpack(received) as ToChild | undefined;
}

export function reportedError(thrown: unknown): ReportedError {
  return thrown instanceof Error
    ? { name: thrown.name, message: thrown.message, stack: thrown.stack }
    : { name: 'Error', message: String(thrown) };
}
