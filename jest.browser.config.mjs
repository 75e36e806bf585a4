// The tests of the control page in a real browser: `npm run test:browser`. They need Chromium, so `npm test` leaves them out.
import base from './jest.config.mjs';

/** @type {import('jest').Config} */
export default {
  ...base,
  roots: ['<rootDir>/test/browser'],
  testMatch: ['<rootDir>/test/browser/**/*.spec.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
  // Each file starts an app of several processes and a browser; but much of what they show takes its time, such as a
  // claim that runs out.
  maxWorkers: 2,
};
