import { announcedContent } from '../../codec/announced-content.js';
import { wholeNumberOf } from '../../replies/check-reply.js';
import { decodeWorkers } from '../../replies/decode-worker.js';
import type { WorkerVerbs } from '../../store/store-calls.js';
import { configuredLimits, handlerLimitsText, limitsText } from '../encode-limits.js';
import { LAYOUT, OLDEST_LAYOUT, checkLayout } from '../layout.js';
import { WORKER_SEEN_MS } from '../../runtime/lifetimes.js';
import { type CallContext, call } from '../script-call.js';

/** Returns the calls of `lua/worker`, one for each script; see WorkerVerbs and the headers there. */
export function workerCalls({ keys, options }: CallContext) {
  const detailKeys = [keys.workers, keys.workerDetails];
  return {
    register(worker, serves, handlers = []) {
      const args = [
        worker,
        serves ? '1' : '0',
        limitsText(options),
        configuredLimits(options),
        LAYOUT,
        OLDEST_LAYOUT,
        JSON.stringify(announcedContent(options)),
        ...handlerLimitsText(handlers),
      ];
      return call('workerRegister', keys.standard, args, (reply) => checkLayout(keys.queue, wholeNumberOf(reply)));
    },

    describe(worker, details, ageMs) {
      const text = details ? JSON.stringify(details) : '';
      return call('workerDescribe', detailKeys, [worker, text, Math.round(ageMs)], () => undefined);
    },

    list: (most) => call('workerList', detailKeys, [WORKER_SEEN_MS, most], decodeWorkers),

    passWake: (worker) => call('workerPassWake', keys.standard, [worker], () => undefined),
  } satisfies WorkerVerbs;
}
