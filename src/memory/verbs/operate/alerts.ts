// Tells each alert once; see lua/alert.
import type { AlertVerbs } from '../../../queue/store/verbs/alert-verbs.js';
import type { MemoryQueue } from '../../state/memory-queue.js';
import { callOf } from '../memory-call.js';

export function alertVerbs(queue: MemoryQueue): AlertVerbs {
  return {
    takeTurn: (token, everyMs) =>
      callOf('alertTakeTurn', () => {
        const { alerts } = queue;
        const sinceMs = queue.now - alerts.lookedAtMs;
        if (alerts.look !== token && sinceMs >= 0 && sinceMs < everyMs) {
          return undefined;
        }
        Object.assign(alerts, { look: token, lookedAtMs: queue.now });
        return { nowMs: queue.now, record: alerts.record };
      }),
    told: (token, record) =>
      callOf('alertTold', () => {
        const { alerts } = queue;
        const isCurrent = alerts.look === token;
        if (isCurrent) {
          alerts.record = record;
        }
        return isCurrent;
      }),
  };
}
