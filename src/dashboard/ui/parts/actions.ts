import type { JobAction, State } from '../../views/views.js';
import { plural } from './format.js';

export const ACTION_WORDS: Record<JobAction, string> = {
  redrive: 'Redrive',
  discard: 'Discard',
  cancel: 'Cancel',
  promote: 'Promote',
  remove: 'Remove',
  'run-again': 'Run again',
};

export const PAST_WORDS: Record<JobAction, string> = {
  redrive: 'redriven',
  discard: 'discarded',
  cancel: 'cancelled',
  promote: 'promoted',
  remove: 'removed',
  'run-again': 'run again',
};

const ACTIONS: Record<State, readonly JobAction[]> = {
  pending: ['cancel', 'remove'],
  scheduled: ['promote', 'cancel', 'remove'],
  processing: ['cancel'],
  completed: ['run-again', 'remove'],
  failed: ['redrive', 'discard'],
  cancelled: ['run-again', 'remove'],
};

/** Returns the actions for jobs of a state. */
export function actionsOf(state: State): readonly JobAction[] {
  return ACTIONS[state];
}

/** Returns whether an action cannot be undone. */
export function destroys(action: JobAction): boolean {
  return action === 'discard' || action === 'remove' || action === 'cancel';
}

/** Says how many jobs an action changed, and how many it left alone because they had changed before. */
export function outcomeWords(action: JobAction, { done, spared }: { done: number; spared: number }): string {
  const changed =
    spared > 0 ? ` ${plural(spared, 'job')} had changed and ${spared === 1 ? 'was' : 'were'} left alone.` : '';
  return `${plural(done, 'job')} ${PAST_WORDS[action]}.${changed}`;
}
