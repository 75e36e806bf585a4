// What a job waits for, and the signals that it got.
/** How a wait of a job ended. `open`: it has not. */
export type WaitState = 'open' | 'answered' | 'over';

/** A wait for a signal, or a sleep, of `job.waitFor` and `job.sleep`. */
export interface JobWait {
  /** The name of the signal, or of the sleep. */
  name: string;
  /** What it waits for. */
  kind: 'signal' | 'sleep';
  /** The time when the job first came to it. */
  since: Date;
  /** The time when it ends without a signal. Absent without a limit. */
  until?: Date;
  /** `answered`: the handler got the signal. `over`: its time passed, and the handler learned that. */
  state: WaitState;
}

/** A signal that a job got. Its data is not shown. */
export interface JobSignal {
  /** The name of the signal. */
  name: string;
  /** The time when it came. */
  at: Date;
}

/** The most waits and the most signals of a job. */
export const MOST_WAITS = 256;
export const MOST_SIGNALS = 256;

/** The most bytes of the data of a signal, and of all signals of a job. */
export const MOST_SIGNAL_BYTES = 65_536;
export const MOST_BYTES_OF_SIGNALS = 1_048_576;

/** The reply to a wait. `waits`: the job has as many as it may have. */
export type WaitReply =
  | { is: 'lost' | 'waits' | 'over' }
  | { is: 'answered'; data: string }
  /** It goes on after `leftMs` without a signal; undefined for no limit. */
  | { is: 'open'; leftMs: number | undefined };

/**
 * The outcome of a signal. `delivered`: the job waited for it, and goes on. `kept`: it is there for a later wait. `known`: the
 * job has a signal of that name, and nothing changes.
 */
export type SignalOutcome = 'delivered' | 'kept' | 'known';

/** The reply to a signal: its outcome, or why it is refused. */
export const SIGNAL_REPLIES = [
  'delivered',
  'kept',
  'known',
  'missing',
  'other-name',
  'completed',
  'failed',
  'cancelled',
  'late',
  'signals',
  'bytes',
] as const;

export type SignalReply = (typeof SIGNAL_REPLIES)[number];
