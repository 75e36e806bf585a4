import { inQuotes } from '../../../inspect/words.js';
import { ACTIONS } from '../../../queue/model/actions.js';
import type { QueueVerdictView, QueueView } from '../../views/views.js';
import { QueueTable } from '../overview/queue-table.js';
import { beginRuns, howMany, redriveInAll } from '../parts/begin-runs.js';
import { ask } from '../parts/confirm.js';
import { count } from '../parts/format.js';
import { Notice, StateMark } from '../parts/parts.js';
import { say, tried } from '../parts/toasts.js';
import { Figures, VerdictLine } from '../queue/queue-facts.js';
import { STATES } from '../queue/tabs.js';
import { post } from '../state/api.js';
import { connection, overview, may, unreachable } from '../state/live.js';
import { href } from '../state/route.js';
import { askPause } from '../steer/ask-pause.js';

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

// The actions on all shards of a queue.

interface Spread {
  /** The sums of the queue. */
  queue: QueueView;
  /** The shards that could be read. */
  shards: readonly QueueView[];
}

/** What the server says of a change of all shards. */
interface ChangeOfAll {
  done: number;
  unreached?: string[];
}

/** Shows the buttons that act on all shards: those that the viewer may use, and that would change something. */
function SpreadActions(spread: Spread) {
  const { queue, shards } = spread;
  const { name } = queue;
  const arePaused = shards.map(({ pausedAt }) => pausedAt !== null);
  const hasDead = queue.depths.failed > 0;
  const buttons = [
    { words: 'Redrive all', isShown: hasDead && may('redrive', name), act: redriveAll, look: '' },
    { words: 'Discard all', isShown: hasDead && may('discard', name), act: discardAll, look: 'danger-quiet' },
    {
      words: 'Pause all shards',
      isShown: arePaused.includes(false) && may('pause', name),
      act: pauseAll,
      look: '',
    },
    {
      words: 'Resume all shards',
      isShown: arePaused.includes(true) && may('resume', name),
      act: resumeAll,
      look: 'primary',
    },
  ];
  return (
    <>
      {buttons
        .filter(({ isShown }) => isShown)
        .map(({ words, act, look }) => (
          <button
            key={words}
            type="button"
            class={look}
            disabled={unreachable.value}
            onClick={() => void tried(() => act(spread))}
          >
            {words}
          </button>
        ))}
    </>
  );
}

/** Names the shards: `4 shards of ingest`. */
function shardsOf({ queue: { name, shards = [] } }: Spread): string {
  return `${count(shards.length)} shards of ${name}`;
}

async function pauseAll(spread: Spread): Promise<void> {
  const effect = 'They take jobs in and hand none out, in the whole fleet.';
  const chosen = await askPause(`all ${shardsOf(spread)}`, effect);
  if (chosen) {
    const { name } = spread.queue;
    told(spread, 'paused', await post('queue/act', { action: 'pause', queue: name, allShards: true, ...chosen }));
  }
}

async function resumeAll(spread: Spread): Promise<void> {
  const { name, depths } = spread.queue;
  const starts = depths.pending === 0 ? 'No job waits.' : `${howMany(depths.pending, 'pending')} may start.`;
  const question = { title: `Resume all ${shardsOf(spread)}?`, body: starts, destroys: false, verb: 'Resume' };
  if (await ask(question)) {
    told(spread, 'resumed', await post('queue/act', { action: 'resume', queue: name, allShards: true }));
  }
}

/** Says what was changed, and which shards were not reached. */
function told(spread: Spread, changed: string, { done, unreached = [] }: ChangeOfAll): void {
  say(`${count(done)} of ${shardsOf(spread)} ${done === 1 ? 'was' : 'were'} ${changed}.`);
  if (unreached.length > 0) {
    say(`Not reached: ${unreached.join(', ')}. Repeat this when they are back.`, true);
  }
}

/** Returns the dead letters of each shard that has some. */
function deadIn({ shards }: Spread) {
  return shards
    .filter(({ depths }) => depths.failed > 0)
    .map(({ name, depths }) => ({ queue: name, match: {}, total: depths.failed }));
}

async function redriveAll(spread: Spread): Promise<void> {
  await redriveInAll(deadIn(spread), `in all ${shardsOf(spread)}`, 'shard');
}

async function discardAll(spread: Spread): Promise<void> {
  const parts = deadIn(spread);
  const total = parts.reduce((sum, part) => sum + part.total, 0);
  const many = howMany(total, 'failed');
  const isSure = await ask({
    title: `Discard ${many} in all ${shardsOf(spread)}?`,
    body: `${ACTIONS.discard.many.does} Each shard has a run of its own, which can be stopped.`,
    lines: parts.map((part) => `${part.queue}: ${howMany(part.total, 'failed')}`),
    destroys: true,
    typed: total,
    verb: `Discard ${many}`,
  });
  if (isSure) {
    await beginRuns('discard', parts, {}, { all: parts.length, word: 'shard' });
  }
}
