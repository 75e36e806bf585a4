import { decodeAnnouncedContent, mergedContent } from '../../codec/announced-content.js';
import { flagOf, listOf, oneOf, rowsOf, textOf, wholeNumberOf, wholeNumbersOf } from '../../replies/check-reply.js';
import { decodeClean } from '../../replies/decode-clean.js';
import { decodeJobs } from '../../replies/decode-job.js';
import { decodeStats } from '../../replies/decode-stats.js';
import type { StoreCalls } from '../../store/store-calls.js';
import { limitChangeArguments } from '../encode-limits.js';
import { WORKER_FORGOTTEN_MS, WORKER_SEEN_MS } from '../../runtime/lifetimes.js';
import { type CallContext, call, command } from '../script-call.js';

/** Returns the calls of `lua/queue`, one for each script; see StoreCalls and the headers there. */
export function queueCalls({ keys, options, announced }: CallContext) {
  return {
    stats: () => call('queueStats', keys.standard, [WORKER_SEEN_MS], (reply) => decodeStats(rowsOf(reply, 2))),

    list: (status, offset, limit, mostBytes?) =>
      call('queueList', keys.standard, [status, offset, limit, mostBytes ?? ''], (reply) =>
        decodeJobs(keys.queue, listOf(reply)),
      ),

    find(status, query) {
      const { place, looks, skip, most, mostBytes, name, olderThanMs, newerThanMs, metadata = {} } = query;
      const filter = [name ?? '', olderThanMs ?? '', newerThanMs ?? '', ...Object.entries(metadata).flat()];
      const args = [status, place, looks, skip, most, mostBytes ?? '', ...filter];
      return call('queueFind', keys.standard, args, (reply) => {
        const [nextPlace, passed, ...jobs] = listOf(reply);
        const next = wholeNumberOf(nextPlace);
        return {
          jobs: decodeJobs(keys.queue, jobs),
          passed: wholeNumberOf(passed),
          next: next < 0 ? undefined : next,
        };
      });
    },

    now: () =>
      command(
        'now',
        [],
        (client) => client.time(),
        (reply) => {
          const [seconds, microseconds] = wholeNumbersOf(reply, 2);
          return seconds! * 1_000 + Math.floor(microseconds! / 1_000);
        },
      ),

    clean: (place, olderThanMs, limit, passed) =>
      call('queueClean', keys.standard, [place, olderThanMs, limit, passed], decodeClean),

    pause: ({ by = '', reason = '', forMs } = {}) =>
      call('queuePause', keys.standard, [by, reason, forMs ?? ''], flagOf),

    extendPause: (knownEndMs, forMs) => call('queueExtendPause', keys.standard, [knownEndMs, forMs], flagOf),

    resume: (limits?) => call('queueResume', keys.standard, limits ? limitChangeArguments(limits) : [], flagOf),

    purge(limit) {
      const args = [limit, WORKER_SEEN_MS, WORKER_FORGOTTEN_MS, options.visibilityMs];
      return call('queuePurge', keys.standard, args, (reply) => {
        const [deleted, more] = wholeNumbersOf(reply, 2);
        return { deleted: deleted!, more: more === 1 };
      });
    },

    publish: ({ id, name }, status) =>
      call('queuePublish', keys.standard, [id, name, status, options.events], flagOf),

    publishDrained: () =>
      call('queuePublishDrained', keys.standard, [options.events], oneOf('published', 'busy', 'already')),

    notePayload: () => call('queueNotePayload', keys.standard, [options.maxPayloadBytes], () => undefined),

    content: () =>
      call('queueContent', keys.standard, [], (reply) => {
        const [ofWorkers, ofProducers] = listOf(reply).map((text) =>
          decodeAnnouncedContent(text === null ? null : textOf(text)),
        );
        return (announced.content = mergedContent(ofWorkers, ofProducers));
      }),

    unserved(jobs) {
      const args = [WORKER_SEEN_MS, ...jobs.flatMap(({ id, name }) => [id, name])];
      return call('queueUnserved', keys.standard, args, (reply) => {
        const [waiting, workers, names] = listOf(reply);
        return {
          waiting: listOf(waiting).map((index) => wholeNumberOf(index) - 1),
          workers: wholeNumberOf(workers),
          names: listOf(names).map(textOf),
        };
      });
    },
  } satisfies Partial<StoreCalls>;
}
