import { useEffect, useRef, useState } from 'preact/hooks';
import type { EditedScheduleView } from '../../views/schedules-view.js';
import { Notice } from '../parts/parts.js';
import { say } from '../parts/toasts.js';
import { post, type Problem } from '../state/api.js';
import { may, overview, unreachable } from '../state/live.js';
import { go, href, route } from '../state/route.js';
import { Fault, Field } from './fields.js';
import { definitionOf, faultOf, halfTyped, InvalidField, type Faults } from './definition-of.js';
import { Group, type PartProps } from './group.js';
import { Preview } from './preview.js';
import { RemoveSchedule } from './remove-schedule.js';
import { Times } from './times.js';

/** Makes a schedule, or edits one. The server checks it, and each fault stands beside its field. */
export function ScheduleForm({ edited }: { edited: EditedScheduleView | null }) {
  const [refused, setRefused] = useState<Faults>({});
  const [foreseen, setForeseen] = useState<Faults>({});
  const faults = { ...foreseen, ...refused };
  const [form, setForm] = useState<FormData>();
  const shown = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (shown.current) setForm(new FormData(shown.current));
  }, []);
  const read = (event: Event) => {
    setForm(new FormData(event.currentTarget as HTMLFormElement));
    setRefused({});
  };
  const store = async (target: HTMLFormElement) => {
    const filled = new FormData(target);
    const halves = halfTyped(target.elements as Iterable<HTMLInputElement>, filled);
    if (Object.keys(halves).length > 0) {
      return setRefused(halves);
    }
    try {
      const definition = definitionOf(filled, edited);
      const { outcome } = await post<{ outcome: string }>('schedules/set', definition);
      say(outcome === 'unchanged' ? `${definition.id} is as it was.` : `${definition.id} is ${outcome}.`);
      go(href(['recurring'], { q: definition.id }));
    } catch (error) {
      setRefused(error instanceof InvalidField ? { [error.field]: error.message } : faultOf(error as Problem));
    }
  };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    void store(event.currentTarget as HTMLFormElement);
  };
  return (
    <>
      <div class="page-head">
        <p class="crumbs">
          <a href={href(['recurring'])}>Recurring jobs</a> / {edited ? <bdi>{edited.id}</bdi> : 'new'}
        </p>
        <h1>{edited ? `Edit the schedule ${edited.id}` : 'New schedule'}</h1>
      </div>
      {edited?.refusal ? (
        <Notice title={edited.refusal} />
      ) : (
        <form class="schedule-form part" onSubmit={submit} onInput={read} onChange={read} ref={shown} noValidate>
          <What edited={edited} faults={faults} />
          <Times edited={edited} faults={faults} />
          <Preview form={form} edited={edited} refused={setForeseen} />
          <Rules edited={edited} faults={faults} />
          <JobRules edited={edited} faults={faults} />
          <Payload edited={edited} faults={faults} />
          <Fault of={faults.form} />
          <div class="dialog-buttons">
            {edited && (
              <RemoveSchedule queue={edited.queue} id={edited.id} removed={() => go(href(['recurring']))} />
            )}
            <a class="button" href={href(['recurring'])}>
              {edited ? 'Keep as it is' : 'Create none'}
            </a>
            <button type="submit" class="primary" disabled={unreachable.value}>
              {edited ? 'Change the schedule' : 'Create the schedule'}
            </button>
          </div>
        </form>
      )}
    </>
  );
}

function What({ edited, faults }: PartProps) {
  const queues = (overview.value?.queues ?? []).filter(({ name }) => may('set-schedule', name));
  const chosen = edited?.queue ?? route.value.params.get('queue') ?? '';
  return (
    <Group title="What">
      <Field label="Queue" name="queue" fault={faults.queue}>
        {edited ? (
          <input name="queue" value={edited.queue} readOnly />
        ) : (
          <select name="queue">
            {queues.map(({ name }) => (
              <option key={name} value={name} selected={name === chosen}>
                {name}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field
        label="Id of the schedule"
        name="id"
        fault={faults.id}
        hint={edited ? '' : 'Letters, digits and _ . : @ -'}
      >
        <input
          name="id"
          defaultValue={edited?.id ?? ''}
          readOnly={edited !== null}
          autocomplete="off"
          spellcheck={false}
        />
      </Field>
      <Field label="Name of its jobs" name="name" fault={faults.name} hint="Empty: that of the queue">
        <input name="name" defaultValue={edited?.name ?? ''} autocomplete="off" spellcheck={false} />
      </Field>
    </Group>
  );
}

function Rules({ edited, faults }: PartProps) {
  return (
    <Group title="Rules">
      <Field label="Ends after this many jobs" name="limit" fault={faults.limit} hint="Empty: never">
        <input type="number" name="limit" min="1" defaultValue={edited?.limit ?? ''} />
      </Field>
      <Field label="Jitter, in seconds" name="jitter" fault={faults.jitterMs} hint="Each time is up to this late">
        <input
          type="number"
          name="jitter"
          min="0"
          step="any"
          defaultValue={edited?.jitterMs ? edited.jitterMs / 1_000 : ''}
        />
      </Field>
      <Field label="Missed times" name="onMissed" fault={faults.onMissed}>
        <select name="onMissed">
          <option value="skip">are skipped</option>
          <option value="once" selected={edited?.onMissed === 'once'}>
            are made up for by one job
          </option>
        </select>
      </Field>
      <label class="check">
        <input type="checkbox" name="single" defaultChecked={edited?.overlap === false} />
        Enqueue nothing while its last job has not ended
      </label>
    </Group>
  );
}

function JobRules({ edited, faults }: PartProps) {
  return (
    <Group title="Its jobs">
      <Field label="Priority" name="priority" fault={faults.priority} hint="0 to 1,000; higher is sooner">
        <input type="number" name="priority" min="0" max="1000" defaultValue={edited?.priority ?? ''} />
      </Field>
      <Field
        label="Attempts in all"
        name="maxAttempts"
        fault={faults.maxAttempts}
        hint="Empty: as many as its handler says"
      >
        <input type="number" name="maxAttempts" min="1" defaultValue={edited?.maxAttempts ?? ''} />
      </Field>
    </Group>
  );
}

function Payload({ edited, faults }: PartProps) {
  const hidden = edited?.payloadRefusal;
  const kept = edited ? 'Empty: it stays as it is' : '';
  return (
    <Field
      label="Payload of its jobs, as JSON"
      name="payload"
      fault={faults.payload}
      hint={hidden ? `${hidden} It stays as it is, unless you write another one.` : kept}
    >
      <textarea
        name="payload"
        rows={6}
        spellcheck={false}
        defaultValue={edited ? (edited.payload ?? '') : 'null'}
      />
    </Field>
  );
}
