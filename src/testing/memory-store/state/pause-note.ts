import type { PauseOptions } from '../../../queue/model/pause.js';

/** Who paused a queue or a group, and why, as its stats say it. */
export function pauseNote({ by, reason }: PauseOptions = {}): { pausedBy?: string; pauseReason?: string } {
  return { ...(by !== undefined && { pausedBy: by }), ...(reason !== undefined && { pauseReason: reason }) };
}
