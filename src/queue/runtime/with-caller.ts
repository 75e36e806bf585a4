/** The most frames that are searched for the caller. */
const MOST_FRAMES = 50;

/**
 * Adds the frames of the caller to the stack of an error. An error made behind a round trip has none of them. Call this
 * where the caller's promise rejects: there the engine knows the awaiting functions. A call that succeeds pays nothing.
 */
export function withCaller(error: unknown): unknown {
  if (!(error instanceof Error) || typeof error.stack !== 'string') {
    return error;
  }
  const { stackTraceLimit } = Error;
  const here: { stack?: string } = {};
  Error.stackTraceLimit = MOST_FRAMES;
  Error.captureStackTrace(here, withCaller);
  Error.stackTraceLimit = stackTraceLimit;
  const known = new Set(error.stack.split('\n'));
  const frames = here.stack!.split('\n').filter((line) => line.startsWith('    at ') && !known.has(line));
  if (frames.length > 0) {
    error.stack = [error.stack, ...frames].join('\n');
  }
  return error;
}
