import { show } from '../../queue/errors/show.js';
import type { Job } from '../handlers/job.js';

/**
 * Returns the outcome of each job, in order, from the return value of a bulk handler.
 *
 * @throws TypeError for an invalid list of outcomes
 */
export function outcomesOf(jobs: readonly Job[], returned: unknown): unknown[] {
  if (returned === undefined) {
    return jobs.map(() => undefined);
  }
  if (returned instanceof Map) {
    refuseStrangers(jobs, returned);
    return jobs.map((job) => (returned.has(job) ? returned.get(job) : returned.get(job.id)) as unknown);
  }
  if (Array.isArray(returned) && returned.length === jobs.length) {
    return returned as unknown[];
  }
  const found = Array.isArray(returned) ? `an array of ${returned.length}` : shown(jobs, returned);
  throw new TypeError(
    `A bulk handler returns nothing, an array of one outcome for each of its ${jobs.length} jobs, or a Map by job or id; ` +
      `found ${found}.`,
  );
}

/** Refuses unknown ids. A misspelled id would complete the job that failed. */
function refuseStrangers(jobs: readonly Job[], outcomes: ReadonlyMap<unknown, unknown>): void {
  const known = new Set<unknown>(jobs.flatMap((job) => [job, job.id]));
  for (const key of outcomes.keys()) {
    if (!known.has(key)) {
      throw new TypeError(
        `A bulk handler returned an outcome for ${shown(jobs, key)}, which is no job of its call.`,
      );
    }
  }
}

/** Returns a value for an error, without what `redact` hides of the result or of any payload of the call. */
function shown(jobs: readonly Job[], value: unknown): string {
  const hiding = jobs[0]?.hiding('result');
  return jobs.reduce(
    (text, job) => job.hiding('payload')?.texts(job.payload)(text) ?? text,
    show(hiding ? hiding.visible(value) : value),
  );
}

export function isError(value: unknown): value is Error {
  // an Error of another realm
  return value instanceof Error || Object.prototype.toString.call(value) === '[object Error]';
}
