import { onClock } from '../../../inspect/clock.js';
import { runInWords } from '../../../inspect/schedules-in-words.js';
import { relative } from '../../../inspect/words.js';
import type {
  EditedScheduleView,
  SchedulesView,
  ScheduleView,
  ScheduleRunView,
} from '../../views/schedule-view.js';
import { ask } from '../parts/confirm.js';
import { count, plural } from '../parts/format.js';
import { Notice, NotLoaded, NotRead, ScrolledTable, Name, RunMark, Sentence, Time } from '../parts/parts.js';
import { say, tried } from '../parts/toasts.js';
import { post } from '../state/api.js';
import { may, now, queues, unreachable } from '../state/live.js';
import { href, route, setParams } from '../state/route.js';
import { useLoaded } from '../state/use-loaded.js';
import { RemoveSchedule } from './remove-schedule.js';
import { ScheduleForm } from './schedule-form.js';

const REFRESH_MS = 5_000;

/** Shows the recurring jobs of all queues, and the form that makes or edits one. */
export function SchedulesPage() {
  const [, page, queue, id] = route.value.parts;
  if (page === 'new') {
    return <ScheduleForm edited={null} />;
  }
  return page === 'edit' && queue && id ? <EditPage key={`${queue} ${id}`} queue={queue} id={id} /> : <List />;
}

function EditPage(schedule: { queue: string; id: string }) {
  const { data, problem } = useLoaded<EditedScheduleView>('schedule', schedule);
  if (data) {
    return <ScheduleForm edited={data} />;
  }
  return (
    <NotLoaded what="schedule" gone="This schedule is gone." problem={problem}>
      <a href={href(['recurring'])}>Go to the recurring jobs</a>
    </NotLoaded>
  );
}

function List() {
  const { data, problem, reload } = useLoaded<SchedulesView>('schedules', {}, Math.floor(now.value / REFRESH_MS));
  if (!data) {
    return <NotLoaded what="recurring jobs" problem={problem} />;
  }
  const { schedules, unreadable } = data;
  return (
    <>
      <div class="page-title">
        <h1>{headline(schedules)}</h1>
        {maySet() && (
          <a class="button" href={href(['recurring', 'new'])}>
            New schedule
          </a>
        )}
      </div>
      <NotRead queues={unreadable} />
      {schedules.length === 0 ? (
        <Notice title="No recurring job.">
          <p>Declare one with @RecurringJob, or make one by jobs.schedules.upsert or here.</p>
        </Notice>
      ) : (
        <Rows schedules={schedules} changed={reload} />
      )}
    </>
  );
}

/** Returns whether the viewer may make a schedule in some queue. */
function maySet(): boolean {
  return queues.value.some(({ name }) => may('set-schedule', name));
}

function headline(schedules: readonly ScheduleView[]): string {
  const jobs = schedules.length === 1 ? 'One recurring job' : `${count(schedules.length)} recurring jobs`;
  const paused = schedules.filter(({ status }) => status === 'paused').length;
  const failed = schedules.filter(hasFailed).length;
  const late = schedules.filter((each) => each.late !== null).length;
  const notes = [
    ...(late > 0 ? [`${late} late`] : []),
    ...(failed > 0 ? [`the last run of ${failed === 1 ? 'one' : failed} failed`] : []),
    ...(paused > 0 ? [`${paused} paused`] : []),
  ];
  return [jobs, ...notes].join(', ');
}

/** Returns whether its last run that made a job failed. */
function hasFailed({ runs }: ScheduleView): boolean {
  return runs.find(({ jobId }) => jobId !== null)?.status === 'failed';
}

/** Sorts what needs a look to the front, then by queue and id, so that rows stand still. */
function byNeed(a: ScheduleView, b: ScheduleView): number {
  return rank(a) - rank(b) || a.queue.localeCompare(b.queue) || a.id.localeCompare(b.id);
}

function rank(schedule: ScheduleView): number {
  return schedule.late !== null ? 0 : hasFailed(schedule) || schedule.status === 'undeclared' ? 1 : 2;
}

function Rows({ schedules, changed }: { schedules: readonly ScheduleView[]; changed(): void }) {
  const filter = route.value.params.get('q') ?? '';
  const wanted = filter.trim().toLowerCase();
  const shown = schedules
    .filter(({ id, name, queue }) => `${id} ${name} ${queue}`.toLowerCase().includes(wanted))
    .toSorted(byNeed);
  return (
    <>
      <div class="queue-search">
        <input
          id="queue-search"
          type="search"
          placeholder="Filter by id, name or queue"
          aria-label="Filter by id, name or queue"
          value={filter}
          onInput={(event) => setParams({ q: event.currentTarget.value || null })}
        />
      </div>
      {shown.length === 0 ? (
        <Notice title="No recurring job matches." />
      ) : (
        <ScrolledTable
          label="Recurring jobs"
          kind="schedules"
          columns={['Recurring job', 'When', 'Next', 'Last runs']}
          acts
        >
          {shown.map((schedule) => (
            <ScheduleRow key={`${schedule.queue} ${schedule.id}`} schedule={schedule} changed={changed} />
          ))}
        </ScrolledTable>
      )}
    </>
  );
}

