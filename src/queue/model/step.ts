// What a handler writes about its job: lines of its log, and its steps.
/** A line that a handler wrote with `job.log`. */
export interface LogLine {
  /** The time of the line. */
  at: Date;
  /** The text, at most 1,000 characters. */
  message: string;
}

/** A recorded step of a job, see `job.step`. Its result is not shown. */
export interface JobStep {
  /** The name of the step. */
  name: string;
  /** The time when its result was recorded. */
  at: Date;
  /** The attempt that ran it, from 1. */
  attempt: number;
}

/** A recorded step with its result: JSON, or '' for none. */
export interface StoredStep extends JobStep {
  result: string;
}

/** The most steps of a job. */
export const MOST_STEPS = 256;

/** The most bytes of the result of a step, and of all steps of a job. */
export const MOST_STEP_BYTES = 65_536;
export const MOST_BYTES_OF_STEPS = 1_048_576;

/** The reply to a recorded step: `steps` and `bytes` name the limit that forbids it. */
export const STEP_OUTCOMES = ['recorded', 'lost', 'steps', 'bytes'] as const;

export type StepOutcome = (typeof STEP_OUTCOMES)[number];
