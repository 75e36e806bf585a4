import { spawn, type ChildProcess } from 'node:child_process';
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { TestingError } from '../module/test-clock.js';

const NAMES = ['redis-server', 'valkey-server'];

/** The number of times another port is tried after a parallel test took the free one. */
const TRIES = 5;

/** The time a server may take to be ready, in ms. */
const READY_MS = 10_000;

/**
 * Starts a Redis on a free port, which keeps nothing on disk.
 *
 * @throws TestingError without a binary, or if it does not start
 */
export async function startServer(): Promise<{ url: string; stop: () => Promise<void> }> {
  const binary = findBinary();
  let problem = '';
  for (let i = 0; i < TRIES; i++) {
    const port = await freePort();
    const folder = mkdtempSync(join(tmpdir(), 'nest-job-queue-redis-'));
    const server = spawn(binary, argumentsFor(port, folder), { stdio: ['ignore', 'pipe', 'pipe'] });
    const end = () => void server.kill('SIGKILL');
    process.once('exit', end); // a test process that ends leaves no server behind
    const stop = async () => {
      process.off('exit', end);
      await stopped(server);
      rmSync(folder, { recursive: true, force: true });
    };
    problem = await ready(server);
    if (problem === '') {
      return { url: `redis://127.0.0.1:${port}`, stop };
    }
    await stop();
  }
  throw new TestingError(`withRedis could not start ${binary}: ${problem}`);
}

function argumentsFor(port: number, folder: string): string[] {
  return ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'no'];
}

function findBinary(): string {
  const given = process.env.REDIS_SERVER_BIN;
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  const candidates = given ? [given] : folders.flatMap((folder) => NAMES.map((name) => join(folder, name)));
  const found = candidates.find(isExecutable);
  if (found === undefined) {
    throw new TestingError(
      'withRedis found no Redis: expected REDIS_URL, REDIS_SERVER_BIN, or redis-server or valkey-server on the PATH. ' +
        'Start a Redis and set REDIS_URL, or install one.',
    );
  }
  return found;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

/** Resolves with '' when the server accepts connections, else with its output. */
function ready(server: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    let said = '';
    const done = (problem: string) => {
      clearTimeout(late);
      server.stdout!.removeAllListeners('data').resume();
      server.stderr!.removeAllListeners('data').resume();
      resolve(problem);
    };
    const late = setTimeout(() => done(`it was not ready within ${READY_MS} ms`), READY_MS);
    const onOutput = (chunk: Buffer) => {
      said += chunk.toString();
      if (/ready to accept connections/i.test(said)) {
        done('');
      }
    };
    server.stdout!.on('data', onOutput);
    server.stderr!.on('data', onOutput);
    server.once('error', (error) => done(error.message));
    // Its last output may be read after its exit.
    server.once('close', () => done(said.trim().split('\n').at(-1) || 'it ended at once'));
  });
}

function stopped(server: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (server.exitCode !== null || server.signalCode !== null || server.pid === undefined) {
      return resolve();
    }
    server.once('exit', () => resolve());
    server.kill('SIGTERM');
  });
}
