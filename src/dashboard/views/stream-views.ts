import type { OverviewView } from './views.js';

/** An event of the stream: a read of Redis, or since when Redis does not reply. */
export type StreamEvent = { overview: OverviewView; away: null } | { overview: null; away: AwayView };

/** Why there is no new reading. */
interface AwayView {
  since: number;
  message: string;
  /** True where Redis answers, and only the reading takes long. */
  isSlow: boolean;
}
