import { flagOf, listOf, oneOf, textOf, wholeNumberOf } from '../../replies/check-reply.js';
import { MARKS_KEPT_MS, MOST_MARKS } from '../../runtime/lifetimes.js';
import { decodeKind, markOf } from '../../replies/decode-kind.js';
import { decodeJob } from '../../replies/decode-job.js';
import type { DeadLetterSlice, DeadLetterVerbs } from '../../store/store-calls.js';
import { type CallContext, call } from '../script-call.js';

const REDRIVEN = oneOf('redriven', 'known', 'missing');

/** Returns the calls of `lua/dead-letter`, one for each script; see DeadLetterVerbs and the headers there. */
export function deadLetterCalls({ keys }: CallContext) {
  return {
    list(query, looks, most, withJobs) {
      const { order, name = '', error = '', olderThanMs = '', newerThanMs = '', untilMs = '', place } = query;
      const { mostBytes = '', kind = '' } = query;
      const filter = [name, asciiLowerCase(error), olderThanMs, newerThanMs, untilMs];
      const args = [
        order,
        looks,
        most,
        ...filter,
        place?.at ?? '',
        place?.id ?? '',
        withJobs ? '1' : '0',
        mostBytes,
        kind,
      ];
      return call('deadLetterList', keys.standard, args, (reply) => {
        const [nowMs, lastAt, lastId, ...rest] = listOf(reply);
        const found: DeadLetterSlice['found'] = [];
        for (let i = 0; i < rest.length; i += 3) {
          const [id, at, hash] = [textOf(rest[i]), textOf(rest[i + 1]), listOf(rest[i + 2])];
          found.push({ id, at, job: hash.length > 0 ? decodeJob(keys.queue, id, hash) : undefined });
        }
        const next = textOf(lastAt) === '' ? undefined : { at: textOf(lastAt), id: textOf(lastId) };
        return { nowMs: wholeNumberOf(nowMs), next, found };
      });
    },

    kinds: () =>
      call('deadLetterKinds', [keys.jobPrefix, keys.errorKinds, keys.errorMarks], [], (reply) => {
        const [now, ...rest] = listOf(reply);
        const nowMs = Number(textOf(now));
        const kinds = Array.from({ length: rest.length / 4 }, (_, i) => {
          const [kind, record, bytes, mark] = rest.slice(4 * i);
          return {
            ...decodeKind(nowMs, textOf(kind), textOf(record), wholeNumberOf(bytes)),
            ...markOf(textOf(mark)),
          };
        });
        return { nowMs, kinds };
      }),

    markKind: (kind, words, quietForMs) =>
      call(
        'deadLetterMarkKind',
        [keys.errorMarks],
        [kind, words === null ? '' : JSON.stringify(words), quietForMs, MARKS_KEPT_MS, MOST_MARKS],
        flagOf,
      ),

    discard: (letters) =>
      call(
        'deadLetterDiscard',
        keys.standard,
        letters.flatMap(({ id, at = '' }) => [id, at]),
        wholeNumberOf,
      ),

    redrive: (ids, payload?, isolated?) =>
      call(
        'deadLetterRedrive',
        keys.standard,
        [payload ?? '', isolated === true ? '1' : '', ...ids],
        wholeNumberOf,
      ),

    redriveAsNew: (id, newId, payload?) =>
      call('deadLetterRedriveAsNew', keys.standard, [id, newId, payload ?? ''], (reply) => {
        const [outcome, known] = listOf(reply);
        return { outcome: REDRIVEN(outcome), id: textOf(known) };
      }),
  } satisfies DeadLetterVerbs;
}

/** Converts as Lua does, which knows only ASCII letters. */
function asciiLowerCase(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}
