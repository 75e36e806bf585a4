import { useEffect } from 'preact/hooks';
import { asCommand } from '../../../inspect/words.js';
import { cut } from '../../../queue/runtime/cut.js';
import type { JobPart } from '../../views/job-file.js';
import type { JobView, State } from '../../views/views.js';
import { AboutOther } from '../parts/about-other.js';
import { CopyButton } from '../parts/copy.js';
import { duration, exact, plural, spelled } from '../parts/format.js';
import { CopyId, Notice, NotLoaded, Sentence, StateMark, Time } from '../parts/parts.js';
import { connection, now, overview } from '../state/live.js';
import { href } from '../state/route.js';
import { useLoaded } from '../state/use-loaded.js';
import { RemedyAction } from '../steer/remedy.js';
import { Attempts, ErrorDetail } from './attempts.js';
import { JobActions } from './job-actions.js';
import { JsonTree } from './json-tree.js';
import { Download, Part, Waits } from './waits.js';
import { Ties } from './ties.js';

const ENDED = ['completed', 'failed', 'cancelled'];

/** Shows the details of one job, live until it has ended. */
export function JobPage({ queue, id }: { queue: string; id: string }) {
  // Each reading of the queues also reads the job, while it can still change without the user.
  const { data: job, problem, reload } = useLoaded<JobView>('job', { queue, id }, overview.value?.at ?? 0);
  useEffect(() => {
    if (connection.value === 'live' && problem && !problem.isGone) reload();
  }, [connection.value]);
  const gone = problem?.isGone;
  if (!job) {
    return (
      <NotLoaded what="job" gone="There is no record of this job now." problem={problem}>
        <a href={href(['queue', queue])}>
          Go to the queue <bdi>{queue}</bdi>
        </a>
      </NotLoaded>
    );
  }
  return (
    <article class="job">
      {gone && (
        <Notice title="This job is gone meanwhile. What you see was its last state.">
          <p>{problem.message}</p>
        </Notice>
      )}
      <JobHead job={job} gone={gone ?? false} changed={reload} />
      <AboutOther queue={job.queue} />
      <StatePath job={job} />
      {!gone && job.whyNotRunning && (
        <p class="why">
          <Sentence text={job.whyNotRunning} /> <RemedyAction verdict={job} />
        </p>
      )}
      <Attempts job={job} nowMs={now.value} />
      <WhyItFailed job={job} />
      <div class="job-columns">
        <Part title="Payload" copied={job.brokenPayload ?? jsonOf(job.payload)} of={job} part="payload">
          {job.unshown !== null ? (
            <p>{job.unshown}</p>
          ) : job.brokenPayload === null ? (
            <Value job={job} part="payload" value={job.payload} />
          ) : (
            <>
              <p>The payload is not JSON. Its text:</p>
              <pre class="text" tabIndex={0}>
                {job.brokenPayload}
              </pre>
            </>
          )}
        </Part>
        <Part title="Result" copied={job.hasResult ? jsonOf(job.result) : undefined} of={job} part="result">
          {job.hasResult ? <Value job={job} part="result" value={job.result} /> : <NoResult job={job} />}
        </Part>
        {job.progressValue !== null && job.progressValue !== undefined && (
          <Part title="Progress" of={job} part="progress">
            {job.progress !== null && <progress max="100" value={job.progress} aria-label={`${job.progress} %`} />}
            <Value job={job} part="progress" value={job.progressValue} />
          </Part>
        )}
        {job.metadata && (
          <Part title="Metadata">
            <JsonTree value={job.metadata} />
          </Part>
        )}
        <Ties job={job} />
        <Part title="Facts">
          <Facts job={job} />
        </Part>
      </div>
      {job.stream && (
        <Part title={`Stream, ${plural(job.stream.entries, 'entry', 'entries')}`} copied={job.stream.text}>
          <pre class="text" tabIndex={0}>
            {job.stream.text}
          </pre>
        </Part>
      )}
      {job.steps.length > 0 && <Steps job={job} />}
      {job.waits.length + job.signals.length > 0 && <Waits job={job} changed={reload} />}
      {job.log.length > 0 && <LogLines job={job} />}
    </article>
  );
}

