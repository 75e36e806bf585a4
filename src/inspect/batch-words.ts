import type { BatchRecord } from '../queue/model/batch.js';
import { count } from './words.js';

/** Returns the progress of a batch in a sentence, for CLI and dashboard. */
export function batchInWords({ state, stopped, open, total, followUps }: BatchRecord): string {
  const all = total === 1 ? 'Its one job has ended' : `All ${count(total)} jobs have ended`;
  const left = `${count(open)} of ${count(total)} jobs ${open === 1 ? 'has' : 'have'} not ended`;
  switch (state) {
    case 'open':
      return `Jobs may still join; ${left}. Nothing follows before it is sealed.`;
    case 'sealed':
      return `${stopped ? 'It was stopped' : 'It waits for its jobs'}: ${left}.`;
    case 'fired':
      return `${all}. ${followedBy(followUps)}`;
    case 'ended':
      return `${all}, and so has what was to follow.`;
  }
}

function followedBy(followUps: BatchRecord['followUps']): string {
  const sent = followUps.filter(({ isOnItsWay }) => isOnItsWay).map(({ queue }) => queue);
  return sent.length > 0
    ? `A follow-up is on its way to the queue ${sent.join(', ')}.`
    : 'Its follow-up was enqueued.';
}
