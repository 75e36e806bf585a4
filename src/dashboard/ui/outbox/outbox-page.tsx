import type { OutboxRowsView } from '../../views/views.js';
import { ask } from '../parts/confirm.js';
import { count, duration, plural } from '../parts/format.js';
import { Name, Notice, NotLoaded, ScrolledTable, Sentence, VerdictMark } from '../parts/parts.js';
import { say, tried } from '../parts/toasts.js';
import { post } from '../state/api.js';
import { may, now, overview, unreachable } from '../state/live.js';
import { href } from '../state/route.js';
import { useLoaded } from '../state/use-loaded.js';

const REFRESH_MS = 5_000;

type Row = OutboxRowsView['rows'][number];
type RowAction = 'retry' | 'discard';

/** Shows the jobs of committed transactions that are not in their queues yet, and sends or discards those that failed. */
export function OutboxPage() {
  const { data, problem, reload } = useLoaded<OutboxRowsView>('outbox', {}, Math.floor(now.value / REFRESH_MS));
  const verdict = overview.value?.outbox;
  return (
    <>
      <h1 class={verdict ? `answer answer-${verdict.severity}` : undefined}>
        {verdict && <VerdictMark {...verdict} />}
        <span>{verdict ? <Sentence text={verdict.sentence} /> : 'The outbox'}</span>
      </h1>
      {verdict?.remedy && (
        <p class="remedy">
          <Sentence text={verdict.remedy} />
        </p>
      )}
      {data && <SendAll rows={data.rows} changed={reload} />}
      {!data && (
        <NotLoaded what="rows of the outbox" gone="The rows of the outbox could not be loaded." problem={problem} />
      )}
      {data?.rows.length === 0 && (
        <Notice title="No row waits.">
          <p>A row is here from the commit of its transaction until its job is in its queue, mostly some ms.</p>
        </Notice>
      )}
      {data && data.rows.length > 0 && <Rows {...data} changed={reload} />}
    </>
  );
}

function Rows({ rows, isCut, changed }: OutboxRowsView & { changed(): void }) {
  return (
    <>
      <ScrolledTable
        label="Rows of the outbox"
        kind="actions"
        columns={['Row', 'Job', 'Queue', 'State', 'Attempts', 'Age', 'Why']}
        numbers={['Row', 'Attempts', 'Age']}
        acts
      >
        {rows.map((row) => (
          <OutboxRow key={row.seq} row={row} changed={changed} />
        ))}
      </ScrolledTable>
      {isCut && (
        <p class="quiet">The first {count(rows.length)} rows are shown, those that failed before the others.</p>
      )}
    </>
  );
}

function OutboxRow({ row, changed }: { row: Row; changed(): void }) {
  const { seq, id, queue, name, attempts, ageMs, error } = row;
  return (
    <tr>
      <td data-label="Row" class="number">
        {seq}
      </td>
      <th scope="row" data-label="Job">
        <strong>
          <Name text={name} />
        </strong>{' '}
        <code>
          <Name text={id} />
        </code>
      </th>
      <td data-label="Queue">
        {row.canBeSteered ? (
          <a href={href(['queue', queue])}>
            <Name text={queue} />
          </a>
        ) : (
          <Name text={queue} />
        )}
      </td>
      <td data-label="State">
        <State row={row} />
      </td>
      <td data-label="Attempts" class="number">
        {count(attempts)}
      </td>
      <td data-label="Age" class="number">
        {duration(ageMs)}
      </td>
      <td data-label="Why" class="what">
        {error === null ? '–' : <bdi>{error}</bdi>}
      </td>
      <td>
        <div class="row-actions">
          <RowActions row={row} changed={changed} />
        </div>
      </td>
    </tr>
  );
}

function State({ row }: { row: Row }) {
  switch (stateOf(row)) {
    case 'failed':
      return <span class="tag tag-warn">failed</span>;
    case 'refused':
      return <span class="tag tag-warn">set aside</span>;
    default:
      return <span class="tag">waits</span>;
  }
}

function stateOf({ isFailed, attempts }: Row): 'failed' | 'refused' | 'waits' {
  return isFailed ? 'failed' : attempts > 0 ? 'refused' : 'waits';
}

function RowActions({ row, changed }: { row: Row; changed(): void }) {
  const { seq, queue, name } = row;
  const state = stateOf(row);
  if (!row.canBeSteered || state === 'waits') {
    return null;
  }
  const discard = async () => {
    const sure = await ask({
      title: `Discard row ${seq} of the outbox?`,
      body: `Its transaction has committed, and its job ${name} of ${queue} is then never added.`,
      verb: 'Discard the row',
      typed: seq,
      destroys: true,
    });
    if (sure) await act('discard', [row], changed);
  };
  return (
    <>
      {may('send-again', queue) && (
        <button type="button" disabled={unreachable.value} onClick={() => void act('retry', [row], changed)}>
          Send again
        </button>
      )}
      {state === 'failed' && may('discard-rows', queue) && (
        <button
          type="button"
          class="danger-quiet"
          disabled={unreachable.value}
          onClick={() => void discard()}
          aria-label={`Discard row ${seq}`}
        >
          Discard
        </button>
      )}
    </>
  );
}

/** Sends all shown rows again that were refused or failed, queue by queue. */
function SendAll({ rows, changed }: { rows: readonly Row[]; changed(): void }) {
  const meant = rows.filter((row) => row.canBeSteered && stateOf(row) !== 'waits' && may('send-again', row.queue));
  if (meant.length < 2) {
    return null;
  }
  return (
    <div class="chips">
      <button
        type="button"
        class="primary"
        disabled={unreachable.value}
        onClick={() => void act('retry', meant, changed)}
      >
        Send {count(meant.length)} rows again
      </button>
    </div>
  );
}

async function act(action: RowAction, rows: readonly Row[], changed: () => void): Promise<void> {
  let done = 0;
  for (const queue of new Set(rows.map((row) => row.queue))) {
    const seqs = rows.filter((row) => row.queue === queue).map(({ seq }) => seq);
    const sent = await tried(() => post<{ done: number }>('outbox/act', { action, queue, rows: seqs }));
    if (!sent) break;
    done += sent.done;
  }
  say(action === 'retry' ? `${plural(done, 'row')} will be sent again.` : `${plural(done, 'row')} discarded.`);
  changed();
}
