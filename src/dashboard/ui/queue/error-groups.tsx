import { useEffect, useState } from 'preact/hooks';
import type { ErrorGroupsPage, ErrorGroupView, QueueView } from '../../views/views.js';
import { count, plural } from '../parts/format.js';
import { Time } from '../parts/parts.js';
import { chooseWithNote } from '../parts/confirm.js';
import { tried } from '../parts/toasts.js';
import { get, post } from '../state/api.js';
import { may, unreachable } from '../state/live.js';
import { href, setParams } from '../state/route.js';

const SHOWN = 6;

interface Props {
  queue: QueueView;
  /** The key of the kind that restricts the list; null for none. */
  chosen: string | null;
  /** Takes the kinds as they become known. */
  named(groups: ErrorGroupView[]): void;
}

/** Shows the dead letters of a queue by kind of error, the most frequent first. */
export function ErrorGroups({ queue, chosen, named }: Props) {
  const [groups, setGroups] = useState<ErrorGroupView[] | null>(null);
  const [progress, setProgress] = useState<{ searched: number; total: number } | null>(null);
  const [all, setAll] = useState(false);
  const [marks, setMarks] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    void collect(queue.name, stop.signal, (found, state) => {
      setGroups(found);
      named(found);
      setProgress(state);
    }).catch(() => undefined); // the list below shows the error
    return () => stop.abort();
  }, [queue.name, queue.depths.failed, marks]);
  if (!groups || groups.length === 0) {
    return <div class="groups groups-loading" aria-hidden="true" />;
  }
  const shown = all ? groups : groups.slice(0, SHOWN);
  const most = groups[0]!.count;
  return (
    <section class="groups" aria-label="Dead letters by error">
      <ul>
        {shown.map((group) => (
          <li key={group.key}>
            <a
              href={href(['queue', queue.name], {
                state: 'failed',
                group: group.key === chosen ? null : group.key,
              })}
              aria-current={group.key === chosen ? 'true' : undefined}
            >
              <span class="group-count">{count(group.count)}</span>
              <progress max={most} value={group.count} aria-hidden="true" />
              <bdi class="group-sample">
                {group.isNew && !group.mark && <span class="tag">new</span>}
                {group.mark?.comesAgain && <span class="tag">comes again</span>} <strong>{group.name}</strong>{' '}
                {group.sample}
                {group.mark && <span class="quiet"> {group.mark.words}</span>}
              </bdi>
              <span class="group-time">
                {group.lastHour ? `${count(group.lastHour)} in 1 h, ` : ''}
                <Time at={group.lastAt} />
              </span>
            </a>
            {/^[\da-f~]/.test(group.key) && may('mark-error', queue.name) && (
              <button
                type="button"
                class="link group-mark"
                disabled={unreachable.value}
                onClick={() => void markKind(queue.name, group).then((isMarked) => isMarked && setMarks(marks + 1))}
              >
                Mark<span class="hidden"> {group.name}</span>
              </button>
            )}
          </li>
        ))}
      </ul>
      <p class="quiet small">
        {progress && progress.searched < progress.total
          ? `Grouped ${count(progress.searched)} of ${count(progress.total)} so far. `
          : `${plural(groups.length, 'kind')} of error. `}
        {groups.length > SHOWN && (
          <button type="button" class="link" onClick={() => setAll(!all)}>
            {all ? 'Show fewer' : `Show all ${groups.length}`}
          </button>
        )}
        {chosen !== null && (
          <button type="button" class="link" onClick={() => setParams({ group: null })}>
            Show all dead letters
          </button>
        )}
      </p>
    </section>
  );
}

const HOUR_MS = 3_600_000;

/** Asks what to say of a kind of error, and says it. Returns whether anything was said. */
async function markKind(queue: string, { key, name, sample, mark }: ErrorGroupView): Promise<boolean> {
  const asked = await chooseWithNote<{ known?: true; quietForMs?: number } | null>(
    {
      title: `Mark this ${name} of ${queue}?`,
      body: `“${sample}”. What you say replaces what was said before.`,
      destroys: false,
      noteLabel: 'A note, such as a ticket',
    },
    [
      { value: { known: true }, words: 'Known: no alert until it comes again', verb: 'Mark as known' },
      { value: { quietForMs: HOUR_MS }, words: 'No alert for an hour', verb: 'Keep quiet for 1 h' },
      { value: { quietForMs: 24 * HOUR_MS }, words: 'No alert for a day', verb: 'Keep quiet for 24 h' },
      { value: {}, words: 'Only a note', verb: 'Note it' },
      ...(mark ? [{ value: null, words: 'Forget what was said', verb: 'Forget it' }] : []),
    ],
  );
  if (asked === null || (asked.value && Object.keys(asked.value).length === 0 && asked.note === '')) {
    return false;
  }
  const said = asked.value && { ...asked.value, ...(asked.note !== '' && { note: asked.note }) };
  return (await tried(() => post('errors/mark', { queue, kind: key, mark: said }))) !== undefined;
}

async function collect(
  queue: string,
  signal: AbortSignal,
  show: (groups: ErrorGroupView[], progress: { searched: number; total: number }) => void,
): Promise<void> {
  const byKey = new Map<string, ErrorGroupView>();
  let cursor: string | null = null;
  let searched = 0;
  do {
    const page: ErrorGroupsPage = await get<ErrorGroupsPage>('errors', { queue, cursor }, signal);
    searched += page.searched;
    cursor = page.cursor;
    for (const group of page.groups) {
      byKey.set(group.key, joined(byKey.get(group.key), group));
    }
    show(
      [...byKey.values()].toSorted((a, b) => b.count - a.count),
      { searched, total: page.total },
    );
  } while (cursor !== null && !signal.aborted);
}

function joined(known: ErrorGroupView | undefined, group: ErrorGroupView): ErrorGroupView {
  return known
    ? {
        ...known,
        count: known.count + group.count,
        firstAt: Math.min(known.firstAt ?? Infinity, group.firstAt ?? Infinity),
        lastAt: Math.max(known.lastAt ?? 0, group.lastAt ?? 0),
      }
    : group;
}
