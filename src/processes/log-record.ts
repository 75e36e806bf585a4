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
  const record = at < 0 ? undefined : parse(line.slice(at + 1));
  return record ? { text: line.slice(0, at), record } : { text: line, record: undefined };
}

function parse(json: string): LogRecord | undefined {
  try {
    const { level, text, context } = JSON.parse(json) as Record<string, unknown>;
    return LOG_LEVELS.includes(level as LogLevel) && typeof text === 'string'
      ? { level: level as LogLevel, text, context: typeof context === 'string' ? context : undefined }
      : undefined;
  } catch {
    return undefined;
  }
}
