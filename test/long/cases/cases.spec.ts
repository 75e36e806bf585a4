// Runs each program of programs/: a fault that an app met, written as that app would. A program asserts its outcome
// itself and ends with 0. A new case is one more file there. It imports nest-job-queue, and finds REDIS_URL.
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { it } from '@jest/globals';
import { testRedisUrl } from '../../support/redis/redis.js';

/** A busy machine needs two minutes for programs that start many processes. */
const LONGEST_RUN_MS = 200_000;
const root = fileURLToPath(new URL('../../../', import.meta.url));
const programs = readdirSync(`${root}test/long/cases/programs`).filter((name) => name.endsWith('.mjs'));

it.each(programs)(
  '%s',
  async (program) => {
    const args = ['--import', './test/support/typescript.mjs', `test/long/cases/programs/${program}`];
    const env = { ...process.env, NODE_OPTIONS: '', REDIS_URL: testRedisUrl() };
    // A rejection has what the program wrote.
    await promisify(execFile)(process.execPath, args, { cwd: root, env, timeout: LONGEST_RUN_MS });
  },
  LONGEST_RUN_MS + 10_000,
);
