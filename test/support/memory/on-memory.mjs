// Runs the specs of the scripts a second time, as a project of Jest. They get the server in memory behind a socket.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { specsIn, specsWithoutServer } from '../without-server.mjs';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** The specs that run on Redis alone, and why. Single tests are left out by commands.ts. */
const LEFT_OUT = {
  'test/lua/headers.spec.ts': 'asks Redis whether it loads each script; check:lua compiles them for memory',
  'test/lua/group/locale.spec.ts': 'starts a Redis of its own, whose locale orders texts',
  'test/lua/queue/check-permissions.spec.ts': 'the server in memory has no users',
};

/** The specs that take long in memory, and why. `npm test` runs them on Redis alone, `npm run test:whole` in memory too. */
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

/** `npm test` runs every third of the specs in memory that are about no single script. */
const NTH = 3;

/** Returns whether a spec is that of one script. It checks which keys that script touches, so it always runs in memory. */
function isOfOneScript(spec) {
  return existsSync(join(root, spec.replace(/^test\/(.*)\.spec\.ts$/, '$1.lua')));
}

/** Returns the project of the specs in memory that `npm test` runs. With `isRest` it has the others. */
export function onMemory(project, isRest = false) {
  const unable = new Set([...Object.keys(LEFT_OUT), ...specsWithoutServer(root, ['test/lua'])]);
  const specs = specsIn(root, ['test/lua']).filter((spec) => !unable.has(spec));
  const several = specs.filter((spec) => !isOfOneScript(spec) && !(spec in LONG));
  const rest = new Set([...Object.keys(LONG), ...several.filter((_, i) => i % NTH !== 0)]);
  return {
    ...project,
    displayName: 'in memory',
    roots: ['<rootDir>/test/lua'],
    testMatch: specs.filter((spec) => rest.has(spec) === isRest).map((spec) => `<rootDir>/${spec}`),
    testEnvironmentOptions: { env: { TEST_REDIS: 'memory', ...(isPart && { TEST_IS_PART: '1' }) } },
  };
}
