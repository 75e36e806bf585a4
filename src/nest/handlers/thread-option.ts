import { existsSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ResourceLimits } from 'node:worker_threads';
import { z } from 'zod';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import { timerDuration } from '../../queue/validation/numbers.js';
import { checkOptions } from '../../queue/validation/validate-options.js';
import type { ThreadSettings } from '../../worker/threads/thread-pool.js';

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

/**
 * Returns the path of a file of code that an option names, as a file URL or an absolute path. A compiled name
 * (`./render.js`) becomes the source's if the source runs uncompiled.
 *
 * @throws InvalidOptionError for a missing file
 */
export function codeFile(subject: string, file: string | URL): string {
  const path = pathOf(file);
  if (path === undefined) {
    throw new InvalidOptionError(
      subject,
      'a file URL or an absolute path',
      show(file instanceof URL ? file.href : file),
      "Write new URL('../file.js', import.meta.url), in CommonJS require.resolve('./file').",
    );
  }
  const found = [path, path.replace(/\.([cm]?)js$/, '.$1ts')].find((each) => existsSync(each));
  if (!found) {
    throw new InvalidOptionError(subject, 'a file that exists', path);
  }
  return found;
}

function pathOf(file: string | URL): string | undefined {
  try {
    const path = file instanceof URL || file.startsWith('file:') ? fileURLToPath(file) : file;
    return isAbsolute(path) ? path : undefined;
  } catch {
    return undefined; // a URL of another kind
  }
}
