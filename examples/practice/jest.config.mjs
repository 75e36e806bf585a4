// The same test files under Jest. Below Node 24 Jest lets no CommonJS load an ES module, but nestjs-cls (CommonJS)
// loads NestJS 12. So the transform turns Nest into CommonJS too. With NestJS 11, or on Node 24, the usual ts-jest is
// enough.
import { fileURLToPath } from 'node:url';

const src = fileURLToPath(new URL('../../src/', import.meta.url));

/** @type {import('jest').Config} */
export default {
  testEnvironment: 'node',
  testMatch: ['<rootDir>/test/*.test.ts'],
  setupFiles: ['<rootDir>/test/jest.env.cjs'],
  transform: { '\\.[jt]s$': '<rootDir>/test/jest.transform.cjs' },
  transformIgnorePatterns: ['/node_modules/(?!@nestjs/)'],
  moduleNameMapper: {
    '^(\\.{1,2}/.*)\\.js$': ['$1.js', '$1.ts'],
    // The test files import Vitest, and Jest has the same functions under the same names.
    '^vitest$': '<rootDir>/test/jest.globals.cjs',
    '^nest-job-queue/testing/vitest$': `${src}testing-jest.ts`,
    // In an app of yours these are not needed: the package is installed.
    '^nest-job-queue$': `${src}index.ts`,
    '^nest-job-queue/(.*)$': `${src}$1.ts`,
  },
};
