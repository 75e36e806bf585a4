// NestJS 12 is ES modules only, and Node 20 cannot require them: tests run as ES modules
// (`node --experimental-vm-modules`, see the script "test"). Import `jest`, `expect` … from '@jest/globals'.
import { availableParallelism } from 'node:os';
import { onMemory } from './test/support/memory/on-memory.mjs';
import { specsThatImport, specsWithoutServer } from './test/support/without-server.mjs';

/** What a test file needs, on Redis. @type {import('jest').Config} */
const project = {
  testEnvironment: '<rootDir>/test/support/shared-environment.mjs',
  runtime: '<rootDir>/test/support/shared-runtime.cjs',
  roots: ['<rootDir>/test', '<rootDir>/tools'],
  testMatch: ['<rootDir>/{test,tools}/**/*.spec.ts'],
  // Run in a project of its own: scripts/test-consumers.mjs. In a browser, or long by nature: see `suites`.
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
};

/** What a whole run needs. @type {import('jest').Config} */
const run = {
  // What a test waits for has a limit of its own, which says what did not come.
  testTimeout: 60_000,
  // Much of what they do is to wait for processes and claims: on two cores three take a fifth less time than two.
  maxWorkers: availableParallelism() + 1,
  // What the modules of earlier files keep makes each collection of garbage longer.
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

/** For the suites, and for configurations elsewhere: the tests of one project. @type {import('jest').Config} */
export const base = { ...project, ...run };

/** The specs of one folder, all of them. @returns {import('jest').Config} */
const onlyIn = (folder) => ({
  ...base,
  roots: [`<rootDir>/${folder}`],
  testMatch: [`<rootDir>/${folder}/**/*.spec.ts`],
  testPathIgnorePatterns: ['/node_modules/'],
});

/** What `npm test` leaves out. `npm run test:<name>` sets TEST_SUITE to the name. @type {Record<string, () => import('jest').Config>} */
const suites = {
  // Needs Chromium. Each file starts an app of several processes and a browser; but much of what they show takes its
  // time, such as a claim that runs out.
  browser: () => ({ ...onlyIn('test/browser'), maxWorkers: 2 }),
  // Long by nature: real processes, faults of every topology, the examples.
  system: () => onlyIn('test/long'),
  // All cases of the tests of which `npm test` takes some, and the specs that take long in memory.
  whole: () => {
    const specs = specsThatImport(import.meta.dirname, ['test', 'tools'], 'test/support/run/samples.ts');
    const sampled = { ...project, testMatch: specs.map((file) => `<rootDir>/${file}`) };
    return { ...run, projects: [sampled, onMemory(project, true)] };
  },
  // The tests that need no Redis. They are found by what they import, so that none has to be named.
  unit: () => {
    const { globalSetup: _setup, globalTeardown: _teardown, ...withoutServer } = base;
    const specs = specsWithoutServer(import.meta.dirname, ['test', 'tools']);
    return { ...withoutServer, testMatch: specs.map((file) => `<rootDir>/${file}`) };
  },
  // Cluster connections on the oldest supported ioredis, which differs from ioredis 6 there.
  ioredis5: () => ({
    ...onlyIn('test'),
    testMatch: [
      '<rootDir>/test/queue/redis/{cluster-events,hub,ioredis-cluster-workarounds}.spec.ts',
      '<rootDir>/test/worker/fetch/directed-wake.spec.ts',
      '<rootDir>/test/long/topologies/many-queues.spec.ts',
    ],
    // The shared environment loads the library without Jest, so without the other name.
    testEnvironment: '<rootDir>/test/support/own-environment.mjs',
    moduleNameMapper: { ...base.moduleNameMapper, '^ioredis$': '<rootDir>/node_modules/ioredis5' },
    setupFilesAfterEnv: ['<rootDir>/test/support/redis/expect-ioredis5.ts'],
  }),
};

const suite = process.env.TEST_SUITE;
if (suite && !suites[suite]) {
  throw new Error(`TEST_SUITE: expected one of ${Object.keys(suites).join(', ')}, found ${suite}.`);
}

/** @type {import('jest').Config} */
export default suite ? suites[suite]() : { ...run, projects: [project, onMemory(project)] };
