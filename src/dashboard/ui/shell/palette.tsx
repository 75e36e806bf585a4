import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { FoundJobsView, EndedJobView, QueueView } from '../../views/views.js';
import { count } from '../parts/format.js';
import { NotRead, StateMark, VerdictMark } from '../parts/parts.js';
import { get } from '../state/api.js';
import { may, overview, queues, unreachable } from '../state/live.js';
import { go, href, route } from '../state/route.js';
import { chooseTheme, dark } from '../state/theme.js';
import { pauseOrResume } from '../steer/pause-button.js';
import { showKeys } from './keys-help.js';
import { linkedPages, partsOf } from './pages.js';

/** The pause in typing after which ids are looked up, in ms. */
const TYPING_MS = 150;
const NOTHING: FoundJobsView = { jobs: [], ended: [], unreadable: [] };

const isOpen = signal(false);

export function openPalette(): void {
  isOpen.value = true;
}

/** Shows the field that finds queues, jobs, pages and actions, while it is open. */
export function Palette() {
  return isOpen.value ? <PaletteDialog /> : null;
}

function PaletteDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const { found, isLooking } = useIds(text.trim());
  /** True if Enter came before the look for an id has ended. */
  const [isEntered, setEntered] = useState(false);
  useLayoutEffect(() => dialog.current?.showModal(), []); // the next key is for its field
  const entries = entriesOf(text.trim(), found);
  const active = Math.min(chosen, entries.length - 1);
  const take = (entry: Entry | undefined) => {
    dialog.current?.close();
    entry?.act();
  };
  useEffect(() => {
    if (isEntered && !isLooking) take(entries[active]);
  }, [isEntered, isLooking]);
  useEffect(() => {
    dialog.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' });
  }, [active]);
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setChosen((active + step + entries.length) % entries.length);
    } else if (event.key === 'Enter' && !event.isComposing) {
      event.preventDefault();
      if (isLooking && active === 0) setEntered(true);
      else take(entries[active]);
    }
  };
  return (
    <dialog ref={dialog} class="dialog palette" aria-label="Find anything" onClose={() => (isOpen.value = false)}>
      <input
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={`palette-${active}`}
        aria-autocomplete="list"
        aria-label="Find a queue, a job by its id, a page or an action"
        placeholder="A queue, a job's id, a page, an action"
        autocomplete="off"
        spellcheck={false}
        value={text}
        onKeyDown={press}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setChosen(0);
          setEntered(false);
        }}
      />
      <ul id="palette-list" role="listbox" aria-label="Found">
        {entries.map((entry, i) => (
          <li
            key={entry.key}
            id={`palette-${i}`}
            role="option"
            aria-selected={i === active}
            onPointerMove={() => setChosen(i)}
            onClick={() => take(entry)}
          >
            {entry.mark}
            <bdi class="palette-text">{entry.text}</bdi>
            <span class="quiet small">{entry.hint}</span>
          </li>
        ))}
      </ul>
      <NotRead queues={found.unreadable} />
    </dialog>
  );
}

