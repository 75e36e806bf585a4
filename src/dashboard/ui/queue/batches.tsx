import type { BatchesView, BatchView, QueueView } from '../../views/views.js';
import { asCommand } from '../../../inspect/words.js';
import { count, plural } from '../parts/format.js';
import { Name, Notice, ScrolledTable, StateMark, Time } from '../parts/parts.js';
import { BatchBar } from '../batch/batch-bar.js';
import { now } from '../state/live.js';
import { href } from '../state/route.js';
import { useLoaded } from '../state/use-loaded.js';

const REFRESH_MS = 5_000;
/** The most batches that are listed, see the server. */
const MOST = 100;
const MOST_ENDED = 20;

/** Returns the batches of a queue: those at work, and the last ones that ended. */
export function useBatches(queue: string) {
  return useLoaded<BatchesView>('batches', { queue }, Math.floor(now.value / REFRESH_MS));
}

/** Shows the batches of a queue as rows: first those at work, then the last ones that ended. */
export function Batches({ queue }: { queue: QueueView }) {
  const { data, problem } = useBatches(queue.name);
  if (!data) {
    return problem ? <Notice title={problem.message} kind="problem" /> : <Notice title="Loading…" kind="loading" />;
  }
  const { batches, ended } = data;
  if (batches.length === 0 && ended.length === 0) {
    return <Notice title="No batch is at work, and none ended within the last week." />;
  }
  return (
    <>
      <List
        title={`${batches.length === 0 ? 'No batch' : plural(batches.length, 'batch', 'batches')} at work`}
        note={batches.length === MOST ? `Next ones: ${nextOnes(queue.name)}` : ''}
        batches={batches}
        end="Jobs ended"
      />
      <List
        title={endedTitle(ended.length)}
        note={ended.length === MOST_ENDED ? `Earlier ones: ${allEnded(queue.name)}` : 'A week is kept.'}
        batches={ended}
        end="Ended"
      />
    </>
  );
}

function endedTitle(shown: number): string {
  if (shown === MOST_ENDED) {
    return `The last ${shown} batches that ended`;
  }
  return `${shown === 0 ? 'No batch' : plural(shown, 'batch', 'batches')} ended`;
}

/** Returns the command that lists the batches at work that are not shown. */
function nextOnes(queue: string): string {
  return asCommand('batches', queue, '--offset', String(MOST), '--limit', '1000');
}

/** Returns the command that lists all ended batches that Redis keeps. */
function allEnded(queue: string): string {
  return asCommand('batches', queue, '--ended', '--limit', '1000');
}

interface ListProps {
  title: string;
  note: string;
  batches: readonly BatchView[];
  /** The head of the column with the time of the end. */
  end: 'Jobs ended' | 'Ended';
}

function List({ title, note, batches, end }: ListProps) {
  return (
    <>
      <div class="list-head">
        <h2>{title}</h2> <span class="quiet">{note}</span>
      </div>
      {batches.length > 0 && (
        <ScrolledTable
          label={title}
          kind="batches"
          columns={['Batch', 'Progress', 'Done', 'Failed', 'Left', 'Jobs', 'Begun', end]}
          numbers={['Done', 'Failed', 'Left', 'Jobs']}
        >
          {batches.map((batch) => (
            <Batch key={batch.id} batch={batch} end={end} />
          ))}
        </ScrolledTable>
      )}
    </>
  );
}

function Batch({ batch, end }: { batch: BatchView } & Pick<ListProps, 'end'>) {
  const { id, queue, words, state, stopped, createdAt, firedAt, endedAt, failed, open, total } = batch;
  const { completed, cancelled, removed } = batch;
  const parts = `${count(completed)} completed, ${count(cancelled)} cancelled, ${count(removed)} removed`;
  return (
    <tr data-row>
      <th scope="row">
        <a class="row-link" href={href(['batch', queue, id])}>
          <Name text={id} />
        </a>{' '}
        <span class="tag">{stopped ? `${state}, stopped` : state}</span>
        <span class="row-verdict">{words}</span>
      </th>
      <td data-label="Progress" class="batch-cell">
        <BatchBar batch={batch} />
      </td>
      <td data-label="Done" class="number" title={parts}>
        {count(total - open - failed)}
      </td>
      <td data-label="Failed" class={failed > 0 ? 'number loud' : 'number'}>
        {failed > 0 && <StateMark state="failed" />} {count(failed)}
      </td>
      <td data-label="Left" class="number">
        {count(open)}
      </td>
      <td data-label="Jobs" class="number">
        {count(total)}
      </td>
      <td data-label="Begun">
        <Time at={createdAt} />
      </td>
      <td data-label={end}>
        <Time at={end === 'Ended' ? endedAt : firedAt} />
      </td>
    </tr>
  );
}
