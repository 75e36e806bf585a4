import type { Announced } from '../codec/announced-content.js';
import type { ResolvedQueueOptions } from '../model/queue-options.js';
import type { VERBS } from '../verbs/table.js';
import type { CallsOf } from '../verbs/verb.js';

/** The calls of one queue: every step that can be taken on it. Each is named as its script, in the room of its folder. */
export interface StoreCalls extends CallsOf<typeof VERBS> {
  /** Identifies the queue in its store. */
  readonly key: string;
  readonly options: ResolvedQueueOptions;
  /** What the last reading found announced of the queue. */
  readonly announced: Announced;
}
