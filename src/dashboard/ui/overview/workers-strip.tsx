import type { RunningView, WorkerView } from '../../views/views.js';
import { duration, plural } from '../parts/format.js';
import { StateMark, Time } from '../parts/parts.js';
import { now } from '../state/live.js';
import { href } from '../state/route.js';

const SHOWN = 4;

/** Shows each worker and its jobs. */
export function WorkersStrip({ workers }: { workers: readonly WorkerView[] }) {
  const live = workers.filter(isLive);
  return (
    <section class="workers-strip" aria-labelledby="workers-title">
      <h2 id="workers-title">
        <a href={href(['workers'])}>{plural(live.length, 'worker')}</a>
      </h2>
      {live.length === 0 && <p class="quiet">No worker has announced itself within the last 30 s.</p>}
      <ul class="lanes">
        {[...live, ...workers.filter(({ holds }) => holds)].map((worker) => (
          <li key={worker.id} class="lane">
            <WorkerName worker={worker} />
            {isLive(worker) ? <Slots worker={worker} /> : <Silence worker={worker} />}
            <ClaimedJobs worker={worker} most={SHOWN} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function WorkerName({ worker: { id, host, pid } }: { worker: WorkerView }) {
  return (
    <span class="lane-name" title={id}>
      <bdi>{host}</bdi>
      {pid !== null && <span class="quiet"> pid {pid}</span>}
    </span>
  );
}

export function isLive({ holds }: WorkerView): boolean {
  return holds === null;
}

/** Returns how many slots of their worker the jobs take. */
export function usedSlots(running: readonly RunningView[]): number {
  return running.reduce((sum, { slots = 1 }) => sum + slots, 0);
}

/** Says when a silent worker was last seen, and how many jobs it holds. */
export function Silence({ worker: { seenAt, holds } }: { worker: WorkerView }) {
  return (
    <span class="stuck">
      last seen <Time at={seenAt} />, holds {holds ? plural(holds, 'job') : 'nothing'}
    </span>
  );
}

/** Shows the used slots of a worker. */
function Slots({ worker: { slots, running, stuck } }: { worker: WorkerView }) {
  if (slots === null) {
    return null;
  }
  const used = usedSlots(running);
  return (
    <span class="slots">
      <progress value={used} max={slots} aria-hidden="true" />
      {used} of {slots}
      {stuck.length > 0 && <span class="stuck"> ({stuck.length} stuck)</span>}
    </span>
  );
}

/** Shows the jobs that run on a worker, then how many more it has claimed. */
export function ClaimedJobs({ worker: { running, prefetched }, most }: { worker: WorkerView; most: number }) {
  if (running.length + prefetched.length === 0) {
    return <span class="quiet">idle</span>;
  }
  return (
    <ul class="cards">
      {running.slice(0, most).map((job) => (
        <Card key={`${job.queue} ${job.id}`} job={job} />
      ))}
      {running.length > most && <li class="quiet">and {running.length - most} more</li>}
      {prefetched.length > 0 && <li class="quiet">{prefetched.length} prefetched, waiting for a slot</li>}
    </ul>
  );
}

function Card({ job: { id, queue, name, label, claimedAt } }: { job: RunningView }) {
  return (
    <li>
      <a class="card" href={href(['job', queue, id])}>
        <StateMark state="processing" />
        <bdi class="card-name">{name}</bdi>
        <bdi class="card-label">{label}</bdi>
        <span class="card-time">{claimedAt === null ? '' : duration(Math.max(0, now.value - claimedAt))}</span>
      </a>
    </li>
  );
}
