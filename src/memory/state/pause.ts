import { pauseNote, type PauseOptions } from '../../queue/model/pause.js';

/** A pause of a queue or of a group. */
export interface Pause extends Omit<PauseOptions, 'forMs'> {
  atMs: number;
  untilMs?: number;
}

export function newPause({ forMs, ...note }: PauseOptions, now: number): Pause {
  return { ...note, atMs: now, ...(forMs !== undefined && { untilMs: now + forMs }) };
}

/** Returns the pause, unless its time is over. */
export function pauseAt(pause: Pause | undefined, now: number): Pause | undefined {
  return (pause?.untilMs ?? Infinity) > now ? pause : undefined;
}

/** Returns a pause as the stats of a queue or a group have it. */
export function pauseStats(pause: Pause | undefined) {
  return {
    pausedAt: pause ? new Date(pause.atMs) : null,
    ...pauseNote(pause),
    ...(pause?.untilMs !== undefined && { pausedUntil: new Date(pause.untilMs) }),
  };
}