function JobHead({ job, gone, changed }: { job: JobView; gone: boolean; changed(): void }) {
  const { name, queue, label, state, attempts, maxAttempts, endedAt, at } = job;
  return (
    <div class="page-head">
      <p class="crumbs">
        <a href={href(['queue', queue])}>
          <bdi>{queue}</bdi>
        </a>{' '}
        / <CopyId id={job.id} length={40} />{' '}
        <CopyButton text={asCommand('show', queue, job.id)} title="Copy the command that shows this job">
          Copy as a command
        </CopyButton>
      </p>
      <div class="page-title">
        <h1>
          <bdi>{spelled(name)}</bdi>
          {label && <bdi class="job-title-label"> {spelled(label)}</bdi>}
        </h1>
        {!gone && <JobActions job={job} changed={changed} />}
      </div>
      <p class={`state-line state-${state}`}>
        <StateMark state={state} />
        <span>
          <strong>{state}</strong> <Since state={state} at={endedAt ?? at} />
          {job.isPrefetched && ', waits for a slot of its worker'}
          {attempts > 0 && `, attempt ${attempts}${maxAttempts ? ` of ${maxAttempts}` : ''}`}
          {job.cancelRequestedAt !== null && !ENDED.includes(state) && ', cancel requested'}
        </span>
      </p>
    </div>
  );
}

/** Shows for how long a job waits or runs, else when it ended or is due. */
function Since({ state, at }: { state: string; at: number | null }) {
  const lasts = state === 'pending' || state === 'processing';
  return lasts && at !== null ? (
    <time dateTime={new Date(at).toISOString()} title={exact(at)}>
      for {duration(Math.max(0, now.value - at))}
    </time>
  ) : (
    <Time at={at} />
  );
}

function NoResult({ job: { state } }: { job: JobView }) {
  const ended = ENDED.includes(state);
  return (
    <p class="quiet">
      {state === 'completed' ? 'It returned nothing, or results are not kept.' : ended ? 'None.' : 'None yet.'}
    </p>
  );
}

/** Shows the last error, and how often each was met. */
function WhyItFailed({ job }: { job: JobView }) {
  const failed = job.attemptLog.filter(({ error }) => error !== null);
  if (failed.length === 0 && job.error === null) {
    return null;
  }
  const last = failed.at(-1)?.error;
  const counts = new Map<string, number>();
  for (const { error, outcome } of failed) {
    const words = outcome === 'crash' ? 'worker died' : `${error!.name}: ${error!.message}`;
    counts.set(words, (counts.get(words) ?? 0) + 1);
  }
  return (
    <Part
      title={job.state === 'failed' ? 'Why it failed' : 'Errors so far'}
      copied={job.error ?? ''}
      of={job}
      part="errors"
    >
      <ul class="errors">
        {[...counts].map(([words, times]) => (
          <li key={words}>
            <bdi>{cut(words, 2_000)}</bdi>
            {times > 1 && <span class="tag">×{times}</span>}
          </li>
        ))}
        {counts.size === 0 && (
          <li>
            <bdi>{job.error}</bdi>
          </li>
        )}
      </ul>
      {last?.stack && (
        <details class="stack" open={job.state === 'failed'}>
          <summary>
            {last.cause || last.errors ? 'Stack and causes of the last one' : 'Stack of the last one'}
          </summary>
          <ErrorDetail error={last} />
        </details>
      )}
    </Part>
  );
}

