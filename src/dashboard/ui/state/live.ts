import { computed, signal } from '@preact/signals';
import { encodesPayloads, permissionsOf, type ShownAction } from '../../../queue/model/actions.js';
import type { DashboardAction } from '../../dashboard-options.js';
import type { OverviewView, QueueView, SessionView, QueueVerdictView } from '../../views/views.js';
import { changed, keyed, listed, type KeyedOverview, type StreamMessage } from '../../views/overview-changes.js';
import { BASE, get, Problem } from './api.js';
import { route } from './route.js';

const RETRY_MS = 2_000;
/** The time between two looks of a visible tab without the focus, in ms. A stream reads five times as often. */
const UNFOCUSED_MS = 5_000;

/** `lost`: the app does not answer. `away`: the app answers, its Redis does not.
 * `slow`: Redis answers, and a reading takes long. `refused`: it refuses the request. */
export type Connection = 'connecting' | 'live' | 'slow' | 'away' | 'lost' | 'refused' | 'resting';

export const session = signal<SessionView | null>(null);
export const overview = signal<OverviewView | null>(null);
/** The queues that have a page. A queue with shards has one for each of them. */
export const queues = computed(() => alone(overview.value?.queues).filter(isRead));
export const unreadable = computed(() => alone(overview.value?.unreadable).filter((queue) => !isRead(queue)));
export const connection = signal<Connection>('connecting');
export const trouble = signal<{ since: number; message: string } | null>(null);

/** The lead of the clock of Redis over this one, in ms. */
const clockLead = signal(0);
const tick = signal(Date.now());
/** The time of Redis, once a second. */
export const now = computed(() => tick.value + clockLead.value);

/** True while nothing can be changed, because Redis or the app does not answer. */
export const unreachable = computed(() => connection.value === 'away' || connection.value === 'lost');

/** Returns the queues without shards, and all shards. */
function alone(rows: readonly (QueueView | QueueVerdictView)[] = []): (QueueView | QueueVerdictView)[] {
  return [...rows.filter(({ shards }) => !shards), ...(overview.value?.shards ?? [])];
}

function isRead(queue: QueueView | QueueVerdictView): queue is QueueView {
  return 'depths' in queue;
}

/** Returns whether the user may do this in some queue. The given queue, or that of the page, must be open to actions. */
export function may(action: ShownAction, queue = route.value.parts[1]): boolean {
  return !isRefused(action, queue) && permissionsOf(action).every(hasPermission);
}

/** Returns true if the dashboard refuses the action on a queue of another app. It cannot encode payloads for one. */
function isRefused(action: ShownAction, queue: string | undefined): boolean {
  const isOther = queues.value.some((each) => each.isOther && each.name === queue);
  return isOther && (encodesPayloads(action) || session.value?.othersReadOnly === true);
}

function hasPermission(action: DashboardAction): boolean {
  return session.value?.actions.includes(action) ?? false;
}

let source: EventSource | undefined;
/** The last message and what it made known. A stream that names it gets only the changes since then. */
let last: { id: string; overview: KeyedOverview } | undefined;
let openings = 0;
let retry: ReturnType<typeof setTimeout> | undefined;

/**
 * Follows the stream while the page has the focus. Without it the page looks from time to time, and a hidden page costs
 * the server nothing.
 */
export function follow(): void {
  setInterval(() => {
    if (!document.hidden) {
      tick.value = Date.now();
    }
  }, 1_000);
  document.addEventListener('visibilitychange', () => (document.hidden ? rest() : void open()));
  addEventListener('focus', () => void (document.hidden || source || open()));
  addEventListener('blur', () => source && look());
  if (!document.hidden) {
    void open();
  }
}

function rest(): void {
  clearTimeout(retry);
  source?.close();
  source = undefined;
  connection.value = 'resting';
}

async function open(): Promise<void> {
  clearTimeout(retry);
  source?.close();
  openings += 1;
  const mine = openings;
  try {
    session.value = await get<SessionView>('session');
  } catch (error) {
    fail(error as Problem);
    return;
  }
  if (mine !== openings || document.hidden) {
    return; // the focus and the visibility of a page may change together
  }
  if (!document.hasFocus()) {
    look();
    return;
  }
  const stream = newStream(take);
  source = stream;
  stream.addEventListener('error', () => {
    if (source !== stream) {
      return;
    }
    // The browser reopens a stream that the server ended after its time, which the user need not see.
    if (stream.readyState === EventSource.CLOSED) {
      void askWhy();
    } else if (connection.peek() === 'lost') {
      lose('The app does not answer.');
    } else {
      setTimeout(() => {
        if (source === stream && stream.readyState !== EventSource.OPEN) {
          lose('The app does not answer.');
        }
      }, RETRY_MS);
    }
  });
}

/** Opens a stream that continues after the last message. */
function newStream(heard: (message: MessageEvent<string>) => void): EventSource {
  const url = new URL('api/stream', BASE);
  if (last) {
    url.searchParams.set('after', last.id);
  }
  const stream = new EventSource(url);
  stream.addEventListener('message', heard);
  return stream;
}

/** Looks once: takes one message of a stream, and looks again after a while. */
function look(): void {
  clearTimeout(retry);
  source?.close();
  source = undefined;
  const mine = openings;
  const isLate = () => mine !== openings || document.hidden; // the page has the focus again, or is hidden
  const stream = newStream((message) => {
    stream.close();
    if (!isLate()) {
      take(message);
      retry = setTimeout(() => void open(), UNFOCUSED_MS);
    }
  });
  stream.addEventListener('error', () => {
    stream.close();
    if (!isLate()) {
      void askWhy();
    }
  });
}

function take({ data, lastEventId: id }: MessageEvent<string>): void {
  const message = JSON.parse(data) as StreamMessage;
  if ('away' in message) {
    trouble.value = message.away;
    connection.value = message.away.isSlow ? 'slow' : 'away';
    last &&= { ...last, id };
    return;
  }
  const known = 'overview' in message ? keyed(message.overview) : changed(last!.overview, message.change);
  last = { id, overview: known as KeyedOverview };
  const next = listed(last.overview);
  overview.value = next;
  clockLead.value = next.at - Date.now();
  tick.value = Date.now();
  trouble.value = null;
  connection.value = 'live';
}

/** Finds out whether the server refuses this viewer now, or only the stream has failed. */
async function askWhy(): Promise<void> {
  try {
    await get<SessionView>('session');
    lose('The app does not answer.');
  } catch (error) {
    fail(error as Problem);
  }
}

function fail(problem: Problem): void {
  if (problem.status === 401 || problem.status === 403) {
    source?.close();
    source = undefined;
    session.value = null;
    overview.value = null;
    last = undefined;
    trouble.value = { since: Date.now(), message: problem.message };
    connection.value = 'refused';
  } else {
    lose(problem.message);
  }
}

function lose(message: string): void {
  source?.close();
  source = undefined;
  if (document.hidden) {
    return;
  }
  if (connection.peek() !== 'lost') {
    trouble.value = { since: Date.now(), message };
  }
  connection.value = 'lost';
  session.value = session.peek();
  clearTimeout(retry);
  retry = setTimeout(() => void open(), RETRY_MS);
}
