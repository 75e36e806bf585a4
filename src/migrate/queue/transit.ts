// The data of a move between its two places; see docs/internals/moving.md.
import { JobQueueError } from '../../queue/errors/errors.js';

/** The places of a queue whose jobs are taken, in the order of a pass. Those of groups have a line for each group. */
export type LinePlace = 'pending' | 'prioritized' | 'scheduled' | 'group' | 'dead';

/** Why a job stays at the old place for now. */
type Stays = 'group' | 'batch' | 'dependents' | 'elsewhere' | 'broken';

/** The reply of `take` about one job. */
export type TakeReply = 'taken' | 'gone' | Stays;

/** The reply of `put` about one job. */
export type PutReply = 'new' | 'known' | PutRefusal;

/** Why a job stays, because BullMQ has nothing like it. */
export type LeftBehind = 'ofGroup' | 'waits' | 'signal' | 'content';

/** Why a job cannot be added at the new place. */
type PutRefusal = 'existing' | 'unique' | 'full' | LeftBehind;

/** A new place as a mover needs it: one of ours, or a queue of BullMQ. */
export interface MoveTarget {
  /** Refuses a place that cannot take the queue now. */
  check(): Promise<void>;
  /** Prepares the place, once this mover has begun. */
  takeBack(right: MoverRight): Promise<void>;
  /** Adds jobs in transit. */
  put(right: MoverRight, jobs: readonly MovingJob[]): Promise<PutReply[]>;
  /** Returns false if a schedule stays, or is there already. */
  putSchedule(right: MoverRight, id: string, kept: { due: string; fields: string[] }): Promise<boolean>;
  /** Returns the keys of the oldest marks. */
  marks(source: string, limit: number): Promise<string[]>;
  /** Forgets marks. */
  forget(source: string, keys: readonly string[]): Promise<void>;
}

/** A job in transit. */
export interface MovingJob {
  id: string;
  /** Its key, place, score and what it holds, with tabs between. */
  entry: string;
  /** The fields and values of its hash, one after another. */
  fields: string[];
  /** False if a part of it is not UTF-8, which a call would change. */
  isText: boolean;
}

export function partsOf(entry: string): { key: string; place: LinePlace } {
  const [key, place] = entry.split('\t') as [string, LinePlace];
  return { key, place };
}

/** The newest mover of a queue. */
export interface MoverRight {
  source: string;
  fence: number;
}

/** Another mover works on the same queue. */
export class MoverOvertakenError extends JobQueueError {
  static override readonly code: string = 'MOVER_OVERTAKEN';

  constructor(queue: string) {
    super(
      `Another mover has taken over the queue "${queue}". This one stopped; nothing is lost, and nothing runs twice. ` +
        'Let the other one end.',
    );
  }
}

/** A batch whose parts a mover has copied to the new place. */
export interface CopiedBatch {
  id: string;
  /** The key of its entry. */
  key: string;
  /** When it was created, in ms. */
  createdAt: string;
  /** The lengths of the copied parts: record, open, members, outcomes. */
  lengths: number[];
}

/** The Redis of the new place has deleted the copy of a batch several times. The batch is still in transit. */
export class CopyEvictedError extends JobQueueError {
  static override readonly code: string = 'COPY_EVICTED';

  constructor(queue: string, batch: string) {
    super(
      `The Redis at the new place of queue "${queue}" has evicted the copy of batch ${batch} several times. Nothing is lost. ` +
        'Give it more memory, or maxmemory-policy noeviction, and run the command again.',
    );
  }
}

/** The steps of a move, after each of which a test kills it. */
export type QueueMoveStep =
  | 'begin'
  | 'take'
  | 'put'
  | 'give-back'
  | 'acknowledge'
  | 'forget'
  | 'take-schedule'
  | 'put-schedule'
  | 'take-batch'
  | 'copy-batch'
  | 'put-batch';
