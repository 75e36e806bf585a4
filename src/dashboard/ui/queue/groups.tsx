import { asCommand } from '../../../inspect/display/as-command.js';
import { inQuotes } from '../../../inspect/search/in-quotes.js';
import type { GroupsView, GroupView } from '../../views/group-views.js';
import type { QueueView } from '../../views/views.js';
import { count, duration, percent, plural } from '../parts/format.js';
import { Notice, ScrolledTable, Time } from '../parts/parts.js';
import { now } from '../state/live.js';
import { href } from '../state/route.js';
import { useLoaded } from '../state/use-loaded.js';
import { GroupActions } from './group-actions.js';

const REFRESH_MS = 5_000;
/** The most groups that are listed, see the server. */
const MOST = 100;

/** Returns the groups of a queue that have jobs; empty while none is known. */
export function useGroups(queue: string) {
  return useLoaded<GroupsView>('groups', { queue }, Math.floor(now.value / REFRESH_MS));
}

/** Shows the groups of a queue: their waiting and running jobs, and what holds them back. */
export function Groups({ queue }: { queue: QueueView }) {
  const { data, problem, reload } = useGroups(queue.name);
  if (!data) {
    return problem ? <Notice title={problem.message} kind="problem" /> : <Notice title="Loading…" kind="loading" />;
  }
  if (data.groups.length === 0) {
    return <Notice title="No group has a job now." />;
  }
  const all = data.groups.reduce((sum, { running }) => sum + running, 0);
  return (
    <>
      <div class="list-head">
        <span class="quiet">
          {data.groups.length === MOST
            ? `The ${MOST} groups with the most waiting jobs`
            : `${plural(data.groups.length, 'group')} with jobs`}
          {data.ofAll !== null && `. All groups: ${data.ofAll}`}
          {data.groups.length === MOST && `. Next ones: ${nextOnes(queue.name)}`}
        </span>
      </div>
      <GroupTable queue={queue.name} {...data} all={all} changed={reload} />
    </>
  );
}

/** Returns the command that lists the groups that are not shown. */
function nextOnes(queue: string): string {
  return asCommand('groups', queue, '--offset', String(MOST), '--limit', '1000');
}

function GroupTable(props: Omit<GroupRowProps, 'group'> & GroupsView) {
  const { groups, ...rest } = props;
  return (
    <ScrolledTable
      label="Groups"
      kind="group-table"
      columns={['Group', 'Waiting', 'Oldest', 'Running', 'Share', 'Limits']}
      numbers={['Waiting', 'Oldest', 'Running', 'Share']}
      acts
    >
      {groups.map((group) => (
        <GroupRow key={group.name} group={group} {...rest} />
      ))}
    </ScrolledTable>
  );
}

interface GroupRowProps {
  queue: string;
  group: GroupView;
  /** The limits of each group without its own, in words; null for none. */
  ofAll: string | null;
  /** The running jobs of all groups. */
  all: number;
  changed(): void;
}

function GroupRow({ queue, group, ofAll, all, changed }: GroupRowProps) {
  const { name, pending, running, oldestPendingAgeMs, limits } = group;
  return (
    <tr>
      <th scope="row">
        <a href={href(['queue', queue], { state: 'pending', q: `group:${inQuotes(name)}` })}>
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
      <td data-label="Limits" class="group-limits">
        {limits ?? (ofAll === null ? 'none' : 'as all groups')}
        {group.limitedBy !== null && (
          <span class="quiet small">
            {' '}
            set by <bdi>{group.limitedBy}</bdi> <Time at={group.limitedAt} />
          </span>
        )}
      </td>
      <td class="group-buttons">
        <GroupActions queue={queue} group={group} changed={changed} />
      </td>
    </tr>
  );
}

/** Shows why a group gets no turn. */
function HeldBack({
  queue,
  group: { pausedAt, pausedUntil, pausedBy, pauseReason, heldBy, opensAt, isFull, pending, running },
}: {
  queue: string;
  group: GroupView;
}) {
  if (pausedAt !== null) {
    return (
      <span class="tag">
        paused <Time at={pausedAt} />
        {pausedBy && ` by ${pausedBy}`}
        {pauseReason && `: ${pauseReason}`}
        {pausedUntil !== null && (
          <>
            , ends <Time at={pausedUntil} />
          </>
        )}
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
  if (opensAt !== null) {
    return (
      <span class="tag">
        opens <Time at={opensAt} />
      </span>
    );
  }
  return isFull && pending > 0 ? <span class="tag">{count(running)} run, as many as may</span> : null;
}
