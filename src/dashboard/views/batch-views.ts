import type { BatchFollowUp, BatchMember, BatchRecord } from '../../queue/model/batch.js';
import type { JobRow, State } from './views.js';

/** A batch, and how far it is. It names no other queue, because the viewer may not see that. */
export interface BatchView extends Omit<
  BatchRecord,
  'followUps' | 'createdAt' | 'sealedAt' | 'firedAt' | 'endedAt'
> {
  /** The state of the batch, in a sentence. */
  words: string;
  createdAt: number;
  sealedAt: number | null;
  firedAt: number | null;
  endedAt: number | null;
}

/** The batches of a queue. */
export interface BatchesView {
  /** The batches that have not ended, the oldest first. */
  batches: BatchView[];
  /** The batches that ended last, the last first. */
  ended: BatchView[];
}

/** A member of a batch, and what became of it. */
export interface BatchMemberView extends Pick<BatchMember, 'id' | 'queue' | 'status'> {
  error: string | null;
  /** The state of a job that has not ended; null for an ended one, or where it is unknown. */
  state: State | null;
  /** The name, the label and the time of its job, as in a list; null if its record is gone. */
  name: string | null;
  label: string | null;
  at: number | null;
}

/** A job that follows a batch. */
export interface FollowUpView extends BatchFollowUp {
  /** How far it is, in words. */
  words: string;
  /** Its job; null before it is in its queue, and once it is no longer known. */
  job: JobRow | null;
}

/** One batch with a page of its members. */
export interface BatchPageView {
  batch: BatchView;
  followUps: FollowUpView[];
  members: BatchMemberView[];
  /** The start of the next page; null on the last. */
  next: number | null;
}
