// The tests of Cluster connections on the oldest supported ioredis, which differs from ioredis 6 there: `npm run test:ioredis5`.
import base from './jest.config.mjs';

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
