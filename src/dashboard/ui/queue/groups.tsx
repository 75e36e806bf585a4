import type { GroupView, QueueView } from '../../api/views.js';
import { count, duration, percent } from '../parts/format.js';
import { Notice, Time } from '../parts/parts.js';
import { now } from '../state/live.js';
import { href } from '../state/route.js';
import { useLoaded } from '../state/use-loaded.js';

const REFRESH_MS = 5_000;

/** The groups of a queue that have jobs; empty while none is known. */
export function useGroups(queue: string) {
  return useLoaded<{ groups: GroupView[] }>('groups', { queue }, Math.floor(now.value / REFRESH_MS));
}

/** Who shares a queue: how much of each waits and runs, and what holds it back. */
export function Groups({ queue }: { queue: QueueView }) {
  const { data, problem } = useGroups(queue.name);
  if (!data) {
    return problem ? <Notice title={problem.message} kind="problem" /> : <Notice title="Loading…" kind="loading" />;
  }
  if (data.groups.length === 0) {
    return <Notice title="No group has a job now." />;
  }
  const all = data.groups.reduce((sum, { running }) => sum + running, 0);
  return (
    <div class="scroller" tabIndex={0} role="region" aria-label="Groups">
      <table class="group-table">
        <thead>
          <tr>
            <th scope="col">Group</th>
            {['Waiting', 'Oldest', 'Running', 'Share'].map((text) => (
              <th key={text} scope="col" class="number">
                {text}
              </th>
            ))}
            <th scope="col">Limits</th>
          </tr>
        </thead>
        <tbody>
          {data.groups.map((group) => (
            <GroupRow key={group.name} queue={queue.name} group={group} all={all} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function GroupRow({ queue, group, all }: { queue: string; group: GroupView; all: number }) {
  const { name, pending, running, oldestPendingAgeMs, limits } = group;
  return (
    <tr>
      <th scope="row">
        <a href={href(['queue', queue], { state: 'pending', q: name })}>
          <bdi>{name}</bdi>
        </a>{' '}
        <HeldBack queue={queue} group={group} />
      </th>
      <td class="number" data-label="Waiting">
        {count(pending)}
      </td>
      <td class="number" data-label="Oldest">
        {pending > 0 ? duration(oldestPendingAgeMs) : '–'}
      </td>
      <td class="number" data-label="Running">
        {count(running)}
      </td>
      <td class="number" data-label="Share">
        {all > 0 ? percent(running / all) : '–'}
      </td>
      <td data-label="Limits">{limits ?? 'those of the queue'}</td>
    </tr>
  );
}

/** Why a group gets no turn. */
function HeldBack({ queue, group: { pausedAt, heldBy, opensAt } }: { queue: string; group: GroupView }) {
  if (pausedAt !== null) {
    return (
      <span class="tag">
        paused <Time at={pausedAt} />
      </span>
    );
  }
  if (heldBy !== null) {
    return (
      <a class="tag" href={href(['job', queue, heldBy])}>
        held by a job
      </a>
    );
  }
  return opensAt === null ? null : (
    <span class="tag">
      opens <Time at={opensAt} />
    </span>
  );
}
