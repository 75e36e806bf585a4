import type { ActionLogEntry, LogView } from '../../views/views.js';
import { count, exact } from '../parts/format.js';
import { NotRead, Notice, NotLoaded, ScrolledTable, Time } from '../parts/parts.js';
import { now, queues, unreadable } from '../state/live.js';
import { href, route, setParams } from '../state/route.js';
import { useLoaded } from '../state/use-loaded.js';

const REFRESH_MS = 10_000;
const VIA = { dashboard: 'dashboard', cli: 'command line', app: 'code of the app' };

/** Shows who did what, when, and to how many jobs, in all queues or in one. */
export function LogPage() {
  const { params } = route.value;
  const asked = Object.fromEntries(['queue', 'action', 'by', 'via'].map((name) => [name, params.get(name)]));
  const version = Math.floor(now.value / REFRESH_MS);
  const { data, problem } = useLoaded<LogView>('log', asked, version);
  const isFiltered = Object.values(asked).some(Boolean);
  return (
    <>
      <h1>Who did what</h1>
      <LogFilters entries={data?.entries ?? []} />
      <NotRead queues={data?.unreadable ?? []} />
      {!data && <NotLoaded what="action log" problem={problem} />}
      {data?.entries.length === 0 && <NoEntry isFiltered={isFiltered} />}
      {data && data.entries.length > 0 && <Entries {...data} />}
    </>
  );
}

function NoEntry({ isFiltered }: { isFiltered: boolean }) {
  return isFiltered ? (
    <Notice title="No action matches." />
  ) : (
    <Notice title="Nobody has done anything yet.">
      <p>
        Actions of this dashboard, of the command line and of the code of apps leave a line: who, what, how many,
        and when.
      </p>
    </Notice>
  );
}

function Entries({ entries, isCut }: Pick<LogView, 'entries' | 'isCut'>) {
  return (
    <>
      <ScrolledTable
        label="Action log"
        kind="actions"
        columns={['When', 'Who', 'Action', 'What', 'Changed', 'Queue']}
        numbers={['Changed']}
      >
        {entries.map((entry, i) => (
          <Entry key={i} entry={entry} />
        ))}
      </ScrolledTable>
      {isCut && <p class="quiet">The latest {count(entries.length)} are shown. A filter finds earlier ones.</p>}
    </>
  );
}

function Entry({
  entry: { at, by, via, action, subject, target, other, count: changes, queue },
}: {
  entry: ActionLogEntry;
}) {
  const link = linkTo(queue, target);
  return (
    <tr>
      <td data-label="When" title={exact(at)}>
        <Time at={at} />
      </td>
      <td data-label="Who" class="who">
        <bdi>{by}</bdi> <span class="quiet small">{VIA[via] ?? via}</span>
      </td>
      <td data-label="Action">{action.replaceAll('-', ' ')}</td>
      <td data-label="What" class="what">
        {link === null ? (
          <bdi>{subject}</bdi>
        ) : (
          <a href={link}>
            <bdi>{subject}</bdi>
          </a>
        )}
        <Other queue={queue} other={other} />
      </td>
      <td data-label="Changed" class="number" title={changes === null ? 'Its end is unknown' : undefined}>
        {action.startsWith('begin-') ? '–' : changes === null ? '?' : count(changes)}
      </td>
      <td data-label="Queue">
        <a href={href(['queue', queue])}>
          <bdi>{queue}</bdi>
        </a>
      </td>
    </tr>
  );
}

/** Shows the second object of an action, with its link. */
function Other({ queue, other }: Pick<ActionLogEntry, 'queue' | 'other'>) {
  const link = linkTo(queue, other);
  return (
    link !== null && (
      <>
        {': '}
        <a href={link}>
          <bdi>
            {other!.kind} {other!.id}
          </bdi>
        </a>
      </>
    )
  );
}

function linkTo(queue: string, target: ActionLogEntry['target']): string | null {
  switch (target?.kind) {
    case 'job':
      return href(['job', queue, target.id]);
    case 'batch':
      return href(['batch', queue, target.id]);
    case 'schedule':
      return href(['recurring'], { q: target.id });
    case 'group':
      return href(['queue', queue], { view: 'groups' });
    default:
      return null;
  }
}

/** Shows the fields that restrict the action log. Each is a parameter of the address. */
function LogFilters({ entries }: { entries: readonly ActionLogEntry[] }) {
  const { params } = route.value;
  const names = [...queues.value, ...unreadable.value].map(({ name }) => name);
  const by = params.get('by') ?? '';
  return (
    <div class="log-filters" role="search" aria-label="Filter the action log">
      <Choice name="queue" label="Queue" all="all queues" options={names} />
      <Choice name="action" label="Action" all="all actions" options={entries.map(({ action }) => action)} />
      <Choice name="via" label="From" all="from anywhere" options={['dashboard', 'cli', 'app']} />
      <label>
        <span>Who</span>
        <input
          id="queue-search"
          type="search"
          placeholder="part of a name"
          value={by}
          onInput={(event) => setParams({ by: event.currentTarget.value || null })}
        />
      </label>
    </div>
  );
}

function Choice(props: { name: string; label: string; all: string; options: readonly string[] }) {
  const { name, label, all, options } = props;
  const chosen = route.value.params.get(name) ?? '';
  const values = [...new Set([...options, ...(chosen === '' ? [] : [chosen])])].toSorted();
  return (
    <label>
      <span>{label}</span>
      <select value={chosen} onChange={(event) => setParams({ [name]: event.currentTarget.value || null })}>
        <option value="">{all}</option>
        {values.map((value) => (
          <option key={value} value={value}>
            {value.replaceAll('-', ' ')}
          </option>
        ))}
      </select>
    </label>
  );
}
