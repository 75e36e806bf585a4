// Starts a real PostgreSQL, of the machine or unpacked from Debian's package into .cache/postgres. Nothing is installed.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { isExecutable, onPath, unpackPackages } from '../debian-packages.mjs';
import { freePort } from '../redis/redis-server.mjs';

const run = promisify(execFile);
const FOLDER = fileURLToPath(new URL('../../.cache/postgres', import.meta.url));
const PACKAGES = ['postgresql-15', 'libpq5', 'libllvm14', 'libicu72', 'libxml2', 'libldap-2.5-0', 'libsasl2-2'];
/** The user that runs the server where the tests run as root, which the server refuses. */
const UNPRIVILEGED = 65_534;
const MOST_WAIT_MS = 5_000;
const LONGEST_START_MS = 20_000;

/** Returns the folder with the programs of the server, and the environment that they need. */
async function findPostgres() {
  const found = installed() ?? unpacked();
  if (found) return found;
  await unpackPackages(PACKAGES, FOLDER, () => unpacked() !== undefined);
  return unpacked();
}

function installed() {
  const folders = [process.env.POSTGRES_BIN, ...versionsIn('/usr/lib/postgresql')];
  const folder = folders.find((each) => each !== undefined && isExecutable(join(each, 'initdb')));
  const onThePath = onPath('initdb');
  const found = folder ?? (onThePath && join(onThePath, '..'));
  return found === undefined ? undefined : { folder: found, env: {} };
}

function unpacked() {
  const [folder] = versionsIn(join(FOLDER, 'usr/lib/postgresql'));
  const libraries = join(FOLDER, 'usr/lib/x86_64-linux-gnu');
  return folder && isExecutable(join(folder, 'initdb'))
    ? { folder, env: { LD_LIBRARY_PATH: [libraries, process.env.LD_LIBRARY_PATH ?? ''].join(delimiter) } }
    : undefined;
}

function versionsIn(folder) {
  return existsSync(folder) ? readdirSync(folder).map((version) => join(folder, version, 'bin')) : [];
}

/** Starts a server on a free port of 127.0.0.1, without waiting for the disk. */
export async function startPostgres() {
  const { folder, env } = await findPostgres();
  const data = mkdtempSync(join(tmpdir(), 'postgres-'));
  const isRoot = userInfo().uid === 0;
  const options = {
    env: { ...process.env, ...env, LC_ALL: 'C' },
    ...(isRoot && { uid: UNPRIVILEGED, gid: UNPRIVILEGED }),
  };
  if (isRoot) chmodSync(data, 0o777);
  const files = join(data, 'data');
  await run(
    join(folder, 'initdb'),
    ['-D', files, '-U', 'postgres', '-A', 'trust', '--no-sync', '-E', 'UTF8'],
    options,
  );
  const port = await freePort();
  const settings = [
    'fsync=off',
    'synchronous_commit=off',
    'full_page_writes=off',
    'max_connections=60',
    'listen_addresses=127.0.0.1',
  ];
  const args = ['-D', files, '-p', String(port), '-k', data, ...settings.flatMap((each) => ['-c', each])];
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  let child;
  const start = async () => {
    child = spawn(join(folder, 'postgres'), args, { ...options, stdio: 'ignore' });
    await untilAnswers(url);
  };
  const stop = async () => {
    const exited = once(child, 'exit');
    child.kill('SIGINT');
    await exited;
  };
  /** Waits for the clients that are closing, whose sessions the server would otherwise cut. */
  const stopWithoutCuts = async () => {
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGINT'), MOST_WAIT_MS);
    await exited;
    clearTimeout(timer);
  };
  await start();
  return {
    url,
    get pid() {
      return child.pid;
    },
    async restart() {
      await stop();
      await start();
    },
    async stop() {
      await stopWithoutCuts();
      rmSync(data, { recursive: true, force: true });
    },
  };
}

async function untilAnswers(url) {
  for (const deadline = performance.now() + LONGEST_START_MS; !(await answers(url));) {
    if (performance.now() > deadline) throw new Error(`PostgreSQL gave no answer within ${LONGEST_START_MS} ms`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function answers(url) {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}
