// The verbs of the history of minutes: the scripts of lua/history.
import { parseJson } from '../codec/stored-value.js';
import type { HistoryMark, StoredMinute, WorkerDeath } from '../model/history.js';
import { flagOf, listOf, textOf, wholeNumberOf } from '../replies/check-reply.js';
import { Histogram } from '../runtime/histogram.js';
import { HISTORY_KEPT_MS } from '../runtime/lifetimes.js';
import type { QueueKeys } from '../scripts/queue-keys.js';
import { by, inKey, number, optional, own, text, verb } from './verb.js';

type StreamEntry = [id: string, fields: string[]];

/** The stored history from `sinceMs` to `closedAtMs`. Both are undefined if nothing was recorded. */
export interface HistorySlice {
  nowMs: number;
  sinceMs: number | undefined;
  closedAtMs: number | undefined;
  entries: StoredMinute[];
  /** Only in the first slice. */
  marks: HistoryMark[];
  /** The counters of the queue when its last minute was closed. */
  closedTotals: Readonly<Record<string, number>>;
}

const keptMs = own(() => HISTORY_KEPT_MS);
const closing = ({ stats, historyOpen, history, historyMarks }: QueueKeys) => [
  stats,
  historyOpen,
  history,
  historyMarks,
];

export const HISTORY = {
  /** Returns whether the batch was new. @param given.counts pairs of field and count, see DurationCounts */
  addDurations: verb('historyAddDurations', {
    keys: ({ historyOpen, historyBatchPrefix }, { worker }) => [historyOpen, historyBatchPrefix + worker],
    args: {
      worker: inKey,
      batch: text,
      keptMs,
      counts: by((counts: readonly (string | number)[]) => counts, { itself: true }),
    },
    reply: flagOf,
  }),

  /**
   * Closes a minute with these figures. Returns in how many ms the next minute is over.
   *
   * @param given.version the version of the app that closes it; '' for none
   * @param given.gapMs an outage: no process maintained the queue for longer than this, in ms
   */
  closeMinute: verb('historyCloseMinute', {
    keys: closing,
    args: {
      pending: number,
      processing: number,
      oldestPendingAgeMs: number,
      version: text,
      gapMs: number,
      keptMs,
      begins: own(() => '0'),
    },
    reply: wholeNumberOf,
  }),

  /**
   * Returns the same, and 0 where the last minute is still to be closed.
   *
   * @param given.begins false to change nothing in a queue without a history
   */
  reportVersion: verb('historyCloseMinute', {
    keys: closing,
    args: {
      figures: own(() => ['', '', '']),
      version: text,
      gapMs: own(() => 0),
      keptMs,
      begins: optional(
        by((begins: boolean) => (begins ? '0' : '1')),
        '0',
      ),
    },
    reply: wholeNumberOf,
  }),

  /**
   * @param given.after the `id` of the entry after which to continue; undefined for the first slice
   * @param given.untilMs how far back the slices end, in ms; undefined to read up to now
   */
  read: verb('historyRead', {
    keys: ({ historyOpen, history, historyMarks }) => [historyOpen, history, historyMarks],
    args: { backMs: number, after: optional(text), most: number, untilMs: optional(number) },
    reply: (reply) => decodeSlice(listOf(reply)),
  }),
};

const COUNTED = ['enqueued', 'completed', 'failed', 'cancelled'] as const;

function decodeSlice([now, since, closedAt, entries, marks, counters]: unknown[]): HistorySlice {
  const totals = listOf(counters).map((total) => Number(textOf(total)));
  return {
    nowMs: wholeNumberOf(now),
    sinceMs: since === '' ? undefined : wholeNumberOf(since),
    closedAtMs: closedAt === '' ? undefined : wholeNumberOf(closedAt),
    entries: listOf(entries).map((entry) => decodeMinute(entryOf(entry))),
    marks: listOf(marks)
      .map((entry) => decodeMark(entryOf(entry)))
      .toReversed(),
    closedTotals: Object.fromEntries(COUNTED.map((name, i) => [name, totals[i]!])),
  };
}

function entryOf(reply: unknown): StreamEntry {
  const [id, fields] = listOf(reply);
  return [textOf(id), listOf(fields).map(textOf)];
}

function decodeMinute([id, fields]: StreamEntry): StoredMinute {
  const field = fieldsOf(fields);
  const [enqueued = 0, completed = 0, failed = 0, cancelled = 0, retried = 0, reclaimed = 0] = numbers(field('n'));
  const [pending = 0, processing = 0, oldestPendingAgeMs = 0] = numbers(field('d'));
  return {
    id,
    endMs: timeOf(id),
    minutes: Math.max(1, Number(field('s'))),
    counts: { enqueued, completed, failed, cancelled, retried, reclaimed },
    pending,
    processing,
    oldestPendingAgeMs,
    wait: Histogram.parse(field('w')),
    run: Histogram.parse(field('r')),
  };
}

function decodeMark([id, fields]: StreamEntry): HistoryMark {
  const field = fieldsOf(fields);
  const at = new Date(timeOf(id));
  switch (field('kind')) {
    case 'outage':
      return { kind: 'outage', at: new Date(Number(field('from'))), endedAt: at };
    case 'death':
      return { kind: 'death', at, death: deathOf(field) };
    default:
      return { kind: 'deploy', at, version: field('version') };
  }
}

function deathOf(field: (name: string) => string): WorkerDeath {
  const [names, ids] = ['names', 'ids'].map((name) => textsIn(field(name)));
  return {
    worker: field('worker'),
    how: field('how'),
    jobs: Number(field('jobs')),
    ran: ids!.map((id, i) => ({ id, name: names![i] ?? '' })),
  };
}

/** Returns the texts of a list. An empty list of Lua is encoded as an object. */
function textsIn(json: string): string[] {
  const { value } = parseJson(json);
  return Array.isArray(value) ? value.map(String) : [];
}

function fieldsOf(fields: readonly string[]): (name: string) => string {
  return (name) => fields[fields.indexOf(name) + 1] ?? '';
}

function timeOf(id: string): number {
  return Number(id.split('-')[0]);
}

function numbers(list: string): number[] {
  return list.split(',').map(Number);
}
