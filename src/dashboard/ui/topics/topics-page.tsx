import type { SubscriptionView, TopicsView } from '../../views/views.js';
import { ask } from '../parts/confirm.js';
import { plural } from '../parts/format.js';
import { Name, Notice, ScrolledTable, Time } from '../parts/parts.js';
import { say, tried } from '../parts/toasts.js';
import { post } from '../state/api.js';
import { now, queues, unreachable } from '../state/live.js';
import { href, route, setParams } from '../state/route.js';
import { useLoaded } from '../state/use-loaded.js';

const REFRESH_MS = 5_000;

/** Shows the subscriptions of all topics, and ends one whose code is gone. */
export function TopicsPage() {
  const { data, problem, reload } = useLoaded<TopicsView>('topics', {}, Math.floor(now.value / REFRESH_MS));
  if (!data) {
    return problem ? (
      <Notice title="The topics could not be loaded." kind="problem">
        <p>{problem.message}</p>
      </Notice>
    ) : (
      <Notice title="Loading the topics…" kind="loading" />
    );
  }
  const { subscriptions } = data;
  return (
    <>
      <h1>{headline(subscriptions)}</h1>
      {subscriptions.length === 0 ? (
        <Notice title="No topic has a subscription.">
          <p>
            Subscribe a method of a provider by <code>@OnTopic</code>, and publish by <code>jobs.publish</code>.
          </p>
        </Notice>
      ) : (
        <Rows subscriptions={subscriptions} changed={reload} />
      )}
    </>
  );
}

function headline(subscriptions: readonly SubscriptionView[]): string {
  const topics = new Set(subscriptions.map(({ topic }) => topic)).size;
  const idle = subscriptions.filter(({ isHandled }) => isHandled === false).length;
  const words = `${plural(topics, 'topic')}, ${plural(subscriptions.length, 'subscription')}`;
  return idle > 0 ? `${words}, ${idle === 1 ? 'one' : idle} without a live worker` : words;
}

function Rows({ subscriptions, changed }: TopicsView & { changed(): void }) {
  const filter = route.value.params.get('q') ?? '';
  const wanted = filter.trim().toLowerCase();
  const shown = subscriptions.filter(({ topic, name, queue }) =>
    `${topic} ${name} ${queue}`.toLowerCase().includes(wanted),
  );
  return (
    <>
      <div class="queue-search">
        <input
          id="queue-search"
          type="search"
          placeholder="Filter by topic, subscription or queue"
          aria-label="Filter by topic, subscription or queue"
          value={filter}
          onInput={(event) => setParams({ q: event.currentTarget.value || null })}
        />
      </div>
      {shown.length === 0 ? (
        <Notice title="No subscription matches." />
      ) : (
        <ScrolledTable
          label="Subscriptions of topics"
          kind="actions"
          columns={['Subscription', 'Topic', 'Queue', 'Known since', 'State']}
          acts
        >
          {shown.map((each) => (
            <Row key={`${each.topic} ${each.name}`} subscription={each} changed={changed} />
          ))}
        </ScrolledTable>
      )}
    </>
  );
}

function Row({ subscription, changed }: { subscription: SubscriptionView; changed(): void }) {
  const { topic, name, queue, since, isHandled, canBeRemoved } = subscription;
  const isShown = queues.value.some((each) => each.name === queue);
  return (
    <tr>
      <th scope="row" data-label="Subscription">
        <Name text={name} />
      </th>
      <td data-label="Topic">
        <Name text={topic} />
      </td>
      <td data-label="Queue">
        {isShown ? (
          <a href={href(['queue', queue])}>
            <Name text={queue} />
          </a>
        ) : (
          <Name text={queue} />
        )}
      </td>
      <td data-label="Known since">
        <Time at={since} />
      </td>
      <td data-label="State">
        {isHandled === false ? (
          <span class="stuck">no live worker has its handler</span>
        ) : (
          <span class="tag">{isHandled ? 'handled' : 'not known: its queue gave no reply'}</span>
        )}
      </td>
      <td>
        <div class="row-actions">
          {canBeRemoved && (
            <button
              type="button"
              class="danger-quiet"
              disabled={unreachable.value}
              aria-label={`Remove the subscription ${name} of ${topic}`}
              onClick={() => void remove(subscription, changed)}
            >
              Remove
            </button>
          )}
        </div>
      </td>
    </tr>
  );
}

async function remove({ topic, name, queue }: SubscriptionView, changed: () => void): Promise<void> {
  const sure = await ask({
    title: `Remove the subscription ${name}?`,
    body: `Later publications of ${topic} add no job for it. Its jobs stay in the queue ${queue}. An app that still has its code declares it again.`,
    verb: 'Remove the subscription',
    typed: name,
    destroys: true,
  });
  const done = sure && (await tried(() => post('topics/remove', { queue, topic, subscription: name })));
  if (done) say(`The subscription ${name} of ${topic} is removed.`);
  changed();
}
