import { InvalidOptionError, StreamCursorError } from '../errors/errors.js';
import { show } from '../errors/show.js';
import { STREAM_START } from '../model/job-stream.js';
import { checkKnown } from '../validation/validate-options.js';

/** The options of a reader. */
export interface ReadStreamOptions {
  /** The `id` of the last item that the caller has had. @default from the start */
  after?: string | undefined;
  /** Ends the reader, which throws the signal's reason. */
  signal?: AbortSignal | undefined;
  /** True to cancel the job if the reader leaves before its end: by `break`, by an error, by its signal. @default false */
  cancelOnLeave?: boolean | undefined;
}

/** The checked options of a reader. */
export type CheckedReadOptions = ReadStreamOptions & { readonly after: string };

/** @throws InvalidOptionError, StreamCursorError */
export function checkReadOptions(options: ReadStreamOptions): CheckedReadOptions {
  checkKnown('stream', options, ['after', 'signal', 'cancelOnLeave']);
  const { after = STREAM_START, signal, cancelOnLeave } = options;
  if (typeof after !== 'string' || !/^\d{1,15}-\d{1,15}$/.test(after)) {
    throw new StreamCursorError(after);
  }
  if (signal !== undefined && typeof signal?.throwIfAborted !== 'function') {
    throw new InvalidOptionError('stream.signal', 'an AbortSignal', show(signal));
  }
  if (cancelOnLeave !== undefined && typeof cancelOnLeave !== 'boolean') {
    throw new InvalidOptionError('stream.cancelOnLeave', 'true or false', show(cancelOnLeave));
  }
  return { after, signal, cancelOnLeave };
}
