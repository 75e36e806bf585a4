// Starts a Redis in Docker, where Docker runs: for `npm start` on a machine without Redis.
import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePort } from './redis-server.mjs';

const IMAGE = 'redis:8';
const LOOK_MS = 5_000;
/** The time for the image to come, in ms. */
const PULL_MS = 180_000;

const run = promisify(execFile);

/** Returns a server like those of redis-server.mjs; undefined where Docker does not run or cannot get the image. */
export async function startInDocker() {
  try {
    await run('docker', ['info'], { timeout: LOOK_MS });
  } catch {
    return undefined;
  }
  try {
    console.log(`No Redis found: starting ${IMAGE} in Docker …`);
    const port = await freePort();
    const args = ['run', '--rm', '-d', '-p', `127.0.0.1:${port}:6379`, IMAGE];
    const id = (await run('docker', args, { timeout: PULL_MS })).stdout.trim();
    const stop = () => run('docker', ['stop', '-t', '2', id]).catch(() => undefined);
    if (await answers(id)) return { url: `redis://127.0.0.1:${port}`, source: `${IMAGE} in Docker`, stop };
    await stop();
  } catch (error) {
    console.error(`Docker could not start ${IMAGE}: ${error.message}`);
  }
  return undefined;
}

async function answers(id) {
  for (let look = 0; look < 100; look++) {
    const { stdout } = await run('docker', ['exec', id, 'redis-cli', 'ping']).catch(() => ({ stdout: '' }));
    if (stdout.includes('PONG')) return true;
    await sleep(100);
  }
  return false;
}
