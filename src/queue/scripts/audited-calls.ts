// The calls of a queue. They are marked where its options or its workers want their transitions written down.
import {
  announcedContent,
  announcedOutcomes,
  decodeAnnouncedContent,
  mergedContent,
} from '../codec/announced-content.js';
import type { ResolvedQueueOptions } from '../model/queue-options.js';
import { type AuditMark, changesJobs } from '../transport/audited-script.js';
import type { ScriptCall } from '../transport/script-runner.js';
import { allCalls, type QueueCalls } from './all-calls.js';
import { checkLayout, LAYOUT_FIELD } from './layout.js';
import { QueueKeys } from './queue-keys.js';

/** The field of the hash `sweep` with what the last producer with a codec or a redaction announced. */
export const PRODUCER_CONTENT = 'producer_content';

/** The fields of the hash `sweep` that a store reads before its first call of a queue. */
export const READ_FIRST = [LAYOUT_FIELD, 'content', PRODUCER_CONTENT] as const;

/** Returns the calls of a queue by its options alone. */
export function callsOfQueue(queue: string, options: ResolvedQueueOptions, isSharded: boolean): QueueCalls {
  const { prefix, hashTag = isSharded } = options;
  return callsWith(new QueueKeys(queue, { prefix, hashTag }), options, options.outcomes);
}

/**
 * Returns the calls of a queue whose first fields were read. If the process has no option `outcomes`, the calls keep the
 * outcomes of jobs by the bounds that workers announced.
 *
 * @throws QueueLayoutError
 */
export function callsOfKnownQueue(
  calls: QueueCalls,
  [layout, content = null, ofProducers = null]: readonly (string | null)[],
): QueueCalls {
  const { keys, options } = calls;
  checkLayout(keys.queue, layout);
  const outcomes = options.outcomes ? undefined : announcedOutcomes(content);
  const known = outcomes ? callsWith(keys, options, outcomes) : calls;
  known.announced.ofProducers = ofProducers;
  known.announced.content = mergedContent(decodeAnnouncedContent(content), decodeAnnouncedContent(ofProducers));
  return known;
}

/** Returns what a process announces of a queue before it enqueues; undefined for what was announced, and for nothing. */
export function producerAnnouncement(
  options: ResolvedQueueOptions,
  known: string | null | undefined,
): string | undefined {
  const { codec, redact } = options;
  if (codec === undefined && redact === undefined) {
    return undefined;
  }
  const content = JSON.stringify(announcedContent({ ...(codec && { codec }), ...(redact && { redact }) }));
  return content === known ? undefined : content;
}

function callsWith(keys: QueueKeys, options: ResolvedQueueOptions, outcomes: AuditMark['outcomes']): QueueCalls {
  const calls = allCalls(keys, options);
  if (!options.auditTrail && !outcomes) {
    return calls;
  }
  const streams = [keys.audit, keys.outcomesA, keys.outcomesB] as const;
  return auditedCalls(calls, { keys: streams, ...options.auditTrail, ...(outcomes && { outcomes }) });
}

/** Returns the calls of a queue, each with the mark that its transitions are written down. */
function auditedCalls(calls: QueueCalls, mark: AuditMark): QueueCalls {
  const { key, keys, options, retention, announced, ...verbs } = calls;
  return { key, keys, options, retention, announced, ...marked(verbs, mark) };
}

/** Returns a call with the audit mark, if it can change jobs. */
export function audited<Call extends object>(call: Call, mark: AuditMark): Call {
  return isScriptCall(call) && changesJobs(call.script) ? { ...call, audit: mark } : call;
}

function isScriptCall(call: object): call is ScriptCall<unknown> {
  return 'script' in call && 'keys' in call;
}

/** Marks the calls of each verb, and of each room of verbs. */
function marked<Verbs extends object>(verbs: Verbs, mark: AuditMark): Verbs {
  const own = Object.entries(verbs).map(([name, verb]: [string, object]) => [
    name,
    typeof verb === 'function'
      ? (...args: unknown[]) => audited(verb(...args) as object, mark)
      : marked(verb, mark),
  ]);
  return Object.fromEntries(own) as Verbs;
}
