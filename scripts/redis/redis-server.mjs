// Finds and starts a real Redis, for the tests, the example and the benchmark. Nothing is installed.
//
// Tries in this order: REDIS_URL (used as it is, never stopped), REDIS_SERVER_BIN, redis-server or valkey-server on the
// PATH, .cache/redis of this project. Last comes Debian's package, unpacked into .cache/redis. Else throws an error
// that says what to install.
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createConnection, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { isExecutable, onPath, unpackPackages } from '../debian-packages.mjs';

const CACHE = fileURLToPath(new URL('../../.cache', import.meta.url));
const DEBIAN_PACKAGES = ['redis-server', 'redis-tools', 'libjemalloc2', 'liblzf1'];
const START_TIMEOUT_MS = 15_000;
const STOP_TIMEOUT_MS = 5_000;
const FIRST_PORT = 10_000;
/** The first port that Linux takes for outgoing connections. */
const FIRST_EPHEMERAL_PORT = 32_768;

/** The ports that `freePort` has returned. */
const given = new Set();

let found;

/** Returns the server binary that this machine offers, searched once per process: { server, cli, env, source }. */
export function findRedisServer() {
  found ??= search().catch((error) => {
    found = undefined;
    throw error;
  });
  return found;
}

/**
 * Starts a server on a free port of 127.0.0.1, without persistence. stop() removes its temporary folder. It ends with
 * this process, even after SIGKILL.
 */
export async function startRedisServer(options = {}) {
  const binary =
    options.binary === undefined ? await findRedisServer() : describeBinary(options.binary, options.binary);
  const ownDir = options.dir === undefined;
  const dir = options.dir ?? mkdtempSync(join(tmpdir(), 'redis-'));
  const chosenPort = options.port;
  let port = chosenPort ?? (await freePort());
  let running;
  for (let attempt = 1; running === undefined; attempt++) {
    try {
      running = await launch(binary, port, dir, ownDir, options);
    } catch (error) {
      // Between the choice of a free port and its use another process may take it.
      if (chosenPort === undefined && attempt < 5 && error.message.includes('Address already in use')) {
        port = await freePort();
        continue;
      }
      if (ownDir) rmSync(dir, { recursive: true, force: true });
      throw error;
    }
  }

  const server = {
    host: '127.0.0.1',
    port,
    url: `${options.tls ? 'rediss' : 'redis'}://127.0.0.1:${port}`,
    source: binary.source,
    dir,
    get pid() {
      return running.child.pid;
    },
    /** Sends a signal, as a fault would: SIGKILL, SIGSTOP, SIGCONT. After SIGKILL it waits for the end. */
    async kill(signal = 'SIGKILL') {
      running.child.kill(signal);
      if (signal === 'SIGKILL' || signal === 'SIGTERM') await running.exited;
    },
    /** Stops the server where it still runs and starts it again on the same port, in the same folder. */
    async restart() {
      await halt(running);
      running = await launch(binary, port, dir, ownDir, options);
    },
    async stop() {
      await halt(running);
      if (ownDir) rmSync(dir, { recursive: true, force: true });
    },
  };
  if (options.quiet !== true) console.log(describeRedis(server));
  return server;
}

/** Returns the server that REDIS_URL names, or else one started here. stop() leaves the former alone. */
export async function ensureRedis(options = {}) {
  const url = process.env.REDIS_URL;
  if (!url) return startRedisServer(options);
  // The message has no value: it may hold a password.
  if (!URL.canParse(url))
    throw new Error('REDIS_URL: expected a URL such as redis://127.0.0.1:6379, found another text');
  const { hostname, port } = new URL(url);
  const server = {
    url,
    host: hostname || '127.0.0.1',
    port: Number(port || 6379),
    pid: undefined,
    source: 'REDIS_URL',
    dir: undefined,
    stop: () => Promise.resolve(),
    kill: notOurs,
    restart: notOurs,
  };
  if (options.quiet !== true) console.log(describeRedis(server));
  return server;
}

