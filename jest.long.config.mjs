// The tests that are long by nature: real processes, faults of every topology, the examples. `npm run test:system`.
import base from './jest.config.mjs';

/** @type {import('jest').Config} */
export default {
  ...base,
  roots: ['<rootDir>/test/long'],
  testMatch: ['<rootDir>/test/long/**/*.spec.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
};
