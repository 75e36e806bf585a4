import type { TimelineEvent } from '../../views/views.js';
import { exact } from '../parts/format.js';
import { Clock } from '../parts/parts.js';
import { href } from '../state/route.js';

/** The time that the axis covers, in ms. */
const SPAN_MS = 3_600_000;
/** The events that stand in words below the axis. */
const IN_WORDS = 3;
/** Events that are nearer to each other than this share of the axis are drawn side by side. */
const NEAR = 0.012;

/** The sign of each kind of event. It is never the only mark, because the words follow. */
const SIGNS: Readonly<Record<TimelineEvent['kind'], string>> = {
  deploy: '▲',
  outage: '◌',
  pause: '⏸',
  resume: '▶',
  limit: '◧',
  death: '✝',
  relay: '⇥',
  error: '✕',
};

/** Shows what happened in the last hour on one axis. Each event is a link, and the last ones are in words below. */
export function Timeline({ at, events }: { at: number; events: readonly TimelineEvent[] }) {
  return (
    <section class="timeline" aria-label="What happened in the last hour">
      <ol>
        {placed(at, events).map(({ event, share, words }) => (
          <li key={keyOf(event)} style={{ left: `${(share * 100).toFixed(2)}%` }}>
            <a
              class={`quiet event-${event.kind}`}
              href={href(event.page, event.params)}
              title={words}
              aria-label={words}
            >
              {SIGNS[event.kind]}
            </a>
          </li>
        ))}
      </ol>
      <p class="list-head quiet">
        <span>1 h ago</span>
        <span>now</span>
      </p>
      <ul class="marks">
        {events
          .slice(-IN_WORDS)
          .toReversed()
          .map((event) => (
            <li key={keyOf(event)}>
              <Clock at={event.at} />{' '}
              <a href={href(event.page, event.params)}>
                <bdi>{event.text}</bdi>
              </a>
            </li>
          ))}
      </ul>
    </section>
  );
}

function keyOf({ at, kind, text }: TimelineEvent): string {
  return `${at} ${kind} ${text}`;
}

/** Returns the place of each event as a share of the axis. An event near the one before stands right beside it. */
function placed(at: number, events: readonly TimelineEvent[]) {
  let last = -NEAR;
  return events.map((event) => {
    const share = Math.min(1, Math.max(0, 1 - (at - event.at) / SPAN_MS, last + NEAR));
    last = share;
    return { event, share, words: `${event.text}, ${exact(event.at)}` };
  });
}
