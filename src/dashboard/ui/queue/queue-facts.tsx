import type { ComponentChildren } from 'preact';
import type { VerdictView, QueueView } from '../../views/views.js';
import { count, duration, durations, percent, rate } from '../parts/format.js';
import { Sentence, VerdictMark } from '../parts/parts.js';
import { RemedyAction } from '../steer/remedy.js';

/** Shows the figures of a queue, or of all of its shards. */
export function Figures({ queue }: { queue: QueueView }) {
  const { rates, lastHour, depths, oldestPendingAgeMs } = queue;
  return (
    <dl class="figures">
      <Figure term="Oldest waiting" value={depths.pending > 0 ? duration(oldestPendingAgeMs) : '–'} />
      <Figure term="In per second" value={rate(rates?.inPerS)} />
      <Figure term="Out per second" value={rate(rates?.outPerS)} />
      {lastHour && (
        <>
          <Figure term="Wait p50 / p95" value={durations(lastHour.waitMs.p50, lastHour.waitMs.p95)} />
          <Figure term="Run p50 / p95" value={durations(lastHour.runMs.p50, lastHour.runMs.p95)} />
          <Figure term="Failed" value={percent(lastHour.failureRate)} />
        </>
      )}
      <Figure term="Workers" value={count(queue.workers)} />
      {queue.limits !== null && <Figure term="Limits" value={queue.limits} />}
    </dl>
  );
}

interface VerdictLineProps {
  verdict: VerdictView;
  children?: ComponentChildren;
}

/** Shows the verdict on a queue, and the next step. */
export function VerdictLine({ verdict, children }: VerdictLineProps) {
  const { remedy } = verdict;
  return (
    <p class={`verdict-line answer-${verdict.severity}`}>
      <VerdictMark {...verdict} />
      <span>
        <Sentence text={verdict.sentence} />{' '}
        {remedy && (
          <span class="remedy-inline">
            <Sentence text={remedy} /> <RemedyAction verdict={verdict} />
          </span>
        )}
        {children}
      </span>
    </p>
  );
}

function Figure({ term, value }: { term: string; value: string }) {
  return (
    <div>
      <dt>{term}</dt>
      <dd>{value}</dd>
    </div>
  );
}
