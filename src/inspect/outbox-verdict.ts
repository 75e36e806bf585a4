import { setTimeout as sleep } from 'node:timers/promises';
import type { OutboxSigns, OutboxWriter } from '../queue/store/outbox-writer.js';
import type { Severity } from './queue-signs.js';
import { LONG_WAIT_MS, PATIENCE_MS } from './rule.js';
import { count, duration } from './words.js';

/** One sentence on the jobs of committed transactions that are not in their queues yet. */
export interface OutboxVerdict {
  /** The severity of the problem. */
  severity: Severity;
  /** The sentence. @example "the outbox waits: 1,204 rows, the oldest for 3 min" */
  summary: string;
  /** The cause. Absent where none is known. */
  cause?: string;
  /** The next step. Absent where there is nothing to do. */
  next?: string;
}

const LOOK_AT_DATABASE = 'look at its database; enqueues in a transaction fail until then';
const REMOVE_THE_CAUSE = 'remove the cause; committed rows stay until then';
const RUN_A_RELAY = 'run a process whose JobOutboxModule has the relay on, and read its log';
/** Each command runs as it is, where `DATABASE_URL` names the database. */
const READ_ROWS = 'read their errors: `npx nest-job-queue outbox list`';

/** A shorter obstacle needs no action, in ms. */
const OBSTACLE_MS = 30_000;
const UNREADABLE = 'the outbox cannot be read';

/** Returns whether a verdict is about the database, which may be slow or away for a moment. */
export function isUnread({ summary }: OutboxVerdict): boolean {
  return summary === UNREADABLE;
}

type Rule = (signs: OutboxSigns) => OutboxVerdict | undefined;

/** The worst first. */
const RULES: readonly Rule[] = [waitsFor, unmoved, failed, refused];

/** Says in words whether rows of the outbox reach their queues. Health and dashboard both use it. */
export function outboxVerdictOf(signs: OutboxSigns): OutboxVerdict {
  for (const rule of RULES) {
    const found = rule(signs);
    if (found) {
      return found;
    }
  }
  return { severity: 'ok', summary: `the outbox flows: ${rows(signs.waiting)}` };
}

/** Returns the verdict in one sentence, with its cause. */
export function outboxSentence({ summary, cause }: OutboxVerdict): string {
  return cause === undefined ? summary : `${summary}: ${cause}`;
}

/**
 * Reads the outbox of an app and judges it. Undefined for an app without one, and for one that may only write rows. Never
 * rejects.
 *
 * @param mostMs how long its database may take
 */
export async function readOutboxVerdict(
  outbox: Pick<OutboxWriter, 'signs'> | undefined,
  mostMs: number,
): Promise<OutboxVerdict | undefined> {
  if (!outbox?.signs) {
    return undefined;
  }
  const late = new AbortController();
  try {
    const signs = await Promise.race([
      outbox.signs(),
      sleep(mostMs, 'late' as const, { ref: false, signal: late.signal }),
    ]);
    return signs === 'late'
      ? unreadable(`its database gave no answer within ${duration(mostMs)}`)
      : signs && outboxVerdictOf(signs);
  } catch (error) {
    return unreadable((error as Error).message);
  } finally {
    late.abort();
  }
}

function unreadable(cause: string): OutboxVerdict {
  return {
    severity: 'critical',
    summary: UNREADABLE,
    cause,
    next: LOOK_AT_DATABASE,
  };
}

/**
 * Finds an obstacle that the relay of this process has met. A short one needs no action, such as a failover of Redis. The
 * age of the oldest row does not say how long the obstacle lasts.
 */
function waitsFor(signs: OutboxSigns): OutboxVerdict | undefined {
  const { waiting, oldestAgeMs, trouble, troubledForMs = oldestAgeMs } = signs;
  const forMs = Math.min(oldestAgeMs, troubledForMs);
  return waiting > 0 && trouble !== undefined
    ? {
        severity: severityAfter(forMs),
        summary: `the outbox waits: ${rows(waiting)}, the oldest for ${duration(oldestAgeMs)}`,
        cause: trouble,
        next: REMOVE_THE_CAUSE,
      }
    : undefined;
}

function severityAfter(ms: number): Severity {
  return ms > LONG_WAIT_MS ? 'critical' : ms > OBSTACLE_MS ? 'warning' : 'notice';
}

/** Finds rows that no relay takes, here or in another process. */
function unmoved({ waiting, setAside, oldestAgeMs }: OutboxSigns): OutboxVerdict | undefined {
  return setAside === 0 && waiting > 0 && oldestAgeMs > PATIENCE_MS
    ? {
        severity: severityAfter(oldestAgeMs),
        summary: `the outbox waits: ${rows(waiting)}, the oldest for ${duration(oldestAgeMs)}`,
        cause: 'no relay moves them',
        next: RUN_A_RELAY,
      }
    : undefined;
}

function failed({ failed: lost }: OutboxSigns): OutboxVerdict | undefined {
  return lost > 0
    ? {
        severity: 'warning',
        summary: `${rows(lost)} of the outbox failed for good`,
        next: `${READ_ROWS}; then \`npx nest-job-queue outbox retry\` sends them again, and \`npx nest-job-queue outbox discard <row>\` deletes one`,
      }
    : undefined;
}

function refused({ setAside, oldestAgeMs }: OutboxSigns): OutboxVerdict | undefined {
  return setAside > 0
    ? {
        severity: oldestAgeMs > LONG_WAIT_MS ? 'warning' : 'notice',
        summary: `${rows(setAside)} of the outbox ${setAside === 1 ? 'was' : 'were'} refused, and will be sent again`,
        next: READ_ROWS,
      }
    : undefined;
}

function rows(value: number): string {
  return `${count(value)} ${value === 1 ? 'row' : 'rows'}`;
}
