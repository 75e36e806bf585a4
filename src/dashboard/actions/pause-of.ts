import type { PauseOptions } from '../../queue/model/pause.js';
import { duration } from '../../inspect/words.js';
import { wellFormed } from '../../queue/runtime/cut.js';

/** The reason and the length of a pause, as a request has them. */
type Note = Pick<{ [Key in keyof PauseOptions]: PauseOptions[Key] | undefined }, 'reason' | 'forMs'>;

/** Returns the options of a pause: who, why and for how long. The app may name the user of a request. */
export function pauseOf(user: string, { reason, forMs }: Note = {}): PauseOptions {
  return {
    ...(user !== '' && { by: wellFormed(user) }),
    ...(reason !== undefined && { reason }),
    ...(forMs !== undefined && { forMs }),
  };
}

/** Returns the length and the reason of a pause, for the action log; '' for none. */
export function pauseInWords({ reason, forMs }: Note): string {
  return [forMs && `for ${duration(forMs)}`, reason].filter(Boolean).join(', ');
}
