// The tests of mutants, in a process that has its Redis already: see process.mjs.
import { fileURLToPath } from 'node:url';
import { base } from '../../../jest.config.mjs';

const { globalSetup: _setup, globalTeardown: _teardown, maxWorkers: _workers, ...shared } = base;

/**
 * In memory the specs of the scripts take a fraction of the time. A whole run fails a spec whose script has not run there. A
 * changed script has another text, so each mutant would seem to be noticed.
 */
export const inMemory = { testEnvironmentOptions: { env: { TEST_REDIS: 'memory', TEST_IS_PART: '1' } } };

export default {
  ...shared,
  ...(process.env.MUTATE_PLACE === 'memory' && inMemory),
  rootDir: fileURLToPath(new URL('../../../', import.meta.url)),
  testEnvironment: '<rootDir>/tools/mutate/jest/environment.mjs',
  testSequencer: '<rootDir>/tools/mutate/jest/given-order.mjs',
  runner: '<rootDir>/tools/mutate/jest/runner.mjs',
  reporters: [],
};
