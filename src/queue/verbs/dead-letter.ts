// The verbs of dead letters: the scripts of lua/dead-letter.
import { z } from 'zod';
import { flagOf, listOf, oneOf, textOf, wholeNumberOf } from '../replies/check-reply.js';
import { decodeJob } from '../replies/decode-job.js';
import { MARKS_KEPT_MS, MOST_MARKS } from '../runtime/lifetimes.js';
import { slicesOf } from '../runtime/collections.js';
import type { DeadLetterSlice, MarkWords, KindCount } from '../store/job-queries.js';
import { by, each, fields, flag, number, optional, own, sealed, text, verb, word } from './verb.js';

const REDRIVEN = oneOf('redriven', 'known', 'missing');

export const DEAD_LETTERS = {
  /** Reads one slice of the dead letters, with the time of the server. */
  list: verb('deadLetterList', {
    args: {
      order: word<'oldest' | 'newest'>(),
      looks: number,
      most: number,
      name: optional(text),
      error: optional(by(asciiLowerCase, { itself: true })),
      olderThanMs: optional(number),
      newerThanMs: optional(number),
      untilMs: optional(number),
      place: optional(fields({ at: text, id: text }), ['', '']),
      withJobs: flag,
      mostBytes: optional(number),
      kind: optional(text),
    },
    reply(reply, _, { keys }): DeadLetterSlice {
      const [nowMs, lastAt, lastId, ...rest] = listOf(reply);
      const found: DeadLetterSlice['found'] = [];
      for (let i = 0; i < rest.length; i += 3) {
        const [id, at, hash] = [textOf(rest[i]), textOf(rest[i + 1]), listOf(rest[i + 2])];
        found.push({ id, at, job: hash.length > 0 ? decodeJob(keys.queue, id, hash) : undefined });
      }
      const next = textOf(lastAt) === '' ? undefined : { at: textOf(lastAt), id: textOf(lastId) };
      return { nowMs: wholeNumberOf(nowMs), next, found };
    },
  }),

  /** Returns the kinds of error with the time of the server, in ms. */
  kinds: verb('deadLetterKinds', {
    keys: ({ jobPrefix, errorKinds, errorMarks }) => [jobPrefix, errorKinds, errorMarks],
    reply(reply) {
      const [now, ...rest] = listOf(reply);
      const nowMs = Number(textOf(now));
      const kinds = slicesOf(rest, 4).flatMap(([kind, record, bytes, mark]) => {
        const known = decodeKind(nowMs, textOf(kind), textOf(record), wholeNumberOf(bytes));
        return known ? [{ ...known, ...markOf(textOf(mark)) }] : [];
      });
      return { nowMs, kinds };
    },
  }),

  /**
   * Keeps what people said of a kind of error; null forgets it. Returns false if there was nothing to forget.
   *
   * @param given.quietForMs how long no alert tells the kind; 0 for not at all
   */
  markKind: verb('deadLetterMarkKind', {
    keys: ({ errorMarks }) => [errorMarks],
    args: {
      kind: text,
      words: by((words: MarkWords | null) => (words === null ? '' : JSON.stringify(words)), {
        note: true,
        by: true,
      }),
      quietForMs: number,
      bounds: own(() => [MARKS_KEPT_MS, MOST_MARKS]),
    },
    reply: flagOf,
  }),

  /** Each letter has the time of failure as `list` told it, or none: then it is discarded whenever it failed. */
  discard: verb('deadLetterDiscard', {
    args: { letters: each(fields({ id: text, at: optional(text) })) },
    reply: wholeNumberOf,
  }),

  /** @param given.payload takes the place of the stored one */
  redrive: verb('deadLetterRedrive', {
    args: { payload: optional(sealed), isolated: optional(flag), ids: each(text) },
    repeat: 'same',
    reply: wholeNumberOf,
  }),

  /**
   * Redrives one as a new job of this id, and keeps it. Returns the id of the new job, or of an earlier
   * one that is still known. It is empty if the dead letter is missing.
   *
   * @param given.payload for the new job, instead of the stored one
   */
  redriveAsNew: verb('deadLetterRedriveAsNew', {
    args: { id: text, newId: text, payload: optional(sealed) },
    reply(reply) {
      const [outcome, known] = listOf(reply);
      return { outcome: REDRIVEN(outcome), id: textOf(known) };
    },
  }),
};

/** Converts as Lua does, which knows only ASCII letters. */
function asciiLowerCase(given: string): string {
  return given.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

const HOUR_MS = 3_600_000;
/** A time of more digits is no date. */
const RECORD = /^(\d{1,15}) (\d{1,15}) (\d{1,15}) (\d{1,15}) (\d{1,15}) (\d{1,15}) (.*)$/s;

/**
 * Decodes the record of a kind of error, see lua/lib/kind/change_kind. It counts by whole hours, so the last hour has a
 * share of the one before. Returns undefined for a record of another program, which the next death of the kind replaces.
 *
 * @param payloadBytes of the last job; -1 if that is no dead letter of the kind any more
 */
function decodeKind(nowMs: number, kind: string, record: string, payloadBytes: number): KindCount | undefined {
  const found = RECORD.exec(record);
  if (!found) {
    return undefined; // one such text must not keep the other kinds and queues from being shown
  }
  const [count, firstAtMs, lastAtMs, hour, inHour, before] = found.slice(1, 7).map(Number) as Six;
  const hoursAgo = Math.floor(nowMs / HOUR_MS) - hour;
  const left = 1 - (nowMs % HOUR_MS) / HOUR_MS;
  const lastHour = hoursAgo === 0 ? inHour + before * left : hoursAgo === 1 ? inHour * left : 0;
  return {
    kind,
    count,
    firstAtMs,
    lastAtMs,
    lastHour: Math.min(count, Math.round(lastHour)),
    ...(payloadBytes >= 0 && { sample: { id: found[7]!, payloadBytes } }),
  };
}

const wordsSchema = z.object({
  known: z.boolean().optional(),
  note: z.string().optional(),
  by: z.string().optional(),
});
const MARK = /^(\d{1,15}) (\d{1,15}) (\{.*\})$/s;

/** Decodes what people said of a kind, as a field. A text of another program or version counts as nothing. */
function markOf(stored: string): Pick<KindCount, 'mark'> {
  const [, at, quietUntil, json = ''] = MARK.exec(stored) ?? [];
  try {
    const words = wordsSchema.parse(JSON.parse(json));
    return {
      mark: { ...words, atMs: Number(at), ...(quietUntil !== '0' && { quietUntilMs: Number(quietUntil) }) },
    };
  } catch {
    return {};
  }
}

type Six = [number, number, number, number, number, number];
