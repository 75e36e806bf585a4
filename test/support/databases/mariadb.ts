// A real MariaDB, of the machine or unpacked from Debian's package into .cache/mariadb. Nothing is installed.
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isExecutable, onPath, unpackPackages } from '../../../scripts/debian-packages.mjs';
import { startMysqlServer, type MysqlProgram, type MysqlServer } from './mysql-server.js';

const FOLDER = fileURLToPath(new URL('../../../.cache/mariadb', import.meta.url));
const PACKAGES = ['mariadb-server-core', 'libaio1', 'libnuma1', 'liburing2', 'libpcre2-8-0'];

type Found = Pick<MysqlProgram, 'command' | 'folder' | 'env'>;

async function findMariadb(): Promise<Found> {
  const program = onPath('mariadbd') ?? ['/usr/sbin/mariadbd'].find(existsSync);
  if (program !== undefined) {
    return { command: [program], folder: '/usr' };
  }
  if (!unpacked()) {
    await unpackPackages(PACKAGES, FOLDER, () => unpacked() !== undefined);
  }
  return unpacked()!;
}

function unpacked(): Found | undefined {
  const program = join(FOLDER, 'usr/sbin/mariadbd');
  const libraries = join(FOLDER, 'usr/lib/x86_64-linux-gnu');
  return isExecutable(program)
    ? {
        command: [program],
        folder: join(FOLDER, 'usr'),
        env: { LD_LIBRARY_PATH: [libraries, process.env.LD_LIBRARY_PATH ?? ''].join(delimiter) },
      }
    : undefined;
}

export async function startMariadb(): Promise<MysqlServer> {
  return startMysqlServer({
    product: 'MariaDB',
    ...(await findMariadb()),
    messages: 'share/mysql/english',
    // Its own tables are not made, so it starts within a second.
    options: ['--skip-grant-tables', '--innodb-buffer-pool-size=32M', '--innodb-log-file-size=16M'],
  });
}
