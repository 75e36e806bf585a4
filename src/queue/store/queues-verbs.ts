// The verbs that reach many queues of a server in few calls.
import type { WorkerRecord } from '../model/worker-record.js';
import type { ProfileRequest } from '../model/profile.js';
import type { Place } from '../validation/key-table.js';
import type { CallLimit, Settled } from './store-call.js';
import type { StoreCalls } from './store-calls.js';
import type { AttemptLimits } from './attempt-forms.js';

/** The result of a look at one queue. */
export interface Look {
  /** The time of the server, in ms. */
  readonly atMs: number;
  /** The places that hold something. */
  readonly found: ReadonlySet<Place>;
}

/** The data of a note that maintenance found no work. */
export interface IdleNote {
  /** How often the caller maintains the queues, in ms. */
  readonly everyMs: number;
  /** A gap between two notes that means an outage, in ms. */
  readonly gapMs: number;
}

/** A queue to which a worker announces itself again. */
export interface AnnouncedQueue {
  readonly calls: StoreCalls;
  /** The limits of its handlers, by their names. */
  readonly handlers: readonly AttemptLimits[];
}

/** The worker that announces itself again. */
export interface Renewal {
  readonly worker: string;
  /** True to check also what changes rarely: the layout, the limits, and whether a purge lets the announcement expire. */
  readonly checks: boolean;
  /** The queue of those announced whose live workers are listed, and the most of them. */
  readonly lists?: { readonly calls: StoreCalls; readonly most: number } | undefined;
}

/** The result of a repeated announcement. */
export interface Renewed {
  /** False if the worker must register, because the queue has not all of the announcement. */
  readonly isKnown: boolean;
  /** The live workers of the queue, if they were to be listed. */
  readonly workers?: readonly WorkerRecord[];
  /** The request for a profile that waits for an attempt; absent without one. */
  readonly profile?: ProfileRequest;
}

/**
 * Each verb returns the outcome of each queue, in the order of the queues. Some hundred queues of a server share a call. In a
 * Cluster each master has its own calls.
 */
export interface QueuesVerbs {
  /** Returns which of these places hold something. */
  look(
    queues: readonly StoreCalls[],
    places: readonly Place[],
    limit: Required<CallLimit>,
  ): Promise<Settled<Look>[]>;
  /** Notes that maintenance found no work. Returns whether the caller must close the minute of the queue's history. */
  noteIdle(queues: readonly StoreCalls[], note: IdleNote, limit: Required<CallLimit>): Promise<Settled<boolean>[]>;
  /** Repeats the announcement of a worker. Lists the live workers of one of the queues with it. */
  renew(
    queues: readonly AnnouncedQueue[],
    renewal: Renewal,
    limit: Required<CallLimit>,
  ): Promise<Settled<Renewed>[]>;
  /** Adds the names of the queues to the register of their Redis. */
  register(queues: readonly StoreCalls[], limit: Required<CallLimit>): Promise<Settled<void>[]>;
  /** Returns up to `most` names of the register, the latest first. */
  registered(queue: StoreCalls, most: number, limit: Required<CallLimit>): Promise<string[]>;
}