/** Shows one recurring job as a row: what, when, the next times, the last runs, and what can be done. */
function ScheduleRow({ schedule, changed }: { schedule: ScheduleView; changed(): void }) {
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
        {schedule.late !== null && (
          <span class="row-verdict">
            <Sentence text={schedule.late} />
          </span>
        )}
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

function Status({ schedule: { status, source, isDeclared, since, late } }: { schedule: ScheduleView }) {
  if (late !== null && status === 'active') {
    return <span class="tag tag-warn">late</span>;
  }
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

const OPEN = { pending: 'waits', scheduled: 'waits for its next attempt', processing: 'runs' } as const;

/** Shows the last runs as marks, the oldest first. Each leads to its job. */
function Runs({ schedule: { queue, runs, timeZone, ticks, skipped } }: { schedule: ScheduleView }) {
  const [last] = runs;
  if (!last) {
    return <span class="quiet">{ticks > 0 ? `${count(ticks)} before` : 'none yet'}</span>;
  }
  return (
    <>
      <ul class="runs-strip" aria-label="Last runs, the oldest first">
        {runs.toReversed().map((run) => (
          <li key={run.jobId ?? run.at}>
            <Run run={run} queue={queue} timeZone={timeZone} />
          </li>
        ))}
      </ul>
      <LastRun run={last} queue={queue} />
      <span class="hidden">
        {plural(ticks, 'run')} in all, {count(skipped)} skipped
      </span>
    </>
  );
}

interface RunProps {
  run: ScheduleRunView;
  queue: string;
}

function Run({ run, queue, timeZone }: RunProps & { timeZone: string }) {
  const words = `${onClock(run.at, timeZone, now.value)}: ${runInWords(run)}`;
  return run.jobId === null ? (
    <span role="img" aria-label={words} title={words}>
      <RunMark status={run.status} />
    </span>
  ) : (
    <a href={href(['job', queue, run.jobId])} aria-label={words} title={words}>
      <RunMark status={run.status} />
    </a>
  );
}

/** Says how the last run ended, or that its job waits or runs. */
function LastRun({ run: { jobId, at, status, isByHand }, queue }: RunProps) {
  const isOpen = status in OPEN;
  const words = isOpen ? `Its job ${OPEN[status as keyof typeof OPEN]}` : runInWords({ status, isByHand: false });
  return (
    <span class={`last-run run-${status}`}>
      {jobId === null ? words : <a href={href(['job', queue, jobId])}>{words}</a>}{' '}
      <span class="quiet">
        {isByHand ? 'by hand ' : ''}
        <Time at={at} />
      </span>
    </span>
  );
}

type Action = 'run' | 'pause' | 'resume';

/** Runs a schedule now, pauses and resumes it, and leads to its form. Who may not edit it may still remove it here. */
function ScheduleActions({ schedule, changed }: { schedule: ScheduleView; changed(): void }) {
  const { id, queue, status, isDeclared } = schedule;
  const act = async (action: Action) => {
    if ((await isAgreed(action, id)) && (await tried(() => send(action, schedule)))) {
      changed();
    }
  };
  const turn = status === 'paused' ? 'resume' : status === 'active' ? 'pause' : null;
  return (
    <div class="row-actions">
      {may('run-schedule', queue) && (
        <button
          type="button"
          disabled={unreachable.value}
          onClick={() => void act('run')}
          aria-label={`Run now: ${id}`}
        >
          Run now
        </button>
      )}
      {turn && may(`${turn}-schedule`, queue) && (
        <button
          type="button"
          class={turn === 'resume' ? 'primary' : ''}
          disabled={unreachable.value}
          onClick={() => void act(turn)}
          aria-label={`${turn === 'pause' ? 'Pause' : 'Resume'} ${id}`}
        >
          {turn === 'pause' ? 'Pause' : 'Resume'}
        </button>
      )}
      {!isDeclared &&
        (may('set-schedule', queue) ? (
          <a class="button" href={href(['recurring', 'edit', queue, id])} aria-label={`Edit ${id}`}>
            Edit
          </a>
        ) : (
          <RemoveSchedule queue={queue} id={id} removed={changed} />
        ))}
    </div>
  );
}

async function isAgreed(action: Action, id: string): Promise<boolean> {
  return (
    action !== 'pause' ||
    ask({
      title: `Pause the schedule ${id}?`,
      body: 'It enqueues nothing until it is resumed, also across deploys. What it misses is not made up.',
      verb: 'Pause the schedule',
      destroys: false,
    })
  );
}

/** Sends an action, and says what came of it. */
async function send(action: Action, { queue, id }: ScheduleView): Promise<true> {
  const { done, jobId } = await post<{ done: number; jobId: string | null }>('schedules/act', {
    action,
    queue,
    id,
  });
  if (jobId === null) {
    say(action === 'pause' ? `${id} is paused.` : `${id} continues.`);
  } else {
    const words = done === 0 ? 'Its last job has not ended.' : 'Its job is enqueued.';
    say(words, false, { text: 'Look at it', href: href(['job', queue, jobId]) });
  }
  return true;
}
