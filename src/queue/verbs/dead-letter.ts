// The verbs of dead letters: the scripts of lua/dead-letter.
import { flagOf, listOf, oneOf, textOf, wholeNumberOf } from '../replies/check-reply.js';
import { decodeKind, markOf } from '../replies/decode-kind.js';
import { decodeJob } from '../replies/decode-job.js';
import { MARKS_KEPT_MS, MOST_MARKS } from '../runtime/lifetimes.js';
import { slicesOf } from '../runtime/collections.js';
import type { DeadLetterSlice, MarkWords } from '../store/dead-letter-query.js';
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
