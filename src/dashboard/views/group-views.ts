import type { GroupLimits } from '../../queue/model/limits.js';

/** A group of a queue that has jobs. */
export interface GroupView {
  name: string;
  pending: number;
  running: number;
  oldestPendingAgeMs: number;
  pausedAt: number | null;
  /** When the pause ends by itself; null if somebody must end it. */
  pausedUntil: number | null;
  pausedBy: string | null;
  pauseReason: string | null;
  /** The job that holds it back; null for none, or for one that the viewer may not see. */
  heldBy: string | null;
  isHeld: boolean;
  opensAt: number | null;
  /** True if it runs as many jobs as it may. */
  isFull: boolean;
  /** Its own limits in words; null for none. */
  limits: string | null;
  /** The same as figures. */
  limitsSet: GroupLimits;
  /** Who set them, and when; null if the action log does not have it any more. */
  limitedBy: string | null;
  limitedAt: number | null;
}

/** The groups of a queue that have jobs. */
export interface GroupsView {
  groups: GroupView[];
  /** The limits of each group without its own, in words; null for none. */
  ofAll: string | null;
}
