import { onClock } from '../../../inspect/schedules/clock.js';
import { relative } from '../../../inspect/words.js';
import type { ScheduleView } from '../../views/schedules-view.js';
import { Name, Time } from '../parts/parts.js';
import { now } from '../state/live.js';
import { href } from '../state/route.js';
import { Runs } from './runs.js';
import { ScheduleActions } from './schedule-actions.js';

/** Shows one recurring job as a row: what, when, the next times, the last runs, and what can be done. */
export function ScheduleRow({ schedule, changed }: { schedule: ScheduleView; changed(): void }) {
  const { id, queue, name, words, recurrence, timeZone, rules } = schedule;
  return (
    <tr class={`schedule schedule-${schedule.status}`}>
      <th scope="row">
        <strong>
          <Name text={name} />
        </strong>{' '}
        <Status schedule={schedule} />
        <span class="row-verdict">
          <code>
            <Name text={id} />
          </code>{' '}
          in{' '}
          <a href={href(['queue', queue])}>
            <Name text={queue} />
          </a>
        </span>
      </th>
      <td data-label="When" class="schedule-when" title={recurrence}>
        <bdi>{words}</bdi>
        <span class="quiet"> in {timeZone}</span>
        {rules.length > 0 && <span class="row-verdict">{rules.join(' · ')}</span>}
      </td>
      <td data-label="Next" class="schedule-next">
        <NextTimes schedule={schedule} />
      </td>
      <td data-label="Last runs" class="schedule-runs">
        <Runs schedule={schedule} />
      </td>
      <td class="schedule-buttons">
        <ScheduleActions schedule={schedule} changed={changed} />
      </td>
    </tr>
  );
}

function Status({ schedule: { status, source, isDeclared, since } }: { schedule: ScheduleView }) {
  switch (status) {
    case 'paused':
      return (
        <>
          <span class="tag tag-warn">
            paused <Time at={since} />
          </span>
          {source === 'code' && !isDeclared && <span class="tag tag-warn">its code runs nowhere</span>}
        </>
      );
    case 'ended':
      return (
        <span class="tag">
          ended <Time at={since} />
        </span>
      );
    case 'undeclared':
      return <span class="tag tag-warn">its code runs nowhere</span>;
    default:
      return <span class="tag">{source === 'code' ? 'active, from code' : 'active'}</span>;
  }
}

/** Shows the next times on the clock of the schedule; those on the viewer's clock come on hover. */
function NextTimes({ schedule: { next, timeZone } }: { schedule: ScheduleView }) {
  if (next.length === 0) {
    return <span class="quiet">none</span>;
  }
  return (
    <ol class="times">
      {next.map((at, i) => (
        <li key={at}>
          <time dateTime={new Date(at).toISOString()} title={`${onClock(at, undefined)} here`}>
            {onClock(at, timeZone, now.value)}
          </time>
          {i === 0 && <span class="quiet"> {relative(at, now.value)}</span>}
        </li>
      ))}
    </ol>
  );
}
