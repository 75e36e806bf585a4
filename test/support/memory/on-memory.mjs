// Runs the specs of the scripts a second time, as a project of Jest. They get the server in memory behind a socket.
import { fileURLToPath } from 'node:url';
import { specsWithoutServer } from '../without-server.mjs';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** The specs that run on Redis alone, and why. Single tests are left out by commands.ts. */
const LEFT_OUT = {
  'test/lua/headers.spec.ts': 'asks Redis whether it loads each script; check:lua compiles them for memory',
  'test/lua/group/locale.spec.ts': 'starts a Redis of its own, whose locale orders texts',
  'test/lua/queue/check-permissions.spec.ts': 'the server in memory has no users',
};

/** The specs that `npm test` runs on Redis alone, and why. `npm run test:whole` runs them in memory too. */
const LONG = {
  'test/lua/attempt/claims/claim-bytes.spec.ts': 'sends megabytes through the socket',
  'test/lua/group/turns/interleavings.spec.ts': 'plays thousands of calls',
  'test/lua/group/turns/turns.spec.ts': 'plays thousands of claims',
  'test/lua/limits/rates.spec.ts': 'plays a million claims within its scripts',
  'test/lua/sweep/cancel-line.spec.ts': 'fills lines of thousands of jobs',
};

/** True if some tests of a file may be left out, so that its script may not run. */
const isPart = process.argv.some((each) => /^(-t|--testNamePattern)/.test(each));

/** Returns whether a spec runs in memory too. */
export function runsInMemory(spec) {
  return spec.startsWith('test/lua/') && !(spec in LEFT_OUT);
}

/** Returns the project of the specs that run in memory beside Redis, or of those that take long there. */
export function onMemory(project, isLong = false) {
  const files = [...Object.keys(LEFT_OUT), ...Object.keys(LONG), ...specsWithoutServer(root, ['test/lua'])];
  const ignored = isLong ? [] : files.map((file) => `<rootDir>/${file}$`);
  return {
    ...project,
    displayName: 'in memory',
    roots: ['<rootDir>/test/lua'],
    testMatch: isLong ? Object.keys(LONG).map((file) => `<rootDir>/${file}`) : ['<rootDir>/test/lua/**/*.spec.ts'],
    testPathIgnorePatterns: ['/node_modules/', ...ignored],
    testEnvironmentOptions: { env: { TEST_REDIS: 'memory', ...(isPart && { TEST_IS_PART: '1' }) } },
  };
}
