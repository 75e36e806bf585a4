import type { JobOutcome } from '../../queue/model/job-event.js';
import { count } from '../words.js';

const ENDS: Record<JobOutcome['status'], string> = {
  completed: 'It completed',
  failed: 'It failed',
  cancelled: 'It was cancelled',
};

/** Returns how a job ended whose record has gone. */
export function outcomeInWords({ status, at, attempts }: Pick<JobOutcome, 'status' | 'at' | 'attempts'>): string {
  const when = at.toISOString().replace('T', ' ').slice(0, 19);
  const tried =
    attempts === 0 ? 'before its first attempt' : `after ${count(attempts)} attempt${attempts === 1 ? '' : 's'}`;
  return `${ENDS[status]} at ${when} UTC ${tried}; its record was dropped.`;
}
