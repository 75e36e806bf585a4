import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { QueueVerdictView, ErrorGroupView, QueueView, State } from '../../views/views.js';
import { LimitsDialog } from '../limits/limits-form.js';
import { AboutOther } from '../parts/about-other.js';
import { lazy } from '../parts/lazy.js';
import { Notice, Time } from '../parts/parts.js';
import { connection, may, overview, queues, unreachable, unreadable } from '../state/live.js';
import { href, route } from '../state/route.js';
import { PauseButton } from '../steer/pause-button.js';
import { Batches } from './batches.js';
import { ErrorGroups } from './error-groups.js';
import { Groups } from './groups.js';
import { JobList } from './job-list.js';
import { Figures, VerdictLine } from './queue-facts.js';
import { SearchField, SearchResults } from './search.js';
import { STATES, Tabs } from './tabs.js';

/** Shows the charts; their library is loaded only when they are opened. */
const LazyCharts = lazy<{ queue: QueueView }>(
  'The charts',
  async () => (await import('../charts/charts.js')).Charts,
);

const LazyProfile = lazy<{ queue: string; close(): void }>(
  'The profile',
  async () => (await import('./profile-dialog.js')).ProfileDialog,
);

/** The views of a queue beside its jobs by state. */
const VIEWS: Partial<Record<string, (props: { queue: QueueView }) => ComponentChildren>> = {
  groups: Groups,
  batches: Batches,
  charts: LazyCharts,
};

/** Shows one queue: its verdict, and its jobs by state. */
export function QueuePage({ name }: { name: string }) {
  const [kinds, setKinds] = useState<ErrorGroupView[]>([]);
  const view = overview.value;
  const queue = queues.value.find((each) => each.name === name);
  const broken = unreadable.value.find((each) => each.name === name);
  if (broken) {
    return <Unreadable queue={broken} />;
  }
  if (!queue) {
    return view ? (
      <Notice title="There is no such queue.">
        <p>
          No queue is called <bdi class="name">{name}</bdi> here. <a href={href([])}>Go to the overview</a>
        </p>
      </Notice>
    ) : (
      <Notice
        title={connection.value === 'away' ? 'Redis is away.' : 'Loading the queue…'}
        kind={connection.value === 'away' ? 'problem' : 'loading'}
      />
    );
  }
  const { params } = route.value;
  const state = stateOf(params.get('state'), queue);
  const [text, group] = [params.get('q') ?? '', params.get('group')];
  const shown = params.get('view');
  const View = VIEWS[shown ?? ''];
  if (View) {
    return (
      <>
        <QueueHead queue={queue} />
        <Tabs queue={queue} current={shown ?? ''} />
        <View queue={queue} />
      </>
    );
  }
  return (
    <>
      <QueueHead queue={queue} />
      <Tabs queue={queue} current={state} />
      <SearchField text={text} state={state} group={group} />
      {state === 'failed' && queue.depths.failed > 0 && (
        <ErrorGroups queue={queue} chosen={group} named={setKinds} />
      )}
      {text || group ? (
        <SearchResults
          key={`${state} ${text} ${group}`}
          queue={queue}
          state={state}
          text={text}
          group={group}
          groupWords={kinds.find(({ key }) => key === group)?.sample ?? group}
        />
      ) : (
        <JobList key={state} queue={queue} state={state} />
      )}
    </>
  );
}

function Unreadable({ queue: { name, verdict } }: { queue: QueueVerdictView }) {
  return (
    <div class="page-head">
      <div class="page-title">
        <h1>
          <bdi>{name}</bdi>
        </h1>
        <Neighbours name={name} />
      </div>
      <VerdictLine verdict={verdict} />
    </div>
  );
}

/** Returns the tab if none is chosen: the dead letters if there is nothing else to see. */
function stateOf(param: string | null, { depths }: QueueView): State {
  const found = STATES.find(([state]) => state === param);
  const first = STATES.find(([state]) => depths[state] > 0);
  return (found ?? first ?? STATES[0]!)[0];
}

/** Says that a page is of one shard. The first shard has the name of its queue. */
function AboutShard({ name }: { name: string }) {
  const whole = overview.value?.queues.find(({ shards }) => shards?.includes(name));
  return (
    whole && (
      <p class="quiet">
        One of the {whole.shards?.length} shards of{' '}
        <a href={href(['spread', whole.name])}>
          <bdi>{whole.name}</bdi>
        </a>
        . An action here leaves the others alone.
      </p>
    )
  );
}

/** Links to the queues before and after this one by name, in the same view. */
function Neighbours({ name }: { name: string }) {
  const names = [...queues.value, ...unreadable.value]
    .map((each) => each.name)
    .toSorted((a, b) => a.localeCompare(b));
  const at = names.indexOf(name);
  const [before, after] = [names[at - 1], names[at + 1]];
  const { params } = route.value;
  const same = { view: params.get('view'), state: params.get('state') };
  return names.length < 2 ? null : (
    <nav class="neighbours" aria-label="Queues by name">
      {before !== undefined && (
        <a rel="prev" href={href(['queue', before], same)} title={`Previous queue: ${before} ( [ )`}>
          <span aria-hidden="true">‹</span>
          <span class="hidden">Previous queue: {before}</span>
        </a>
      )}
      {after !== undefined && (
        <a rel="next" href={href(['queue', after], same)} title={`Next queue: ${after} ( ] )`}>
          <span aria-hidden="true">›</span>
          <span class="hidden">Next queue: {after}</span>
        </a>
      )}
    </nav>
  );
}

function QueueHead({ queue }: { queue: QueueView }) {
  const { name, verdict, pausedAt, pausedUntil } = queue;
  return (
    <div class="page-head">
      <div class="page-title">
        <h1>
          <bdi>{name}</bdi>
        </h1>
        <Neighbours name={name} />
        <span class="page-buttons">
          <DialogButton
            action="profile"
            text="Profile"
            dialog={(close) => <LazyProfile queue={queue.name} close={close} />}
          />
          <DialogButton
            action="limits"
            text="Limits"
            dialog={(close) => <LimitsDialog queue={queue} close={close} />}
          />
          <PauseButton queue={queue} />
        </span>
      </div>
      <VerdictLine verdict={verdict}>
        {pausedAt !== null && verdict.state !== 'paused' && (
          <>
            {' '}
            Paused <Time at={pausedAt} />
            {pausedUntil !== null && (
              <>
                , ends <Time at={pausedUntil} />
              </>
            )}
            .
          </>
        )}
      </VerdictLine>
      <AboutOther queue={name} />
      <AboutShard name={name} />
      <Figures queue={queue} />
    </div>
  );
}

/** Opens a dialog, for viewers who may use it. */
function DialogButton({
  action,
  text,
  dialog,
}: {
  action: 'profile' | 'limits';
  text: string;
  dialog(close: () => void): ComponentChildren;
}) {
  const [open, setOpen] = useState(false);
  if (!may(action)) {
    return null;
  }
  return (
    <>
      <button type="button" disabled={unreachable.value} onClick={() => setOpen(true)}>
        {text}
      </button>
      {open && dialog(() => setOpen(false))}
    </>
  );
}