function notOurs() {
  return Promise.reject(new Error('the server of REDIS_URL is not ours to stop or restart'));
}

/** Returns a line that describes the Redis in use, without a password. */
export function describeRedis(server) {
  const url = new URL(server.url);
  return `Redis: ${url.protocol}//${url.host}${url.pathname} (${server.source})`;
}

/**
 * Returns a TCP port of 127.0.0.1 that is free now and that this process has not used before. The system takes no such
 * port for an outgoing connection, so it stays free while its server is down.
 */
export async function freePort() {
  for (;;) {
    const port = randomInt(FIRST_PORT, FIRST_EPHEMERAL_PORT);
    if (given.has(port)) continue;
    given.add(port);
    if (await isFree(port)) return port;
  }
}

function isFree(port) {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (error) => (error.code === 'EADDRINUSE' ? resolve(false) : reject(error)));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}

async function search() {
  const named = process.env.REDIS_SERVER_BIN;
  if (named) {
    if (!isExecutable(named)) throw new Error(`REDIS_SERVER_BIN: expected an executable file, found "${named}"`);
    return describeBinary(named, 'REDIS_SERVER_BIN');
  }
  for (const name of ['redis-server', 'valkey-server']) {
    const path = onPath(name);
    if (path !== undefined) return describeBinary(path, `${path}, found on the PATH`);
  }
  return cached() ?? (await download());
}

function describeBinary(server, source, env = {}) {
  const cli = ['redis-cli', 'valkey-cli'].map((name) => join(dirname(server), name)).find(isExecutable);
  return { server, cli: cli ?? onPath('redis-cli') ?? onPath('valkey-cli'), env, source };
}

function cached() {
  const root = join(CACHE, 'redis');
  const server = join(root, 'usr/bin/redis-server');
  // Debian's redis-server is a link to redis-check-rdb, which is in redis-tools.
  if (!isExecutable(server)) return undefined;
  const triplets = readdirSync(join(root, 'usr/lib'), { withFileTypes: true });
  const libraries = triplets
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(root, 'usr/lib', entry.name));
  const inherited = process.env.LD_LIBRARY_PATH;
  const path = [...libraries, ...(inherited ? [inherited] : [])].join(delimiter);
  return describeBinary(server, 'Debian package in .cache/redis', { LD_LIBRARY_PATH: path });
}

/** Unpacks Debian's package into .cache/redis. */
async function download() {
  console.error("No Redis found: fetching Debian's package into .cache/redis (about 1.5 MB, nothing is installed)");
  try {
    await unpackPackages(DEBIAN_PACKAGES, join(CACHE, 'redis'), () => cached() !== undefined);
  } catch (error) {
    throw new Error(`${whatToInstall()}\n${error.message}`, { cause: error });
  }
  const binary = cached();
  if (binary === undefined) throw new Error(whatToInstall());
  return binary;
}

function whatToInstall() {
  const advice =
    process.platform === 'darwin'
      ? 'brew install redis'
      : process.platform === 'win32'
        ? 'run it under WSL, or: docker run -d -p 6379:6379 redis:8'
        : onPath('apk')
          ? 'apk add redis'
          : onPath('dnf')
            ? 'dnf install redis'
            : onPath('apt-get')
              ? 'apt-get install redis-server'
              : 'docker run -d -p 6379:6379 redis:8';
  return (
    `No Redis was found: install Redis 7.0 or later (${advice}), or set REDIS_URL to a running server, such as one of ` +
    '`docker run -d -p 6379:6379 redis:8`.'
  );
}

