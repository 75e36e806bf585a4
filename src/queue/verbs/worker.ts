// The announcements of workers: the scripts of lua/worker.
import { announcedContent } from '../codec/announced-content.js';
import type { WorkerDetails } from '../model/worker-record.js';
import { wholeNumberOf } from '../replies/check-reply.js';
import { decodeHandlerLimits, decodeWorkers } from '../replies/decode-worker.js';
import { WORKER_SEEN_MS } from '../runtime/lifetimes.js';
import { configuredLimits, handlerLimitsText, limitsText } from '../scripts/encode-limits.js';
import { LAYOUT, OLDEST_LAYOUT, checkLayout } from '../scripts/layout.js';
import type { QueueKeys } from '../scripts/queue-keys.js';
import { by, flag, number, optional, own, text, verb } from './verb.js';

const keys = ({ workers, workerDetails }: QueueKeys) => [workers, workerDetails];

export const WORKERS = {
  /**
   * Announces a worker with the limits of its handlers, or takes that back. Rejects with QueueLayoutError where a newer
   * version has the queue.
   */
  register: verb('workerRegister', {
    args: {
      worker: text,
      serves: flag,
      announced: own(({ options }) => [
        limitsText(options),
        configuredLimits(options),
        LAYOUT,
        OLDEST_LAYOUT,
        JSON.stringify(announcedContent(options)),
      ]),
      handlers: optional(by(handlerLimitsText, { name: true }), []),
    },
    reply: (reply, _, context) => checkLayout(context.keys.queue, wholeNumberOf(reply)),
  }),

  /**
   * Stores details of a worker for operators. Without details it has stopped.
   *
   * @param given.ageMs how long ago it started
   */
  describe: verb('workerDescribe', {
    keys,
    args: {
      worker: text,
      details: optional(
        by((details: WorkerDetails) => JSON.stringify(details), {
          host: true,
          app: true,
          version: true,
          fleet: true,
          limits: true,
          id: true,
          name: true,
        }),
      ),
      ageMs: by((ms: number) => Math.round(ms)),
    },
    reply: () => undefined,
  }),

  /** @param given.silentMs how long ago a silent worker may have been seen and is listed; undefined to list none */
  list: verb('workerList', {
    keys: ({ workers, workerDetails, claims, jobPrefix }) => [workers, workerDetails, claims, jobPrefix],
    args: { seenMs: own(() => WORKER_SEEN_MS), most: number, silentMs: optional(number) },
    reply: decodeWorkers,
  }),

  /** Returns the limits of the handler of a name, as workers announced them; undefined if none did. */
  handlerLimits: verb('workerHandlerLimits', {
    keys: ({ handlerLimits }) => [handlerLimits],
    args: { name: text },
    reply: decodeHandlerLimits,
  }),

  /** Ends the wait of a worker. Wakes another one if jobs wait. */
  passWake: verb('workerPassWake', { args: { worker: text }, reply: () => undefined }),
};
