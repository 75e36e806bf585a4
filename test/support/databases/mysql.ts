// A real MySQL, unpacked from packages of Debian sid into .cache/mysql with its own libraries. Nothing is installed.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import mysql from 'mysql2/promise';
import { isExecutable, unpackPackages } from '../../../scripts/debian-packages.mjs';
import { freePort } from '../../../scripts/redis/redis-server.mjs';
import { patiently } from '../faults/wait.js';

const run = promisify(execFile);
const FOLDER = fileURLToPath(new URL('../../../.cache/mysql', import.meta.url));
const LIBRARIES = join(FOLDER, 'usr/lib/x86_64-linux-gnu');
const LOADER = join(LIBRARIES, 'ld-linux-x86-64.so.2');
const SERVER = join(FOLDER, 'usr/sbin/mysqld');
/** The server, and all libraries that it needs: its C library is newer than that of this machine. */
const PACKAGES =
  'libc6 libgcc-s1 libcrypt1 zlib1g libaio1t64 libbrotli1 libcbor0.10 libcom-err2 libnghttp3-9 libngtcp2-16 libkrb5support0 libk5crypto3 libkeyutils1 libzstd1 openssl-provider-legacy libssl3t64 libkrb5-3 libgssapi-krb5-2 libunistring5 libidn2-0 libsasl2-modules-db libsasl2-2 libldap2 libnghttp2-14 libngtcp2-crypto-ossl0 libpsl5t64 libssh2-1t64 libcurl4t64 libudev1 libfido2-1 libstdc++6 libtcmalloc-minimal4t64 liblzma5 libunwind8 libgoogle-perftools4t64 libicu78 libxxhash0 liblz4-1 libmecab2 libnuma1 libprotobuf-lite32t64 libprotobuf32t64 libtirpc3t64 mysql-server-core'.split(
    ' ',
  );

/** Starts a server on a free port of 127.0.0.1, whose root needs no password, without waiting for the disk. */
export async function startMysql(): Promise<{ url: string; stop(): Promise<void> }> {
  const isUsable = () => isExecutable(SERVER) && isExecutable(LOADER);
  if (!isUsable()) {
    await unpackPackages(PACKAGES, FOLDER, isUsable, 'sid');
  }
  const data = mkdtempSync(join(tmpdir(), 'mysql-'));
  const port = await freePort();
  const args = [
    '--library-path',
    LIBRARIES,
    SERVER,
    '--no-defaults',
    `--basedir=${join(FOLDER, 'usr')}`,
    `--lc-messages-dir=${join(FOLDER, 'usr/share/mysql')}`,
    `--datadir=${join(data, 'data')}`,
    `--user=${userInfo().username}`,
    '--secure-file-priv=NULL',
    '--skip-log-bin',
    '--innodb-flush-log-at-trx-commit=0',
  ];
  await run(LOADER, [...args, '--initialize-insecure']);
  const own = [`--socket=${join(data, 'socket')}`, `--port=${port}`, '--bind-address=127.0.0.1', '--mysqlx=OFF'];
  const child = spawn(LOADER, [...args, ...own], { stdio: 'ignore' });
  const url = `mysql://root@127.0.0.1:${port}`;
  await patiently(() => makeDatabase(url), { what: 'MySQL answers' });
  return {
    url: `${url}/app`,
    async stop() {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
      rmSync(data, { recursive: true, force: true });
    },
  };
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
