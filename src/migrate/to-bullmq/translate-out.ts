// What a job and a schedule of ours become in BullMQ 6.
import { z } from 'zod';
import { jsonLines, parseJson } from '../../queue/codec/stored-value.js';
import type { LeftBehind } from '../queue/transit.js';

/** The place of a job in BullMQ, and the fields of its hash. */
export interface OutgoingJob {
  place: 'pending' | 'prioritized' | 'scheduled' | 'dead';
  id: string;
  /** The priority, or an instant in ms. */
  score: number;
  /** Its key of deduplication, and how long it holds that in ms; undefined for its end. */
  dedup?: { key: string; ms?: number };
  fields: string[];
  /** The options without a counterpart. */
  dropped: string[];
}

/** What a translation needs to know of the queue. */
export interface OutgoingRules {
  /** True if prioritized jobs wait: then jobs without a priority come last, as here. */
  hasPriorities: boolean;
  maxAttempts: number;
  /** job name → `maxAttempts:maxCrashes` of its handler. */
  handlerLimits: Readonly<Record<string, string>>;
  /** True to move jobs of groups without their group. */
  dropGroups: boolean;
  nowMs: number;
}

const LAST_PRIORITY = 1_001;
const OPTIONS = z
  .looseObject({
    backoff: z.looseObject({ type: z.string(), delayMs: z.number() }).optional().catch(undefined),
    metadata: z.record(z.string(), z.unknown()).optional().catch(undefined),
    timeoutMs: z.number().optional().catch(undefined),
  })
  .catch({});
const ATTEMPTS = z
  .array(z.looseObject({ error: z.looseObject({ stack: z.string().optional() }).optional() }))
  .catch([]);
/** The fields of a hash that BullMQ has no place for, by the names of their options. */
const DROPPED: Record<string, string> = {
  expires_at_ms: 'expiresInMs',
  max_crashes: 'maxCrashes',
  checkpoint: 'checkpoint',
  steps: 'steps',
  progress: 'progress',
  stream: 'stream',
  waits: 'waits',
  signals: 'signals',
  cost: 'cost',
  group: 'group',
};

/** An open wait or sleep of a job: a line without a state. See docs/internals/signals.md. */
const OPEN_WAIT = /\t$/m;

/** Returns what a job becomes, or why it stays. */
export function translateOut(
  id: string,
  { place, score }: { place: string; score: number },
  hash: Readonly<Record<string, string>>,
  rules: OutgoingRules,
): OutgoingJob | LeftBehind {
  if (hash['after'] !== undefined) {
    return 'waits';
  }
  if (place === 'scheduled' && OPEN_WAIT.test(hash['waits'] ?? '')) {
    return 'signal';
  }
  if (hash['group'] !== undefined && !rules.dropGroups) {
    return 'ofGroup';
  }
  const payload = hash['payload'] ?? 'null';
  if (parseJson(payload).broken !== undefined) {
    return 'content';
  }
  const options = OPTIONS.parse(parseJson(hash['options'] ?? '{}').value ?? {});
  const priority = priorityOut(Number(hash['priority'] ?? 0), rules);
  const due = place === 'scheduled' ? score : undefined;
  const enqueuedAt = Number(hash['enqueued_at_ms'] ?? rules.nowMs);
  const delay = due === undefined ? 0 : Math.max(0, due - enqueuedAt);
  const errors = Number(hash['errors'] ?? 0);
  const name = hash['name'] ?? '';
  const attempts = Number(hash['max_attempts'] ?? rules.handlerLimits[name]?.split(':')[0] ?? rules.maxAttempts);
  const key = hash['unique'] ?? hash['window'];
  const jobId = idOut(id);
  const opts = {
    attempts,
    backoff: { type: options.backoff?.type ?? 'exponential', delay: options.backoff?.delayMs ?? 1_000 },
    jobId,
    ...(priority > 0 && { priority }),
    ...(delay > 0 && { delay }),
    ...(key !== undefined && { de: { id: key } }),
  };
  const fields = [
    'name',
    name,
    'data',
    payload,
    'opts',
    JSON.stringify(opts),
    'timestamp',
    String(enqueuedAt),
    'delay',
    String(delay),
    'priority',
    String(priority),
    'atm',
    String(errors),
    'ats',
    hash['attempts'] ?? '0',
    'stc',
    hash['crashes'] ?? '0',
    ...(key === undefined ? [] : ['deid', key]),
    ...(place === 'dead' ? failureOut(hash, score) : []),
  ];
  return {
    ...placeOut(place, { priority, score, due }),
    id: jobId,
    ...(key !== undefined && { dedup: { key } }),
    fields,
    dropped: [
      ...Object.keys(DROPPED).filter((field) => hash[field] !== undefined).map((field) => DROPPED[field]!),
      ...(options.timeoutMs === undefined ? [] : ['timeoutMs']),
      ...(options.metadata === undefined ? [] : ['metadata']),
      ...(jobId === id ? [] : ['id']),
    ], // prettier-ignore
  };
}

function placeOut(
  place: string,
  { priority, score, due }: { priority: number; score: number; due: number | undefined },
): Pick<OutgoingJob, 'place' | 'score'> {
  if (place === 'dead') {
    return { place, score };
  }
  if (due !== undefined) {
    return { place: 'scheduled', score: due };
  }
  return priority > 0 ? { place: 'prioritized', score: priority } : { place: 'pending', score: 0 };
}

/** Returns the priority of BullMQ, where 1 is the most urgent and no priority comes before it. */
function priorityOut(priority: number, { hasPriorities }: OutgoingRules): number {
  return hasPriorities || priority > 0 ? LAST_PRIORITY - Math.min(1_000, Math.max(0, priority)) : 0;
}

/** Returns an id that BullMQ takes: it refuses integers, and colons but for those of its own. */
export function idOut(id: string): string {
  const text = id.replaceAll(':', '-');
  return /^-?\d+$/.test(text) ? `njq-${text}` : text;
}

function failureOut(hash: Readonly<Record<string, string>>, failedAt: number): string[] {
  const attempts = ATTEMPTS.parse(jsonLines(hash['attempt_log']));
  const stack = attempts.findLast(({ error }) => error?.stack !== undefined)?.error?.stack;
  return [
    'failedReason',
    hash['last_error'] ?? '',
    'stacktrace',
    JSON.stringify(stack === undefined ? [] : [stack]),
    'finishedOn',
    String(failedAt),
    'processedOn',
    hash['claimed_at_ms'] ?? String(failedAt),
  ];
}
