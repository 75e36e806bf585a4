import type { ComponentChildren } from 'preact';
import { RUN_MARKS, STATE_MARKS, VERDICT_MARKS, type Mark } from '../../../inspect/marks.js';
import type { State, QueueVerdictView, VerdictView } from '../../views/views.js';
import type { Problem } from '../state/api.js';
import { now } from '../state/live.js';
import { CopyButton } from './copy.js';
import { exact, relative, short } from './format.js';

/** Shows the shape of a state; its colour comes from the style sheet, so colour is never the only sign. */
export function StateMark({ state }: { state: State }) {
  return <Shape name={state} of={STATE_MARKS[state]} />;
}

/** Shows the shape of a run of a schedule. */
export function RunMark({ status }: { status: keyof typeof RUN_MARKS }) {
  return <Shape name={status} of={RUN_MARKS[status]} />;
}

function Shape({ name, of }: { name: string; of: Mark }) {
  return (
    <svg class={`mark mark-${name}`} viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
      <Drawing of={of} />
    </svg>
  );
}

function Drawing({ of }: { of: Mark }) {
  return (
    <>
      {of.strokes.map(({ d, width }) =>
        width === undefined ? (
          <path key={d} d={d} fill="currentColor" />
        ) : (
          <path key={d} d={d} fill="none" stroke="currentColor" stroke-width={width} stroke-linecap="round" />
        ),
      )}
    </>
  );
}

const VERDICTS = { critical: 'Stuck', warning: 'Needs a look', notice: 'Held back', ok: 'Flows', idle: 'Idle' };

/** Shows the mark of a verdict. */
export function VerdictMark({ severity, isIdle }: Pick<VerdictView, 'severity' | 'isIdle'>) {
  const sign = isIdle ? 'idle' : severity;
  return (
    <svg
      class={`mark verdict-${sign}`}
      viewBox="0 0 16 16"
      width="14"
      height="14"
      role="img"
      aria-label={VERDICTS[sign]}
    >
      <Drawing of={VERDICT_MARKS[sign]} />
    </svg>
  );
}

/** Shows a time relative to now, with the exact one on hover. */
export function Time({ at }: { at: number | null | undefined }) {
  if (at === null || at === undefined) {
    return <span class="quiet">–</span>;
  }
  return (
    <time dateTime={new Date(at).toISOString()} title={exact(at)}>
      {relative(at, now.value)}
    </time>
  );
}

/** Shows the time of day, for words such as "since". */
export function Clock({ at }: { at: number | null }) {
  if (at === null) {
    return <span class="quiet">–</span>;
  }
  return (
    <time dateTime={new Date(at).toISOString()} title={exact(at)}>
      {new Date(at).toLocaleTimeString('en-GB')}
    </time>
  );
}

/** Shows a sentence whose backticks mark names. */
export function Sentence({ text }: { text: string }) {
  const kept = text.replaceAll(/(\d) %/g, '$1\u00A0%'); // a share stays on one line
  return <>{kept.split('`').map((part, i) => (i % 2 === 1 ? <bdi class="name">{part}</bdi> : part))}</>;
}

/** Shows a name that may break after / : - . and _. */
export function Name({ text }: { text: string }) {
  return (
    <bdi>
      {text.split(/(?<=[/:._-])/).map((part, i) => (
        <span key={i}>
          {i > 0 && <wbr />}
          {part}
        </span>
      ))}
    </bdi>
  );
}

/** Shows an id: short, and copied by a click. */
export function CopyId({ id, length = 14 }: { id: string; length?: number }) {
  return (
    <CopyButton text={id} title={`Copy ${id}`}>
      <span class="hidden">Copy the id </span>
      <bdi>{short(id, length)}</bdi>
    </CopyButton>
  );
}

/** Shows a small line of figures, oldest first, and its own maximum. */
export function Spark({ values, label }: { values: readonly number[]; label: string }) {
  if (values.length < 2) {
    return <span class="quiet">–</span>;
  }
  const highest = Math.max(...values);
  const most = Math.max(1, highest);
  const x = (i: number) => (i / (values.length - 1)) * 100;
  const y = (value: number) => 19 - (value / most) * 18;
  const line = values.map((value, i) => `${x(i).toFixed(1)},${y(value).toFixed(1)}`).join(' ');
  return (
    <>
      <svg class="spark" viewBox="0 0 100 20" preserveAspectRatio="none" role="img" aria-label={label}>
        <title>{`${label}: at most ${highest.toLocaleString('en')} a minute`}</title>
        <polygon points={`0,20 ${line} 100,20`} class="spark-fill" />
        <polyline points={line} class="spark-line" vector-effect="non-scaling-stroke" />
      </svg>
      {highest > 0 && (
        <span class="spark-most" aria-hidden="true">
          ≤ {most.toLocaleString('en')}/min
        </span>
      )}
    </>
  );
}

/** Says which queues a list leaves out, because they could not be read. */
export function NotRead({ queues }: { queues: readonly QueueVerdictView[] }) {
  return queues.length === 0 ? null : (
    <div class="not-read" role="status">
      <p>{queues.length === 1 ? 'One queue could not be read:' : `${queues.length} queues could not be read:`}</p>
      <ul>
        {queues.map(({ name, verdict }) => (
          <li key={name}>
            <VerdictMark {...verdict} /> <Sentence text={verdict.sentence} />
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Shows that a part of a page is loading, empty, away or gone. */
export function Notice({
  title,
  children,
  kind = 'empty',
}: {
  title: string;
  children?: ComponentChildren;
  kind?: string;
}) {
  return (
    <div class={`notice notice-${kind}`} role={kind === 'problem' ? 'alert' : 'status'}>
      <p class="notice-title">{title}</p>
      {children}
    </div>
  );
}

/**
 * Shows that something loads, or why it is not here.
 *
 * @param gone the title if the server does not know it
 */
export function NotLoaded({
  what,
  gone,
  problem,
  children,
}: {
  what: string;
  gone?: string;
  problem: Problem | null;
  children?: ComponentChildren;
}) {
  if (!problem) {
    return <Notice title={`Loading the ${what}…`} kind="loading" />;
  }
  const isGone = gone !== undefined && problem.isGone;
  return (
    <Notice title={isGone ? gone : `The ${what} could not be loaded.`} kind={isGone ? 'empty' : 'problem'}>
      <p>{problem.message}</p>
      {children && <p>{children}</p>}
    </Notice>
  );
}

interface TableProps {
  label: string;
  kind: string;
  columns: readonly string[];
  /** The columns of numbers. */
  numbers?: readonly string[];
  /** True if the last cell of a row has its buttons. */
  acts?: boolean;
  children: ComponentChildren;
}

/** Shows a table of rows that scrolls by itself. */
export function ScrolledTable({ label, kind, columns, numbers = [], acts, children }: TableProps) {
  return (
    <div class="scroller" tabIndex={0} role="region" aria-label={label}>
      <table class={kind}>
        <thead>
          <tr>
            {columns.map((text) => (
              <th key={text} scope="col" class={numbers.includes(text) ? 'number' : undefined}>
                {text}
              </th>
            ))}
            {acts && (
              <th scope="col">
                <span class="hidden">Actions</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
