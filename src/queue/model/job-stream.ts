// The stream of a job: chunks that its handler writes while it runs, for readers in any process.

/** How the chunks of a queue's jobs are kept. */
export interface StreamOptions {
  /**
   * The most bytes of a job's stream, as stored. Each chunk counts 32 bytes beside its JSON. Beyond that the oldest chunks leave, and a
   * reader who had not read them gets an item `truncated`.
   * @default 1,048,576
   */
  maxBytes?: number | undefined;
  /** The longest time for which a chunk is kept, in ms. The stream goes with the record of its job in any case. @default 86,400,000 */
  maxAgeMs?: number | undefined;
  /**
   * What a new attempt does to the chunks of earlier ones. `continue`: they stay, and a mark says that another attempt begins.
   * `restart`: they leave, and the mark says that the stream begins anew.
   * @default `continue`
   */
  onRetry?: 'continue' | 'restart' | undefined;
}

/** The default of these options. */
export const DEFAULT_STREAM = { maxBytes: 1_048_576, maxAgeMs: 86_400_000, onRetry: 'continue' } as const;

/** A chunk that a handler wrote: text, JSON or bytes. */
export interface StreamChunk<Data = unknown> {
  /** What the item is. */
  readonly type: 'chunk';
  /** Where the reader is after this item: the option `after` of a reader that goes on from here. */
  readonly id: string;
  /** The attempt that wrote it, from 1. */
  readonly attempt: number;
  /** The chunk. Bytes are a Buffer. */
  readonly data: Data;
}

/** The mark of a new attempt, after an error, a crash, a snooze or a shutdown. */
export interface StreamAttempt {
  /** What the item is. */
  readonly type: 'attempt';
  /** See {@link StreamChunk}. */
  readonly id: string;
  /** The attempt that writes from here on, from 1. */
  readonly attempt: number;
  /** `restart`: the chunks before are void, because the stream begins anew. */
  readonly data: { readonly attempt: number; readonly restart: boolean };
}

/** The mark of chunks that this reader misses: the stream has dropped them, or Redis has lost them. */
export interface StreamTruncation {
  /** What the item is. */
  readonly type: 'truncated';
  /** See {@link StreamChunk}. */
  readonly id: string;
  /** How many chunks and marks are missing. */
  readonly data: { readonly missing: number };
}

/** The result of the job, the last item of its stream. */
export interface StreamResult<Result = unknown> {
  /** What the item is. */
  readonly type: 'result';
  /** See {@link StreamChunk}. */
  readonly id: string;
  /** The result. Null where the handler returned none. */
  readonly data: Result;
}

/** An item of a job's stream. It has the form of a `MessageEvent` of Nest, so a route under `@Sse()` sends it as it is. */
export type StreamItem<Data = unknown, Result = unknown> =
  | StreamChunk<Data>
  | StreamAttempt
  | StreamTruncation
  | StreamResult<Result>;

/** The most bytes of a chunk, as stored. */
export const LONGEST_CHUNK = 262_144;

/** Before the first item of a stream. */
export const STREAM_START = '0-0';

/** The states of a job whose stream has ended. */
export const STREAM_END_STATUSES: readonly string[] = ['completed', 'failed', 'cancelled'];

/** A stored entry of a stream. */
export interface StreamEntry {
  readonly id: string;
  readonly attempt: number;
  /** `j`: JSON. `b`: bytes in base64. `a`: a new attempt begins. `r`: it starts the stream anew. */
  readonly kind: string;
  /** As stored: of an encrypted queue sealed. */
  readonly value: unknown;
}

/** The state of a job and the next entries of its stream. */
export interface StreamPage {
  readonly status: string;
  /** The id of the last entry; '' before the first. */
  readonly last: string;
  readonly more: boolean;
  /** The id of the last entry that was looked at; '' before the first. Another program may have added that entry. */
  readonly end: string;
  readonly entries: readonly StreamEntry[];
}
