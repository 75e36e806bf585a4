// The verbs of a whole queue, for operators and for the reports of workers: the scripts of lua/queue.
import { decodeAnnouncedContent, mergedContent } from '../codec/announced-content.js';
import type { JobOutcome } from '../model/job-event.js';
import type { JobStatus, QueueStats, UnservedName } from '../model/job.js';
import type { LimitChanges } from '../model/limits.js';
import {
  flagOf,
  listOf,
  oneOf,
  rowsOf,
  textOf,
  wholeNumberOf,
  wholeNumbersOf,
  decodeClean,
} from '../replies/check-reply.js';
import { decodeJobs } from '../replies/decode-job.js';
import { WORKER_FORGOTTEN_MS, WORKER_SEEN_MS } from '../runtime/lifetimes.js';
import { limitChangeArguments } from '../scripts/encode-limits.js';
import type { FoundJobs, JobQuery } from '../store/job-queries.js';
import { UnexpectedReply } from '../store/store-call.js';
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

/** Decodes the reply of `lua/queue/stats.lua`, pairs of field and value. */
export function decodeStats(reply: readonly string[][]): QueueStats {
  const values = new Map(reply as [string, string][]);
  if (!values.has('now_ms') || !values.has('pending')) {
    throw new UnexpectedReply('the figures of a queue', reply.flat());
  }
  const numberOf = (field: string) => Number(values.get(field) ?? 0);
  const date = (field: string) => (numberOf(field) > 0 ? new Date(numberOf(field)) : null);
  const totals: Record<string, number> = {};
  for (const [field, value] of values) {
    if (field.endsWith('_total')) {
      totals[field.slice(0, -'_total'.length)] = Number(value);
    }
  }
  return {
    at: new Date(numberOf('now_ms')),
    pending: numberOf('pending'),
    ...(numberOf('held_by_groups') > 0 && { heldByGroups: numberOf('held_by_groups') }),
    ...(numberOf('awaiting_permit') > 0 && { awaitingPermit: numberOf('awaiting_permit') }),
    ...(numberOf('batches') > 0 && { batches: numberOf('batches') }),
    scheduled: numberOf('scheduled'),
    ...(numberOf('parked') > 0 && { parked: numberOf('parked') }),
    processing: numberOf('processing'),
    ...(numberOf('foreign_claims') > 0 && { foreignClaims: numberOf('foreign_claims') }),
    completed: numberOf('completed'),
    failed: numberOf('failed'),
    ...(numberOf('error_kinds') > 0 && { errorKinds: numberOf('error_kinds') }),
    cancelled: numberOf('cancelled'),
    oldestPendingAgeMs: numberOf('oldest_pending_age_ms'),
    oldestUnheldAgeMs: numberOf('oldest_unheld_age_ms'),
    expiredClaims: numberOf('expired_claims'),
    workers: numberOf('workers'),
    ...(date('last_worker_at_ms') && { lastWorkerAt: date('last_worker_at_ms')! }),
    unserved: decodeUnserved(String(values.get('unserved') ?? '')),
    maintainedAt: date('maintained_at_ms'),
    maintenanceOverdue: numberOf('maintenance_overdue') === 1,
    pausedAt: date('paused_at_ms'),
    ...said('pausedBy', values.get('paused_by')),
    ...said('pauseReason', values.get('pause_reason')),
    ...(date('paused_until_ms') && { pausedUntil: date('paused_until_ms')! }),
    ...(numberOf('remembered_ids') > 0 && {
      rememberedIds: {
        count: numberOf('remembered_ids'),
        ...(numberOf('remembered_ids_bound') > 0 && { bound: numberOf('remembered_ids_bound') }),
      },
    }),
    ...(numberOf('late_after_ms') > 0 && { lateAfterMs: numberOf('late_after_ms') }),
    ...(numberOf('schedules') > 0 && { schedules: numberOf('schedules') }),
    ...(date('schedules_overdue_since_ms') && { schedulesOverdueSince: date('schedules_overdue_since_ms')! }),
    ...(date('dropped_at_ms') && { droppedAt: date('dropped_at_ms')! }),
    totals,
  };
}

function said<Name extends string>(name: Name, value: string | undefined): { [Key in Name]?: string } {
  return (value ? { [name]: value } : {}) as { [Key in Name]?: string };
}

function decodeUnserved(listed: string): UnservedName[] {
  const names = listed === '' ? [] : (JSON.parse(listed) as { name: string; waiting_ms: number }[]);
  return names
    .map(({ name, waiting_ms: waitingMs }) => ({ name, waitingMs }))
    .toSorted((a, b) => b.waitingMs - a.waitingMs || a.name.localeCompare(b.name));
}

const LINE = /^(completed|failed|cancelled) (\d{1,15}) (\d{1,15}) (.*)$/s;

/** Decodes the lines of a job, of which the later end counts; see `lua/lib/audit/outcomes.lua`. Null without a line. */
export function decodeOutcome(queue: string, id: string, reply: unknown): JobOutcome | null {
  const lines = listOf(reply).filter((line) => line !== null);
  const [last] = lines
    .map((line) => decodeLine(queue, id, line))
    .toSorted((a, b) => b.at.getTime() - a.at.getTime());
  return last ?? null;
}

function decodeLine(queue: string, id: string, line: unknown): JobOutcome {
  const [, status, at, attempts, name] = LINE.exec(String(line)) ?? [];
  if (status === undefined) {
    throw new UnexpectedReply('the line of an ended job', line);
  }
  return {
    id,
    name: name || queue,
    queue,
    status: status as JobOutcome['status'],
    at: new Date(Number(at)),
    attempts: Number(attempts),
  };
}
