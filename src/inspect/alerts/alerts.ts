// Decides which changes of a queue are told, from what was told before.
import { z } from 'zod';
import type { ErrorKind } from '../../queue/dead-letters/error-kinds.js';
import { JOINED } from '../../queue/errors/error-kind.js';
import { oneLine } from '../../queue/errors/one-line.js';
import type { QueueVerdict, Severity } from '../queue-signs.js';
import type { OutboxVerdict } from '../servers/outbox-verdict.js';
import { capitalised, count } from '../words.js';

/** An incident has ended when the queue needed nothing for this long, in ms. So a queue that flaps has one incident. */
const CALM_MS = 60_000;
/** A kind of error that comes again within this time is not new, in ms. */
const KIND_REMEMBERED_MS = 86_400_000;
/** The most kinds that are remembered. A queue counts 101 at a time. */
const MOST_KINDS = 300;
const LONGEST_ERROR = 200;
/** A flood of new kinds has ended when none joined it for this long, in ms; see lua/lib/kind/change_kind.lua. */
const FLOOD_ENDS_MS = 600_000;

/** A change of a queue, or of the outbox, that somebody should know of. */
export interface VerdictNotice {
  /**
   * The change. `began`: the queue or the outbox needs action. `worse`: it now needs action at once. `ended`: it needs none
   * any more. `new-error`: jobs died of errors that this queue did not have in the last day.
   */
  event: 'began' | 'worse' | 'ended' | 'new-error';
  /** The name of the queue. Absent for a notice on the outbox. */
  queue?: string;
  /** The whole notice in one line, such as the text of a message. */
  text: string;
  /** The verdict on the queue or the outbox now, as dashboard, health and command line show it. */
  verdict: QueueVerdict | OutboxVerdict;
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

/** What was told of a queue, or of the outbox. */
export type AlertRecord = z.infer<typeof recordSchema>;

/** What to tell, if anything, and the record to keep after it. */
export interface AlertStep {
  notice?: VerdictNotice;
  record: AlertRecord;
}

/** Reads a record. One of another version or program counts as none. */
export function parseRecord(text: string): AlertRecord {
  try {
    return recordSchema.parse(JSON.parse(text));
  } catch {
    return { kinds: {} };
  }
}

/** Returns the steps to take, in their order. */
export function alertsOf(told: AlertRecord, facts: AlertFacts): AlertStep[] {
  const { notice, incident } = incidentOf(told.incident, facts.nowMs, subjectOf(facts.verdict));
  const fresh = newKinds(told.kinds, facts);
  const isFlooded = isTellingFlood(told.kinds, facts);
  const remembered = Object.entries(told.kinds).filter(([, atMs]) => facts.nowMs - atMs < KIND_REMEMBERED_MS);
  const all = [...remembered, ...fresh.map(({ kind }) => [kind, facts.nowMs] as const)].slice(-MOST_KINDS);
  const recordWith = (kinds: readonly (readonly [string, number])[]): AlertRecord => ({
    ...(incident && { incident }),
    kinds: Object.fromEntries(kinds),
  });
  return [
    { ...(notice && { notice }), record: recordWith(remembered) },
    ...(fresh.length > 0
      ? [{ ...(!isFlooded && { notice: newError(facts, fresh) }), record: recordWith(all) }]
      : []),
  ];
}

/** Returns the step to take for the outbox. */
export function outboxAlertOf(told: AlertRecord, nowMs: number, verdict: OutboxVerdict): AlertStep {
  const { summary, cause, next } = verdict;
  const { notice, incident } = incidentOf(told.incident, nowMs, {
    verdict,
    began: inOneLine([capitalised(summary), cause && `Cause: ${cause}`, next && `Next: ${next}`]),
    ended: 'The outbox is well again',
  });
  return { ...(notice && { notice }), record: { ...(incident && { incident }), kinds: {} } };
}

/** The subject of an incident, and what is told of it. */
interface Subject extends Pick<VerdictNotice, 'queue' | 'verdict'> {
  /** The text while it needs action. */
  began: string;
  /** The text once it needs none. */
  ended: string;
}

function incidentOf(
  told: AlertRecord['incident'],
  nowMs: number,
  { began, ended, ...subject }: Subject,
): { notice?: VerdictNotice; incident: AlertRecord['incident'] } {
  const { severity } = subject.verdict;
  const notice = (event: VerdictNotice['event'], sinceMs: number): VerdictNotice => ({
    event,
    text: event === 'ended' ? ended : began,
    ...subject,
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

/** Returns whether a notice of a flood of new kinds was sent a short time ago. A further kind would repeat that notice. */
function isTellingFlood(told: AlertRecord['kinds'], { nowMs, kinds }: AlertFacts): boolean {
  return kinds.some(
    ({ kind, lastAt }) =>
      kind.startsWith(JOINED) && told[kind] !== undefined && nowMs - lastAt.getTime() < FLOOD_ENDS_MS,
  );
}

function subjectOf(verdict: QueueVerdict): Subject {
  const { queue, summary, cause, next } = verdict;
  return {
    queue,
    verdict,
    began: inOneLine([`${queue} ${summary}`, cause && `Cause: ${cause}`, next && `Next: ${next}`]),
    ended: `${queue} is well again: ${summary}`,
  };
}

function inOneLine(sentences: readonly (string | undefined)[]): string {
  return sentences.filter(Boolean).join('. ');
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
