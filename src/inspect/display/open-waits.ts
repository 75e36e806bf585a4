import type { JobFacts } from '../../queue/store/shown-content.js';
import type { JobWait } from '../../queue/model/signal.js';

/** Returns the open waits of a job that is parked for them, the oldest first. None for a job that runs, or whose attempt failed since. */
export function openWaits({
  status,
  waits = [],
  attemptLog,
}: Pick<JobFacts, 'status' | 'waits' | 'attemptLog'>): JobWait[] {
  const isParked = status === 'scheduled' && attemptLog.at(-1)?.outcome === 'wait';
  return isParked
    ? waits.filter(({ state }) => state === 'open').toSorted((a, b) => a.since.getTime() - b.since.getTime())
    : [];
}
