import { z } from 'zod';
import type { GroupLimits } from './limits.js';

/** The longest name of a group, in characters: long enough for any key of a tenant. */
const LONGEST_NAME = 256;

const EXPECTED = `expected text of 1 to ${LONGEST_NAME} characters`;

export const groupName = z
  .string({ error: EXPECTED })
  .min(1, EXPECTED)
  .max(LONGEST_NAME, EXPECTED)
  .refine((name) => !/\p{Surrogate}/u.test(name), 'expected well-formed text');

/** A group of a queue at one moment. */
export interface GroupStats {
  /** The name of the group. */
  name: string;
  /** The jobs that wait in its line, without delayed ones. */
  pending: number;
  /** Claimed jobs: its used slots. */
  running: number;
  /** The time the job at its head has been claimable, in ms; 0 if none waits. */
  oldestPendingAgeMs: number;
  /** The time of its pause; null if it is not paused. */
  pausedAt: Date | null;
  /** The name of who paused it, if it was given. */
  pausedBy?: string;
  /** The reason of its pause, if one was given. */
  pauseReason?: string;
  /** The time when its pause ends by itself, if it does. */
  pausedUntil?: Date;
  /** The job that holds it back, which waits for its retry or is a dead letter; null without one. */
  heldBy: string | null;
  /** The time when its rate, rest and pause let the next job start; null for now. */
  opensAt: Date | null;
  /** Its own limits. */
  limits: GroupLimits;
}

/** The groups that rest because their key of a limit had no free permit. */
export interface AwaitingGroups {
  /** The number of these groups. */
  readonly groups: number;
  /** The number of jobs that wait in them, or in 1,000 of them. */
  readonly jobs: number;
  /** The names of some, the longest line first. */
  readonly names: readonly string[];
}
