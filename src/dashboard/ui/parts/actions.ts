import { ACTIONS, type JobAction, ONE_JOB_ACTIONS, type OneJobAction } from '../../../queue/model/actions.js';
import type { State } from '../../views/views.js';
import { plural } from './format.js';

export function actionsOf(state: State): readonly OneJobAction[] {
  return ONE_JOB_ACTIONS.filter((action) => (ACTIONS[action].takes as readonly State[]).includes(state));
}

export function actionsOfMany(state: State): readonly JobAction[] {
  return actionsOf(state).filter((action): action is JobAction => ACTIONS[action].many !== null);
}

/** Says how many jobs an action changed, and how many it left alone because they had changed before. */
export function outcomeWords(action: JobAction, { done, spared }: { done: number; spared: number }): string {
  const changed =
    spared > 0 ? ` ${plural(spared, 'job')} had changed and ${spared === 1 ? 'was' : 'were'} left alone.` : '';
  return `${plural(done, 'job')} ${ACTIONS[action].done}.${changed}`;
}

/** What is left of a redrive of a few that this page began, by its run. Only this page knows its search. */
export const restsOfRuns = new Map<string, { words: string; redrive(): void }>();
