// A job, its attempts, its end and its stream in words, for the command line and the dashboard.
import type { JobOutcome } from '../queue/model/job-event.js';
import type { StreamItem } from '../queue/model/job-stream.js';
import type { AttemptRecord } from '../queue/model/job.js';
import type { JobWait } from '../queue/model/signal.js';
import { own } from '../queue/runtime/collections.js';
import { cut } from '../queue/runtime/cut.js';
import type { ShownJob, JobFacts } from '../queue/store/shown-content.js';
import { duration, count } from './words.js';

const LABEL_LENGTH = 120;
const MOST_FIELDS = 6;

/**
 * Returns the label of a job: the start of its payload.
 *
 * @param chosen returns the label that the app chose for a payload
 */
export function jobLabel({ payload }: ShownJob, chosen?: (payload: unknown) => string | undefined): string {
  switch (payload.is) {
    case 'left-out':
      return `payload of ${Math.ceil(payload.bytes / 1_024).toLocaleString('en')} KB`;
    case 'coded':
      return `payload that only the codec "${payload.codec}" can read`;
    case 'unshown':
      return payload.reason;
    case 'broken':
      return cut(chosen?.(undefined) ?? payload.text, LABEL_LENGTH);
    default:
      return cut(chosen?.(payload.value) ?? preview(payload.value), LABEL_LENGTH);
  }
}

function preview(payload: unknown): string {
  if (payload === undefined || payload === null) {
    return '';
  }
  if (typeof payload !== 'object') {
    return cut(typeof payload === 'string' ? payload : JSON.stringify(payload), LABEL_LENGTH);
  }
  const entries = Object.entries(payload).slice(0, MOST_FIELDS);
  return entries.map(([key, value]) => `${cut(key, 30)}: ${shortValue(value)}`).join(', ');
}

function shortValue(value: unknown): string {
  if (Array.isArray(value)) {
    return `[${value.length}]`;
  }
  return typeof value === 'object' && value !== null ? '{…}' : cut(String(value), 60);
}

/** The ends of an attempt, in the words of the command line and the dashboard. */
const ATTEMPT_WORDS: Readonly<Record<AttemptRecord['outcome'], string>> = {
  completed: 'completed',
  error: 'failed',
  crash: 'worker died',
  unhandled: 'no handler there',
  interruption: 'released at a shutdown',
  snooze: 'snoozed',
  rate_limited: 'met a rate limit',
  outage: 'refused by Redis',
  wait: 'began to wait',
};

/**
 * Returns how an attempt ended, and after which time: `failed after 2 s`. Of a crash, some processes could say
 * when they died: `worker died after 250 ms, brought back 12 s later`.
 */
export function attemptInWords(
  outcome: string,
  { startedMs, endedMs, diedMs }: { startedMs: number; endedMs: number; diedMs?: number | undefined },
): string {
  const words = own(ATTEMPT_WORDS, outcome) ?? outcome; // the hash may be of a later version
  const after = `${words} after ${duration(Math.max(0, (diedMs ?? endedMs) - startedMs))}`;
  if (outcome !== 'crash') {
    return after;
  }
  return diedMs === undefined
    ? `${words}, brought back after ${duration(Math.max(0, endedMs - startedMs))}`
    : `${after}, brought back ${duration(Math.max(0, endedMs - diedMs))} later`;
}

const OUTCOME_WORDS: Record<JobOutcome['status'], string> = {
  completed: 'It completed',
  failed: 'It failed',
  cancelled: 'It was cancelled',
};

/** Returns how a job ended whose record has gone. */
export function outcomeInWords({ status, at, attempts }: Pick<JobOutcome, 'status' | 'at' | 'attempts'>): string {
  const when = at.toISOString().replace('T', ' ').slice(0, 19);
  const tried =
    attempts === 0 ? 'before its first attempt' : `after ${count(attempts)} attempt${attempts === 1 ? '' : 's'}`;
  return `${OUTCOME_WORDS[status]} at ${when} UTC ${tried}; its record was dropped.`;
}

/**
 * Returns an item of a stream as text. A chunk that is no text is a line of JSON.
 *
 * @param shown returns a chunk as a window may show it
 */
export function streamText({ type, data }: StreamItem, shown: (chunk: unknown) => unknown): string {
  switch (type) {
    case 'attempt':
      return `\n— attempt ${data.attempt}${data.restart ? ', which starts anew' : ''} —\n`;
    case 'truncated':
      return `\n— ${data.missing} ${data.missing === 1 ? 'entry is' : 'entries are'} gone —\n`;
    default: {
      const chunk = shown(data instanceof Uint8Array ? `[${data.length} bytes]` : data);
      return typeof chunk === 'string' ? chunk : `${JSON.stringify(chunk) ?? 'null'}\n`;
    }
  }
}

/** Returns the open waits of a job that is parked for them, the oldest first. None for a job that runs, or whose attempt failed since. */
export function openWaits({
  status,
  waits = [],
  attemptLog,
}: Pick<JobFacts, 'status' | 'waits' | 'attemptLog'>): JobWait[] {
  const isParked = status === 'scheduled' && attemptLog.at(-1)?.outcome === 'wait';
  return isParked
    ? waits.filter(({ state }) => state === 'open').toSorted((a, b) => a.since.getTime() - b.since.getTime())
    : [];
}
