import type { Severity } from '../../inspect/queue-signs.js';
import type { Remedy } from '../../inspect/rule.js';

/** The verdict on a queue, in words. */
export interface VerdictView {
  severity: Severity;
  /** The state of the queue in a word: stuck, failing, paused. Absent for Redis itself. */
  state?: string;
  /** The queue of the next step, or its shard. Absent for Redis itself. */
  queue?: string;
  /** How many more queues need a look, beside the one of the sentence. Absent for none. */
  more?: number;
  /** True if nothing waits or runs. */
  isIdle?: true;
  /** The verdict in one sentence: `email` is stuck: 1,204 waiting for 6 min, no worker handles it. */
  sentence: string;
  /** The next step. */
  remedy?: string;
  /** Where the next step is taken. Absent if there is none. */
  remedyAt?: Remedy;
}

/** A queue with its verdict. An unreadable queue has no more than that. */
export interface QueueVerdictView {
  name: string;
  verdict: VerdictView;
  /** True for a queue of this Redis that the app does not know. */
  isOther?: true;
  /** The names of its shards, the worst first. Absent for a queue without. */
  shards?: string[];
}
