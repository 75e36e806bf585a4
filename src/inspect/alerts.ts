import { z } from 'zod';
import type { ErrorKind } from '../queue/dead-letters/error-kinds.js';
import { JOINED, type RootCause } from '../queue/errors/error-kind.js';
import { oneLine } from '../queue/errors/show.js';
import { keptIn } from '../queue/runtime/collections.js';
import { isUnread, type OutboxVerdict } from './outbox-verdict.js';
import type { QueueVerdict, Severity } from './queue-signs.js';
import { deployWords, keyOf, type SharedError, sharedWords, sinceWords } from './shared-errors.js';
import { capitalised, count } from './words.js';

// Decides which changes of a queue are told, from what was told before.

/** An incident has ended when the queue needed nothing for this long, in ms. So a queue that flaps has one incident. */
const CALM_MS = 60_000;
/** A kind of error that comes again within this time is not new, in ms. */
const KIND_REMEMBERED_MS = 86_400_000;
/** A database or a shard that cannot be read for less than this is no incident, in ms. */
const UNREAD_MS = 30_000;
/** The most kinds that are remembered beside those of now. */
const MOST_KINDS = 200;
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
  /** All queues with the same root cause, of a `new-error`. Absent where one queue has it. */
  queues?: readonly string[];
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

/** A kind of error with its root cause, where its text may leave the app. */
export type AlertKind = ErrorKind & { cause?: RootCause | undefined };

/** The state of a root cause in the fleet. */
export interface CauseTurn {
  /** `tell`: send a notice. `told`: a notice has told the cause. `wait`: another process sends the notice now. */
  turn: 'tell' | 'told' | 'wait';
  /** The cause in all queues. */
  error?: SharedError;
}

/** The facts that are compared with the told ones. */
export interface AlertFacts {
  nowMs: number;
  verdict: QueueVerdict;
  kinds: readonly AlertKind[];
  /** True if the verdict says that a shard cannot be read. Its master may be back in a moment. */
  isUnread?: boolean;
  /** The root causes of new kinds, by kind. Absent where no kind is new. */
  causes?: ReadonlyMap<string, CauseTurn>;
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
  /** The time of the first failed read of the outbox or of a shard, while that is no incident yet. */
  unreadMs: z.number().optional(),
  /** The number of this copy. Of a queue with shards each shard has one, and the highest is the newest. */
  copy: z.number().optional(),
  /** The times when kinds of error were told, by kind. */
  kinds: z.record(z.string(), z.number()).default({}),
});

/** What was told of a queue, or of the outbox. */
export type AlertRecord = z.infer<typeof recordSchema>;

/** What to tell, if anything, and the record to keep after it. */
export interface AlertStep {
  notice?: VerdictNotice;
  record: AlertRecord;
  /** The keys of the root causes that the notice tells. */
  causes?: readonly string[];
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
  const { nowMs } = facts;
  const unreadMs = facts.isUnread && !told.incident ? (told.unreadMs ?? nowMs) : -Infinity;
  const isWaiting = nowMs - unreadMs < UNREAD_MS;
  const { notice, incident } = isWaiting
    ? { notice: undefined, incident: undefined }
    : incidentOf(told.incident, nowMs, subjectOf(facts.verdict));
  // A marked kind stays: without the time of its notice, the notice would be sent again each day.
  const marked = new Set(facts.kinds.flatMap(({ kind, mark }) => (mark ? [kind] : [])));
  let kinds = Object.entries(told.kinds).filter(
    ([kind, atMs]) => marked.has(kind) || nowMs - atMs < KIND_REMEMBERED_MS,
  );
  const record = (): AlertRecord => ({
    ...(incident && { incident }),
    ...(isWaiting && { unreadMs }),
    kinds: Object.fromEntries(kinds),
  });
  const steps: AlertStep[] = [{ ...(notice && { notice }), record: record() }];
  const isFlooded = isTellingFlood(told.kinds, facts);
  for (const { fresh, error, isTold } of newErrors(told, facts)) {
    const known = fresh.map(({ kind }): [string, number] => [kind, nowMs]);
    kinds = [...kinds, ...known].slice(-MOST_KINDS - facts.kinds.length);
    const isQuiet = isTold || (isFlooded && !error);
    const causes = fresh.map((kind) => keyOf({ ...kind, queue: facts.verdict.queue }));
    steps.push({ ...(!isQuiet && { notice: newError(facts, fresh, error), causes }), record: record() });
  }
  return steps;
}

