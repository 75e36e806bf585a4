import type { EditedScheduleView, SchedulesView, ScheduleView } from '../../views/schedule-view.js';
import { count } from '../parts/format.js';
import { Notice, NotLoaded, NotRead, ScrolledTable } from '../parts/parts.js';
import { may, now, queues } from '../state/live.js';
import { href, route, setParams } from '../state/route.js';
import { useLoaded } from '../state/use-loaded.js';
import { ScheduleForm } from './schedule-form.js';
import { ScheduleRow } from './schedule-row.js';

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
