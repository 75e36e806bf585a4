import type { Subscriber } from 'rxjs';
import type { SafeLogger } from '../../queue/errors/safe-logger.js';
import { JobQueueError } from '../../queue/errors/errors.js';
import { onceAborted } from '../../queue/runtime/waits.js';
import type { StreamItem } from '../../queue/model/job-stream.js';
import { SafeObservable } from './job-events.js';

/** An item of a stream in the form of Nest's `MessageEvent`: its data is a text or an object. */
export interface StreamMessage {
  /** As of the item; `failed` in place of an error of the job. */
  type: StreamItem['type'] | 'failed';
  /** The id of the item, which a browser sends as `Last-Event-ID` when it connects again. Absent for `failed`. */
  id?: string;
  /**
   * A text chunk as it is, an object as it is, bytes in base64, and any other value as JSON. Of `failed` the code of the error, and not
   * its message, because that may quote the payload.
   */
  data: string | object;
}

/** The errors by which the stream of a job ends, so that a browser need not ask again. */
const ENDS = new Set(['JOB_FAILED', 'JOB_CANCELLED', 'JOB_NOT_FOUND', 'CODEC']);

/** Reads a stream until the signal aborts. */
type ReadStream<Data, Result> = (signal: AbortSignal | undefined) => AsyncIterable<StreamItem<Data, Result>>;

/**
 * The stream of a job: for `for await`, and as an Observable of messages for a route under `@Sse()`.
 *
 * Each loop and each subscriber reads by itself. A loop throws the error of a job. An Observable emits it as `failed`, and completes. It
 * completes also when the app closes, so that the browser connects to another process.
 *
 * @example for await (const item of jobs.stream<string>('chat', id)) if (item.type === 'chunk') process.stdout.write(item.data);
 * @example \@Sse('chats/:id') chat(\@Param('id') id: string, \@Headers('last-event-id') after?: string) { return this.jobs.stream('chat', id, { after }); }
 */
export class JobStream<Data = unknown, Result = unknown>
  extends SafeObservable<StreamMessage>
  implements AsyncIterable<StreamItem<Data, Result>>
{
  readonly #read: ReadStream<Data, Result>;
  readonly #signal: AbortSignal | undefined;

  /** @internal */
  constructor(logger: SafeLogger, read: ReadStream<Data, Result>, signal: AbortSignal | undefined) {
    const report = (error: unknown) =>
      logger.error('A listener of a job stream threw an error. Catch errors inside the listener', error);
    super(report, (subscriber) => follow(read, signal, subscriber));
    this.#read = read;
    this.#signal = signal;
  }

  /** Reads from the start, or behind the item of the option `after`. */
  [Symbol.asyncIterator](): AsyncIterator<StreamItem<Data, Result>, void, undefined> {
    return this.#read(this.#signal)[Symbol.asyncIterator]() as AsyncIterator<
      StreamItem<Data, Result>,
      void,
      undefined
    >;
  }
}

/** Emits the items of a stream until the subscriber leaves. */
function follow(
  read: ReadStream<unknown, unknown>,
  signal: AbortSignal | undefined,
  subscriber: Subscriber<StreamMessage>,
): () => void {
  const leaving = new AbortController();
  const unfollow = signal && onceAborted(signal, () => leaving.abort(signal.reason));
  if (signal?.aborted) leaving.abort(signal.reason);
  void emit(read(leaving.signal), subscriber);
  return () => {
    unfollow?.();
    leaving.abort(new Error('the subscriber has left'));
  };
}

async function emit(items: AsyncIterable<StreamItem>, subscriber: Subscriber<StreamMessage>): Promise<void> {
  try {
    for await (const { type, id, data } of items) {
      subscriber.next({ type, id, data: sendable(data) });
    }
    subscriber.complete();
  } catch (error) {
    const code = error instanceof JobQueueError ? error.code : '';
    if (ENDS.has(code)) {
      subscriber.next({ type: 'failed', data: { code } });
    }
    if (ENDS.has(code) || code === 'QUEUE_CLOSED') {
      subscriber.complete();
    } else {
      subscriber.error(error);
    }
  }
}

/** Returns data as an event of a server can carry it. Nest sends no number, and a browser ignores an event without data. */
function sendable(data: unknown): string | object {
  if (data instanceof Uint8Array) {
    return Buffer.from(data).toString('base64');
  }
  return typeof data === 'string' || (typeof data === 'object' && data !== null)
    ? data
    : JSON.stringify(data ?? null);
}
