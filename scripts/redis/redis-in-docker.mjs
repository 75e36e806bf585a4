// Starts a Redis in Docker, where Docker runs: for `npm start` on a machine without Redis.
import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePort } from './redis-server.mjs';

const IMAGE = 'redis:8';
const LOOK_MS = 5_000;
/** The time for the image to come, in ms. */
const PULL_MS = 180_000;
/** The looks for a reply of the started Redis. */
const LOOKS = 100;
const LOOK_EVERY_MS = 100;

const run = promisify(execFile);

/**
 * Returns a server like those of redis-server.mjs; undefined where Docker does not run or cannot get the image. The
 * signal ends the start. A start that fails leaves no container.
 */
export async function startInDocker(signal) {
  try {
    await run('docker', ['info'], { timeout: LOOK_MS, signal });
  } catch {
    return undefined;
  }
  console.log(`Starting ${IMAGE} in Docker …`);
  const port = await freePort();
  // A name of our own, because an interrupted `docker run` returns no id.
  const name = `nest-job-queue-${process.pid}-${port}`;
  const stop = () => run('docker', ['rm', '--force', name]).catch(() => undefined);
  try {
    const args = ['run', '--rm', '-d', '--name', name, '-p', `127.0.0.1:${port}:6379`, IMAGE];
    await run('docker', args, { timeout: PULL_MS, signal });
    await answers(name, signal);
    return { url: `redis://127.0.0.1:${port}`, source: `${IMAGE} in Docker`, stop };
  } catch (error) {
    await stop();
    if (!signal.aborted) console.error(`Docker could not start ${IMAGE}: ${error.message}`);
    return undefined;
  }
}

/** Waits until Redis replies. */
async function answers(name, signal) {
  for (let look = 0; look < LOOKS; look++) {
    signal.throwIfAborted();
    const { stdout } = await run('docker', ['exec', name, 'redis-cli', 'ping']).catch(() => ({ stdout: '' }));
    if (stdout.includes('PONG')) return;
    await sleep(LOOK_EVERY_MS);
  }
  throw new Error(`Redis did not reply within ${(LOOKS * LOOK_EVERY_MS) / 1_000} s`);
}
