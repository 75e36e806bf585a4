import { useState, useEffect } from 'preact/hooks';
import { ACTIONS, type JobAction } from '../../../queue/model/actions.js';
import { CRASHED } from '../../../queue/model/job.js';
import type { JobRow, JobMatch, SearchPage, State } from '../../views/views.js';
import { actionsOfMany, outcomeWords } from '../parts/actions.js';
import { beginRun, choosePace, DEADLY, FIRST_FEW, howMany, type Pace } from '../parts/begin-runs.js';
import { ask, choose } from '../parts/confirm.js';
import { counted } from '../parts/counting.js';
import { count, plural } from '../parts/format.js';
import { say, tried } from '../parts/toasts.js';
import { get, post } from '../state/api.js';
import { may, unreachable } from '../state/live.js';
import { setParams } from '../state/route.js';

interface Selection {
  /** The jobs by their ids. */
  jobs: ReadonlyMap<string, JobRow>;
  toggle(job: JobRow): void;
  clear(): void;
}

/** The last selection, so that it is there again after a look at one of its jobs. */
let kept: { list: string; jobs: ReadonlyMap<string, JobRow> } = { list: '', jobs: new Map() };

/** Returns the jobs that are ticked in a list. @param list which one it is */
export function useSelection(list: string): Selection {
  const [jobs, setJobs] = useState<ReadonlyMap<string, JobRow>>(() => (kept.list === list ? kept.jobs : new Map()));
  const set = (chosen: ReadonlyMap<string, JobRow>) => {
    kept = { list, jobs: chosen };
    setJobs(chosen);
  };
  return {
    jobs,
    toggle: (job) => {
      const next = new Map(kept.list === list ? kept.jobs : jobs); // a second tick may come before the next render
      if (!next.delete(job.id)) {
        next.set(job.id, job);
      }
      set(next);
    },
    clear: () => set(new Map()),
  };
}

/** The longest shown value of a restriction, in characters. */
const LONGEST_VALUE = 60;
/** The most jobs that a question names one by one. */
const MOST_NAMED = 6;
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
  const actions = actionsOfMany(state).filter((action) => may(action));
  const chosen = selection.jobs.size;
  if (actions.length === 0 || (total === 0 && chosen === 0)) {
    return null;
  }
  const act = async (action: JobAction) => {
    const outcome = await (chosen > 0
      ? actOnChosen(queue, state, action, [...selection.jobs.values()])
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
          class={`bulk-action ${ACTIONS[action].destroys ? 'danger-quiet' : ''}`}
          onClick={() => void act(action)}
        >
          {chosen > 0 ? ACTIONS[action].button : ACTIONS[action].many.button}
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

async function actOnChosen(
  queue: string,
  state: State,
  action: JobAction,
  jobs: readonly JobRow[],
): Promise<string | undefined> {
  const ids = jobs.map(({ id }) => id);
  const many = plural(ids.length, 'job');
  const { button, destroys, many: words } = ACTIONS[action];
  const deadly = action === 'redrive' ? jobs.filter(({ killed }) => killed) : [];
  const question = { title: `${button} ${many} of ${queue}?`, verb: `${button} ${many}`, destroys };
  const sure =
    deadly.length > 0
      ? await ask({ ...question, body: DEADLY, lines: killedBy(deadly) })
      : !destroys || (await ask({ ...question, body: words.does, ...(ids.length > 1 && { typed: ids.length }) }));
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
    const isCrashed = action === 'redrive' && match.group === CRASHED;
    const question = {
      title: `${ACTIONS[action].button} ${many} of ${queue}${words}?`,
      body: `${ACTIONS[action].many.does} It continues in the background, also when this tab is closed, and can be stopped.`,
      destroys: ACTIONS[action].destroys,
      ...(ACTIONS[action].destroys && { typed: total ?? queue }),
      verb: `${ACTIONS[action].button} ${many}`,
    };
    const pace = await (isCrashed ? agreedCrashed(queue, match, question) : agreedPace(action, total, question));
    if (pace === null) {
      return undefined;
    }
    await beginRun({ action, queue, state, match, total }, pace);
    return `${ACTIONS[action].button} began: ${pace.most === undefined ? many : `the first ${pace.most}`}.`;
  });
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
  return choosePace(question);
}

/** Says what each job killed, and asks before jobs that killed their workers run again. */
async function agreedCrashed(
  queue: string,
  match: JobMatch,
  question: Parameters<typeof ask>[0],
): Promise<Pace | null> {
  const { jobs } = await get<SearchPage>('search', { queue, state: 'failed', ...match });
  return choose<Pace>({ ...question, body: DEADLY, lines: killedBy(jobs) }, [
    { value: { most: 1 }, words: 'One first, to see whether its worker survives', verb: 'Redrive one' },
    { value: {}, words: 'All, each alone in its worker', verb: question.verb },
  ]);
}

/** Says of each job what it killed. */
function killedBy(jobs: readonly JobRow[]): string[] {
  const lines = jobs
    .slice(0, MOST_NAMED)
    .map(({ name, id, error }) => `${name} ${id}: ${error ?? 'no reason is known'}`);
  return jobs.length > MOST_NAMED ? [...lines, `and ${count(jobs.length - MOST_NAMED)} more`] : lines;
}