/** New kinds that one notice tells. */
interface NewError {
  fresh: AlertKind[];
  /** Their root cause, if other queues have it too. */
  error?: SharedError;
  /** True if a notice has told the cause. */
  isTold?: boolean;
}

/** Returns the new kinds by notice: each cause that other queues have too, and then the others together. */
function newErrors(told: AlertRecord, { causes, ...facts }: AlertFacts): NewError[] {
  const shared = new Map<string, NewError>();
  const [alone, known]: [AlertKind[], AlertKind[]] = [[], []];
  for (const kind of newKinds(told, facts)) {
    const { turn, error } = causes?.get(kind.kind) ?? { turn: 'tell' };
    if (turn === 'told') {
      known.push(kind);
    } else if (turn === 'tell' && error && error.queues.length > 1) {
      keptIn(shared, error.key, (): NewError => ({ fresh: [], error })).fresh.push(kind);
    } else if (turn === 'tell') {
      alone.push(kind);
    }
  }
  return [
    ...(known.length > 0 ? [{ fresh: known, isTold: true }] : []),
    ...shared.values(),
    ...(alone.length > 0 ? [{ fresh: alone }] : []),
  ];
}

/** Returns the step to take for the outbox. */
export function outboxAlertOf(told: AlertRecord, nowMs: number, verdict: OutboxVerdict): AlertStep {
  const { summary, cause, next } = verdict;
  const unreadMs = told.unreadMs ?? nowMs;
  if (!told.incident && isUnread(verdict) && nowMs - unreadMs < UNREAD_MS) {
    return { record: { unreadMs, kinds: {} } };
  }
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

/** Returns the kinds that need a notice. */
export function newKinds(
  { kinds: told }: AlertRecord,
  { nowMs, kinds }: Pick<AlertFacts, 'nowMs' | 'kinds'>,
): AlertKind[] {
  return kinds.filter((kind) => isToTell(kind, told[kind.kind] ?? -Infinity, nowMs));
}

/** Returns whether a kind needs a notice: by its mark, and without one if it is new. */
function isToTell({ mark, isNew, firstAt, lastAt }: AlertKind, toldMs: number, nowMs: number): boolean {
  const quietUntilMs = mark?.quietUntil?.getTime() ?? -Infinity;
  if (nowMs < quietUntilMs) {
    return false;
  }
  if (mark?.known) {
    return mark.comesAgain && toldMs < firstAt.getTime();
  }
  if (toldMs < quietUntilMs && lastAt.getTime() > quietUntilMs) {
    return true;
  }
  return isNew && nowMs - toldMs >= KIND_REMEMBERED_MS;
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

function newError(
  { nowMs, verdict, causes }: AlertFacts,
  fresh: readonly AlertKind[],
  error: SharedError | undefined,
): VerdictNotice {
  const kinds = fresh.map(({ kind, count: died, firstAt, error: words }) => ({
    kind,
    count: died,
    firstAt,
    error: words,
  }));
  const text = error
    ? `${sharedWords(error, nowMs)}: ${count(error.count)} died`
    : `${verdict.queue}: ${begin(fresh[0]!, nowMs)}${deployWords(causes?.get(fresh[0]!.kind)?.error?.deploy)}, ${diedWords(kinds)}`;
  return {
    event: 'new-error',
    queue: verdict.queue,
    ...(error && { queues: error.queues }),
    text,
    verdict,
    at: new Date(nowMs),
    kinds,
  };
}

/** Returns how an error began: it is new, or it comes again although it is known or was quiet. */
function begin({ mark, firstAt }: AlertKind, nowMs: number): string {
  return mark?.comesAgain
    ? `a known error comes again since ${sinceWords(firstAt, nowMs)}`
    : mark?.quietUntil
      ? 'an error goes on that was quiet'
      : 'a new error';
}

function diedWords(kinds: readonly NewErrorKind[]): string {
  const [worst] = kinds;
  const others = kinds.length > 1 ? ` (and ${count(kinds.length - 1)} more new kinds)` : '';
  return `${count(worst!.count)} died: ${oneLine(worst!.error ?? worst!.kind, LONGEST_ERROR)}${others}`;
}
