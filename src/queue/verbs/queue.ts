// The verbs of a whole queue, for operators and for the reports of workers: the scripts of lua/queue.
import { decodeAnnouncedContent, mergedContent } from '../codec/announced-content.js';
import type { JobStatus } from '../model/job.js';
import type { LimitChanges } from '../model/limits.js';
import { flagOf, listOf, oneOf, rowsOf, textOf, wholeNumberOf, wholeNumbersOf } from '../replies/check-reply.js';
import { decodeClean } from '../replies/decode-clean.js';
import { decodeJobs } from '../replies/decode-job.js';
import { decodeOutcome } from '../replies/decode-outcome.js';
import { decodeStats } from '../replies/decode-stats.js';
import { WORKER_FORGOTTEN_MS, WORKER_SEEN_MS } from '../runtime/lifetimes.js';
import { limitChangeArguments } from '../scripts/encode-limits.js';
import type { FoundJobs, JobQuery } from '../store/find-query.js';
import { by, command, each, fields, number, optional, own, text, verb, word } from './verb.js';

const seenMs = own(() => WORKER_SEEN_MS);
const events = own((context) => context.options.events);

export const QUEUE = {
  /** Returns the end of a job, which outlives its record; null without the option `outcomes`. */
  outcome: command('outcome', {
    args: { id: text },
    keys: ({ outcomesA, outcomesB }) => [outcomesA, outcomesB],
    send: (client, { id }, { outcomesA, outcomesB }) =>
      Promise.all([client.hget(outcomesA, id), client.hget(outcomesB, id)]),
    reply: (reply, { id }, { keys }) => decodeOutcome(keys.queue, id, reply),
  }),

  stats: verb('queueStats', { args: { seenMs }, reply: (reply) => decodeStats(rowsOf(reply, 2)) }),

  /** @param given.mostBytes leaves out longer payloads and the like */
  list: verb('queueList', {
    args: { status: word<JobStatus>(), offset: number, limit: number, mostBytes: optional(number) },
    reply: (reply, _, { keys }) => decodeJobs(keys.queue, listOf(reply)),
  }),

  find: verb('queueFind', {
    args: { status: word<JobStatus>(), query: by(queryArguments, { name: true, metadata: true }) },
    reply(reply, _, { keys }): FoundJobs {
      const [nextPlace, passed, ...jobs] = listOf(reply);
      const next = wholeNumberOf(nextPlace);
      return {
        jobs: decodeJobs(keys.queue, jobs),
        passed: wholeNumberOf(passed),
        next: next < 0 ? undefined : next,
      };
    },
  }),

  /** Returns the time of the store, in ms. */
  now: command('now', {
    keys: () => [],
    send: (client) => client.time(),
    reply(reply) {
      const [seconds, microseconds] = wholeNumbersOf(reply, 2);
      return seconds! * 1_000 + Math.floor(microseconds! / 1_000);
    },
  }),

  /** @param given.passed how many to pass over, as the last call returned */
  clean: verb('queueClean', {
    args: {
      place: word<JobStatus | 'prioritized' | 'grouped'>(),
      olderThanMs: number,
      limit: number,
      passed: number,
    },
    reply: decodeClean,
  }),

  purge: verb('queuePurge', {
    args: {
      limit: number,
      seenMs,
      forgottenMs: own(() => WORKER_FORGOTTEN_MS),
      visibilityMs: own((context) => context.options.visibilityMs),
    },
    reply(reply) {
      const [deleted, more] = wholeNumbersOf(reply, 2);
      return { deleted: deleted!, more: more === 1 };
    },
  }),

  /** Returns whether it was not paused before. */
  pause: verb('queuePause', {
    args: { by: optional(text), reason: optional(text), forMs: optional(number) },
    reply: flagOf,
  }),

  /** Gives a pause with this end a later one. Returns false if the pause has another end, or none. */
  extendPause: verb('queueExtendPause', {
    args: { knownEndMs: number, forMs: number },
    reply: flagOf,
  }),

  /** Ends a pause, and then changes these limits. Returns false if the queue was not paused; then nothing is changed. */
  resume: verb('queueResume', {
    args: { limits: optional(by<LimitChanges>(limitChangeArguments), []) },
    reply: flagOf,
  }),

  /** Returns the storage format that the last worker announced, or undefined. */
  content: verb('queueContent', {
    reply(reply, _, { announced }) {
      const [ofWorkers, ofProducers] = listOf(reply).map((content) =>
        decodeAnnouncedContent(content === null ? null : textOf(content)),
      );
      return (announced.content = mergedContent(ofWorkers, ofProducers));
    },
  }),

  /** Announces the `maxPayloadBytes` of a process that only enqueues, before it sends a giant payload. */
  notePayload: verb('queueNotePayload', {
    args: { maxPayloadBytes: own((context) => context.options.maxPayloadBytes) },
    repeat: 'same',
    reply: () => undefined,
  }),

  /** Returns the jobs that wait although no live worker handles their names, by their positions in the call. */
  unserved: verb('queueUnserved', {
    args: { seenMs, jobs: each(fields({ id: text, name: text })) },
    reply(reply) {
      const [waiting, workers, names] = listOf(reply);
      return {
        waiting: listOf(waiting).map((index) => wholeNumberOf(index) - 1),
        workers: wholeNumberOf(workers),
        names: listOf(names).map(textOf), // some of the names that the workers handle
      };
    },
  }),

  /** Returns whether there was a subscriber. */
  publish: verb('queuePublish', {
    args: { id: text, name: text, status: word<'lost' | 'stuck'>(), events },
    reply: flagOf,
  }),

  /** Publishes that the queue is drained, if it is. @param given.ofAll what all shards replied to lookDrained, separated by commas */
  publishDrained: verb('queuePublishDrained', {
    args: { events, ofAll: optional(text) },
    reply: oneOf('published', 'busy', 'already'),
  }),

  /** Returns how many jobs have ended until now, as text; undefined while jobs wait or run. */
  lookDrained: verb('queuePublishDrained', {
    args: { events, look: own(() => 'look') },
    reply(reply) {
      const ended = textOf(reply);
      return ended === 'busy' ? undefined : ended;
    },
  }),
};

function queryArguments(query: JobQuery): (string | number)[] {
  const { place, looks, skip, most, mostBytes, name, olderThanMs, newerThanMs, metadata = {} } = query;
  const filter = [name ?? '', olderThanMs ?? '', newerThanMs ?? '', ...Object.entries(metadata).flat()];
  return [place, looks, skip, most, mostBytes ?? '', ...filter];
}
