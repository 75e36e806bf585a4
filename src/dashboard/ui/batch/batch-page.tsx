import { useState } from 'preact/hooks';
import type { BatchMemberView, BatchPageView, BatchView, FollowUpView } from '../../views/views.js';
import { count, plural, spelled } from '../parts/format.js';
import { CopyId, Notice, NotLoaded, StateMark, Time } from '../parts/parts.js';
import { JobRowLine } from '../parts/job-row-line.js';
import { ask } from '../parts/confirm.js';
import { say, tried } from '../parts/toasts.js';
import { get, post, Problem } from '../state/api.js';
import { may, overview, unreachable } from '../state/live.js';
import { href } from '../state/route.js';
import { useLoaded } from '../state/use-loaded.js';
import { BatchBar } from './batch-bar.js';

/** Shows one batch: its progress, its members, and its follow-ups. */
export function BatchPage({ queue, id }: { queue: string; id: string }) {
  const { data, problem, reload } = useLoaded<BatchPageView>('batch', { queue, id }, overview.value?.at ?? 0);
  const gone = problem?.isGone ?? false;
  if (!data) {
    return (
      <NotLoaded what="batch" gone="This batch is gone." problem={problem}>
        <a href={href(['queue', queue], { view: 'batches' })}>
          Go to the batches of <bdi>{queue}</bdi>
        </a>
      </NotLoaded>
    );
  }
  const { batch, followUps } = data;
  return (
    <article class="job">
      {gone && <Notice title="This batch is gone meanwhile. What you see was its last state." />}
      <BatchHead batch={batch} gone={gone} changed={reload} />
      <FollowUps home={queue} followUps={followUps} />
      <Members queue={queue} id={id} first={data} />
    </article>
  );
}

function BatchHead({ batch, gone, changed }: { batch: BatchView; gone: boolean; changed(): void }) {
  const { queue, id, words, createdAt, sealedAt, firedAt, endedAt } = batch;
  const times: [string, number | null][] = [
    ['Created', createdAt],
    ['Sealed', sealedAt],
    ['Fired', firedAt],
    ['Ended', endedAt],
  ];
  return (
    <div class="page-head">
      <p class="crumbs">
        <a href={href(['queue', queue], { view: 'batches' })}>
          <bdi>{queue}</bdi>
        </a>{' '}
        / batch
      </p>
      <div class="page-title">
        <h1 class="batch-title">
          <CopyId id={id} length={40} />{' '}
          <span class="job-title-label">
            {plural(batch.total, 'job')}, {batch.state}
          </span>
        </h1>
        {!gone && <CancelBatch batch={batch} changed={changed} />}
      </div>
      <p class="state-line">{words}</p>
      <BatchBar batch={batch} />
      <dl class="figures">
        {times.map(
          ([term, at]) =>
            at !== null && (
              <div key={term}>
                <dt>{term}</dt>
                <dd>
                  <Time at={at} />
                </dd>
              </div>
            ),
        )}
      </dl>
    </div>
  );
}

function CancelBatch({ batch: { queue, id, open, stopped }, changed }: { batch: BatchView; changed(): void }) {
  if (!may('cancel-batch') || open === 0 || stopped) {
    return null;
  }
  const act = async () => {
    const many = plural(open, 'open job');
    const sure = await ask({
      title: `Cancel ${many} of this batch?`,
      body: 'Waiting jobs end, running ones are asked to stop. Then its follow-up for failures is enqueued.',
      verb: `Cancel ${many}`,
      destroys: true,
      ...(open > 1 && { typed: open }),
    });
    const outcome = sure
      ? await tried(async () => {
          const { done } = await post<{ done: number }>('batch/cancel', { queue, id });
          return `${plural(done, 'job')} ${done === 1 ? 'is' : 'are'} being cancelled.`;
        })
      : undefined;
    if (outcome) {
      say(outcome);
      changed();
    }
  };
  return (
    <div class="job-actions" role="toolbar" aria-label="Actions on this batch">
      <button type="button" class="danger-quiet" disabled={unreachable.value} onClick={() => void act()}>
        Cancel the batch
      </button>
    </div>
  );
}

/** Shows the jobs that follow, and which of them are not in their queues. */
function FollowUps({ home, followUps }: { home: string; followUps: readonly FollowUpView[] }) {
  const jobs = followUps.flatMap(({ job }) => job ?? []);
  const others = followUps.filter(({ job }) => job === null);
  return (
    <section class="part">
      <h2>What follows</h2>
      {followUps.length === 0 && <p class="quiet">It has no follow-up that you may see.</p>}
      {jobs.length > 0 && (
        <div role="list" aria-label="Follow-ups">
          {jobs.map((job) => (
            <JobRowLine key={job.id} job={job} hasQueue={job.queue !== home} />
          ))}
        </div>
      )}
      {others.length > 0 && (
        <ul class="members">
          {others.map(({ kind, queue, words }) => (
            <li class="member" key={kind}>
              <code>{kind}</code>
              <a href={href(['queue', queue])}>
                <bdi>{queue}</bdi>
              </a>
              <span class="quiet">{words}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** Shows the members in the order in which they joined. A click loads further pages. */
function Members({ queue, id, first }: { queue: string; id: string; first: BatchPageView }) {
  const [further, setFurther] = useState<BatchMemberView[]>([]);
  const [next, setNext] = useState<number | null | undefined>(undefined);
  const offset = next === undefined ? first.next : next;
  const members = [...first.members, ...further];
  const more = async () => {
    try {
      const page = await get<BatchPageView>('batch', { queue, id, offset });
      setFurther([...further, ...page.members]);
      setNext(page.next);
    } catch (error) {
      say((error as Problem).message, true);
    }
  };
  return (
    <section class="part">
      <h2>
        Its jobs{' '}
        <span class="quiet">
          {members.length < first.batch.total
            ? `${count(members.length)} of ${count(first.batch.total)}`
            : count(members.length)}
        </span>
      </h2>
      {members.length === 0 ? (
        <p class="quiet">
          {first.batch.total === 0 ? 'No job has joined yet.' : 'They are forgotten some minutes after the end.'}
        </p>
      ) : (
        <ul class="members">
          {members.map((member) => (
            <Member key={`${member.queue} ${member.id}`} member={member} home={queue} />
          ))}
        </ul>
      )}
      {offset !== null && (
        <button type="button" class="link" onClick={() => void more()}>
          Show more
        </button>
      )}
    </section>
  );
}

function Member({ member, home }: { member: BatchMemberView; home: string }) {
  const { id, queue, status, state, name, label, at, error } = member;
  const ended = status === 'open' ? null : status === 'removed' ? 'cancelled' : status;
  return (
    <li class="member" data-row>
      <StateMark state={ended ?? state ?? 'pending'} />
      <span class="member-status">{state ?? status}</span>
      <a class="row-link member-name" href={href(['job', queue, id])}>
        <bdi>{spelled(name ?? id)}</bdi>
      </a>
      {label && <bdi class="member-label">{spelled(label)}</bdi>}
      {queue !== home && (
        <span class="quiet">
          in <bdi>{queue}</bdi>
        </span>
      )}
      {error !== null && <bdi class="job-error">{error}</bdi>}
      <span class="member-end">
        {name !== null && <CopyId id={id} />}
        {at !== null && <Time at={at} />}
      </span>
    </li>
  );
}
