import { flagOf, listOf, textOf, wholeNumberOf } from '../../replies/check-reply.js';
import { Histogram } from '../../runtime/histogram.js';
import { parseJson } from '../../codec/parse-json.js';
import type { HistoryMark, StoredMinute, WorkerDeath } from '../../model/history.js';
import type { HistorySlice, HistoryVerbs } from '../../store/store-calls.js';
import { HISTORY_KEPT_MS } from '../../runtime/lifetimes.js';
import { type CallContext, call } from '../script-call.js';

type StreamEntry = [id: string, fields: string[]];

/** Returns the calls of `lua/history`, one for each script; see HistoryVerbs and the headers there. */
export function historyCalls({ keys }: CallContext) {
  function close(args: (string | number)[]) {
    const { stats, historyOpen, history, historyMarks } = keys;
    return call('historyCloseMinute', [stats, historyOpen, history, historyMarks], args, wholeNumberOf);
  }

  return {
    addDurations(worker, batch, counts) {
      const { historyOpen, historyBatchPrefix } = keys;
      return call(
        'historyAddDurations',
        [historyOpen, historyBatchPrefix + worker],
        [batch, HISTORY_KEPT_MS, ...counts],
        flagOf,
      );
    },

    closeMinute: ({ pending, processing, oldestPendingAgeMs, version, gapMs }) =>
      close([pending, processing, oldestPendingAgeMs, version, gapMs, HISTORY_KEPT_MS, '0']),

    reportVersion: (version, begins = true) => close(['', '', '', version, 0, HISTORY_KEPT_MS, begins ? '0' : '1']),

    read(backMs, after, most) {
      const { historyOpen, history, historyMarks } = keys;
      return call('historyRead', [historyOpen, history, historyMarks], [backMs, after ?? '', most], (reply) =>
        decodeSlice(listOf(reply)),
      );
    },
  } satisfies HistoryVerbs;
}

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

function numbers(text: string): number[] {
  return text.split(',').map(Number);
}
