import type { SchedulesView } from '../../views/schedules-view.js';
import type { ScheduleView } from '../../views/views.js';
import { count } from '../parts/format.js';
import { Notice, NotRead, Time } from '../parts/parts.js';
import { ask } from '../parts/confirm.js';
import { say, tried } from '../parts/toasts.js';
import { post } from '../state/api.js';
import { may, now, unreachable } from '../state/live.js';
import { href, route, setParams } from '../state/route.js';
import { useLoaded } from '../state/use-loaded.js';

const REFRESH_MS = 5_000;

/** Shows every recurring job in words and in its time zone. */
export function SchedulesPage() {
  const version = Math.floor(now.value / REFRESH_MS);
  const { data, problem, reload } = useLoaded<SchedulesView>('schedules', {}, version);
  const filter = route.value.params.get('q') ?? '';
  if (!data) {
    return problem ? (
      <Notice title="The recurring jobs could not be loaded." kind="problem">
        <p>{problem.message}</p>
      </Notice>
    ) : (
      <Notice title="Loading the recurring jobs…" kind="loading" />
    );
  }
  const wanted = filter.trim().toLowerCase();
  const shown = data.schedules.filter(({ id, name, queue }) =>
    `${id} ${name} ${queue}`.toLowerCase().includes(wanted),
  );
  const paused = data.schedules.filter(({ status }) => status === 'paused').length;
  return (
    <>
      <h1>{headline(data.schedules.length, paused)}</h1>
      <NotRead queues={data.unreadable} />
      {data.schedules.length === 0 ? (
        <Notice title="No recurring job.">
          <p>Declare one with @RecurringJob, or make one by jobs.schedules.upsert.</p>
        </Notice>
      ) : (
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
          <ul class="schedules">
            {shown.map((schedule) => (
              <Schedule key={`${schedule.queue} ${schedule.id}`} schedule={schedule} changed={reload} />
            ))}
          </ul>
          {shown.length === 0 && <Notice title="No recurring job matches." />}
        </>
      )}
    </>
  );
}

function headline(total: number, paused: number): string {
  const jobs = total === 1 ? 'One recurring job' : `${count(total)} recurring jobs`;
  return paused > 0 ? `${jobs}, ${paused} paused` : jobs;
}

function Schedule({ schedule, changed }: { schedule: ScheduleView; changed(): void }) {
  const { id, queue, name, words, recurrence, timeZone, status, source, nextAt, lastTickAt, lastJobId } = schedule;
  return (
    <li class={`schedule schedule-${status}`}>
      <div class="schedule-what">
        <h2>
          <bdi>{words}</bdi>
          {timeZone && <span class="quiet"> in {timeZone}</span>}
        </h2>
        <p>
          <bdi class="name">{name}</bdi> in{' '}
          <a href={href(['queue', queue])}>
            <bdi>{queue}</bdi>
          </a>
          , <code>{recurrence}</code>, id <code>{id}</code>
          {source === 'code' ? ', declared in code' : ''}
        </p>
      </div>
      <dl class="figures">
        <div>
          <dt>Next</dt>
          <dd>{status === 'active' ? <NextTick at={nextAt} timeZone={timeZone} /> : status}</dd>
        </div>
        <div>
          <dt>Last</dt>
          <dd>
            {lastTickAt === null || lastJobId === null ? (
              <Time at={lastTickAt} />
            ) : (
              <a href={href(['job', queue, lastJobId])}>
                <Time at={lastTickAt} />
              </a>
            )}
          </dd>
        </div>
        <div>
          <dt>Ticks</dt>
          <dd>
            {count(schedule.ticks)}
            {schedule.skipped > 0 && <span class="quiet"> {count(schedule.skipped)} skipped</span>}
          </dd>
        </div>
      </dl>
      <ScheduleButtons schedule={schedule} changed={changed} />
    </li>
  );
}

function NextTick({ at, timeZone }: { at: number | null; timeZone: string | null }) {
  const there =
    at !== null && timeZone
      ? new Date(at).toLocaleTimeString(undefined, { timeZone, hour: '2-digit', minute: '2-digit' })
      : null;
  return (
    <>
      <Time at={at} />
      {there && <span class="quiet"> {there} there</span>}
    </>
  );
}

function ScheduleButtons({
  schedule: { id, queue, status },
  changed,
}: {
  schedule: ScheduleView;
  changed(): void;
}) {
  const act = async (action: 'run' | 'pause' | 'resume') => {
    const sure =
      action !== 'pause' ||
      (await ask({
        title: `Pause the schedule ${id}?`,
        body: 'It enqueues nothing until it is resumed, also across deploys. What it misses is not made up.',
        verb: 'Pause the schedule',
        destroys: false,
      }));
    const done = sure
      ? await tried(async () => {
          await post('schedules/act', { action, queue, id });
          return { run: 'Its job is enqueued.', pause: `${id} is paused.`, resume: `${id} continues.` }[action];
        })
      : undefined;
    if (done) {
      say(done);
      changed();
    }
  };
  return (
    <div class="job-actions">
      {may('run-schedule') && (
        <button
          type="button"
          disabled={unreachable.value}
          onClick={() => void act('run')}
          aria-label={`Run now: ${id}`}
        >
          Run now
        </button>
      )}
      {status === 'active' && may('pause-schedule') && (
        <button
          type="button"
          disabled={unreachable.value}
          onClick={() => void act('pause')}
          aria-label={`Pause ${id}`}
        >
          Pause
        </button>
      )}
      {status === 'paused' && may('resume-schedule') && (
        <button
          type="button"
          class="primary"
          disabled={unreachable.value}
          onClick={() => void act('resume')}
          aria-label={`Resume ${id}`}
        >
          Resume
        </button>
      )}
    </div>
  );
}
