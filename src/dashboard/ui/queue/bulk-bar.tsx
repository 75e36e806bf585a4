import type { JobAction, JobMatch, State } from '../../views/views.js';
import { count, plural } from '../parts/format.js';
import { ask } from '../parts/confirm.js';
import { say, tried } from '../parts/toasts.js';
import { post } from '../state/api.js';
import { may } from '../state/live.js';
import { ACTION_WORDS, actionsOf, destroys, outcomeWords } from '../parts/actions.js';
import type { Selection } from './selection.js';

interface BulkProps {
  queue: string;
  state: State;
  selection: Selection;
  /** The scope of "all that match", and the approximate number; null if it is unknown. */
  match: JobMatch;
  total: number | null;
  matchWords: string;
  done(): void;
}

/**
 * Shows the actions on the selected jobs, or on all that match. They are at the foot of the page, within reach of a
 * thumb.
 */
export function BulkBar({ queue, state, selection, match, total, matchWords, done }: BulkProps) {
  const actions = actionsOf(state).filter((action) => may(action));
  const chosen = selection.ids.size;
  if (actions.length === 0 || (total === 0 && chosen === 0)) {
    return null;
  }
  const act = async (action: JobAction) => {
    const outcome = await (chosen > 0
      ? actOnChosen(queue, state, action, [...selection.ids])
      : actOnAll(queue, state, action, match, total, matchWords));
    if (outcome !== undefined) {
      say(outcome);
      selection.clear();
      done();
    }
  };
  return (
    <div class="bulk" role="toolbar" aria-label="Actions on jobs">
      <span class="bulk-what">
        {chosen > 0
          ? `${plural(chosen, 'job')} selected`
          : total === 1
            ? howMany(total, matchWords)
            : `All ${total === null ? matchWords : howMany(total, matchWords)}`}
      </span>
      {actions.map((action) => (
        <button
          key={action}
          type="button"
          class={destroys(action) ? 'danger-quiet' : ''}
          onClick={() => void act(action)}
        >
          {chosen > 0 ? ACTION_WORDS[action] : wordsForAll(action)}
        </button>
      ))}
      {chosen > 0 && (
        <button type="button" class="plain" onClick={selection.clear}>
          Clear
        </button>
      )}
    </div>
  );
}

function wordsForAll(action: JobAction): string {
  return action === 'run-again' ? 'Run all again' : `${ACTION_WORDS[action]} all`;
}

async function actOnChosen(
  queue: string,
  state: State,
  action: JobAction,
  ids: string[],
): Promise<string | undefined> {
  const many = plural(ids.length, 'job');
  const sure =
    !destroys(action) ||
    (await ask({
      title: `${ACTION_WORDS[action]} ${many} of ${queue}?`,
      body: BODIES[action],
      verb: `${ACTION_WORDS[action]} ${many}`,
      destroys: true,
      ...(ids.length > 1 && { typed: ids.length }),
    }));
  return sure
    ? tried(async () => outcomeWords(action, await post('jobs/act', { action, queue, state, ids })))
    : undefined;
}

async function actOnAll(
  queue: string,
  state: State,
  action: JobAction,
  match: JobMatch,
  total: number | null,
  words: string,
): Promise<string | undefined> {
  const many = total === null ? `all ${words}` : howMany(total, words);
  const sure = await ask({
    title: `${ACTION_WORDS[action]} ${many} of ${queue}?`,
    body: `${BODIES[action]} It continues in the background, also when this tab is closed, and can be stopped.`,
    verb: `${ACTION_WORDS[action]} ${many}`,
    destroys: destroys(action),
    ...(destroys(action) && total !== null && { typed: total }),
  });
  return sure
    ? tried(async () => {
        await post('runs', { action, queue, state, match });
        return `${ACTION_WORDS[action]} began: ${many}.`;
      })
    : undefined;
}

/** Counts jobs in the words of their list: 1 dead letter, 14 pending jobs. */
function howMany(total: number, words: string): string {
  return `${count(total)} ${total === 1 ? words.replace(/(job|letter)s\b/, '$1') : words}`;
}

const BODIES: Record<JobAction, string> = {
  redrive: 'They go back to work, their attempts reset.',
  discard: 'They are deleted for good.',
  cancel: 'Waiting jobs end at once; running ones are asked to stop.',
  promote: 'They become pending now.',
  remove: 'They are deleted with all their traces.',
  'run-again': 'They go back to work with all their attempts; their results go.',
};
