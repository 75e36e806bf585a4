import { InvalidOptionError } from './errors.js';
import { show } from './show.js';

/** The cursor of a reader is none: it is not the id of an item of a stream. */
export class StreamCursorError extends InvalidOptionError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'STREAM_CURSOR';

  /** @param after the cursor, as the caller gave it */
  constructor(after: unknown) {
    super('stream.after', 'the id of an item of the stream', show(after), 'Leave it out to read from the start.');
  }
}
