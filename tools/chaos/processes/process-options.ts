// The options of a process of a run, and its replies.
import type { Line } from './line.js';

export type Role =
  | 'worker'
  | 'fifo-worker'
  | 'flow-worker'
  | 'shared-worker'
  | 'spread-worker'
  | 'producer'
  | 'fifo-producer'
  | 'flow-producer'
  | 'shared-producer'
  | 'spread-producer'
  | 'operator';

export interface ProcessOptions {
  role: Role;
  /** Names it in the history. */
  number: number;
  /** The client name at the server. */
  slot: string;
  line: Line;
  queue: string;
  history: string;
  log: string;
  seed: number;
  /** The offset of its `Date`, in ms. */
  clockOffMs: number;
  concurrency: number;
  /** The load of a producer: jobs per batch, jobs per second, the most waiting jobs, the total (0: no end). */
  batch: number;
  rate: number;
  backlog: number;
  jobs: number;
  load: boolean;
}

/** The interval at which a process reports replies of Redis, in ms. */
export const PULSE_MS = 100;

/** Orders from the runner. `block`: the next handler blocks the event loop for this many ms. */
export type Order = { type: 'stop' } | { type: 'block'; ms: number };

/** To the runner. */
export type Report =
  | { type: 'ready' }
  /** Time since Redis last replied to this worker or producer, in ms. */
  | { type: 'pulse'; answerAgoMs: number }
  | { type: 'sample'; heap: number; rss: number; timers: number; sockets: number; listeners: number }
  /** A producer has enqueued all of its jobs. */
  | { type: 'done' }
  /** The ordered block of the event loop is over. */
  | { type: 'blocked' }
  /** Resources still open after everything was closed. */
  | { type: 'stopped'; open: string[] };