function Facts({ job }: { job: JobView }) {
  const instants: [string, number | null][] = [
    ['Enqueued', job.enqueuedAt],
    ['Due', job.dueAt],
    ['Claimed', job.claimedAt],
    ['Ended', job.endedAt],
    ['Expires', job.expiresAt],
  ];
  const others: [string, string | null][] = [
    ['Worker', job.worker],
    ['Priority', job.priority > 0 ? String(job.priority) : null],
    ['Errors', job.errors > 0 ? String(job.errors) : null],
    ['Crashes', job.crashes > 0 ? String(job.crashes) : null],
    ['Interruptions', job.interruptions > 0 ? String(job.interruptions) : null],
    ['Fence', job.fence === null ? null : String(job.fence)],
  ];
  return (
    <dl class="facts">
      {instants.map(
        ([term, at]) =>
          at !== null && (
            <div key={term}>
              <dt>{term}</dt>
              <dd>
                {exact(at)}{' '}
                <span class="quiet">
                  (<Time at={at} />)
                </span>
              </dd>
            </div>
          ),
      )}
      {job.endedAt !== null && job.claimedAt !== null && (
        <div>
          <dt>Last run</dt>
          <dd>{duration(Math.max(0, job.endedAt - job.claimedAt))}</dd>
        </div>
      )}
      {others.map(
        ([term, value]) =>
          value !== null && (
            <div key={term}>
              <dt>{term}</dt>
              <dd>
                <bdi>{value}</bdi>
              </dd>
            </div>
          ),
      )}
    </dl>
  );
}

function jsonOf(value: unknown): string | undefined {
  return value === undefined ? undefined : JSON.stringify(value, null, 2);
}

function Steps({ job }: { job: JobView }) {
  return (
    <Part title="Steps">
      <ol class="log" tabIndex={0} aria-label="Recorded steps">
        {job.steps.map(({ name, at, attempt }) => (
          <li key={name}>
            <Time at={at} />
            <span>
              <bdi>{name}</bdi> <span class="quiet">attempt {attempt}</span>
            </span>
          </li>
        ))}
      </ol>
    </Part>
  );
}

function LogLines({ job }: { job: JobView }) {
  return (
    <section class="part">
      <h2>
        Log <span class="quiet">{plural(job.log.length, 'line')}</span>
        <Download job={job} part="log" />
      </h2>
      <ol class="log" tabIndex={0} aria-label="Log lines">
        {job.log.map(({ at, message }, i) => (
          <li key={i}>
            <Time at={at} /> <bdi>{message}</bdi>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** Shows a value as a tree, or the start of a long one as text. */
function Value({ job, part, value }: { job: JobView; part: JobPart; value: unknown }) {
  return job.cut.includes(part) ? (
    <pre class="text" tabIndex={0}>
      {String(value)}
    </pre>
  ) : (
    <JsonTree value={value} />
  );
}

const STEPS: readonly State[] = ['scheduled', 'pending', 'processing'];
const ENDS: readonly State[] = ['completed', 'failed', 'cancelled'];

/** Draws the states of the job: the past ones and the present one. */
function StatePath({ job }: { job: JobView }) {
  const { state } = job;
  const been = visited(job);
  const ended = ENDS.includes(state);
  return (
    <ol class="path" aria-label={`State: ${state}`}>
      <li class="path-step been">
        <span class="path-dot" aria-hidden="true" />
        enqueued
      </li>
      {STEPS.filter((step) => step !== 'scheduled' || been.has('scheduled')).map((step) => (
        <Step key={step} step={step} state={state} been={been.has(step)} />
      ))}
      {ended ? (
        <Step step={state} state={state} been />
      ) : (
        <li class="path-step path-ends">
          {ENDS.map((end) => (
            <span key={end} class={`state-${end}`}>
              <StateMark state={end} />
              {end}
            </span>
          ))}
        </li>
      )}
    </ol>
  );
}

function Step({ step, state, been }: { step: State; state: State; been: boolean }) {
  const here = step === state;
  return (
    <li
      class={`path-step state-${step} ${been ? 'been' : ''} ${here ? 'here' : ''}`}
      aria-current={here ? 'step' : undefined}
    >
      <StateMark state={step} />
      {step}
    </li>
  );
}

function visited({ state, attempts, dueAt, attemptLog }: JobView): ReadonlySet<State> {
  const been = new Set<State>([state]);
  if (dueAt !== null || attemptLog.length > 1) {
    been.add('scheduled');
  }
  if (state !== 'scheduled' || attempts > 0) {
    been.add('pending');
  }
  if (attempts > 0 || attemptLog.length > 0) {
    been.add('processing');
  }
  return been;
}
