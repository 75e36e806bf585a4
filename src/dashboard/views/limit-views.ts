// The limits that queues share, on the page. Types only: both sides import them.

/** A limit that queues share. The names of queues that the viewer may not see are left out. */
export interface SharedLimitView {
  name: string;
  /** The queues whose workers name it, by name. */
  queues: string[];
  maxRunning: number | null;
  rates: { limit: number; periodMs: number; burst?: number }[];
  /** True if its values were set at run time, so that they override those of the code. */
  isSet: boolean;
  /** The number of jobs that run, also those of hidden queues. */
  running: number;
  /** The jobs of each queue, the most first. */
  holders: { queue: string; permits: number; workers: number }[];
  /** The queues that wait for it, the first first. */
  waiting: string[];
  /** True if a queue uses it with a key. */
  hasKeys: boolean;
  /** How many of its keys jobs wait for, in words; empty for none. */
  waitingKeys: string;
  /** When its rates let the next job start; null: now. */
  nextStartAt: number | null;
  restsUntil: number | null;
  pausedAt: number | null;
  /** When the pause ends by itself; null if somebody must resume the limit. */
  pausedUntil: number | null;
  pausedBy: string | null;
  pauseReason: string | null;
}

/** One key of a limit. Values that were not set for it are those of the limit. A pause of the limit itself is left out. */
export interface SharedKeyView extends Omit<
  SharedLimitView,
  'queues' | 'holders' | 'waiting' | 'hasKeys' | 'waitingKeys'
> {
  /** The key: the group of the jobs. */
  name: string;
  /** True if jobs of a queue wait for it. */
  isAwaited: boolean;
}

/** The keys of a limit that were used in the last day, the last first. */
export interface SharedKeysView {
  keys: SharedKeyView[];
  /** The names of keys that could not be read, because their master gives no reply. */
  unread: string[];
  /** True if more keys may be shown to the viewer. */
  hasMore: boolean;
}
