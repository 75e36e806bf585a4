// What a process of a run is told when it is started, and what it says back.
import type { Line } from './line.js';

export type Role =
  'worker' | 'fifo-worker' | 'flow-worker' | 'producer' | 'fifo-producer' | 'flow-producer' | 'operator';

export interface ProcessOptions {
  role: Role;
  /** Names it in the history. */
  number: number;
  /** Who it is for the server's eyes. */
  slot: string;
  line: Line;
  queue: string;
  history: string;
  log: string;
  seed: number;
  /** How far its `Date` is off. */
  clockOffMs: number;
  concurrency: number;
  /** For a producer: jobs in a batch, how many jobs a second, how many at most wait, and how many in all (0: no end). */
  batch: number;
  rate: number;
  backlog: number;
  jobs: number;
  load: boolean;
}

/** How often a process tells that Redis answers it, in ms. */
export const PULSE_MS = 100;

/** From the runner. `block`: the next handler keeps the event loop for so long. */
export type Order = { type: 'stop' } | { type: 'block'; ms: number };

/** To the runner. */
export type Report =
  | { type: 'ready' }
  /** How long ago Redis last answered this worker or producer. */
  | { type: 'pulse'; answerAgoMs: number }
  | { type: 'sample'; heap: number; rss: number; timers: number; sockets: number; listeners: number }
  /** A producer has enqueued all of its jobs. */
  | { type: 'done' }
  /** The event loop was kept as it was ordered. */
  | { type: 'blocked' }
  /** What still was open after all had been closed. */
  | { type: 'stopped'; open: string[] };
