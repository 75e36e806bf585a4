import type { ComponentChildren } from 'preact';
import type { JobView } from '../../views/views.js';
import { short } from '../parts/format.js';
import { href } from '../state/route.js';

/** Links to the batch, schedule and group of the job, and to the jobs before and after it. */
export function Ties({
  job: { queue, batch, schedule, group, after, followedBy, redrivenFrom, redrivenAs },
}: {
  job: JobView;
}) {
  const ties: [string, ComponentChildren][] = [];
  if (batch) {
    const link = <TieLink to={href(['batch', batch.queue, batch.id])} text={batch.id} />;
    ties.push([batch.role === 'member' ? 'In the batch' : 'Follows the batch', link]);
  }
  if (schedule !== null) {
    ties.push(['Of the schedule', <TieLink to={href(['recurring'], { q: schedule })} text={schedule} />]);
  }
  if (group !== null) {
    ties.push(['In the group', <TieLink to={href(['queue', queue], { view: 'groups' })} text={group} />]);
  }
  if (after.length > 0) {
    ties.push(['Starts after', <JobLinks home={queue} jobs={after} />]);
  }
  if (followedBy.length > 0) {
    ties.push(['Followed by', <JobLinks home={queue} jobs={followedBy} />]);
  }
  if (redrivenFrom.length > 0) {
    ties.push(['Redrives the dead letter', <JobLinks home={queue} jobs={redrivenFrom} />]);
  }
  if (redrivenAs.length > 0) {
    ties.push(['Redriven as the job', <JobLinks home={queue} jobs={redrivenAs} />]);
  }
  return ties.length === 0 ? null : (
    <section class="part">
      <h2>Belongs to</h2>
      <dl class="facts ties">
        {ties.map(([term, link]) => (
          <div key={term}>
            <dt>{term}</dt>
            <dd>{link}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function TieLink({ to, text }: { to: string; text: string }) {
  return (
    <a href={to}>
      <bdi>{text}</bdi>
    </a>
  );
}

function JobLinks({ home, jobs }: { home: string; jobs: JobView['after'] }) {
  return (
    <ul class="tie-jobs">
      {jobs.map(({ queue, id }) => (
        <li key={`${queue} ${id}`}>
          <a href={href(['job', queue, id])} title={id}>
            <bdi>{queue === home ? short(id, 40) : `${queue} · ${short(id, 40)}`}</bdi>
          </a>
        </li>
      ))}
    </ul>
  );
}
