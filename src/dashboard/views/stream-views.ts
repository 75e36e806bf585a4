import type { Change } from './overview-changes.js';
import type { OverviewView } from './views.js';
import type { VerdictView } from './verdict-views.js';

/** The state as it is read: a read of Redis, or since when Redis does not reply. */
export type StreamEvent = { overview: OverviewView; away: null } | { overview: null; away: AwayView };

/** Why there is no new reading. */
export interface AwayView {
  since: number;
  message: string;
  /** True where Redis answers, and only the reading takes long. */
  isSlow: boolean;
}

/** A message of the stream to one viewer: all at first, then what has changed since the message before. */
export type StreamMessage = { overview: OverviewView } | { change: Change } | { away: AwayView };

/** Redis and its queues in one sentence, for the dashboard of another server. */
export interface ServerView {
  /** Null while there is no reading. */
  verdict: VerdictView | null;
}
