import type { PauseOptions } from '../../queue/model/pause.js';

/** Returns who paused, if the app names the user of a request. */
export function pauseOf(user: string): PauseOptions {
  return user === '' ? {} : { by: user.replace(/\p{Surrogate}/gu, '\uFFFD') };
}
