// The verbs of streams: the scripts of lua/stream.
import type { Sealed } from '../codec/sealed.js';
import { isEncoded, parseJson } from '../codec/stored-value.js';
import type { StreamEntry, StreamPage } from '../model/job-stream.js';
import { flagOf, listOf, rowsOf, textOf, wholeNumberOf } from '../replies/check-reply.js';
import type { QueueKeys } from '../scripts/queue-keys.js';
import { by, number, own, text, verb } from './verb.js';

/** Chunks of one attempt, in their order. */
export type StreamWrite = {
  readonly claim: { readonly id: string; readonly token: string; readonly fence: number; readonly attempt: number };
  /** The number of the first of these chunks in its attempt, from 1. */
  readonly first: number;
  readonly chunks: readonly StoredChunk[];
};

export type StoredChunk = { readonly kind: 'j' | 'b'; readonly json: Sealed };

/** The time between two looks whether the job of a stream is still there, in ms. */
const LOOK_EVERY_MS = 15_000;

/** The most entries, and bytes, of a page. */
const MOST_ENTRIES = 500;
const MOST_BYTES = 262_144;

const withStreams = ({ jobPrefix, streamPrefix, streams }: QueueKeys) => [jobPrefix, streamPrefix, streams];

export const STREAMS = {
  /** Appends chunks of running jobs. Returns the positions, from 0, of those whose claims are lost. */
  write: verb('streamWrite', {
    keys: withStreams,
    args: {
      publish: own((context) => context.options.events),
      bounds: own(({ options: { stream } }) => [
        stream.maxBytes,
        stream.maxAgeMs,
        stream.onRetry === 'restart' ? '1' : '',
      ]),
      writes: by(
        (writes: readonly StreamWrite[]) =>
          writes.flatMap(({ claim: { id, token, fence, attempt }, first, chunks }) => [
            id,
            token,
            fence,
            attempt,
            first,
            chunks.length,
            ...chunks.flatMap(({ kind, json }) => [kind, json]),
          ]),
        { id: true, token: true },
      ),
    },
    repeat: 'same',
    reply: (reply) => (reply === null ? [] : listOf(reply).map((position) => wholeNumberOf(position) - 1)),
  }),

  /** Returns entries of a job's stream, the first of which may have this number; null for an unknown job. */
  read: verb('streamRead', {
    keys: ({ jobPrefix, streamPrefix }) => [jobPrefix, streamPrefix],
    args: { id: text, from: number, most: own(() => MOST_ENTRIES), mostBytes: own(() => MOST_BYTES) },
    repeat: 'same',
    reply(reply): StreamPage | null {
      if (reply === null) {
        return null;
      }
      const [status, last, more, ...fields] = listOf(reply);
      const rows = rowsOf(fields, 3);
      // An entry that only another program can have written is missing: readers see a gap, and no wrong chunk.
      const entries = rows.flatMap(([id, field, json]) => entryOf(id!, field!, parseJson(json).value) ?? []);
      const hasMore = flagOf(more);
      const end = hasMore ? rows.at(-1)![0]! : textOf(last);
      return { status: textOf(status), last: textOf(last), more: hasMore, end, entries };
    },
  }),

  /** Deletes streams whose jobs are gone. Returns whether more may be left. */
  tidy: verb('streamTidy', {
    keys: withStreams,
    args: { limit: number, everyMs: own(() => LOOK_EVERY_MS) },
    reply: flagOf,
  }),
};

/** Returns an entry; undefined for one that no script has written. @param field the attempt and the kind, such as `1j` */
export function entryOf(id: string, field: string, value: unknown): StreamEntry | undefined {
  const [, attempt, kind] = /^([1-9]\d{0,14})([jbar])$/.exec(field) ?? [];
  const isValue = kind === 'b' ? typeof value === 'string' || isEncoded(value) : value !== undefined;
  return /^[1-9]\d{0,14}-\d{1,15}$/.test(id) && attempt !== undefined && isValue
    ? { id, attempt: Number(attempt), kind: kind!, value }
    : undefined;
}
