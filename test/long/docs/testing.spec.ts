// The recipe of docs/testing.md as printed: its test files pass under Vitest and Jest, as in a user's project.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { testRedisUrl } from '../../support/redis/redis.js';
import { exampleOf } from '../../docs/example.js';
import { writeExample } from '../../docs/app/files.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const TESTS = ['service', 'handler', 'flow', 'batch', 'redis'];
const PASSED = 9;

const vitestConfig = `
export default {
  resolve: {
    alias: [
      { find: /^nest-job-queue$/, replacement: '${root}src/index.ts' },
      { find: /^nest-job-queue\\/testing\\/(.*)$/, replacement: '${root}src/testing-$1.ts' },
      { find: /^nest-job-queue\\/(.*)$/, replacement: '${root}src/$1.ts' },
    ],
  },
  test: { include: ['*.test.ts'], reporters: ['json'] },
};
`;

/** The compiler options of a Nest project. */
const tsconfig = JSON.stringify({
  compilerOptions: { target: 'es2022', experimentalDecorators: true, emitDecoratorMetadata: true },
});

/** Runs a command to its end; what it printed, whether or not it passed. */
async function output(args: string[], cwd: string): Promise<string> {
  const env = { ...process.env, REDIS_URL: testRedisUrl(), FORCE_COLOR: '0' };
  const run = promisify(execFile)(process.execPath, args, { cwd, env, maxBuffer: 1e8 });
  const { stdout, stderr } = await run.catch((error: { stdout: string; stderr: string }) => error);
  const start = stdout.indexOf('{"num');
  return start < 0 ? `${stdout}\n${stderr}` : stdout.slice(start);
}

interface Totals {
  numPassedTests: number;
  numTotalTests: number;
  testResults: {
    name: string;
    message: string;
    assertionResults: { title: string; failureMessages: string[] }[];
  }[];
}

function expectAllPassed(report: string): void {
  const totals = JSON.parse(report) as Totals;
  const failures = totals.testResults.flatMap(({ message, assertionResults }) => [
    message,
    ...assertionResults.flatMap(({ failureMessages }) => failureMessages ?? []),
  ]);
  expect({ failures: failures.filter(Boolean), passed: totals.numPassedTests }).toEqual({
    failures: [],
    passed: PASSED,
  });
}

const forJest = (code: string) =>
  code.replace("from 'vitest'", "from '@jest/globals'").replace('testing/vitest', 'testing/jest');
const example = (mark: string) => exampleOf('testing.md', mark);

/** The timeout of each test, in ms: a busy machine needs minutes for the start of another runner. */
const LONG_MS = 240_000;

describe('the recipe of docs/testing.md', () => {
  it(
    'passes under Vitest',
    async () => {
      const tests = Object.fromEntries(TESTS.map((mark) => [`${mark}.test.ts`, example(mark)]));
      const files = {
        'app.ts': example('app'),
        'vitest.config.mjs': vitestConfig,
        'tsconfig.json': tsconfig,
        ...tests,
      };
      const folder = writeExample(files);
      const report = await output([join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--root', folder], folder);
      expectAllPassed(report);
    },
    LONG_MS,
  );

  it(
    'passes under Jest',
    async () => {
      const tests = Object.fromEntries(TESTS.map((mark) => [`${mark}.test.ts`, forJest(example(mark))]));
      const folder = writeExample({ 'app.ts': example('app'), ...tests });
      const config: string = '../../../jest.config.mjs';
      const { default: base } = (await import(config)) as { default: Record<string, unknown> };
      const { globalSetup: _setup, globalTeardown: _teardown, ...options } = base;
      const own = {
        ...options,
        rootDir: root,
        roots: [folder],
        testMatch: [`${folder}/*.test.ts`],
        modulePathIgnorePatterns: [],
      };
      const args = [
        '--experimental-vm-modules',
        join(root, 'node_modules/jest/bin/jest.js'),
        '--json',
        '--config',
        JSON.stringify(own),
      ];
      expectAllPassed(await output(args, root));
    },
    LONG_MS,
  );
});
