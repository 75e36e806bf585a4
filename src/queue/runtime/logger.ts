/** The logger interface of the core. Nest's Logger fits; the default without Nest logs nothing. */
export interface JobQueueLogger {
  /** Logs an event. */
  log(message: string): void;
  /** Logs a danger. */
  warn(message: string): void;
  /** Logs an error. */
  error(message: string): void;
  /** Logs an error that does no harm, because a later step makes up for it. Optional. */
  debug?(message: string): void;
}

/** Returns whether a value has the methods of a logger. */
export function isLogger(value: unknown): value is JobQueueLogger {
  const logger = value as Partial<JobQueueLogger> | null | undefined;
  return (['log', 'warn', 'error'] as const).every((method) => typeof logger?.[method] === 'function');
}

export const silentLogger: JobQueueLogger = { log() {}, warn() {}, error() {} };
