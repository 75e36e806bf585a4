import type { ComponentChildren } from 'preact';
import type { OverviewView, QueueVerdictView, QueueView } from '../../views/views.js';
import { count, duration, percent, plural, rate } from '../parts/format.js';
import { Notice, Sentence, Spark, VerdictMark } from '../parts/parts.js';
import { connection, overview, trouble } from '../state/live.js';
import { go, href } from '../state/route.js';
import { WorkersStrip } from './workers-strip.js';

/** Shows every queue in one table, under one sentence that says how all of them do. */
export function OverviewPage() {
  const view = overview.value;
  if (!view) {
    return connection.value === 'away' || connection.value === 'lost' ? (
      <Notice title="There is nothing to show yet." kind="problem">
        <p>{trouble.value?.message}</p>
      </Notice>
    ) : (
      <Notice title="Loading the queues…" kind="loading" />
    );
  }
  const { sentence, queues, unreadable, workers } = view;
  const worst = [...queues, ...unreadable].find(({ verdict }) => verdict.severity === sentence.severity);
  const troubled = sentence.severity !== 'ok';
  return (
    <>
      <h1 class={`answer answer-${sentence.severity}`}>
        <VerdictMark {...sentence} />
        <span>
          <Sentence text={sentence.sentence} />
        </span>
      </h1>
      {sentence.remedy && (
        <p class="remedy">
          <Sentence text={sentence.remedy} /> {troubled && worst && <RemedyLink queue={worst} />}
        </p>
      )}
      {queues.length + unreadable.length === 0 ? (
        <Notice title="No queue yet.">
          <p>Declare a handler with @JobHandler, or enqueue a first job: its queue shows up here.</p>
        </Notice>
      ) : (
        <QueueTable queues={queues} unreadable={unreadable} />
      )}
      <WorkersStrip workers={workers} />
    </>
  );
}

/** Shows a link to the place where the next step of a queue is taken. */
function RemedyLink({ queue: { name, verdict } }: { queue: QueueVerdictView }) {
  return verdict.remedyView === 'failed' ? (
    <a href={href(['queue', name], { state: 'failed' })}>Read the errors</a>
  ) : (
    <a href={href(['queue', name])}>Look at the queue</a>
  );
}

function QueueTable({ queues, unreadable }: Pick<OverviewView, 'queues' | 'unreadable'>) {
  const hasHistory = queues.some(({ lastHour }) => lastHour !== null);
  return (
    <div class="scroller" tabIndex={0} role="region" aria-label="Queues">
      <table class="queues">
        <thead>
          <tr>
            <th scope="col">Queue</th>
            {hasHistory && <th scope="col">Flow, 1 h</th>}
            <th scope="col" class="number">
              Waiting
            </th>
            <th scope="col" class="number">
              Oldest
            </th>
            <th scope="col" class="number">
              Drains
            </th>
            <th scope="col" class="number">
              Running
            </th>
            <th scope="col" class="number">
              In/s
            </th>
            <th scope="col" class="number">
              Out/s
            </th>
            {hasHistory && <HistoryHeads />}
            <th scope="col" class="number">
              Dead
            </th>
          </tr>
        </thead>
        <tbody>
          {queues.map((queue) => (
            <QueueRow key={queue.name} queue={queue} hasHistory={hasHistory} />
          ))}
          {unreadable.map((queue) => (
            <Row key={queue.name} queue={queue}>
              <td colSpan={hasHistory ? 13 : 7} />
            </Row>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function HistoryHeads() {
  return (
    <>
      {['Wait p50', 'p95', 'Run p50', 'p95', 'Failed'].map((text, i) => (
        <th key={i} scope="col" class="number">
          {text}
          {i === 1 && <span class="hidden"> of the wait</span>}
          {i === 3 && <span class="hidden"> of the run</span>}
        </th>
      ))}
    </>
  );
}

function QueueRow({ queue, hasHistory }: { queue: QueueView; hasHistory: boolean }) {
  const { name, depths, verdict, rates, lastHour, pausedAt } = queue;
  return (
    <Row queue={queue} tag={pausedAt === null ? undefined : 'paused'}>
      {hasHistory && (
        <td class="flow" data-label="Flow, 1 h">
          <Spark values={queue.spark} label={`Jobs of the last hour of ${name}`} />
        </td>
      )}
      <Figure label="Waiting" text={count(depths.pending)} loud={verdict.severity === 'critical'} />
      <Figure label="Oldest" text={depths.pending > 0 ? duration(queue.oldestPendingAgeMs) : '–'} />
      <Figure label="Drains" text={queue.drains ?? '–'} loud={queue.drains === 'never'} />
      <Figure label="Running" text={count(depths.processing)} />
      <Figure label="In/s" text={rate(rates?.inPerS)} minor />
      <Figure label="Out/s" text={rate(rates?.outPerS)} minor />
      {hasHistory && (
        <>
          <Figure label="Wait p50" text={duration(lastHour?.waitMs.p50)} minor />
          <Figure label="Wait p95" text={duration(lastHour?.waitMs.p95)} />
          <Figure label="Run p50" text={duration(lastHour?.runMs.p50)} minor />
          <Figure label="Run p95" text={duration(lastHour?.runMs.p95)} />
          <Figure label="Failed" text={percent(lastHour?.failureRate)} />
        </>
      )}
      <td class={depths.failed > 0 ? 'number' : 'number minor'} data-label="Dead">
        {depths.failed > 0 ? (
          <a href={href(['queue', name], { state: 'failed' })} title={plural(depths.failed, 'dead letter')}>
            {count(depths.failed)}
          </a>
        ) : (
          '0'
        )}
      </td>
    </Row>
  );
}

/** Shows a row that opens the page of its queue. */
function Row({ queue: { name, verdict }, tag, children }: RowProps) {
  const link = href(['queue', name]);
  const open = (event: MouseEvent) => {
    if (!(event.target as Element).closest('a, button') && !getSelection()?.toString()) {
      go(link);
    }
  };
  return (
    <tr data-row data-queue={name} class={`row-${verdict.severity}`} onClick={open}>
      <th scope="row">
        <VerdictMark {...verdict} />
        <a class="row-link" href={link}>
          <bdi>{name}</bdi>
        </a>
        {tag && <span class="tag">{tag}</span>}
        {verdict.severity !== 'ok' && (
          <span class="row-verdict">
            <Sentence text={verdict.sentence.replace(/^`[^`]*` is /, '')} />
          </span>
        )}
      </th>
      {children}
    </tr>
  );
}

interface RowProps {
  queue: QueueVerdictView;
  tag?: string | undefined;
  children: ComponentChildren;
}

/** Shows one figure of a queue. A phone leaves out minor and unknown ones. */
function Figure({ label, text, loud = false, minor = false }: FigureProps) {
  const kinds = ['number', loud && 'loud', minor && 'minor', text === '–' && 'unknown'];
  return (
    <td class={kinds.filter(Boolean).join(' ')} data-label={label}>
      {text}
    </td>
  );
}

interface FigureProps {
  label: string;
  text: string;
  loud?: boolean;
  minor?: boolean;
}
