import { useState } from 'preact/hooks';
import { asCommand, inQuotes } from '../../../inspect/words.js';
import type { GroupView, GroupsView, QueueView } from '../../views/views.js';
import { Field, LimitFields, LimitsForm } from '../limits/limits-form.js';
import { groupLimitsOf } from '../limits/limits-of.js';
import { ask } from '../parts/confirm.js';
import { count, duration, percent, plural } from '../parts/format.js';
import { Notice, ScrolledTable, Time } from '../parts/parts.js';
import { say, tried } from '../parts/toasts.js';
import { post } from '../state/api.js';
import { may, now, unreachable } from '../state/live.js';
import { href } from '../state/route.js';
import { useLoaded } from '../state/use-loaded.js';
import { askPause } from '../steer/ask-pause.js';
import { lengthen } from '../steer/pause-button.js';

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
  group: { pausedAt, pausedUntil, pausedBy, pauseReason, heldBy, isHeld, opensAt, isFull, pending, running },
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
  if (isHeld) {
    return heldBy === null ? (
      <span class="tag">held by a job</span>
    ) : (
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

type GroupAction = 'pause' | 'resume' | 'clean';

/** Pauses and resumes a group, sets its limits, and deletes its waiting jobs. */
function GroupActions({ queue, group, changed }: { queue: string; group: GroupView; changed(): void }) {
  const [limits, setLimits] = useState(false);
  const { name, pending, pausedAt, pausedUntil } = group;
  const act = async (action: GroupAction) => {
    const agreement = await agreed(action, group);
    const outcome = agreement
      ? await tried(async () => {
          const { done } = await post<{ done: number }>('groups/act', { action, queue, group: name, ...agreement });
          return outcomeOf(action, name, done);
        })
      : undefined;
    if (outcome) {
      say(outcome);
      changed();
    }
  };
  const later = async () => {
    const send = (forMs: number) =>
      post<{ done: number }>('groups/act', { action: 'pause', queue, group: name, forMs });
    if (await lengthen(`the group ${name}`, send)) changed();
  };
  const turn = pausedAt === null ? 'pause' : 'resume';
  return (
    <div class="group-actions">
      {pausedUntil !== null && may('pause') && (
        <button
          type="button"
          disabled={unreachable.value}
          aria-label={`Lengthen the pause of the group ${name}`}
          onClick={() => void later()}
        >
          Lengthen
        </button>
      )}
      {may(turn) && (
        <button
          type="button"
          class={turn === 'resume' ? 'primary' : ''}
          disabled={unreachable.value}
          aria-label={`${turn === 'pause' ? 'Pause' : 'Resume'} the group ${name}`}
          onClick={() => void act(turn)}
        >
          {turn === 'pause' ? 'Pause' : 'Resume'}
        </button>
      )}
      {may('limits') && (
        <button
          type="button"
          disabled={unreachable.value}
          aria-label={`Limits of the group ${name}`}
          onClick={() => setLimits(true)}
        >
          Limits
        </button>
      )}
      {may('remove') && (
        <button
          type="button"
          class="danger-quiet"
          disabled={pending === 0 || unreachable.value}
          aria-label={`Clean the group ${name}`}
          onClick={() => void act('clean')}
        >
          Clean
        </button>
      )}
      {limits && (
        <GroupLimitsDialog
          queue={queue}
          group={group}
          close={() => {
            setLimits(false);
            changed();
          }}
        />
      )}
    </div>
  );
}

/** Asks before an action. Returns its further fields, or null if the user decided against it. */
async function agreed(action: GroupAction, { name, pending }: GroupView): Promise<object | null> {
  if (action === 'pause') {
    return askPause(`the group ${name}`, 'It takes jobs in and starts none, in the whole fleet.');
  }
  const isAgreed =
    action === 'resume' ||
    (await ask({
      title: `Delete the jobs that wait in ${name}?`,
      body: 'They are deleted with all their traces. Jobs that wait for their time, and running jobs, stay.',
      verb: `Delete ${plural(pending, 'waiting job')}`,
      typed: pending,
      destroys: true,
    }));
  return isAgreed ? {} : null;
}

function outcomeOf(action: GroupAction, name: string, done: number): string {
  return {
    pause: `The group ${name} is paused.`,
    resume: `The group ${name} continues.`,
    clean: `${plural(done, 'job')} of ${name} deleted.`,
  }[action];
}

/** Shows, sets and clears the limits of one group. */
function GroupLimitsDialog(props: { queue: string; group: GroupView; close(): void }) {
  const { queue, group, close } = props;
  const { name, limitsSet } = group;
  const hasOwn = group.limits !== null;
  return (
    <LimitsForm
      titleId="group-limits-title"
      name={name}
      clearing={hasOwn ? { button: 'Clear its own limits', then: 'those of all groups again' } : null}
      limitsOf={(form) => groupLimitsOf(form, limitsSet)}
      store={(limits) => post('groups/limits', { queue, group: name, limits })}
      close={close}
    >
      <h2 id="group-limits-title">
        Limits of the group <bdi>{name}</bdi>
      </h2>
      <p class="quiet">
        They hold for the whole fleet and outlive deploys. An empty field is as for all groups of the queue.
      </p>
      <div class="field-row">
        <Field label="Weight: its turns against other groups" name="weight" value={limitsSet.weight} />
      </div>
      <LimitFields {...limitsSet} />
      <div class="field-row">
        <Field label="Waiting jobs at most" name="maxPending" value={limitsSet.maxPending} />
      </div>
      <label class="check">
        <input type="checkbox" name="hold" defaultChecked={limitsSet.onDeadHead === 'hold'} />
        Wait behind a dead letter, with one job at once
      </label>
    </LimitsForm>
  );
}
