import { lazy } from '../parts/lazy.js';
import type { QueueVerdictView, SharedErrorView } from '../../views/views.js';
import { count, duration } from '../parts/format.js';
import { Clock, Notice, Sentence, VerdictMark } from '../parts/parts.js';
import { redriveInAll } from '../parts/begin-runs.js';
import { connection, may, overview, trouble, unreachable } from '../state/live.js';
import { href, route, setParams } from '../state/route.js';
import { RemedyAction } from '../steer/remedy.js';
import { NEEDS_A_LOOK, chipWords, chipsOf } from './queue-order.js';
import { QueueTable } from './queue-table.js';
import { WorkersStrip } from './workers-strip.js';

const LazyTimeline = lazy('The timeline', async () => (await import('./timeline.js')).Timeline);

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
  const { at, sentence, errors, timeline, queues, unreadable, shards, workers, outbox } = view;
  return (
    <>
      <h1 class={`answer answer-${sentence.severity}`}>
        <VerdictMark {...sentence} />
        <span>
          <Sentence text={sentence.sentence} />
          {sentence.more !== undefined && (
            <>
              {' '}
              <a href={href([], { only: NEEDS_A_LOOK })}>
                {sentence.more} more {sentence.more === 1 ? 'needs' : 'need'} a look.
              </a>
            </>
          )}
        </span>
      </h1>
      {sentence.remedy && (
        <p class="remedy">
          <Sentence text={sentence.remedy} /> <RemedyAction verdict={sentence} />
        </p>
      )}
      <SharedErrors errors={errors} />
      {timeline.length > 0 && <LazyTimeline at={at} events={timeline} />}
      {queues.length + unreadable.length === 0 ? (
        <Notice title="No queue yet.">
          <p>Declare a handler with @JobHandler, or enqueue a first job: its queue shows up here.</p>
        </Notice>
      ) : (
        <>
          <QueueChips queues={[...queues, ...unreadable]} />
          <QueueTable queues={queues} unreadable={unreadable} shards={shards} outbox={outbox} />
        </>
      )}
      <WorkersStrip workers={workers} />
    </>
  );
}

/** Shows each error that several queues have, with its queues, its begin and the deploy before it. */
function SharedErrors({ errors }: { errors: readonly SharedErrorView[] }) {
  return errors.length === 0 ? null : (
    <ul class="shared-errors" aria-label="Errors of several queues">
      {errors.map(({ key, words, queues, kinds, count: died, since, deploy }) => (
        <li key={key}>
          <VerdictMark severity="critical" />
          <span>
            <a href={href(['search'], { q: `cause:${key} state:failed` })}>
              <bdi>{words}</bdi>
            </a>{' '}
            in{' '}
            {queues.map((name, i) => (
              <>
                {i > 0 && ', '}
                <a class="name" href={href(['queue', name], { state: 'failed' })}>
                  <bdi>{name}</bdi>
                </a>
              </>
            ))}{' '}
            since <Clock at={since} />
            {deploy && (
              <>
                , {duration(deploy.beforeMs)} after version <bdi>{deploy.version}</bdi>
              </>
            )}
            : {count(died)} died{' '}
            {kinds.some(({ queue }) => may('redrive', queue)) && (
              <button
                type="button"
                class="link"
                disabled={unreachable.value}
                onClick={() =>
                  void redriveInAll(
                    kinds.map(({ queue, kind, count: total }) => ({ queue, match: { group: kind }, total })),
                    `that died of “${words}”`,
                  )
                }
              >
                Redrive them
              </button>
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}

/** The number of queues from which a field filters them. */
const MANY = 6;

/** Shows a chip for each state of trouble, and a field that filters many queues by name. */
function QueueChips({ queues }: { queues: readonly QueueVerdictView[] }) {
  const { params } = route.value;
  const [only, text] = [params.get('only'), params.get('q') ?? ''];
  const chips = chipsOf(queues, only);
  if (chips.length === 0 && queues.length < MANY && text === '') {
    return null;
  }
  return (
    <div class="chips" role="group" aria-label="Filter the queues">
      {chips.map(([chip, number]) => (
        <button
          key={chip}
          type="button"
          class="chip"
          aria-pressed={chip === only}
          onClick={() => setParams({ only: chip === only ? null : chip })}
        >
          {chipWords(chip)} {number}
        </button>
      ))}
      {(queues.length >= MANY || text !== '') && (
        <input
          type="search"
          placeholder="Filter queues"
          aria-label="Filter the queues by name"
          value={text}
          onInput={(event) => setParams({ q: event.currentTarget.value || null })}
        />
      )}
    </div>
  );
}
