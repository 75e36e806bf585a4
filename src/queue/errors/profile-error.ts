import { JobQueueError } from './errors.js';

/** A request for a profile was refused and nothing was written, or there is no profile to download. Its `reason` says which. */
export class ProfileError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'PROFILE';

  constructor(
    /** The name of the queue. */
    readonly queue: string,
    /**
     * `busy`: another request is open. `unserved`: no worker is live. `unhandled`: no worker handles the name. `forbidden`: no worker
     * allows it. `absent`: there is no profile, or not yet. `failed`: the worker could not measure.
     */
    readonly reason: 'busy' | 'unserved' | 'unhandled' | 'forbidden' | 'absent' | 'failed',
    /** The reason and the next step, in sentences. */
    why: string,
  ) {
    super(`Queue "${queue}" has no profile for you: ${why}`);
  }
}
