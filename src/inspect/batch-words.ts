import type { BatchFollowUp, BatchRecord } from '../queue/model/batch.js';
import type { JobStatus } from '../queue/model/job.js';
import { count } from './words.js';

/**
 * Returns the progress of a batch in a sentence, for CLI and dashboard.
 *
 * @param shown the queues of follow-ups that may be named. Default: all
 */
export function batchInWords(
  { state, stopped, open, total, followUps }: BatchRecord,
  shown?: ReadonlySet<string>,
): string {
  const all = endOf(total);
  const left = `${count(open)} of ${count(total)} jobs ${open === 1 ? 'has' : 'have'} not ended`;
  switch (state) {
    case 'open':
      return `Jobs may still join; ${left}. Nothing follows before it is sealed.`;
    case 'sealed':
      return `${stopped ? 'It was stopped' : 'It waits for its jobs'}: ${left}.`;
    case 'fired':
      return `${all}. ${followedBy(followUps, shown)}`;
    case 'ended':
      return followUps.length === 0 ? `${all}.` : `${all}, and so has what was to follow.`;
  }
}

/**
 * Returns how far one follow-up of a batch is, for CLI and dashboard.
 *
 * @param status of its job; undefined if there is none in its queue
 */
export function followUpInWords(batch: BatchRecord, followUp: BatchFollowUp, status?: JobStatus): string {
  const { state, stopped, total, completed } = batch;
  if (status || followUp.isOnItsWay) {
    return status ?? 'on its way';
  }
  if (state === 'open' || state === 'sealed') {
    return 'waits for the batch';
  }
  const isUncertain = stopped && completed === total; // the record does not say who stopped it
  const follows = followUp.kind === 'finally' || (followUp.kind === 'then') === (completed === total);
  return isUncertain || follows ? 'no longer known' : 'not for this end';
}

function endOf(total: number): string {
  if (total === 0) {
    return 'It had no jobs';
  }
  return total === 1 ? 'Its one job has ended' : `All ${count(total)} jobs have ended`;
}

function followedBy(followUps: BatchRecord['followUps'], shown?: ReadonlySet<string>): string {
  const sent = followUps.filter(({ isOnItsWay }) => isOnItsWay).map(({ queue }) => queue);
  const named = sent.filter((queue) => shown?.has(queue) ?? true);
  if (sent.length === 0) {
    return 'Its follow-up was enqueued.';
  }
  return `A follow-up is on its way to ${named.length > 0 ? `the queue ${named.join(', ')}` : 'another queue'}.`;
}
