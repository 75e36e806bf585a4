import type { QueuePauseOptions } from '../../queue/model/pause.js';
import { wellFormed } from '../../queue/runtime/cut.js';

/** Returns the options of a pause: who, why and for how long. The app may name the user of a request. */
export function pauseOf(
  user: string,
  {
    reason,
    forMs,
  }: Pick<{ [Key in keyof QueuePauseOptions]: QueuePauseOptions[Key] | undefined }, 'reason' | 'forMs'> = {},
): QueuePauseOptions {
  return {
    ...(user !== '' && { by: wellFormed(user) }),
    ...(reason !== undefined && { reason }),
    ...(forMs !== undefined && { forMs }),
  };
}
