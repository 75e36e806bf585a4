import { attemptInWords } from '../../../inspect/job-words.js';
import { ATTEMPT_STATES } from '../../../inspect/marks.js';
import { startOf } from '../../../queue/runtime/cut.js';
import type { StoredErrorView, AttemptView, JobView, State } from '../../views/views.js';
import { CopyButton } from '../parts/copy.js';
import { spelled, duration } from '../parts/format.js';
import { StateMark, Time } from '../parts/parts.js';

/** The greatest depth of causes that is shown. */
const DEEPEST = 8;

/** Shows an error with its stack, then its causes, then the errors that it gathers. */
export function ErrorDetail({ error, depth = 0 }: { error: StoredErrorView; depth?: number }) {
  const { cause, errors } = error;
  const text = error.stack ?? `${error.name}: ${error.message}`;
  return (
    <>
      <CopyButton text={text} title="Copy the error">
        Copy
      </CopyButton>
      <pre class="text" tabIndex={0}>
        {spelled(text)}
      </pre>
      {depth < DEEPEST && cause && <Caused title="Caused by" error={cause} depth={depth} />}
      {depth < DEEPEST &&
        errors?.map((each, i) => <Caused key={i} title={`Error ${i + 1}`} error={each} depth={depth} />)}
    </>
  );
}

function Caused({ title, error, depth }: { title: string; error: StoredErrorView; depth: number }) {
  return (
    <div class="cause">
      <p class="quiet">{title}</p>
      <ErrorDetail error={error} depth={depth + 1} />
    </div>
  );
}

const MARKS: Record<AttemptView['outcome'], State> = {
  ...ATTEMPT_STATES,
  running: 'processing',
  prefetched: 'pending',
};
const OPEN_WORDS = {
  running: 'runs',
  prefetched: 'claimed, waits for a slot',
} as const;

function wordsOf({ outcome, startedAt, endedAt, diedAt }: AttemptView, nowMs: number): string {
  return outcome === 'running' || outcome === 'prefetched'
    ? `${OPEN_WORDS[outcome]} for ${duration(Math.max(0, nowMs - startedAt))}`
    : attemptInWords(outcome, { startedMs: startedAt, endedMs: endedAt ?? nowMs, diedMs: diedAt });
}

/** Shows a bar for each attempt: how long it waited, how long it ran, and how it ended. */
export function Attempts({ job, nowMs }: { job: JobView; nowMs: number }) {
  const attempts = job.attemptLog;
  if (attempts.length === 0) {
    return null;
  }
  const begin = Math.min(...attempts.map(({ readyAt, startedAt }) => readyAt ?? startedAt));
  const end = Math.max(...attempts.map(({ endedAt }) => endedAt ?? nowMs), begin + 1);
  return (
    <section class="part" aria-labelledby="attempts-title">
      <h2 id="attempts-title">Attempts</h2>
      <ol class="attempts">
        {attempts.map((attempt, i) => (
          <Attempt
            key={i}
            attempt={attempt}
            begin={begin}
            span={end - begin}
            nowMs={nowMs}
            isRetry={['error', 'crash'].includes(attempts[i - 1]?.outcome ?? '')}
            most={job.maxAttempts}
          />
        ))}
      </ol>
    </section>
  );
}

interface AttemptProps {
  attempt: AttemptView;
  begin: number;
  span: number;
  nowMs: number;
  /** True if it follows a failed one. */
  isRetry: boolean;
  /** The most attempts of the job; null if unknown. */
  most: number | null;
}

function Attempt({ attempt, begin, span, nowMs, isRetry, most }: AttemptProps) {
  const { startedAt, endedAt, readyAt, outcome, worker, error } = attempt;
  const ran = Math.max(0, (attempt.diedAt ?? endedAt ?? nowMs) - startedAt);
  const waited = readyAt === null ? null : Math.max(0, startedAt - readyAt);
  const x = (at: number) => ((at - begin) / span) * 1_000;
  const from = readyAt ?? startedAt;
  return (
    <li class={`attempt attempt-${outcome}`}>
      <span class="attempt-number">
        {attempt.attempt}
        {most !== null && <span class="quiet"> of {most}</span>}
      </span>
      <svg class="attempt-bar" viewBox="0 0 1000 20" preserveAspectRatio="none" aria-hidden="true">
        <line x1={x(from)} x2={x(startedAt)} y1="10" y2="10" class="bar-wait" vector-effect="non-scaling-stroke" />
        <rect
          x={Math.min(994, x(startedAt))}
          width={Math.max(6, (ran / span) * 1_000)}
          y="3"
          height="14"
          class="bar-run"
        />
      </svg>
      <span class="attempt-words">
        <StateMark state={MARKS[outcome]} /> {wordsOf(attempt, nowMs)}
        {waited !== null && (
          <span class="quiet">
            , {isRetry ? 'backoff and wait' : 'waited'} {duration(waited)}
          </span>
        )}
        {worker && (
          <span class="quiet">
            , on <bdi>{worker}</bdi>
          </span>
        )}
        <span class="quiet">
          , <Time at={endedAt ?? startedAt} />
        </span>
        {error && (
          <details class="attempt-error">
            <summary>
              <bdi>
                {error.name}: {startOf(error.message, 300)}
                {error.message.length > 300 ? '…' : ''}
              </bdi>
            </summary>
            <ErrorDetail error={error} />
          </details>
        )}
      </span>
    </li>
  );
}
