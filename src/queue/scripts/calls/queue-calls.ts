import { decodeAnnouncedContent, type AnnouncedContent } from '../../codec/announced-content.js';
import type { ClaimedJob, JobRecord, JobStatus, QueueStats } from '../../model/job.js';
import type { PauseOptions } from '../../model/pause.js';
import { flagOf, listOf, oneOf, rowsOf, textOf, wholeNumberOf, wholeNumbersOf } from '../../replies/check-reply.js';
import { decodeClean } from '../../replies/decode-clean.js';
import { decodeJobs } from '../../replies/decode-job.js';
import { decodeStats } from '../../replies/decode-stats.js';
import type { DrainedOutcome } from '../../store/call-outcomes.js';
import type { FoundJobs, JobQuery } from '../../store/find-query.js';
import type { UnservedJobs } from '../../store/store-calls.js';
import type { CommandCall, ScriptCall } from '../../transport/script-runner.js';
import { WORKER_FORGOTTEN_MS, WORKER_SEEN_MS } from '../../runtime/lifetimes.js';
import { type CallContext, call } from '../script-call.js';

/** Returns the calls of `lua/queue`, one for each script; see the headers there. */
export function queueCalls({ keys, options }: CallContext) {
  return {
    stats(): ScriptCall<QueueStats> {
      return call('queueStats', keys.standard, [WORKER_SEEN_MS], (reply) => decodeStats(rowsOf(reply, 2)));
    },

    list(status: JobStatus, offset: number, limit: number, mostBytes?: number): ScriptCall<JobRecord[]> {
      return call('queueList', keys.standard, [status, offset, limit, mostBytes ?? ''], (reply) =>
        decodeJobs(keys.queue, listOf(reply)),
      );
    },

    find(status: JobStatus, query: JobQuery): ScriptCall<FoundJobs> {
      const { place, looks, skip, most, mostBytes, name, olderThanMs, newerThanMs, metadata = {} } = query;
      const filter = [name ?? '', olderThanMs ?? '', newerThanMs ?? '', ...Object.entries(metadata).flat()];
      return call(
        'queueFind',
        keys.standard,
        [status, place, looks, skip, most, mostBytes ?? '', ...filter],
        (reply) => {
          const [nextPlace, passed, ...jobs] = listOf(reply);
          const next = wholeNumberOf(nextPlace);
          return {
            jobs: decodeJobs(keys.queue, jobs),
            passed: wholeNumberOf(passed),
            next: next < 0 ? undefined : next,
          };
        },
      );
    },

    now(): CommandCall<number> {
      return {
        script: 'now',
        keys: [],
        args: [],
        send: (client) => client.time(),
        decode: (reply) => {
          const [seconds, microseconds] = wholeNumbersOf(reply, 2);
          return seconds! * 1_000 + Math.floor(microseconds! / 1_000);
        },
      };
    },

    clean(place: JobStatus | 'prioritized' | 'grouped', olderThanMs: number, limit: number, passed: number) {
      return call('queueClean', keys.standard, [place, olderThanMs, limit, passed], decodeClean);
    },

    pause({
      by = '',
      reason = '',
      forMs = '',
    }: Omit<PauseOptions, 'forMs'> & { forMs?: number | '' } = {}): ScriptCall<boolean> {
      return call('queuePause', keys.standard, [by, reason, forMs], flagOf);
    },

    extendPause(knownEndMs: number, forMs: number): ScriptCall<boolean> {
      return call('queueExtendPause', keys.standard, [knownEndMs, forMs], flagOf);
    },

    resume(): ScriptCall<boolean> {
      return call('queueResume', keys.standard, [], flagOf);
    },

    purge(limit: number): ScriptCall<{ deleted: number; more: boolean }> {
      const args = [limit, WORKER_SEEN_MS, WORKER_FORGOTTEN_MS, options.visibilityMs];
      return call('queuePurge', keys.standard, args, (reply) => {
        const [deleted, more] = wholeNumbersOf(reply, 2);
        return { deleted: deleted!, more: more === 1 };
      });
    },

    /** Returns whether there was a subscriber. */
    publish({ id, name }: Pick<ClaimedJob, 'id' | 'name'>, status: 'lost' | 'stuck'): ScriptCall<boolean> {
      return call('queuePublish', keys.standard, [id, name, status, options.events], flagOf);
    },

    /** Publishes that the queue is drained, if it is. */
    publishDrained(): ScriptCall<DrainedOutcome> {
      const { events } = options;
      return call('queuePublishDrained', keys.standard, [events], oneOf('published', 'busy', 'already'));
    },

    notePayload(): ScriptCall<void> {
      return call('queueNotePayload', keys.standard, [options.maxPayloadBytes], () => undefined);
    },

    content(): ScriptCall<AnnouncedContent | undefined> {
      return call('queueContent', keys.standard, [], (reply) =>
        decodeAnnouncedContent(reply === null ? null : textOf(reply)),
      );
    },

    /**
     * Returns the positions of the waiting jobs whose names no live worker handles. Also the number of live workers, and
     * some of their names.
     */
    unserved(jobs: readonly { id: string; name: string }[]): ScriptCall<UnservedJobs> {
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
  };
}
