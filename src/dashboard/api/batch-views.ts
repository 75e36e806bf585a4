import type { JobRow } from './views.js';

/** A batch, and how far it is. */
export interface BatchView {
  id: string;
  queue: string;
  state: 'open' | 'sealed' | 'fired' | 'ended';
  /** What that means, in words. */
  words: string;
  stopped: boolean;
  total: number;
  open: number;
  completed: number;
  failed: number;
  cancelled: number;
  removed: number;
  createdAt: number;
  sealedAt: number | null;
  firedAt: number | null;
  endedAt: number | null;
}

/** A member of a batch, and what became of it. */
export interface BatchMemberView {
  id: string;
  queue: string;
  status: 'open' | 'completed' | 'failed' | 'cancelled' | 'removed';
  error: string | null;
}

/** One batch with a page of its members. */
export interface BatchPageView {
  batch: BatchView;
  /** The jobs after it, as far as they are known. */
  followUps: JobRow[];
  members: BatchMemberView[];
  /** Where the next page begins; null on the last. */
  next: number | null;
}
