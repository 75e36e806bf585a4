import type { ActionLogEntry } from '../../views/log-view.js';
import { overview } from '../state/live.js';
import { route, setParams } from '../state/route.js';

/** Shows the fields that restrict the action log. Each is a parameter of the address. */
export function LogFilters({ entries }: { entries: readonly ActionLogEntry[] }) {
  const { params } = route.value;
  const queues = [...(overview.value?.queues ?? []), ...(overview.value?.unreadable ?? [])].map(({ name }) => name);
  const by = params.get('by') ?? '';
  return (
    <div class="log-filters" role="search" aria-label="Filter the action log">
      <Choice name="queue" label="Queue" all="all queues" options={queues} />
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
