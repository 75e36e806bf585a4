import { JobQueueError } from '../queue/errors/errors.js';
import { systemClock } from '../queue/runtime/clock.js';
import { within } from '../queue/runtime/waits.js';
import type { MetricList } from './metrics.js';

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

/** The events of a worker process; `name` is that of its place, such as `worker-2`, `pid` that of the process. */
export type WorkerProcessEvent =
  /**
   * `started`: was forked, and boots. `running`: its worker claims jobs. `disconnected`: its worker has lost the connection
   * to Redis; `running` again when it is back.
   */
  | { type: 'started' | 'running' | 'disconnected'; name: string; pid: number | undefined }
  | WorkerProcessEnded
  /** The app in it called `process.send(message)`. */
  | { type: 'message'; name: string; pid: number | undefined; message: unknown };

/** A worker process has ended. */
export interface WorkerProcessEnded {
  /** The kind of the event. */
  type: 'ended';
  /** The name of the process, such as `worker-1`. */
  name: string;
  /** Its process id; undefined if it never started. */
  pid: number | undefined;
  /** The exit code; null where a signal ended it. */
  code: number | null;
  /** The signal that ended it; null for none. */
  signal: NodeJS.Signals | null;
  /** True if it was asked to stop. */
  stopped: boolean;
  /** The reason why the supervisor killed it, if it did. */
  killedFor?: string;
  /** The error of its boot. */
  error?: ReportedError;
  /** The delay of its restart, in ms; undefined if it is not restarted. */
  restartInMs?: number;
}

/** A worker process ended before its worker ran, as often in a row as `maxBootFailures` allows; all were stopped. */
export class WorkerBootError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'WORKER_BOOT';

  constructor(
    /** The name of the process, such as `worker-2`. */
    readonly processName: string,
    /** The number of failed starts. */
    readonly tries: number,
    /** The end of the last try, such as `ended with code 1`. */
    readonly outcome: string,
    /** The error of the last try, if it reported one. */
    readonly error?: ReportedError,
  ) {
    const why = error ? `${error.name}: ${error.message.replace(/\.$/, '')}` : 'its output says why';
    super(`${processName} failed to boot ${tries} times; the last process ${outcome}: ${why}.`);
  }
}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'log', 'debug', 'verbose'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** One call of Nest's logger in a worker process. */
interface LogRecord {
  level: LogLevel;
  text: string;
  context?: string;
}

/** ASCII's record separator: no text of an app begins with it by accident. */
const SEPARATOR = '\u001e';

/**
 * Returns a record as a line of the process's output. So records keep their order beside other output, and are not lost
 * when the process dies.
 */
export function encodeRecord(record: LogRecord): string {
  return `${SEPARATOR}${JSON.stringify(record)}\n`;
}

/** Parses a line: plain text, a record, or a record after text without a line break. */
export function decodeLine(line: string): { text: string; record: LogRecord | undefined } {
  const at = line.indexOf(SEPARATOR);
  const record = at < 0 ? undefined : parseRecord(line.slice(at + 1));
  return record ? { text: line.slice(0, at), record } : { text: line, record: undefined };
}

function parseRecord(json: string): LogRecord | undefined {
  try {
    const { level, text, context } = JSON.parse(json) as Record<string, unknown>;
    return LOG_LEVELS.includes(level as LogLevel) && typeof text === 'string'
      ? { level: level as LogLevel, text, context: typeof context === 'string' ? context : undefined }
      : undefined;
  } catch {
    return undefined;
  }
}

/** The reply of a worker process: its metrics, or why it has none. */
type MetricsReply = { metrics: MetricList } | { error: string };

/** The questions for the metrics of one worker process that are open. */
export class MetricsQuestions {
  private readonly open = new Map<number, (reply: MetricsReply | undefined) => void>();
  private last = 0;

  /** @param ask sends the number of a question to the process */
  constructor(private readonly ask: (id: number) => void) {}

  /** Asks the process. Returns undefined without a reply in time. */
  async read(timeoutMs: number): Promise<MetricsReply | undefined> {
    const id = ++this.last;
    const reply = new Promise<MetricsReply | undefined>((resolve) => this.open.set(id, resolve));
    this.ask(id);
    const found = await within(systemClock, timeoutMs, reply, () => undefined);
    this.open.delete(id);
    return found;
  }

  /** Ends the open questions of a process that has ended. */
  abandon(): void {
    this.open.forEach((resolve) => resolve(undefined));
  }

  /** Takes the reply to a question. A late one is dropped. */
  take(id: number, reply: MetricsReply): void {
    this.open.get(id)?.(reply);
  }
}
