import type { AttemptRecord } from '../../queue/model/job.js';

/** The ends of an attempt, in the words of the command line and the dashboard. */
export const ATTEMPT_WORDS: Readonly<Record<AttemptRecord['outcome'], string>> = {
  completed: 'completed',
  error: 'failed',
  crash: 'worker died',
  unhandled: 'no handler there',
  interruption: 'released at a shutdown',
  snooze: 'snoozed',
  rate_limited: 'met a rate limit',
  outage: 'refused by Redis',
};
