import type { GroupView } from '../../views/group-views.js';
import { post } from '../state/api.js';
import { Field, LimitFields } from './limit-fields.js';
import { LimitsForm } from './limits-form.js';
import { groupLimitsOf } from './limits-of.js';

/** Shows, sets and clears the limits of one group. */
export function GroupLimitsDialog(props: { queue: string; group: GroupView; close(): void }) {
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
