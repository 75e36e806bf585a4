// Examples that run in a process of their own: nestjs-cls is CommonJS, which jest does not let load NestJS 12.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { bundle } from '../../support/bundle.mjs';

/** Runs a TypeScript file of a folder, and returns the JSON of the last line that it prints. */
export async function runExample(
  folder: string,
  file: string,
  env: Record<string, string>,
  timeoutMs = 60_000,
): Promise<unknown> {
  const program = await bundle(join(folder, file), join(folder, `${file}.mjs`));
  const { stdout } = await promisify(execFile)(process.execPath, [program], {
    env: { ...process.env, ...env },
    timeout: timeoutMs,
  });
  return JSON.parse(stdout.trim().split('\n').at(-1)!);
}
