// How a server of MySQL or MariaDB starts for a test, and ends with it.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import mysql from 'mysql2/promise';
import { freePort } from '../../../scripts/redis/redis-server.mjs';
import { patiently } from '../faults/wait.js';

const run = promisify(execFile);

export interface MysqlServer {
  /** The address of its database `app`. */
  url: string;
  /** Stops the server and removes its data. */
  stop(): Promise<void>;
}

/** What differs between the products. */
export interface MysqlProgram {
  product: 'MySQL' | 'MariaDB';
  /** The program and its first arguments, such as a loader with the server. */
  command: [string, ...string[]];
  env?: Record<string, string>;
  /** The folder of its files, such as /usr. */
  folder: string;
  /** The folder of its messages, within that one. */
  messages: string;
  options: readonly string[];
  /** The options of a first run that makes its own tables. Absent where it starts without them. */
  initialize?: readonly string[];
}

/** Starts a server on a free port of 127.0.0.1, whose root needs no password, without waiting for the disk. */
export async function startMysqlServer(program: MysqlProgram): Promise<MysqlServer> {
  const { product, folder, initialize } = program;
  const [file, ...first] = program.command;
  const env = { ...process.env, ...program.env };
  const data = mkdtempSync(join(tmpdir(), `${product}-`));
  mkdirSync(join(data, 'data'));
  const port = await freePort();
  const args = [
    ...first,
    '--no-defaults',
    `--basedir=${folder}`,
    `--lc-messages-dir=${join(folder, program.messages)}`,
    `--datadir=${join(data, 'data')}`,
    `--socket=${join(data, 'socket')}`,
    `--port=${port}`,
    '--bind-address=127.0.0.1',
    `--user=${userInfo().username}`,
    '--skip-log-bin',
    '--innodb-flush-log-at-trx-commit=0',
    ...program.options,
  ];
  if (initialize) await run(file, [...args, ...initialize], { env });
  const child = spawn(file, args, { env, stdio: 'ignore' });
  const url = `mysql://root@127.0.0.1:${port}`;
  await patiently(() => makeDatabase(url), { what: `${product} answers` });
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
