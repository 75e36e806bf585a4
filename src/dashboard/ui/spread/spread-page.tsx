import { inQuotes } from '../../../inspect/words.js';
import type { QueueVerdictView, QueueView } from '../../views/views.js';
import { QueueTable } from '../overview/queue-table.js';
import { count } from '../parts/format.js';
import { Notice, StateMark } from '../parts/parts.js';
import { SpreadActions } from './spread-actions.js';
import { Figures, VerdictLine } from '../queue/queue-facts.js';
import { STATES } from '../queue/tabs.js';
import { connection, overview } from '../state/live.js';
import { href } from '../state/route.js';

/** Shows a queue with shards: its verdict, the sums of its jobs, and its shards. */
export function SpreadPage({ name }: { name: string }) {
  const view = overview.value;
  const whole = [...(view?.queues ?? []), ...(view?.unreadable ?? [])].find(
    (each) => each.name === name && each.shards,
  );
  if (!view || !whole) {
    return view ? (
      <Notice title="There is no such queue.">
        <p>
          No queue with shards is called <bdi class="name">{name}</bdi> here.{' '}
          <a href={href([])}>Go to the overview</a>
        </p>
      </Notice>
    ) : (
      <Notice
        title={connection.value === 'away' ? 'Redis is away.' : 'Loading the queue…'}
        kind={connection.value === 'away' ? 'problem' : 'loading'}
      />
    );
  }
  const shards = view.shards.filter((shard) => whole.shards!.includes(shard.name));
  return (
    <>
      <div class="page-head">
        <div class="page-title">
          <h1>
            <bdi>{name}</bdi>
          </h1>
          {isRead(whole) && (
            <span class="page-buttons">
              <SpreadActions queue={whole} shards={shards.filter(isRead)} />
            </span>
          )}
        </div>
        <VerdictLine verdict={whole.verdict} />
        <p class="quiet">{shards.length} shards. A row opens the page of one of them.</p>
        {isRead(whole) && <Figures queue={whole} />}
      </div>
      {isRead(whole) && <States queue={whole} />}
      <QueueTable
        queues={shards.filter(isRead)}
        unreadable={shards.filter((shard) => !isRead(shard))}
        shards={[]}
        outbox={null}
      />
    </>
  );
}

/** Links each state to a search for its jobs in all shards. */
function States({ queue: { name, depths } }: { queue: QueueView }) {
  return (
    <nav class="tabs" aria-label="Search the jobs of all shards">
      {STATES.map(([state, title]) => (
        <a key={state} href={href(['search'], { q: `queue:${inQuotes(name)} state:${state}` })} data-state={state}>
          <StateMark state={state} />
          {title} <span class="tab-count">{count(depths[state])}</span>
        </a>
      ))}
    </nav>
  );
}

function isRead(queue: QueueView | QueueVerdictView): queue is QueueView {
  return 'depths' in queue;
}
