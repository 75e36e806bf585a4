import type { JobStatus } from '../../queue/model/job.js';
import { own } from '../../queue/runtime/collections.js';

/** The words of other queues, and of our tables, for the states of a job. */
const STATES: Readonly<Record<string, JobStatus>> = {
  wait: 'pending',
  waiting: 'pending',
  prioritized: 'pending',
  delayed: 'scheduled',
  active: 'processing',
  running: 'processing',
  done: 'completed',
  dead: 'failed',
  canceled: 'cancelled',
};

/** Returns the state that a word means; undefined for other words. */
export function meantState(word: string): JobStatus | undefined {
  return own(STATES, word.toLowerCase());
}
