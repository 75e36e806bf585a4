// Runs specs on each server that packages of Debian offer, and writes docs/internals/figures/servers.json. Nothing is
// installed: the packages are unpacked into .cache/servers. Arguments name other specs than the core.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isExecutable, unpackPackages } from './debian-packages.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const cache = join(root, '.cache/servers');
const report = join(root, 'docs/internals/figures/servers.json');

/** The specs that run on each server: scripts, transport, workers, faults. */
const CORE = ['test/lua', 'test/queue/transport', 'test/queue/operate', 'test/worker', 'test/faults'];

const SMALL = ['libjemalloc2', 'liblzf1'];
/** The libraries of a newer Debian. A binary of it runs by its own loader. */
const OWN = 'libc6 libssl3t64 libsystemd0 libatomic1 libstdc++6 libgcc-s1 libcap2 libzstd1 zlib1g'.split(' ');

const SERVERS = [
  { product: 'Redis', major: '7.0', suite: 'bookworm', name: 'redis', packages: SMALL },
  { product: 'Redis', major: '8', suite: 'sid', name: 'redis', packages: [...SMALL, ...OWN] },
  {
    product: 'Valkey',
    major: '8',
    suite: 'bookworm-backports',
    name: 'valkey',
    packages: [],
    beside: 'bookworm-redis',
  },
  { product: 'Valkey', major: '9', suite: 'sid', name: 'valkey', packages: [...SMALL, ...OWN] },
  {
    product: 'Redict',
    major: '7.3',
    suite: 'bookworm-backports',
    name: 'redict',
    packages: ['libhiredict1.3.1'],
    beside: 'bookworm-redis',
  },
];

/** Writes a program that starts an unpacked server, and returns its path. The binary takes its role from its name. */
async function programOf({ suite, name, packages, beside }) {
  const folder = join(cache, `${suite}-${name}`);
  const binary = [`${name}-check-rdb`, `${name}-server`]
    .map((each) => join(folder, 'usr/bin', each))
    .find(isExecutable);
  if (binary === undefined) {
    const isUsable = () => existsSync(join(folder, 'usr/bin'));
    await unpackPackages([`${name}-server`, `${name}-tools`, ...packages], folder, isUsable, suite);
    return programOf({ suite, name, packages: [], beside });
  }
  const libraries = [folder, ...(beside ? [join(cache, beside)] : [])].map((each) =>
    join(each, 'usr/lib/x86_64-linux-gnu'),
  );
  const loader = ['usr/lib64', 'lib64']
    .map((each) => join(folder, each, 'ld-linux-x86-64.so.2'))
    .find(isExecutable);
  const own = loader ?? '/lib64/ld-linux-x86-64.so.2';
  const program = join(cache, 'bin', `${suite}-${name}`, 'redis-server');
  mkdirSync(dirname(program), { recursive: true });
  writeFileSync(
    program,
    `#!/bin/sh\nexec ${own} --library-path ${libraries.join(':')} --argv0 ${name}-server ${binary} "$@"\n`,
  );
  chmodSync(program, 0o755);
  return program;
}

function versionOf(program) {
  const { stdout, stderr } = spawnSync(program, ['--version'], { encoding: 'utf8' });
  const version = / v=(\S+)/.exec(stdout)?.[1];
  if (version === undefined) throw new Error(`the server does not start: ${stderr.trim()}`);
  return version;
}

function testOn(program, specs) {
  const file = join(cache, 'result.json');
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
