// The jobs of a run: producers draw them from the seed, workers act them out.
import type { EnqueueOptions } from '#queue/enqueue/enqueue-options.js';
import type { QueueOptions } from '#queue/model/queue-options.js';
import type { Random } from '../random.js';

export const MAX_ATTEMPTS = 5;
export const MAX_CRASHES = 4;

/** The behaviour of a job: `plain` works at once, the others do what their name says. */
export type Kind =
  | 'plain'
  | 'error'
  | 'fatal'
  | 'final'
  | 'slow'
  | 'progress'
  | 'snooze'
  | 'delayed'
  | 'priority'
  | 'unique'
  | 'own-id'
  | 'later'
  | 'large'
  | 'steps'
  | 'grows';

/** The payload of a job. */
export interface Work {
  p: number;
  n: number;
  kind: Kind;
  /** The filler of a large job. */
  pad?: string;
}

interface Drawn {
  kind: Kind;
  options: EnqueueOptions;
}

/** Shares of the kinds; the rest is plain. */
type Mix = Partial<Record<Kind, number>>;

/** One in a hundred fails once; dead letters, long jobs and the like are rarer. */
export const MIX: Mix = {
  error: 0.01,
  fatal: 0.002,
  final: 0.001,
  slow: 0.02,
  progress: 0.01,
  snooze: 0.005,
  delayed: 0.05,
  priority: 0.05,
  unique: 0.02,
  'own-id': 0.02,
  later: 0.002,
  large: 0.01,
  steps: 0.02,
};

/** The smallest filler of a large job, in bytes: close to the limit of a queue. */
const LEAST_PAD = 1_000;
const MOST_PAD = 1_048_576 - 100;

/** Returns a padding. Each magnitude is as likely, so small ones are more frequent. */
export function padOf(random: Random): string {
  return 'x'.repeat(Math.floor(LEAST_PAD * (MOST_PAD / LEAST_PAD) ** random.next()));
}

/** The kinds of a million jobs: the same failures with less load, so that a run takes minutes. */
export const LOAD_MIX: Mix = {
  ...MIX,
  fatal: 0.0005,
  slow: 0.0001,
  unique: 0.005,
  'own-id': 0.005,
  later: 0.0001,
  large: 0,
  steps: 0.001,
};

/** The operator leaves the first two alone once they are made; to the third it does all that operators do. */
export const SCHEDULES = {
  'each-second': { everyMs: 1_000, onMissed: 'once' },
  'each-half': { everyMs: 500, onMissed: 'skip', missedAfterMs: 1_000 },
  'by-hand': { everyMs: 250, onMissed: 'once' },
} as const;

export type ScheduleId = keyof typeof SCHEDULES;
export const BY_HAND = 'by-hand' satisfies ScheduleId;

export function queueOptions(load: boolean): QueueOptions {
  return {
    visibilityMs: 3_000,
    maxAttempts: MAX_ATTEMPTS,
    backoff: 0,
    maxCrashes: MAX_CRASHES,
    // A repeated enqueue must find its job, so the history is longer than the window of repeats.
    completedHistory: load ? 1_000 : 20_000,
    cancelledHistory: load ? 1_000 : 20_000,
    enqueueTimeoutMs: 2_000,
    deadLetterCap: 1_000_000,
  };
}

export function draw(random: Random, mix: Mix, name: () => string): Drawn {
  let spot = random.next();
  let kind: Kind = 'plain';
  for (const [each, share] of Object.entries(mix)) {
    spot -= share;
    if (spot < 0) {
      kind = each as Kind;
      break;
    }
  }
  return { kind, options: optionsOf(kind, random, name) };
}

function optionsOf(kind: Kind, random: Random, name: () => string): EnqueueOptions {
  switch (kind) {
    case 'delayed':
      return { delayMs: random.between(50, 3_000) };
    case 'later':
      return { delayMs: 3_600_000 };
    case 'priority':
      return { priority: random.between(1, 5) };
    case 'fatal':
      return { backoff: 50 };
    case 'own-id':
      return { id: name() };
    case 'unique':
      return {
        unique: {
          key: `key-${random.between(1, 20)}`,
          for: random.pick(['pending', 'unfinished', { ms: 500 }] as const),
          onConflict: random.pick(['keep', 'replace'] as const),
        },
      };
    default:
      return {};
  }
}