async function launch(binary, port, dir, ownDir, { args = [], config, tls }) {
  const file = join(dir, 'redis.conf');
  // A restart keeps the configuration that the server itself has written.
  if (config !== undefined && !existsSync(file)) writeFileSync(file, config);
  const listening = tls
    ? ['--port', '0', '--tls-port', `${port}`, '--tls-cert-file', tls.cert, '--tls-key-file', tls.key]
    : ['--port', `${port}`];
  const base = [...(config === undefined ? [] : [file]), ...listening];
  if (tls) base.push('--tls-ca-cert-file', tls.ca, '--tls-auth-clients', 'no');
  base.push('--bind', '127.0.0.1', '--dir', dir, '--save', '', '--appendonly', 'no');
  // A separate process group: Ctrl-C in a terminal must not stop Redis before the app has drained.
  const child = spawn(binary.server, [...base, '--daemonize', 'no', ...args], {
    detached: true,
    env: { ...process.env, ...binary.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  const keep = (chunk) => (log = (log + chunk).slice(-4_000));
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  const exited = new Promise((resolve) => child.once('close', resolve));
  const running = { child, exited, watchdog: undefined, ended: false, failure: undefined };
  child.once('error', (error) => (running.failure = error));
  void exited.then(() => (running.ended = true));

  // It must not keep this process alive: who forgets to stop it is served by the watchdog.
  for (const handle of [child, child.stdout, child.stderr]) handle.unref();
  if (child.pid !== undefined) running.watchdog = watch(child.pid, ownDir ? dir : '');

  const deadline = Date.now() + START_TIMEOUT_MS;
  while (!(await answers(port, child.pid, tls))) {
    if (running.ended || running.failure !== undefined || Date.now() > deadline) {
      await halt(running);
      const reason = running.failure?.message ?? log.trim();
      throw new Error(`Redis (${binary.source}) did not start on port ${port}:\n${reason}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return running;
}

/**
 * Starts a shell that waits for the end of this process, even by SIGKILL. When its standard input closes, it stops the
 * server and removes its folder.
 */
function watch(pid, dir) {
  const script = 'read -r _; kill -9 "$1" 2>/dev/null; if [ -n "$2" ]; then sleep 0.1; rm -rf "$2"; fi';
  const watchdog = spawn('/bin/sh', ['-c', script, 'redis-watchdog', String(pid), dir], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  watchdog.on('error', () => {});
  watchdog.stdin.on('error', () => {});
  watchdog.unref();
  watchdog.stdin.unref?.();
  return watchdog;
}

async function halt(running) {
  const { child, exited, watchdog } = running;
  // The watchdog goes first: later the process id may belong to somebody else.
  watchdog?.kill('SIGKILL');
  if (running.ended || child.pid === undefined) return;
  // The wait must keep this process alive until the server has gone.
  child.ref();
  child.kill('SIGCONT');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
  await exited;
  clearTimeout(timer);
}

/**
 * Returns whether our Redis replies on this port and has loaded its data. An error such as NOAUTH counts as a reply.
 */
function answers(port, pid, tls) {
  return new Promise((resolve) => {
    const at = { host: '127.0.0.1', port };
    const socket = tls ? connectTls({ ...at, rejectUnauthorized: false }) : createConnection(at);
    const done = (answer) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(1_000, () => done(false));
    socket.once('error', () => done(false));
    socket.once(tls ? 'secureConnect' : 'connect', () => socket.write('INFO server\r\nPING\r\n'));
    let text = '';
    socket.on('data', (data) => {
      text += data;
      if (text.startsWith('-')) return done(true);
      // INFO is answered also while data are loaded, PING is not.
      const pinged = /\n([+-]\w+)[^\n]*\n$/.exec(text)?.[1];
      // The port may have been taken by somebody else's server.
      const answering = /process_id:(\d+)\r/.exec(text)?.[1];
      if (answering !== undefined && pinged) done(Number(answering) === pid && pinged !== '-LOADING');
    });
  });
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  // `node scripts/redis/redis-server.mjs` shows what would be used, fetching it where needed.
  try {
    const binary = await findRedisServer();
    const env = Object.entries(binary.env).map(([name, value]) => `${name}=${value} `);
    console.log(`${env.join('')}${binary.server} (${binary.source})`);
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
