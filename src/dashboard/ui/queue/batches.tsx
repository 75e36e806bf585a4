import type { BatchView } from '../../views/batch-views.js';
import type { QueueView } from '../../views/views.js';
import { count, plural } from '../parts/format.js';
import { Name, Notice, StateMark, Time } from '../parts/parts.js';
import { BatchBar } from '../batch/batch-bar.js';
import { now } from '../state/live.js';
import { href } from '../state/route.js';
import { useLoaded } from '../state/use-loaded.js';

const REFRESH_MS = 5_000;
/** The most batches that are listed, see the server. */
const MOST = 100;

/** Returns the batches of a queue that have not ended. */
export function useBatches(queue: string) {
  return useLoaded<{ batches: BatchView[] }>('batches', { queue }, Math.floor(now.value / REFRESH_MS));
}

/** Shows the unfinished batches of a queue as rows. */
export function Batches({ queue }: { queue: QueueView }) {
  const { data, problem } = useBatches(queue.name);
  if (!data) {
    return problem ? <Notice title={problem.message} kind="problem" /> : <Notice title="Loading…" kind="loading" />;
  }
  if (data.batches.length === 0) {
    return (
      <Notice title="No batch is open.">
        <p>Batches whose jobs and follow-ups have ended are not listed; their jobs link to them.</p>
      </Notice>
    );
  }
  return (
    <>
      <div class="list-head">
        <span class="quiet">
          {plural(data.batches.length, 'batch', 'batches')} open
          {data.batches.length === MOST ? ', the next ones are not shown' : ''}
        </span>
      </div>
      <div class="scroller" tabIndex={0} role="region" aria-label="Batches">
        <table class="batches">
          <thead>
            <tr>
              <th scope="col">Batch</th>
              <th scope="col">Progress</th>
              {['Done', 'Failed', 'Left', 'Jobs'].map((text) => (
                <th key={text} scope="col" class="number">
                  {text}
                </th>
              ))}
              <th scope="col">Begun</th>
              <th scope="col">Jobs ended</th>
            </tr>
          </thead>
          <tbody>
            {data.batches.map((batch) => (
              <Batch key={batch.id} batch={batch} />
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function Batch({ batch }: { batch: BatchView }) {
  const { id, queue, words, state, stopped, createdAt, firedAt, failed, open, total } = batch;
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
      <td data-label="Jobs ended">
        <Time at={firedAt} />
      </td>
    </tr>
  );
}
