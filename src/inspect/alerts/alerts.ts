// Decides which changes of a queue are told, from what was told before.
import { z } from 'zod';
import type { ErrorKind } from '../../queue/dead-letters/error-kinds.js';
import { oneLine } from '../../queue/errors/one-line.js';
import type { QueueVerdict, Severity } from '../queue-signs.js';
import { count } from '../words.js';

/** An incident has ended when the queue needed nothing for this long, in ms. So a queue that flaps has one incident. */
const CALM_MS = 60_000;
/** A kind of error that comes again within this time is not new, in ms. */
const KIND_REMEMBERED_MS = 86_400_000;
/** The most kinds that are remembered. A queue counts 101 at a time. */
const MOST_KINDS = 300;
const LONGEST_ERROR = 200;

/** A change of a queue that somebody should know of. */
export interface VerdictNotice {
  /**
   * The change. `began`: the queue needs action. `worse`: it now needs action at once. `ended`: it needs none any more.
   * `new-error`: jobs died of errors that this queue did not have in the last day.
   */
  event: 'began' | 'worse' | 'ended' | 'new-error';
  /** The name of the queue. */
  queue: string;
  /** The whole notice in one line, such as the text of a message. */
  text: string;
  /** The verdict on the queue now, as dashboard, health and command line show it. */
  verdict: QueueVerdict;
  /** The time of the verdict, by the clock of Redis. */
  at: Date;
  /** The begin of the incident. Absent for `new-error`. */
  since?: Date;
  /** The new kinds of error, the most frequent first. Absent for the other events. */
  kinds?: readonly NewErrorKind[];
}

/** A kind of error that is new in a queue. */
export type NewErrorKind = Pick<ErrorKind, 'kind' | 'count' | 'firstAt' | 'error'>;

/** The facts that are compared with the told ones. */
export interface AlertFacts {
  nowMs: number;
  verdict: QueueVerdict;
  kinds: readonly ErrorKind[];
}

const recordSchema = z.object({
  incident: z
    .object({
      severity: z.enum(['warning', 'critical']),
      sinceMs: z.number(),
      /** The time since which the queue needs nothing. */
      calmMs: z.number().optional(),
    })
    .optional(),
  /** The times when kinds of error were told, by kind. */
  kinds: z.record(z.string(), z.number()).default({}),
});

/** What was told of a queue. */
type AlertRecord = z.infer<typeof recordSchema>;

/** Reads a record. One of another version or program counts as none. */
export function parseRecord(text: string): AlertRecord {
  try {
    return recordSchema.parse(JSON.parse(text));
  } catch {
    return { kinds: {} };
  }
}

/** Returns the steps to take in their order: what to tell, if anything, and the record to keep after it. */
export function alertsOf(told: AlertRecord, facts: AlertFacts): { notice?: VerdictNotice; record: AlertRecord }[] {
  const { notice, incident } = incidentOf(told.incident, facts);
  const fresh = newKinds(told.kinds, facts);
  const remembered = Object.entries(told.kinds).filter(([, atMs]) => facts.nowMs - atMs < KIND_REMEMBERED_MS);
  const all = [...remembered, ...fresh.map(({ kind }) => [kind, facts.nowMs] as const)].slice(-MOST_KINDS);
  const recordWith = (kinds: readonly (readonly [string, number])[]): AlertRecord => ({
    ...(incident && { incident }),
    kinds: Object.fromEntries(kinds),
  });
  return [
    { ...(notice && { notice }), record: recordWith(remembered) },
    ...(fresh.length > 0 ? [{ notice: newError(facts, fresh), record: recordWith(all) }] : []),
  ];
}

function incidentOf(
  told: AlertRecord['incident'],
  { nowMs, verdict }: AlertFacts,
): { notice?: VerdictNotice; incident: AlertRecord['incident'] } {
  const { severity } = verdict;
  const notice = (event: VerdictNotice['event'], sinceMs: number): VerdictNotice => ({
    event,
    queue: verdict.queue,
    text: incidentText(event, verdict),
    verdict,
    at: new Date(nowMs),
    since: new Date(sinceMs),
  });
  if (!needsAction(severity)) {
    const calmMs = told?.calmMs ?? nowMs;
    const isOver = told !== undefined && nowMs - calmMs >= CALM_MS;
    return isOver
      ? { notice: notice('ended', told.sinceMs), incident: undefined }
      : { incident: told && { ...told, calmMs } };
  }
  if (!told) {
    return { notice: notice('began', nowMs), incident: { severity, sinceMs: nowMs } };
  }
  const { sinceMs } = told;
  return severity === 'critical' && told.severity === 'warning'
    ? { notice: notice('worse', sinceMs), incident: { severity, sinceMs } }
    : { incident: { severity: told.severity, sinceMs } };
}

function needsAction(severity: Severity): severity is 'warning' | 'critical' {
  return severity === 'warning' || severity === 'critical';
}

function newKinds(told: AlertRecord['kinds'], { nowMs, kinds }: AlertFacts): ErrorKind[] {
  return kinds.filter(({ kind, isNew }) => isNew && nowMs - (told[kind] ?? -Infinity) >= KIND_REMEMBERED_MS);
}

function incidentText(event: VerdictNotice['event'], { queue, summary, cause, next }: QueueVerdict): string {
  if (event === 'ended') {
    return `${queue} is well again: ${summary}`;
  }
  return [`${queue} ${summary}`, cause && `Cause: ${cause}`, next && `Next: ${next}`].filter(Boolean).join('. ');
}

function newError({ nowMs, verdict }: AlertFacts, fresh: readonly ErrorKind[]): VerdictNotice {
  const kinds = fresh.map(({ kind, count: died, firstAt, error }) => ({ kind, count: died, firstAt, error }));
  const [worst] = kinds;
  const others = kinds.length > 1 ? ` (and ${count(kinds.length - 1)} more new kinds)` : '';
  const words = oneLine(worst!.error ?? worst!.kind, LONGEST_ERROR);
  return {
    event: 'new-error',
    queue: verdict.queue,
    text: `${verdict.queue}: a new error, ${count(worst!.count)} died: ${words}${others}`,
    verdict,
    at: new Date(nowMs),
    kinds,
  };
}
