import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { connect, testRedisUrl } from '../../support/redis/redis.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { patiently } from '../../support/faults/wait.js';

const root = new URL('../../../', import.meta.url);

describe('redis-server', () => {
  it('starts a server of its own, restarts it on the same port, and leaves nothing behind', async () => {
    const server = await startOwnRedis();
    const client = connect({ retryStrategy: () => 20, maxRetriesPerRequest: null }, server.url);
    client.on('error', () => {});
    const { pid } = server;
    expect(await client.set('a', '1')).toBe('OK');
    await server.kill();
    await server.restart();
    expect(await client.get('a')).toBeNull();
    expect(server.pid).not.toBe(pid);
    client.disconnect();
    await server.stop();
    await server.stop();
    expect(existsSync(server.dir)).toBe(false);
    expect(() => process.kill(server.pid, 0)).toThrow('ESRCH');
  });

  it('says why a server did not start', async () => {
    await expect(startOwnRedis({ args: ['--no-such-option', 'x'] })).rejects.toThrow(/no-such-option/i);
  });

  it('ends the server when its parent is killed', async () => {
    const code = `
      import { startRedisServer } from './scripts/redis/redis-server.mjs';
      const { pid, dir } = await startRedisServer({ quiet: true });
      console.log(JSON.stringify({ pid, dir }));
      setInterval(() => {}, 1000);`;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', code], { cwd: root });
    const { pid, dir } = await new Promise<{ pid: number; dir: string }>((resolve) => {
      parent.stdout.once('data', (line: Buffer) =>
        resolve(JSON.parse(String(line)) as { pid: number; dir: string }),
      );
    });
    parent.kill('SIGKILL');
    await patiently(() => !isRunning(pid) && !existsSync(dir));
  });
});

describe('with-redis', () => {
  it("gives the command REDIS_URL and ends with the command's code", async () => {
    const { code, output } = await withRedis(['-e', 'console.log(process.env.REDIS_URL); process.exit(7)'], {});
    expect(code).toBe(7);
    expect(output).toMatch(/^Redis: redis:\/\/127\.0\.0\.1:(\d+) \(.+\)\nredis:\/\/127\.0\.0\.1:\1\n$/);
  });

  it('uses the server of REDIS_URL and passes SIGTERM on', async () => {
    const child = 'process.on("SIGTERM", () => process.exit(9)); setInterval(() => {}, 1000); console.log("ready")';
    const { code, output } = await withRedis(['-e', child], { REDIS_URL: testRedisUrl() }, 'ready');
    expect(code).toBe(9);
    expect(output).toContain('(REDIS_URL)');
    expect(await connect().ping()).toBe('PONG');
  });
});

/** Runs Node under with-redis; sends SIGTERM once the output holds `terminateAt`. */
function withRedis(args: string[], env: NodeJS.ProcessEnv, terminateAt?: string) {
  const child = spawn(process.execPath, ['scripts/redis/with-redis.mjs', process.execPath, ...args], {
    cwd: root,
    env: { ...process.env, REDIS_URL: '', ...env },
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += String(chunk);
    if (terminateAt !== undefined && output.includes(terminateAt)) child.kill('SIGTERM');
  });
  return new Promise<{ code: number | null; output: string }>((resolve) => {
    child.once('close', (code) => resolve({ code, output }));
  });
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
