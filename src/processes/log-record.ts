export const LOG_LEVELS = ['fatal', 'error', 'warn', 'log', 'debug', 'verbose'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** One call of Nest's logger in a worker process. */
export interface LogRecord {
  level: LogLevel;
  text: string;
  context?: string;
}

/** ASCII's record separator: no text of an app begins with it by accident. */
const SEPARATOR = '\u001e';

/**
 * A record as a line of the process's output, among whatever else is printed there: in order, and not lost when the
 * process dies right after it.
 */
export function encodeRecord(record: LogRecord): string {
  return `${SEPARATOR}${JSON.stringify(record)}\n`;
}

/** What a line holds: plain text, a record, or a record after text that did not end its line. */
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
