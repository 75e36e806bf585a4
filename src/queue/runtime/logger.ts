/** What the core needs of a logger. Nest's Logger is one; without Nest the default says nothing. */
export interface JobQueueLogger {
  /** Tells what happened. */
  log(message: string): void;
  /** Tells what may go wrong. */
  warn(message: string): void;
  /** Tells what went wrong. */
  error(message: string): void;
}

/** Returns whether a value has the methods of a logger. */
export function isLogger(value: unknown): value is JobQueueLogger {
  const logger = value as Partial<JobQueueLogger> | null | undefined;
  return (['log', 'warn', 'error'] as const).every((method) => typeof logger?.[method] === 'function');
}

export const silentLogger: JobQueueLogger = { log() {}, warn() {}, error() {} };
