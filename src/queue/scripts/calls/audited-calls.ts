import { type AuditMark, changesJobs } from '../../transport/audited-script.js';
import type { ScriptCall } from '../../transport/script-runner.js';
import type { QueueCalls } from './queue-calls.js';

/** The groups of verbs that a queue has as members. */
const ROOMS: readonly (string | symbol)[] = ['deadLetters', 'schedules', 'batches', 'groups'];

/** Returns the calls of a queue, each with the mark that its transitions are written down. */
export function auditedCalls(calls: QueueCalls, mark: AuditMark): QueueCalls {
  return marking(calls, mark);
}

/** Returns a call with the audit mark, if it can change jobs. */
export function audited<Call extends object>(call: Call, mark: AuditMark): Call {
  return isScriptCall(call) && changesJobs(call.script) ? { ...call, audit: mark } : call;
}

function isScriptCall(call: object): call is ScriptCall<unknown> {
  return 'script' in call && 'keys' in call;
}

function marking<Verbs extends object>(verbs: Verbs, mark: AuditMark): Verbs {
  return new Proxy(verbs, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key);
      if (typeof value === 'function') {
        return (...args: unknown[]) => audited(Reflect.apply(value, target, args) as object, mark);
      }
      return ROOMS.includes(key) ? marking(value as object, mark) : value;
    },
  });
}
