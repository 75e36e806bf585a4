import type { PauseOptions } from '../../queue/model/pause.js';

/** Says who paused, where the app says who asks. */
export function pauseOf(user: string): PauseOptions {
  return user === '' ? {} : { by: user.replace(/\p{Surrogate}/gu, '\uFFFD') };
}
