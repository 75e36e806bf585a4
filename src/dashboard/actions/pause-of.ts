import type { PauseOptions } from '../../queue/model/pause.js';
import { wellFormed } from '../../queue/runtime/cut.js';

/** Returns the options of a pause: who, why and for how long. The app may name the user of a request. */
export function pauseOf(
  user: string,
  { reason, forMs }: Pick<{ [Key in keyof PauseOptions]: PauseOptions[Key] | undefined }, 'reason' | 'forMs'> = {},
): PauseOptions {
  return {
    ...(user !== '' && { by: wellFormed(user) }),
    ...(reason !== undefined && { reason }),
    ...(forMs !== undefined && { forMs }),
  };
}
