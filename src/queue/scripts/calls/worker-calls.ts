import { announcedContent } from '../../codec/announced-content.js';
import type { WorkerDetails, WorkerRecord } from '../../model/worker-record.js';
import { listOf, rowsOf, wholeNumberOf } from '../../replies/check-reply.js';
import { decodeWorker } from '../../replies/decode-worker.js';
import type { AttemptLimits } from '../../store/store-calls.js';
import type { ScriptCall } from '../../transport/script-runner.js';
import { configuredLimits, handlerLimitsText, limitsText } from '../encode-limits.js';
import { LAYOUT, checkLayout } from '../layout.js';
import { WORKER_SEEN_MS } from '../../runtime/lifetimes.js';
import { type CallContext, call } from '../script-call.js';

/** Returns the calls of `lua/worker`, one for each script; see the headers there. */
export function workerCalls({ keys, options }: CallContext) {
  const detailKeys = [keys.workers, keys.workerDetails];
  return {
    /** Rejects with QueueLayoutError where a newer version of the library has the queue. */
    register(worker: string, serves: boolean, handlers: readonly AttemptLimits[] = []): ScriptCall<void> {
      const args = [
        worker,
        serves ? '1' : '0',
        limitsText(options),
        configuredLimits(options),
        LAYOUT,
        JSON.stringify(announcedContent(options)),
        ...handlerLimitsText(handlers),
      ];
      return call('workerRegister', keys.standard, args, (reply) => checkLayout(keys.queue, wholeNumberOf(reply)));
    },

    describe(worker: string, details: WorkerDetails | undefined, ageMs: number): ScriptCall<void> {
      const text = details ? JSON.stringify(details) : '';
      return call('workerDescribe', detailKeys, [worker, text, Math.round(ageMs)], () => undefined);
    },

    list(most: number): ScriptCall<WorkerRecord[]> {
      return call('workerList', detailKeys, [WORKER_SEEN_MS, most], (reply) =>
        listOf(reply).map((entry) => decodeWorker(rowsOf(entry, 3)[0] as [string, string, string])),
      );
    },

    passWake(worker: string): ScriptCall<void> {
      return call('workerPassWake', keys.standard, [worker], () => undefined);
    },
  };
}
