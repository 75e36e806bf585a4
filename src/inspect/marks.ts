// The marks of states and verdicts, the same on a terminal and on a page.
import type { AttemptRecord, JobStatus } from '../queue/model/job.js';
import type { ScheduleRun } from '../queue/model/schedule.js';
import type { QueueVerdict, Severity } from './queue-signs.js';

/** A line of a drawing, 16 wide and 16 high. Without a width it is filled. */
interface Stroke {
  d: string;
  width?: number;
}

/** A mark: its sign in a text, its drawing on a page, and its colour on a terminal. */
export interface Mark {
  sign: string;
  strokes: readonly Stroke[];
  color: 'green' | 'cyan' | 'yellow' | 'red' | 'blue' | 'magenta' | 'dim';
}

const RING: Stroke = { d: 'M13.5 8a5.5 5.5 0 1 1-11 0a5.5 5.5 0 1 1 11 0', width: 2 };
const CROSS: readonly Stroke[] = [{ d: 'M4 4l8 8M12 4l-8 8', width: 2.2 }];

export const STATE_MARKS: Readonly<Record<JobStatus, Mark>> = {
  pending: { sign: '○', strokes: [RING], color: 'yellow' },
  scheduled: { sign: '◷', strokes: [RING, { d: 'M8 5v3.2l2 1.3', width: 1.6 }], color: 'magenta' },
  processing: {
    sign: '◉',
    strokes: [RING, { d: 'M10.75 8a2.75 2.75 0 1 1-5.5 0a2.75 2.75 0 1 1 5.5 0' }],
    color: 'blue',
  },
  completed: { sign: '✓', strokes: [{ d: 'M3 8.5l3.2 3.2L13 5', width: 2.2 }], color: 'green' },
  failed: { sign: '✕', strokes: CROSS, color: 'red' },
  cancelled: { sign: '–', strokes: [{ d: 'M3.5 8h9', width: 2.4 }], color: 'dim' },
};

/** The marks of the runs of a schedule: of its jobs, and of times without one. */
export const RUN_MARKS: Readonly<Record<ScheduleRun['status'], Mark>> = {
  ...STATE_MARKS,
  missed: { sign: '△', strokes: [{ d: 'M8 3l5.5 10h-11z', width: 1.8 }], color: 'yellow' },
  kept: {
    sign: '»',
    strokes: [{ d: 'M3.5 4.5l3.5 3.5-3.5 3.5M8.5 4.5l3.5 3.5-3.5 3.5', width: 1.8 }],
    color: 'dim',
  },
  gone: { sign: '·', strokes: [{ d: 'M8 8h.01', width: 3.5 }], color: 'dim' },
};

/** The marks of verdicts. An idle queue is well, and has nothing to do. */
export const VERDICT_MARKS: Readonly<Record<Severity | 'idle', Mark>> = {
  ok: { sign: '●', strokes: [{ d: 'M12.5 8a4.5 4.5 0 1 1-9 0a4.5 4.5 0 1 1 9 0' }], color: 'green' },
  notice: { sign: '◐', strokes: [RING, { d: 'M8 2.5a5.5 5.5 0 0 0 0 11z' }], color: 'cyan' },
  warning: { sign: '▲', strokes: [{ d: 'M8 2.5l6 11h-12z' }], color: 'yellow' },
  critical: { sign: '✕', strokes: CROSS, color: 'red' },
  idle: { sign: '⋯', strokes: [{ d: 'M3.5 8h.01M8 8h.01M12.5 8h.01', width: 2.6 }], color: 'dim' },
};

export function verdictMark({ severity, state }: Pick<QueueVerdict, 'severity' | 'state'>): Mark {
  return VERDICT_MARKS[state === 'idle' ? 'idle' : severity];
}

/** The states whose marks the ends of an attempt have. */
export const ATTEMPT_STATES: Readonly<Record<AttemptRecord['outcome'], JobStatus>> = {
  completed: 'completed',
  error: 'failed',
  crash: 'failed',
  unhandled: 'failed',
  interruption: 'cancelled',
  snooze: 'scheduled',
  rate_limited: 'scheduled',
  outage: 'scheduled',
  wait: 'scheduled',
};
