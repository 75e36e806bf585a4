import { useEffect, useState } from 'preact/hooks';
import type { JobAction, JobMatch, State } from '../../views/views.js';
import { count, plural } from '../parts/format.js';
import { type Choice, ask, choose } from '../parts/confirm.js';
import { counted } from '../parts/counting.js';
import { say, tried } from '../parts/toasts.js';
import { post } from '../state/api.js';
import { may, unreachable } from '../state/live.js';
import { setParams } from '../state/route.js';
import { ACTION_WORDS, actionsOf, destroys, outcomeWords } from '../parts/actions.js';
import type { Selection } from './selection.js';

/** The longest shown value of a restriction, in characters. */
const LONGEST_VALUE = 60;
/** So many jobs go first where a cause may not be mended yet. */
const FIRST_FEW = 10;
/** The most jobs of a second where they go back at a pace. */
const PACE = 10;

interface BulkProps {
  queue: string;
  state: State;
  selection: Selection;
  /** The scope of "all that match", and the approximate number; null if it is unknown. */
  match: JobMatch;
  /** The words of the kind of error that `match` names. */
  groupWords?: string;
  total: number | null;
  done(): void;
}

/**
 * Shows the actions on the selected jobs, or on all that match. They are at the foot of the page, within reach of a
 * thumb. On a phone those on all are folded, so that no thumb finds them first.
 */
export function BulkBar({ queue, state, selection, match, groupWords = '', total, done }: BulkProps) {
  const [open, setOpen] = useState(false);
  const [bar, setBar] = useState<HTMLElement | null>(null);
  useEffect(() => measured(bar), [bar]);
  const restrictions = restrictionsOf(match, groupWords);
  const actions = actionsOf(state).filter((action) => may(action));
  const chosen = selection.ids.size;
  if (actions.length === 0 || (total === 0 && chosen === 0)) {
    return null;
  }
  const act = async (action: JobAction) => {
    const outcome = await (chosen > 0
      ? actOnChosen(queue, state, action, [...selection.ids])
      : actOnAll(queue, state, action, { match, words: wordsOf(restrictions) }, total));
    if (outcome !== undefined) {
      say(outcome);
      selection.clear();
      done();
    }
  };
  return (
    <div
      ref={setBar}
      class={`bulk ${chosen === 0 && !open ? 'bulk-folded' : ''}`}
      role="toolbar"
      aria-label="Actions on jobs"
    >
      <span class="bulk-what">
        {chosen > 0 ? `${plural(chosen, 'job')} selected` : `${total === 1 ? '' : 'All '}${howMany(total, state)}`}{' '}
        of <bdi>{queue}</bdi>
        {chosen === 0 && restrictions.map((each) => <Chip key={each.word} {...each} />)}
      </span>
      {actions.map((action) => (
        <button
          key={action}
          type="button"
          disabled={unreachable.value}
          class={`bulk-action ${destroys(action) ? 'danger-quiet' : ''}`}
          onClick={() => void act(action)}
        >
          {chosen > 0 ? ACTION_WORDS[action] : wordsForAll(action)}
        </button>
      ))}
      {chosen === 0 && (
        <button type="button" class="bulk-more" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? 'Hide the actions' : 'Actions on all'}
        </button>
      )}
      {chosen > 0 && (
        <button type="button" class="plain" onClick={selection.clear}>
          Clear
        </button>
      )}
    </div>
  );
}

/** Keeps the height of the bar in the variable `--bulk-height`, because the panel of runs is above it. */
function measured(bar: HTMLElement | null): (() => void) | undefined {
  if (!bar) {
    return undefined;
  }
  const { style } = document.documentElement;
  const observer = new ResizeObserver(() => style.setProperty('--bulk-height', `${bar.offsetHeight}px`));
  observer.observe(bar);
  return () => {
    observer.disconnect();
    style.removeProperty('--bulk-height');
  };
}

interface Restriction {
  word: string;
  value: string;
  clear: Record<string, null>;
}

/** Returns what restricts the list, and so the actions on all. */
function restrictionsOf({ text, group }: JobMatch, groupWords: string): Restriction[] {
  return [
    ...(text === undefined ? [] : [{ word: 'with', value: text, clear: { q: null } }]),
    ...(group === undefined ? [] : [{ word: 'that died of', value: groupWords, clear: { group: null } }]),
  ];
}

/** Shows one restriction. A click takes it away. */
function Chip({ word, value, clear }: Restriction) {
  return (
    <>
      {' '}
      {word}{' '}
      <button type="button" class="chip-restriction" title="Show all again" onClick={() => setParams(clear)}>
        <bdi>“{shortened(value)}”</bdi> <span aria-hidden="true">✕</span>
      </button>
    </>
  );
}

function wordsOf(restrictions: readonly Restriction[]): string {
  return restrictions.map(({ word, value }) => ` ${word} “${shortened(value)}”`).join('');
}

function shortened(text: string): string {
  return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}…` : text;
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
  { match, words }: { match: JobMatch; words: string },
  known: number | null,
): Promise<string | undefined> {
  const matching = `${howMany(null, state)} of ${queue}${words}`;
  return tried(async () => {
    const total = known ?? (await counted(queue, state, match, matching));
    if (total === undefined) {
      return undefined;
    }
    const many = total === null ? `all ${howMany(null, state)}` : howMany(total, state);
    const pace = await agreedPace(action, total, {
      title: `${ACTION_WORDS[action]} ${many} of ${queue}${words}?`,
      body: `${BODIES[action]} It continues in the background, also when this tab is closed, and can be stopped.`,
      destroys: destroys(action),
      ...(destroys(action) && { typed: total ?? queue }),
      verb: `${ACTION_WORDS[action]} ${many}`,
    });
    if (pace === null) {
      return undefined;
    }
    await post('runs', { action, queue, state, match, ...pace });
    return `${ACTION_WORDS[action]} began: ${pace.most === undefined ? many : `the first ${pace.most}`}.`;
  });
}

interface Pace {
  most?: number;
  perSecond?: number;
}

/** Asks before an action on all; a redrive of many may begin with a few. Null where the user does not agree. */
async function agreedPace(
  action: JobAction,
  total: number | null,
  question: Parameters<typeof ask>[0],
): Promise<Pace | null> {
  if (action !== 'redrive' || (total !== null && total <= FIRST_FEW)) {
    return (await ask(question)) ? {} : null;
  }
  const choices: [Choice<Pace>, ...Choice<Pace>[]] = [
    {
      value: { most: FIRST_FEW },
      words: `${FIRST_FEW} first, to see whether they complete now`,
      verb: `Redrive the first ${FIRST_FEW}`,
    },
    { value: { perSecond: PACE }, words: `All, ${PACE} a second`, verb: `${question.verb} slowly` },
    { value: {}, words: 'All at once', verb: question.verb },
  ];
  return choose(question, choices);
}

/** Counts jobs in the words of their state: 1 dead letter, 14 pending jobs. */
function howMany(total: number | null, state: State): string {
  const word = state === 'failed' ? 'dead letter' : `${state} job`;
  return total === null ? `${word}s` : `${count(total)} ${word}${total === 1 ? '' : 's'}`;
}

const BODIES: Record<JobAction, string> = {
  redrive: 'They go back to work, their attempts reset.',
  discard: 'They are deleted for good.',
  cancel: 'Waiting jobs end at once; running ones are asked to stop.',
  promote: 'They become pending now.',
  remove: 'They are deleted with all their traces.',
  'run-again': 'They go back to work with all their attempts; their results go.',
};
