// A real MariaDB, of the machine or unpacked from Debian's package into .cache/mariadb. Nothing is installed.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import mysql from 'mysql2/promise';
import { isExecutable, onPath, unpackPackages } from '../../../scripts/debian-packages.mjs';
import { freePort } from '../../../scripts/redis/redis-server.mjs';
import { patiently } from '../faults/wait.js';

const FOLDER = fileURLToPath(new URL('../../../.cache/mariadb', import.meta.url));
const PACKAGES = ['mariadb-server-core', 'libaio1', 'libnuma1', 'liburing2', 'libpcre2-8-0'];

interface Program {
  program: string;
  folder: string;
  env: Record<string, string>;
}

async function findMariadb(): Promise<Program> {
  const program = onPath('mariadbd') ?? ['/usr/sbin/mariadbd'].find(existsSync);
  if (program !== undefined) {
    return { program, folder: '/usr', env: {} };
  }
  if (!unpacked()) {
    await unpackPackages(PACKAGES, FOLDER, () => unpacked() !== undefined);
  }
  return unpacked()!;
}

function unpacked(): Program | undefined {
  const program = join(FOLDER, 'usr/sbin/mariadbd');
  const libraries = join(FOLDER, 'usr/lib/x86_64-linux-gnu');
  return isExecutable(program)
    ? {
        program,
        folder: join(FOLDER, 'usr'),
        env: { LD_LIBRARY_PATH: [libraries, process.env.LD_LIBRARY_PATH ?? ''].join(delimiter) },
      }
    : undefined;
}

export interface Mariadb {
  url: string;
  /** Stops the server and removes its data. */
  stop(): Promise<void>;
}

/** Starts a server on a free port of 127.0.0.1, without users and without waiting for the disk. */
export async function startMariadb(): Promise<Mariadb> {
  const { program, folder, env } = await findMariadb();
  const data = mkdtempSync(join(tmpdir(), 'mariadb-'));
  const port = await freePort();
  const url = `mysql://root@127.0.0.1:${port}/app`;
  const args = [
    '--no-defaults',
    `--basedir=${folder}`,
    `--lc-messages-dir=${join(folder, 'share/mysql/english')}`,
    `--datadir=${data}`,
    `--socket=${join(data, 'socket')}`,
    `--port=${port}`,
    '--bind-address=127.0.0.1',
    `--user=${userInfo().username}`,
    // Its own tables are not made, so it starts within a second.
    '--skip-grant-tables',
    '--skip-log-bin',
    '--innodb-flush-log-at-trx-commit=0',
    '--innodb-buffer-pool-size=32M',
    '--innodb-log-file-size=16M',
  ];
  const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: 'ignore' });
  await patiently(() => makeDatabase(`mysql://root@127.0.0.1:${port}`), { what: 'MariaDB answers' });
  return { url, stop: () => stop(child, data) };
}

async function stop(child: ChildProcess, data: string): Promise<void> {
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
  rmSync(data, { recursive: true, force: true });
}

async function makeDatabase(url: string): Promise<boolean> {
  try {
    const connection = await mysql.createConnection(url);
    await connection.query('CREATE DATABASE app');
    await connection.end();
    return true;
  } catch {
    return false;
  }
}
