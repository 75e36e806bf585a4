// A real MySQL, unpacked from packages of Debian sid into .cache/mysql with its own libraries. Nothing is installed.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isExecutable, unpackPackages } from '../../../scripts/debian-packages.mjs';
import { startMysqlServer, type MysqlServer } from './mysql-server.js';

const FOLDER = fileURLToPath(new URL('../../../.cache/mysql', import.meta.url));
const LIBRARIES = join(FOLDER, 'usr/lib/x86_64-linux-gnu');
const LOADER = join(LIBRARIES, 'ld-linux-x86-64.so.2');
const SERVER = join(FOLDER, 'usr/sbin/mysqld');
/** The server, and all libraries that it needs: its C library is newer than that of this machine. */
const PACKAGES =
  'libc6 libgcc-s1 libcrypt1 zlib1g libaio1t64 libbrotli1 libcbor0.10 libcom-err2 libnghttp3-9 libngtcp2-16 libkrb5support0 libk5crypto3 libkeyutils1 libzstd1 openssl-provider-legacy libssl3t64 libkrb5-3 libgssapi-krb5-2 libunistring5 libidn2-0 libsasl2-modules-db libsasl2-2 libldap2 libnghttp2-14 libngtcp2-crypto-ossl0 libpsl5t64 libssh2-1t64 libcurl4t64 libudev1 libfido2-1 libstdc++6 libtcmalloc-minimal4t64 liblzma5 libunwind8 libgoogle-perftools4t64 libicu78 libxxhash0 liblz4-1 libmecab2 libnuma1 libprotobuf-lite32t64 libprotobuf32t64 libtirpc3t64 mysql-server-core'.split(
    ' ',
  );

export async function startMysql(): Promise<MysqlServer> {
  const isUsable = () => isExecutable(SERVER) && isExecutable(LOADER);
  if (!isUsable()) {
    await unpackPackages(PACKAGES, FOLDER, isUsable, 'sid');
  }
  return startMysqlServer({
    product: 'MySQL',
    command: [LOADER, '--library-path', LIBRARIES, SERVER],
    folder: join(FOLDER, 'usr'),
    messages: 'share/mysql',
    options: ['--secure-file-priv=NULL'],
    initialize: ['--initialize-insecure'],
  });
}
