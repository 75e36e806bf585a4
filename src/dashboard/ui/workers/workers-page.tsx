import type { EndedWorkerView, WorkerView } from '../../views/views.js';
import { count, plural } from '../parts/format.js';
import { Notice, ScrolledTable, Time } from '../parts/parts.js';
import { ClaimedJobs, isLive, Silence, usedSlots } from '../overview/workers-strip.js';
import { connection, overview } from '../state/live.js';
import { href } from '../state/route.js';

const MOST = 50;

/** Shows every worker process of the fleet: its host, its queues, its running jobs. */
export function WorkersPage() {
  const { workers, ended } = overview.value ?? {};
  if (!workers || !ended) {
    const away = connection.value === 'away' || connection.value === 'lost';
    return (
      <Notice
        title={away ? 'There is nothing to show yet.' : 'Loading the workers…'}
        kind={away ? 'problem' : 'loading'}
      />
    );
  }
  const live = workers.filter(isLive);
  const silent = workers.filter((worker) => !isLive(worker));
  const running = live.reduce((sum, worker) => sum + worker.running.length, 0);
  return (
    <>
      <h1>
        {live.length === 0
          ? 'No worker runs'
          : `${plural(live.length, 'worker')}, ${running === 0 ? 'all idle' : `${plural(running, 'job')} running`}`}
        {silent.length > 0 && `, ${count(silent.length)} silent`}
      </h1>
      {live.length === 0 && (
        <Notice title="No worker has announced itself within the last 30 s.">
          <p>Jobs that are enqueued wait until one starts.</p>
        </Notice>
      )}
      <ul class="workers">
        {[...silent, ...live].map((worker) => (
          <Worker key={worker.id} worker={worker} />
        ))}
      </ul>
      {ended.length > 0 && <EndedWorkers ended={ended} />}
    </>
  );
}

/** Shows the workers that died, when, how, and what they ran. */
function EndedWorkers({ ended }: { ended: readonly EndedWorkerView[] }) {
  return (
    <section aria-labelledby="ended-title">
      <h2 id="ended-title">{plural(ended.length, 'worker')} died in the last hour</h2>
      <ScrolledTable label="Workers that died" kind="actions" columns={['Worker', 'When', 'How', 'What it ran']}>
        {ended.map(({ id, host, pid, at, how, jobs, ran }) => (
          <tr key={id}>
            <th scope="row" data-label="Worker" title={id}>
              <bdi>{host}</bdi>
              {pid !== null && <span class="quiet"> pid {pid}</span>}
            </th>
            <td data-label="When">
              <Time at={at} />
            </td>
            <td data-label="How" class="what">
              <bdi>{how}</bdi>
            </td>
            <td data-label="What it ran" class="what">
              {ran.map((job) => (
                <a key={`${job.queue} ${job.id}`} class="tag" href={href(['job', job.queue, job.id])}>
                  <bdi>{job.name || job.id}</bdi>
                </a>
              ))}
              {jobs > ran.length && <span class="quiet"> and {count(jobs - ran.length)} more</span>}
            </td>
          </tr>
        ))}
      </ScrolledTable>
    </section>
  );
}

function Worker({ worker }: { worker: WorkerView }) {
  const { id, host, pid, seenAt, slots, app, version, startedAt, queues, running, prefetched, stuck } = worker;
  const used = usedSlots(running);
  return (
    <li class="worker">
      <h2>
        <bdi>{host}</bdi>
        {pid !== null && <span class="quiet"> pid {pid}</span>}
      </h2>
      {!isLive(worker) && (
        <p>
          Silent: <Silence worker={worker} />.
          {worker.holds !== 0 && ' Other workers run its jobs once their claims expire.'}
        </p>
      )}
      <dl class="figures">
        {isLive(worker) && (
          <div>
            <dt>Running</dt>
            <dd>
              {count(running.length)}
              {slots !== null &&
                (used === running.length ? ` of ${count(slots)}` : `, ${count(used)} of ${count(slots)} slots`)}
            </dd>
          </div>
        )}
        {prefetched.length > 0 && (
          <div>
            <dt>Prefetched</dt>
            <dd>{count(prefetched.length)}</dd>
          </div>
        )}
        {app !== null && (
          <div>
            <dt>App</dt>
            <dd>
              <bdi>{app}</bdi>
            </dd>
          </div>
        )}
        {version !== null && (
          <div>
            <dt>Version</dt>
            <dd>
              <bdi>{version}</bdi>
            </dd>
          </div>
        )}
        {startedAt !== null && (
          <div>
            <dt>Started</dt>
            <dd>
              <Time at={startedAt} />
            </dd>
          </div>
        )}
        <div>
          <dt>Last seen</dt>
          <dd>{seenAt > 0 ? <Time at={seenAt} /> : 'not announced'}</dd>
        </div>
        <div>
          <dt>Id</dt>
          <dd>
            <code>{id}</code>
          </dd>
        </div>
      </dl>
      <p class="worker-queues">
        {queues.map((queue) => (
          <a key={queue} class="tag" href={href(['queue', queue])}>
            <bdi>{queue}</bdi>
          </a>
        ))}
      </p>
      {stuck.length > 0 && (
        <p class="stuck">
          {plural(stuck.length, 'handler')} ignored the signal to end and {stuck.length === 1 ? 'keeps' : 'keep'} a
          slot:{' '}
          {stuck.map((job) => (
            <a key={`${job.queue} ${job.id}`} class="tag" href={href(['job', job.queue, job.id])}>
              <bdi>{job.name}</bdi>
            </a>
          ))}
        </p>
      )}
      {worker.holds !== 0 && <ClaimedJobs worker={worker} most={MOST} />}
    </li>
  );
}
