import { setMaxListeners } from 'node:events';
import { checkKnown, checkMs } from '../validation/validate-options.js';
import { InvalidOptionError } from '../errors/errors.js';
import type { JobHandle } from './job-handle.js';
import { show } from '../errors/show.js';

/** The results of the handles, in order. */
export type ResultsOf<Handles extends readonly JobHandle[]> = {
  -readonly [Index in keyof Handles]: Handles[Index] extends JobHandle<infer Result> ? Result : never;
};

/**
 * Waits for the results of many jobs, over one connection. Rejects at the first failed or cancelled job, or at the time
 * limit. The jobs themselves continue. For each job's own outcome:
 * `Promise.allSettled(handles.map((job) => job.result()))`.
 *
 * @param options.timeoutMs how long to wait for all of them, in ms. Default 30,000
 * @throws InvalidOptionError; JobFailedError, JobCancelledError, JobNotFoundError, JobTimeoutError, each with the id of its job
 * @example const results = await awaitAll(await jobs.enqueueMany('resize', images), { timeoutMs: 60_000 });
 */
export async function awaitAll<const Handles extends readonly JobHandle[]>(
  handles: Handles,
  options: { timeoutMs?: number | undefined } = {},
): Promise<ResultsOf<Handles>> {
  if (!Array.isArray(handles)) {
    throw new InvalidOptionError('awaitAll', 'an array of job handles', show(handles));
  }
  handles.forEach((handle: unknown, i) => {
    if (typeof (handle as JobHandle | null | undefined)?.result !== 'function') {
      throw new InvalidOptionError(`awaitAll[${i}]`, 'the handle of a job', show(handle));
    }
  });
  checkKnown('awaitAll', options, ['timeoutMs']);
  const { timeoutMs = 30_000 } = options;
  checkMs('timeoutMs', timeoutMs, 0, Infinity);
  const others = new AbortController();
  // One listener for each awaited job is no leak.
  setMaxListeners(0, others.signal);
  try {
    const results = (handles as readonly JobHandle[]).map((handle) =>
      handle.result({ timeoutMs, signal: others.signal }),
    );
    return (await Promise.all(results)) as ResultsOf<Handles>;
  } finally {
    others.abort();
  }
}
