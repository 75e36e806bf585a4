/** What the core needs of a logger. Nest's Logger is one; without Nest the default says nothing. */
export interface JobQueueLogger {
  log(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

export const silentLogger: JobQueueLogger = { log() {}, warn() {}, error() {} };
