// The servers that packages of Debian offer. Nothing is installed: the packages are unpacked into .cache/servers.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isExecutable, unpackPackages } from '../debian-packages.mjs';

const cache = fileURLToPath(new URL('../../.cache/servers', import.meta.url));

const SMALL = ['libjemalloc2', 'liblzf1'];
/** The libraries of a newer Debian. A binary of it runs by its own loader. */
const OWN = 'libc6 libssl3t64 libsystemd0 libatomic1 libstdc++6 libgcc-s1 libcap2 libzstd1 zlib1g'.split(' ');

/** The servers, each with the suite of Debian that has it. */
export const SERVERS = [
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

/** Writes a program that starts a server, and returns its path. Unpacks it before, if need be. The binary takes its role from its name. */
export async function programOf({ suite, name, packages, beside }) {
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

/** Returns the version of the server that a program starts. */
export function versionOf(program) {
  const { stdout, stderr } = spawnSync(program, ['--version'], { encoding: 'utf8' });
  const version = / v=(\S+)/.exec(stdout)?.[1];
  if (version === undefined) throw new Error(`the server does not start: ${stderr.trim()}`);
  return version;
}
