import { signal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { FoundJobsView } from '../../views/views.js';
import { NotRead } from '../parts/parts.js';
import { get } from '../state/api.js';
import { entriesOf, type Entry } from './palette-entries.js';

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
