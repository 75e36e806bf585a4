import type { AttemptRecord } from '../../queue/model/job.js';
import { own } from '../../queue/runtime/collections.js';
import { duration } from '../words.js';

/** The ends of an attempt, in the words of the command line and the dashboard. */
const ATTEMPT_WORDS: Readonly<Record<AttemptRecord['outcome'], string>> = {
  completed: 'completed',
  error: 'failed',
  crash: 'worker died',
  unhandled: 'no handler there',
  interruption: 'released at a shutdown',
  snooze: 'snoozed',
  rate_limited: 'met a rate limit',
  outage: 'refused by Redis',
  wait: 'began to wait',
};

/**
 * Returns how an attempt ended, and after which time: `failed after 2 s`. Of a crash, some processes could say
 * when they died: `worker died after 250 ms, brought back 12 s later`.
 */
export function attemptInWords(
  outcome: string,
  { startedMs, endedMs, diedMs }: { startedMs: number; endedMs: number; diedMs?: number | undefined },
): string {
  const words = own(ATTEMPT_WORDS, outcome) ?? outcome; // the hash may be of a later version
  const after = `${words} after ${duration(Math.max(0, (diedMs ?? endedMs) - startedMs))}`;
  if (outcome !== 'crash') {
    return after;
  }
  return diedMs === undefined
    ? `${words}, brought back after ${duration(Math.max(0, endedMs - startedMs))}`
    : `${after}, brought back ${duration(Math.max(0, endedMs - diedMs))} later`;
}
