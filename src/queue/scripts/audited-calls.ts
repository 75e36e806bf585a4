import { type AuditMark, changesJobs } from '../transport/audited-script.js';
import type { ScriptCall } from '../transport/script-runner.js';
import type { QueueCalls } from './calls/all-calls.js';

/** Returns the calls of a queue, each with the mark that its transitions are written down. */
export function auditedCalls(calls: QueueCalls, mark: AuditMark): QueueCalls {
  const { key, keys, options, retention, ...verbs } = calls;
  return { key, keys, options, retention, ...marked(verbs, mark) };
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
