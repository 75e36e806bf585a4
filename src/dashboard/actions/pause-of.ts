import type { PauseOptions } from '../../queue/model/pause.js';
import { wellFormed } from '../../queue/runtime/cut.js';

/** Returns who paused, if the app names the user of a request. */
export function pauseOf(user: string): PauseOptions {
  return user === '' ? {} : { by: wellFormed(user) };
}
