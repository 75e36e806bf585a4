import type { ResourceLimits } from 'node:worker_threads';
import { z } from 'zod';
import { checkOptions } from '../../queue/validation/validate-options.js';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import { timerDuration } from '../../queue/validation/numbers.js';
import type { ThreadSettings } from '../../worker/threads/thread-pool.js';
import { codeFile } from './code-file.js';

/** The options of a handler's threads. */
export interface ThreadOptions {
  /** The file whose default export is the handler, as a file URL or an absolute path. */
  file: string | URL;
  /** The time a job may continue after its signal aborted before its thread is terminated, in ms. @default 5,000 */
  graceMs?: number | undefined;
  /** Limits of memory of each thread, in MB; a job that exceeds them fails. @default Node's */
  resourceLimits?: ResourceLimits | undefined;
}

const megabytes = () =>
  z.custom<number>((value) => typeof value === 'number' && value > 0 && value < 2 ** 31, {
    error: 'expected a number of MB above 0',
  });

const threadSchema = z.strictObject({
  file: z.custom<string | URL>(isFile, { error: 'expected a file URL or an absolute path' }),
  graceMs: timerDuration(0).default(5_000),
  resourceLimits: z
    .strictObject(
      {
        maxOldGenerationSizeMb: megabytes().optional(),
        maxYoungGenerationSizeMb: megabytes().optional(),
        codeRangeSizeMb: megabytes().optional(),
        stackSizeMb: megabytes().optional(),
      },
      { error: 'expected an object of limits' },
    )
    .optional(),
});

/**
 * Checks the option `thread` of a handler.
 *
 * @throws InvalidOptionError
 */
export function resolveThread(subject: string, thread: string | URL | ThreadOptions): ThreadSettings {
  if (!isFile(thread) && (typeof thread !== 'object' || thread === null || Array.isArray(thread))) {
    throw new InvalidOptionError(subject, 'a file URL, an absolute path, or { file, … }', show(thread));
  }
  const checked = checkOptions(subject, threadSchema, isFile(thread) ? { file: thread } : thread);
  return { ...checked, subject, file: codeFile(isFile(thread) ? subject : `${subject}.file`, checked.file) };
}

function isFile(value: unknown): value is string | URL {
  return typeof value === 'string' || value instanceof URL;
}
