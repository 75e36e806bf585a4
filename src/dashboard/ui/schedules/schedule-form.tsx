import { type ComponentChildren, type VNode, cloneElement } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { onClock } from '../../../inspect/clock.js';
import { relative } from '../../../inspect/words.js';
import type { EditedScheduleView, PreviewView } from '../../views/schedule-view.js';
import { Notice } from '../parts/parts.js';
import { say } from '../parts/toasts.js';
import { type Problem, post } from '../state/api.js';
import { may, queues, unreachable } from '../state/live.js';
import { go, href, route } from '../state/route.js';
import { useLoaded } from '../state/use-loaded.js';
import {
  type Faults,
  InvalidField,
  UNITS,
  definitionOf,
  faultOf,
  halfTyped,
  localTime,
  recurrenceOf,
  textOf,
  unitOf,
} from './definition-of.js';
import { RemoveSchedule } from './remove-schedule.js';

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
  const settable = queues.value.filter(({ name }) => may('set-schedule', name));
  const chosen = edited?.queue ?? route.value.params.get('queue') ?? '';
  return (
    <Group title="What">
      <Field label="Queue" name="queue" fault={faults.queue}>
        {edited ? (
          <input name="queue" value={edited.queue} readOnly />
        ) : (
          <select name="queue">
            {settable.map(({ name }) => (
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

/** The time after the last key, in ms, before the server is asked. */
const QUIET_MS = 300;

/** Shows the next three times of what the form says, by the clock of the server. Reports what is wrong with it. */
function Preview(props: {
  form: FormData | undefined;
  edited: EditedScheduleView | null;
  refused(faults: Faults): void;
}) {
  const { form, edited, refused } = props;
  const asked = form && queryOf(form, edited);
  const [query, setQuery] = useState(asked);
  useEffect(() => {
    const timer = setTimeout(() => setQuery(asked), QUIET_MS);
    return () => clearTimeout(timer);
  }, [JSON.stringify(asked)]);
  const { data, problem } = useLoaded<PreviewView>(query ? 'schedules/preview' : null, query ?? {});
  useEffect(() => refused(problem ? faultOf(problem) : {}), [problem]);
  return (
    <div class="schedule-preview" role="status">
      {data ? (
        <>
          <p>
            <strong>{data.words}</strong>
            <span class="quiet"> in {data.timeZone}</span>
          </p>
          <ol class="times">
            {data.next.map((at) => (
              <li key={at}>
                {onClock(at, data.timeZone, data.at)} <span class="quiet">{relative(at, data.at)}</span>
              </li>
            ))}
            {data.next.length === 0 && <li class="quiet">It has no time left.</li>}
          </ol>
        </>
      ) : (
        <p class="quiet">{problem ? 'It has no next times yet.' : 'The next three times are shown here.'}</p>
      )}
    </div>
  );
}

/** Returns the question for the server; undefined while the form says no times. */
function queryOf(form: FormData, edited: EditedScheduleView | null): Record<string, string> | undefined {
  const recurrence = recurrenceOf(form, edited);
  const queue = textOf(form, 'queue') ?? '';
  if (queue === '' || recurrence.cron === '') {
    return undefined;
  }
  return { queue, id: textOf(form, 'id') ?? '', recurrence: JSON.stringify(recurrence) };
}

/** Shows the fields of the times: a cron expression or an interval, a begin and an end. */
function Times({ edited, faults }: PartProps) {
  const [kind, setKind] = useState(edited?.everyMs ? 'every' : 'cron');
  const { value, unit } = unitOf(edited?.everyMs ?? 3_600_000);
  const choice = (each: 'cron' | 'every', words: string) => (
    <label class="check">
      <input type="radio" name="kind" value={each} checked={kind === each} onChange={() => setKind(each)} />
      {words}
    </label>
  );
  return (
    <Group title="When">
      <div class="form-choice" role="radiogroup" aria-label="Kind of times">
        {choice('cron', 'By a cron expression')}
        {choice('every', 'At an interval')}
      </div>
      <div class="form-kind" hidden={kind !== 'cron'}>
        <Field label="Cron expression" name="cron" fault={faults.cron} hint="Minute, hour, day, month, weekday">
          <input
            name="cron"
            placeholder="0 3 * * *"
            defaultValue={edited?.cron ?? ''}
            autocomplete="off"
            spellcheck={false}
          />
        </Field>
        <Field label="Time zone" name="timeZone" fault={faults.timeZone} hint="Empty: UTC">
          <input
            name="timeZone"
            list="time-zones"
            defaultValue={edited ? (edited.timeZone ?? '') : Intl.DateTimeFormat().resolvedOptions().timeZone}
            autocomplete="off"
            spellcheck={false}
          />
        </Field>
        <datalist id="time-zones">
          {Intl.supportedValuesOf('timeZone').map((zone) => (
            <option key={zone} value={zone} />
          ))}
        </datalist>
      </div>
      <div class="form-kind" hidden={kind !== 'every'}>
        <Field label="Every" name="every" fault={faults.everyMs} hint="Whole multiples of it since 1970">
          <input type="number" name="every" min="0" step="any" defaultValue={value} />
        </Field>
        <Field label="Unit" name="unit">
          <select name="unit">
            {UNITS.map(([ms, words]) => (
              <option key={ms} value={ms} selected={ms === unit}>
                {words}
              </option>
            ))}
          </select>
        </Field>
      </div>
      <Field label="Not before, on your clock" name="startAt" fault={faults.startAt} hint="Empty: at once">
        <input type="datetime-local" name="startAt" step="1" defaultValue={localTime(edited?.startAt)} />
      </Field>
      <Field label="Not after, on your clock" name="endAt" fault={faults.endAt} hint="Empty: it does not end">
        <input type="datetime-local" name="endAt" step="1" defaultValue={localTime(edited?.endAt)} />
      </Field>
    </Group>
  );
}

/** Shows a field with its label, a hint, and what is wrong with it. */
function Field(props: {
  label: string;
  name: string;
  hint?: string;
  fault?: string | undefined;
  children: VNode<object>;
}) {
  const { label, name, hint, fault, children } = props;
  const about = `about-${name}`;
  return (
    <div class="form-field">
      <label for={`field-${name}`}>{label}</label>
      {cloneElement(children, {
        id: `field-${name}`,
        'aria-describedby': about,
        'aria-invalid': fault === undefined ? undefined : 'true',
      })}
      <p
        id={about}
        class={fault === undefined ? 'quiet small' : 'field-problem'}
        role={fault === undefined ? undefined : 'alert'}
      >
        {fault ?? hint}
      </p>
    </div>
  );
}

/** Shows a fault that no field has. */
function Fault({ of }: { of: ComponentChildren }) {
  return (
    <p class="field-problem" role="alert">
      {of}
    </p>
  );
}

interface PartProps {
  edited: EditedScheduleView | null;
  faults: Faults;
}

/** Shows some fields under a title. */
function Group({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <fieldset class="form-group">
      <legend>{title}</legend>
      {children}
    </fieldset>
  );
}
