// Runs the core specs on each server that packages of Debian offer. Writes docs/internals/figures/servers.json, and the table of
// docs/redis.md from it, after each server.
//   --only NAME  one server, such as "Redis 8". The figures of the others stay.
//   --workers N  the number of test files at once.
// Arguments name other specs than the core. Such a run writes nothing.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { argumentsOf } from './arguments.mjs';
import { programOf, SERVERS, versionOf } from './redis/debian-servers.mjs';
import { fillServers } from './redis/servers-table.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const report = join(root, 'docs/internals/figures/servers.json');
const page = join(root, 'docs/redis.md');

/** The specs that run on each server: scripts, transport, workers, faults. */
const CORE = ['test/lua', 'test/queue/transport', 'test/queue/operate', 'test/worker', 'test/faults'];

const { values, positionals } = argumentsOf('test:servers', {
  allowPositionals: true,
  options: {
    only: { type: 'string', about: 'one server, such as "Redis 8"' },
    workers: { type: 'string', default: '1', about: 'how many test files run at once' },
  },
});
const nameOf = ({ product, major }) => `${product} ${major}`;
const servers = SERVERS.filter((server) => [undefined, nameOf(server)].includes(values.only));
if (servers.length === 0) {
  console.error(`test-servers: expected one of ${SERVERS.map(nameOf).join(', ')}, found ${values.only}`);
  process.exit(2);
}

function testOn(program, specs) {
  const file = join(root, '.cache/servers/result.json');
  const args = [
    '--experimental-vm-modules',
    '--disable-warning=ExperimentalWarning',
    'node_modules/jest/bin/jest.js',
    '--ignoreProjects=in memory',
  ];
  spawnSync(process.execPath, [...args, '-w', values.workers, '--json', '--outputFile', file, ...specs], {
    cwd: root,
    env: { ...process.env, REDIS_URL: '', REDIS_SERVER_BIN: program },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const { numPassedTests: passed, numFailedTests: failed, testResults } = JSON.parse(readFileSync(file, 'utf8'));
  const names = testResults.flatMap(({ name, assertionResults }) =>
    assertionResults.filter(({ status }) => status === 'failed').map(({ fullName }) => `${name}: ${fullName}`),
  );
  names.forEach((each) => console.log(`  failed: ${each}`));
  return { passed, failed };
}

/** Returns whether figures are of a server of this product and major version. */
function isOf({ major, product }, figures) {
  return figures.product === product && figures.version.startsWith(`${major}.`);
}

/** Writes the figures of a server in the place of those of its product and major version. */
function write(server, figures) {
  const { tested } = JSON.parse(readFileSync(report, 'utf8'));
  const all = SERVERS.flatMap((each) =>
    each === server ? figures : (tested.find((one) => isOf(each, one)) ?? []),
  );
  writeFileSync(report, `${JSON.stringify({ specs: CORE, tested: all }, undefined, 2)}\n`);
  writeFileSync(page, fillServers(readFileSync(page, 'utf8'), all));
}

const totals = { tested: 0, skipped: 0, failed: 0 };
for (const server of servers) {
  try {
    const program = await programOf(server);
    const version = versionOf(program);
    const { passed, failed } = testOn(program, positionals.length > 0 ? positionals : CORE);
    const figures = {
      product: server.product,
      version,
      date: new Date().toISOString().slice(0, 10),
      passed,
      failed,
    };
    if (positionals.length === 0) write(server, figures);
    totals.tested++;
    totals.failed += failed;
    console.log(`${nameOf(server)} (${version}): ${passed} passed, ${failed} failed`);
  } catch (error) {
    totals.skipped++;
    console.log(`${nameOf(server)}: skipped, it cannot be had: ${error.message}`);
  }
}
console.log(`${totals.tested} servers tested, ${totals.skipped} skipped`);
process.exitCode = totals.failed > 0 ? 1 : 0;
