// The tests of Cluster connections on the oldest supported ioredis, which differs from ioredis 6 there: `npm run test:ioredis5`.
import { existsSync } from 'node:fs';
import base from './jest.config.mjs';

const folder = new URL('node_modules/ioredis5', import.meta.url);
// Without it Jest blames its own configuration.
if (!existsSync(folder)) {
  throw new Error(
    'test:ioredis5: expected node_modules/ioredis5, one of the devDependencies, found none. Run npm ci, then try again.',
  );
}

/** @type {import('jest').Config} */
export default {
  ...base,
  roots: ['<rootDir>/test'],
  testMatch: [
    '<rootDir>/test/queue/redis/{cluster-events,hub,ioredis-cluster-workarounds}.spec.ts',
    '<rootDir>/test/worker/fetch/directed-wake.spec.ts',
    '<rootDir>/test/long/topologies/many-queues.spec.ts',
  ],
  testPathIgnorePatterns: ['/node_modules/'],
  // The shared environment loads the library without Jest, so without the other name.
  testEnvironment: '<rootDir>/test/support/own-environment.mjs',
  moduleNameMapper: { ...base.moduleNameMapper, '^ioredis$': '<rootDir>/node_modules/ioredis5' },
  setupFilesAfterEnv: ['<rootDir>/test/support/redis/expect-ioredis5.ts'],
};
