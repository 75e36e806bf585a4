import { useEffect, useState } from 'preact/hooks';
import { onClock } from '../../../inspect/schedules/clock.js';
import { relative } from '../../../inspect/words.js';
import type { EditedScheduleView, PreviewView } from '../../views/schedules-view.js';
import { useLoaded } from '../state/use-loaded.js';
import { faultOf, recurrenceOf, textOf, type Faults } from './definition-of.js';

/** The time after the last key, in ms, before the server is asked. */
const QUIET_MS = 300;

/** Shows the next three times of what the form says, by the clock of the server. Reports what is wrong with it. */
export function Preview(props: {
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
