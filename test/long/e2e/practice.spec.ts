// The example app of realistic size: its own tests, under Vitest and under Jest, as its developers run them.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { testRedisUrl } from '../../support/redis/redis.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const FOLDER = 'examples/practice';
const RUNNERS: Record<string, string[]> = {
  Vitest: ['node_modules/vitest/vitest.mjs', 'run', '--root', FOLDER, '--reporter=json'],
  Jest: ['node_modules/jest/bin/jest.js', '--rootDir', FOLDER, '--config', `${FOLDER}/jest.config.mjs`, '--json'],
};

interface Totals {
  numPassedTests?: number;
  testResults?: { message: string; assertionResults: { failureMessages: string[] }[] }[];
}

it.each(Object.entries(RUNNERS))(
  'the tests of examples/practice pass under %s',
  async (_, args) => {
    const env = { ...process.env, REDIS_URL: testRedisUrl(), FORCE_COLOR: '0' };
    const run = promisify(execFile)(process.execPath, args, { cwd: root, env, maxBuffer: 1e8 });
    const { stdout, stderr } = await run.catch((error: { stdout: string; stderr: string }) => error);
    const start = stdout.indexOf('{"num');
    const totals = (start < 0 ? {} : JSON.parse(stdout.slice(start))) as Totals;
    const failures = totals.testResults?.flatMap(({ message, assertionResults }) => [
      message,
      ...assertionResults.flatMap(({ failureMessages }) => failureMessages),
    ]) ?? [stdout, stderr];
    expect({ failures: failures.filter(Boolean), passed: totals.numPassedTests }).toEqual({
      failures: [],
      passed: 12,
    });
  },
  90_000,
);
