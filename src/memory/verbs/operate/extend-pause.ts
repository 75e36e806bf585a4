import type { Pause } from '../../state/pause.js';

/** Gives the pause of a queue or group with this end a later one. Returns false if it is over, or has another end. */
export function extendPause(
  paused: { pause?: Pause | undefined },
  { knownEndMs, forMs, now }: { knownEndMs: number; forMs: number; now: number },
): boolean {
  const { pause } = paused;
  if (pause?.untilMs !== knownEndMs || knownEndMs <= now || now + forMs < knownEndMs) {
    return false;
  }
  paused.pause = { ...pause, untilMs: now + forMs };
  return true;
}
