import type { PauseOptions } from '../../../queue/model/pause.js';

/** Returns the name and the reason of a pause of a queue or a group, as its stats have it. */
export function pauseNote({ by, reason }: PauseOptions = {}): { pausedBy?: string; pauseReason?: string } {
  return { ...(by !== undefined && { pausedBy: by }), ...(reason !== undefined && { pauseReason: reason }) };
}
