// NestJS 12 is ES modules only, and Node 20 cannot require them: tests run as ES modules
// (`node --experimental-vm-modules`, see the script "test"). Import `jest`, `expect` … from '@jest/globals'.
import { availableParallelism } from 'node:os';

/** @type {import('jest').Config} */
export default {
  testEnvironment: '<rootDir>/test/support/shared-environment.mjs',
  runtime: '<rootDir>/test/support/shared-runtime.cjs',
  roots: ['<rootDir>/test', '<rootDir>/tools'],
  testMatch: ['<rootDir>/{test,tools}/**/*.spec.ts'],
  // Run in a project of its own: scripts/test-consumers.mjs. In a browser: see jest.browser.config.mjs. Long by nature: see jest.long.config.mjs.
  testPathIgnorePatterns: [
    '/node_modules/',
    '<rootDir>/test/browser/',
    '<rootDir>/test/long/',
    '<rootDir>/test/package/consumers/',
  ],
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '^.+\\.ts$': '<rootDir>/test/support/transpile.mjs' },
  moduleNameMapper: {
    // Sources name the compiled file, as Node wants it.
    '^(\\.{1,2}/.*)\\.js$': ['$1.js', '$1.ts'],
    '^#([a-z]+)/(.*)\\.js$': '<rootDir>/src/$1/$2.ts',
    '^nest-job-queue$': '<rootDir>/src/index.ts',
    '^nest-job-queue/testing/([a-z]+)$': '<rootDir>/src/testing-$1.ts',
    '^nest-job-queue/([a-z]+)$': '<rootDir>/src/$1.ts',
  },
  modulePathIgnorePatterns: [
    '<rootDir>/dist',
    '<rootDir>/.cache',
    '<rootDir>/bench',
    '<rootDir>/examples/shop/dist',
  ],
  restoreMocks: true,
  globalSetup: '<rootDir>/test/support/run/global-setup.mjs',
  globalTeardown: '<rootDir>/test/support/run/global-teardown.mjs',
  // What a test waits for has a limit of its own, which says what did not come.
  testTimeout: 60_000,
  // Much of what they do is to wait for processes and claims: on two cores three take a fifth less time than two.
  maxWorkers: availableParallelism() + 1,
  // Node 20 frees no module of a test file. Without a limit the collection of garbage takes ever longer, to the heap's end.
  workerIdleMemoryLimit: '1GB',
  // A worker above that limit is replaced, also after its last file. The new one takes half a second to start, and to end.
  workerGracefulExitTimeout: 5_000,
  testSequencer: '<rootDir>/test/support/run/longest-first.mjs',
  reporters: [
    'default',
    '<rootDir>/scripts/selection-reporter.mjs',
    ...(process.env.TEST_TOTALS_FILE ? ['<rootDir>/scripts/totals-reporter.mjs'] : []),
    ...(process.env.RECORD_RUNS ? ['<rootDir>/scripts/runs-reporter.mjs'] : []),
  ],
};
