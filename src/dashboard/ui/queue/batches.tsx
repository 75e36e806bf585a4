import type { BatchView } from '../../views/batch-views.js';
import type { QueueView } from '../../views/views.js';
import { plural, short } from '../parts/format.js';
import { Notice, Time } from '../parts/parts.js';
import { BatchBar } from '../batch/batch-bar.js';
import { now } from '../state/live.js';
import { href } from '../state/route.js';
import { useLoaded } from '../state/use-loaded.js';

const REFRESH_MS = 5_000;
/** The most groups that are listed, see the server. */
const MOST = 100;

/** Returns the batches of a queue that have not ended. */
export function useBatches(queue: string) {
  return useLoaded<{ batches: BatchView[] }>('batches', { queue }, Math.floor(now.value / REFRESH_MS));
}

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
      <ul class="batches">
        {data.batches.map((batch) => (
          <Batch key={batch.id} batch={batch} />
        ))}
      </ul>
    </>
  );
}

function Batch({ batch }: { batch: BatchView }) {
  const { id, queue, words, createdAt, total } = batch;
  return (
    <li class="batch part" data-row>
      <h2>
        <a class="row-link" href={href(['batch', queue, id])}>
          {plural(total, 'job')} <bdi class="batch-id">{short(id, 40)}</bdi>
        </a>
        <span class="quiet small">
          created <Time at={createdAt} />
        </span>
      </h2>
      <p class="quiet">{words}</p>
      <BatchBar batch={batch} />
    </li>
  );
}
