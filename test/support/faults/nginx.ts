// A real nginx, of the machine or unpacked from Debian's packages into .cache/nginx.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isExecutable, onPath, unpackPackages } from '../../../scripts/debian-packages.mjs';
import { freePort } from '../../../scripts/redis/redis-server.mjs';
import { patiently } from './wait.js';

const FOLDER = fileURLToPath(new URL('../../../.cache/nginx', import.meta.url));
const PACKAGES = ['nginx', 'libpcre2-8-0', 'libssl3', 'libcrypt1', 'zlib1g'];

interface Nginx {
  binary: string;
  env: Record<string, string>;
}

/** Finds an nginx, or fetches one. Returns why there is none. */
export async function findNginx(): Promise<Nginx | string> {
  const installed = onPath('nginx');
  if (installed !== undefined) {
    return { binary: installed, env: {} };
  }
  try {
    if (!unpacked()) {
      await unpackPackages(PACKAGES, FOLDER, () => unpacked() !== undefined);
    }
    return unpacked() ?? 'The unpacked package has no nginx.';
  } catch (error) {
    return (error as Error).message;
  }
}

function unpacked(): Nginx | undefined {
  const binary = join(FOLDER, 'usr/sbin/nginx');
  if (!isExecutable(binary)) {
    return undefined;
  }
  const libraries = ['lib', 'usr/lib'].flatMap((folder) =>
    foldersIn(join(FOLDER, folder)).map((name) => join(FOLDER, folder, name)),
  );
  return { binary, env: { LD_LIBRARY_PATH: libraries.join(delimiter) } };
}

function foldersIn(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).flatMap((each) => (each.isDirectory() ? [each.name] : []));
  } catch {
    return []; // not in this version of the packages
  }
}

/** Starts it before a server, with nothing but `proxy_pass`. Returns its origin, and how to stop it. */
export async function proxyBy(nginx: Nginx, upstream: string): Promise<{ origin: string; stop(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'nginx-'));
  const port = await freePort();
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((kind) => `${kind}_temp_path ${folder};`)
    .join(' ');
  const server = `listen 127.0.0.1:${port}; location / { proxy_pass ${upstream}; }`;
  const config = `daemon off; master_process off; pid ${folder}/pid; events {}
    http { access_log off; ${temporary} server { ${server} } }`;
  writeFileSync(join(folder, 'nginx.conf'), config);
  const args = ['-e', 'stderr', '-p', folder, '-c', join(folder, 'nginx.conf')];
  const child: ChildProcess = spawn(nginx.binary, args, {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, ...nginx.env },
  });
  const origin = `http://127.0.0.1:${port}`;
  const answers = () =>
    fetch(origin).then(
      () => true,
      () => false,
    );
  await patiently(answers, { what: 'nginx answers' });
  return {
    origin,
    async stop() {
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
