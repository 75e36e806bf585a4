// The tests of mutants, in a process that has its Redis already: see process.mjs.
import { fileURLToPath } from 'node:url';
import project from '../../../jest.config.mjs';

const { globalSetup: _setup, globalTeardown: _teardown, maxWorkers: _workers, ...shared } = project;

export default {
  ...shared,
  rootDir: fileURLToPath(new URL('../../../', import.meta.url)),
  testEnvironment: '<rootDir>/tools/mutate/jest/environment.mjs',
  testSequencer: '<rootDir>/tools/mutate/jest/given-order.mjs',
  runner: '<rootDir>/tools/mutate/jest/runner.mjs',
  reporters: [],
};
