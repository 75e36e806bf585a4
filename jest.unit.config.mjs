// The tests that need no Redis: `npm run test:unit`. They are found by what they import, so that none has to be named.
import { fileURLToPath } from 'node:url';
import base from './jest.config.mjs';
import { specsWithoutServer } from './test/support/without-server.mjs';

const { globalSetup: _setup, globalTeardown: _teardown, ...withoutServer } = base;
const root = fileURLToPath(new URL('.', import.meta.url));

/** @type {import('jest').Config} */
export default {
  ...withoutServer,
  testMatch: specsWithoutServer(root, ['test', 'tools']).map((file) => `<rootDir>/${file}`),
};
