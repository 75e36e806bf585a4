import { computed, signal } from '@preact/signals';
import type { DashboardAction } from '../../dashboard-options.js';
import type { OverviewView, SessionView } from '../../views/views.js';
import type { StreamEvent } from '../../views/stream-views.js';
import { BASE, get, Problem } from './api.js';

const RETRY_MS = 2_000;

/** `lost`: the app does not answer. `away`: the app answers, its Redis does not.
 * `slow`: Redis answers, and a reading takes long. `refused`: it refuses the request. */
export type Connection = 'connecting' | 'live' | 'slow' | 'away' | 'lost' | 'refused' | 'resting';

export const session = signal<SessionView | null>(null);
export const overview = signal<OverviewView | null>(null);
export const connection = signal<Connection>('connecting');
export const trouble = signal<{ since: number; message: string } | null>(null);

/** The lead of the clock of Redis over this one, in ms. */
const clockLead = signal(0);
const tick = signal(Date.now());
/** The time of Redis, once a second. */
export const now = computed(() => tick.value + clockLead.value);

/** Returns whether the user may do this in some queue. */
export function may(action: DashboardAction): boolean {
  return session.value?.actions.includes(action) ?? false;
}

let source: EventSource | undefined;
let retry: ReturnType<typeof setTimeout> | undefined;

/** Follows the stream while the page is seen; a hidden page costs the server nothing. */
export function follow(): void {
  setInterval(() => {
    if (!document.hidden) {
      tick.value = Date.now();
    }
  }, 1_000);
  document.addEventListener('visibilitychange', () => (document.hidden ? rest() : void open()));
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
  try {
    session.value = await get<SessionView>('session');
  } catch (error) {
    fail(error as Problem);
    return;
  }
  const stream = new EventSource(new URL('api/stream', BASE));
  source = stream;
  stream.addEventListener('message', ({ data }: MessageEvent<string>) => take(JSON.parse(data) as StreamEvent));
  stream.addEventListener('error', () => {
    if (source !== stream) {
      return;
    }
    // The browser reopens a stream that the server ended after its time, which the user need not see.
    if (stream.readyState === EventSource.CLOSED) {
      void askWhy();
    } else if (connection.peek() !== 'live') {
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

function take({ overview: next, away }: StreamEvent): void {
  if (next) {
    overview.value = next;
    clockLead.value = next.at - Date.now();
    tick.value = Date.now();
    trouble.value = null;
    connection.value = 'live';
  } else {
    trouble.value = away;
    connection.value = away.isSlow ? 'slow' : 'away';
  }
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
