import { signal as newSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { CountPage, JobMatch, State } from '../../views/views.js';
import { get } from '../state/api.js';
import { count } from './format.js';

interface Counting {
  words: string;
  found: number;
  searched: number;
  total: number;
  /** Ends it: with null the action goes on without the number, with undefined nothing happens. */
  end(number: null | undefined): void;
}

const counting = newSignal<Counting | null>(null);

/**
 * Counts the jobs that match, and shows how far it is. Resolves to the number. It resolves to null where the user
 * does not wait for it, and to undefined where the user gave up.
 */
export async function counted(
  queue: string,
  state: State,
  match: JobMatch,
  words: string,
): Promise<number | null | undefined> {
  const stop = new AbortController();
  const given = new Promise<null | undefined>((end) => {
    counting.value = { words, found: 0, searched: 0, total: 0, end };
  });
  try {
    return await Promise.race([given, countAll({ queue, state, ...match }, stop.signal)]);
  } finally {
    stop.abort();
    counting.value = null;
  }
}

async function countAll(query: Record<string, string>, signal: AbortSignal): Promise<number> {
  let found = 0;
  let searched = 0;
  let cursor: string | null = null;
  do {
    const page: CountPage = await get<CountPage>('search/count', { ...query, cursor }, signal);
    found += page.found;
    searched += page.searched;
    cursor = page.cursor;
    if (counting.value && !signal.aborted) {
      counting.value = { ...counting.value, found, searched, total: page.total };
    }
  } while (cursor !== null && !signal.aborted);
  return found;
}

export function CountingDialog() {
  return counting.value && <Dialog progress={counting.value} />;
}

function Dialog({ progress: { words, found, searched, total, end } }: { progress: Counting }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="counting-title" onClose={() => end(undefined)}>
      <h2 id="counting-title">Counting {words}</h2>
      <p role="status">
        {count(found)} so far; looked at {count(searched)} of {count(Math.max(searched, total))}.
      </p>
      <progress max={Math.max(1, total)} value={Math.min(searched, total)} aria-label="Jobs looked at" />
      <div class="dialog-buttons">
        <button type="button" onClick={() => end(undefined)}>
          Keep as it is
        </button>
        <button type="button" onClick={() => end(null)}>
          Go on without the number
        </button>
      </div>
    </dialog>
  );
}
