// Runs specs on each server that packages of Debian offer, and writes docs/internals/figures/servers.json. Arguments
// name other specs than the core.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { programOf, SERVERS, versionOf } from './redis/debian-servers.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const report = join(root, 'docs/internals/figures/servers.json');

/** The specs that run on each server: scripts, transport, workers, faults. */
const CORE = ['test/lua', 'test/queue/transport', 'test/queue/operate', 'test/worker', 'test/faults'];

function testOn(program, specs) {
  const file = join(root, '.cache/servers/result.json');
  const args = [
    '--experimental-vm-modules',
    '--disable-warning=ExperimentalWarning',
    'node_modules/jest/bin/jest.js',
  ];
  spawnSync(process.execPath, [...args, '-w', '1', '--json', '--outputFile', file, ...specs], {
    cwd: root,
    env: { ...process.env, REDIS_URL: '', REDIS_SERVER_BIN: program },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const { numPassedTests: passed, numFailedTests: failed } = JSON.parse(readFileSync(file, 'utf8'));
  return { passed, failed };
}

const specs = process.argv.length > 2 ? process.argv.slice(2) : CORE;
const tested = [];
let skipped = 0;
for (const server of SERVERS) {
  const what = `${server.product} ${server.major}`;
  try {
    const program = await programOf(server);
    const version = versionOf(program);
    const result = testOn(program, specs);
    tested.push({ product: server.product, version, date: new Date().toISOString().slice(0, 10), ...result });
    console.log(`${what} (${version}): ${result.passed} passed, ${result.failed} failed`);
  } catch (error) {
    skipped++;
    console.log(`${what}: skipped, it cannot be had: ${error.message}`);
  }
}
writeFileSync(report, `${JSON.stringify({ specs, tested }, undefined, 2)}\n`);
console.log(`${tested.length} servers tested, ${skipped} skipped`);
process.exitCode = tested.some(({ failed }) => failed > 0) ? 1 : 0;