/** Looks for jobs with this id in all queues, once the user pauses. */
function useIds(id: string): { found: FoundJobsView; isLooking: boolean } {
  const [state, setState] = useState({ id: '', found: NOTHING });
  const isId = id.length > 1 && !/\s/.test(id);
  useEffect(() => {
    if (!isId) return undefined;
    const stop = new AbortController();
    const look = () =>
      get<FoundJobsView>('find', { id }, stop.signal)
        .catch(() => NOTHING) // the search over all queues says why
        .then((found) => stop.signal.aborted || setState({ id, found }));
    const timer = setTimeout(() => void look(), TYPING_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [id]);
  const isCurrent = state.id === id;
  return { found: isCurrent ? state.found : NOTHING, isLooking: isId && !isCurrent };
}

const MOST_QUEUES = 6;
const MOST_ACTIONS = 6;

/** One line of the palette. */
interface Entry {
  key: string;
  text: string;
  /** What it is, or what happens. */
  hint: string;
  mark?: ComponentChildren;
  act(): void;
}

/** Returns what a text finds: jobs, queues, pages, actions, and at last the search over all queues. */
function entriesOf(text: string, { jobs, ended }: Pick<FoundJobsView, 'jobs' | 'ended'>): Entry[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const has = (entry: Entry) => words.every((word) => `${entry.text} ${entry.hint}`.toLowerCase().includes(word));
  const isNamed = (entry: Entry) => words.every((word) => entry.text.toLowerCase().includes(word));
  const current = route.value.parts[0] === 'queue' ? route.value.parts[1] : undefined;
  const acted = words.length > 0 ? queues.value : queues.value.filter(({ name }) => name === current);
  return [
    ...jobs.map((job) => jobEntry(job)),
    ...ended.map((job) => jobEntry(job, ', its record is gone')),
    ...best([...queues.value.map(queueEntry), ...spreadEntries()].filter(isNamed), text).slice(0, MOST_QUEUES),
    ...linkedPages()
      .map((page) => link({ key: `page ${page.path}`, text: page.text, hint: 'page' }, partsOf(page)))
      .filter(has),
    ...[...acted.flatMap(queueActions), ...general()].filter(has).slice(0, MOST_ACTIONS),
    searchEntry(text),
  ];
}

/** Moves what begins with the text to the front. */
function best(entries: readonly Entry[], text: string): Entry[] {
  const rank = (entry: Entry) => Number(!entry.text.toLowerCase().startsWith(text.toLowerCase()));
  return text === '' ? [...entries] : entries.toSorted((a, b) => rank(a) - rank(b));
}

function jobEntry({ queue, id, name, state }: EndedJobView, more = ''): Entry {
  const hint = `${name} in ${queue}, ${state}${more}`;
  return link({ key: `job ${queue} ${id}`, text: id, hint, mark: <StateMark state={state} /> }, ['job', queue, id]);
}

/** Returns the queues with shards, each as one. */
function spreadEntries(): Entry[] {
  return (overview.value?.queues ?? []).flatMap(({ name, verdict, shards }) =>
    shards
      ? link(
          {
            key: `spread ${name}`,
            text: name,
            hint: `all ${shards.length} shards`,
            mark: <VerdictMark {...verdict} />,
          },
          ['spread', name],
        )
      : [],
  );
}

function queueEntry({ name, verdict }: QueueView): Entry {
  const mark = <VerdictMark {...verdict} />;
  return link({ key: `queue ${name}`, text: name, hint: 'queue', mark }, ['queue', name]);
}

function queueActions(queue: QueueView): Entry[] {
  const { name, pausedAt, depths } = queue;
  const action = pausedAt === null ? 'pause' : 'resume';
  const pause: Entry = {
    key: `pause ${name}`,
    text: `${action === 'pause' ? 'Pause' : 'Resume'} ${name}`,
    hint: action === 'pause' ? 'asks for how long' : 'at once',
    act: () => void pauseOrResume(queue),
  };
  const dead = { key: `dead ${name}`, text: `Dead letters of ${name}`, hint: `${count(depths.failed)} to look at` };
  const charts = { key: `charts ${name}`, text: `Charts of ${name}`, hint: 'page' };
  return [
    ...(may(action, name) && !unreachable.value ? [pause] : []),
    ...(depths.failed > 0 ? [link(dead, ['queue', name], { state: 'failed' })] : []),
    link(charts, ['queue', name], { view: 'charts' }),
  ];
}

const general = (): Entry[] => [
  {
    key: 'theme',
    text: dark.value ? 'Use the light palette' : 'Use the dark palette',
    hint: 'action',
    act: () => chooseTheme(dark.peek() ? 'light' : 'dark'),
  },
  { key: 'keys', text: 'Show the keys', hint: 'action', act: showKeys },
];

function searchEntry(text: string): Entry {
  const words = text === '' ? 'Search all queues' : `Search all queues for “${text}”`;
  return link({ key: 'search', text: words, hint: 'errors too; payloads by a term' }, ['search'], { q: text });
}

/** An entry without its action. */
type Shown = Pick<Entry, 'key' | 'text' | 'hint' | 'mark'>;

/** Returns an entry that leads to a view. */
function link(shown: Shown, parts: readonly string[], params: Record<string, string> = {}): Entry {
  return { ...shown, act: () => go(href(parts, params)) };
}
