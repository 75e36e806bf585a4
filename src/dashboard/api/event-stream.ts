import { PassThrough, type Transform } from 'node:stream';
import { constants, createGzip } from 'node:zlib';
import type { Observable } from 'rxjs';

/** An event of a stream, as EventSource reads it. */
export interface ServerEvent {
  id?: string;
  type?: string;
  retry?: number;
  data: string;
}

/** The headers of a stream. Proxies must neither keep it nor gather its events. */
const STREAM_HEADERS = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'private, no-cache, no-store, must-revalidate, max-age=0, no-transform',
  'X-Accel-Buffering': 'no',
  Vary: 'Accept-Encoding',
};

export function streamHeaders(isZipped: boolean): Record<string, string> {
  return { ...STREAM_HEADERS, ...(isZipped && { 'Content-Encoding': 'gzip' }) };
}

/**
 * Writes events as the body of a response, until its reader leaves. Each leaves the compressor at once.
 *
 * @param begin returns the events. It gets a function that says whether the reader has taken the earlier ones
 */
export function bodyOf(isZipped: boolean, begin: (isDrained: () => boolean) => Observable<ServerEvent>): Transform {
  const body = isZipped ? createGzip({ flush: constants.Z_SYNC_FLUSH }) : new PassThrough();
  const events = begin(() => !body.writableNeedDrain).subscribe({
    next: (event) => body.write(textOf(event)),
    error: (error: Error) => body.destroy(error),
    complete: () => body.end(),
  });
  body.once('close', () => events.unsubscribe());
  return body;
}

function textOf({ id, type, retry, data }: ServerEvent): string {
  const fields = Object.entries({ id, event: type, retry, data }).filter(([, value]) => value !== undefined);
  return `${fields.map(([name, value]) => `${name}: ${value}\n`).join('')}\n`;
}
