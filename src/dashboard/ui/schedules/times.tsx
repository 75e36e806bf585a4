import { useState } from 'preact/hooks';
import { localTime, UNITS, unitOf } from './definition-of.js';
import { Field } from './fields.js';
import { Group, type PartProps } from './group.js';

/** Shows the fields of the times: a cron expression or an interval, a begin and an end. */
export function Times({ edited, faults }: PartProps) {
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
