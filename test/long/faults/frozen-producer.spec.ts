// A host of functions freezes a process between two calls. A minute later the next call enqueues over the same connection. Where
// the server has closed it, there is a new one. The caller sees no error, and no job is lost.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';
import { JobQueue } from '#queue/job-queue.js';
import { sleep } from '../../support/faults/wait.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect } from '../../support/redis/redis.js';

const FROZEN_MS = 60_000;
const program = fileURLToPath(new URL('frozen-producer-process.ts', import.meta.url));
const root = fileURLToPath(new URL('../../..', import.meta.url));

it.each([
  ['keeps its connection', false],
  ['closes it meanwhile', true],
])(
  'enqueues again after a minute in which it was frozen, where the server %s',
  async (_, closes) => {
    const server = await startOwnRedis();
    const admin = connect({}, server.url);
    const producer = spawn(process.execPath, ['--import', './tools/chaos/register.mjs', program, server.url], {
      cwd: root,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const lines = createInterface({ input: producer.stdout })[Symbol.asyncIterator]();
    const call = async () => {
      producer.stdin.write('call\n');
      return (await lines.next()).value as string;
    };
    const connections = async () => {
      const list = (await admin.call('CLIENT', 'LIST')) as string;
      return list.split('\n').filter((line) => line.includes('name=producer')).length;
    };
    expect((await lines.next()).value).toBe('ready');
    expect(await call()).toBe('1');
    expect(await connections()).toBe(1);

    producer.kill('SIGSTOP');
    if (closes) await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await sleep(FROZEN_MS);
    producer.kill('SIGCONT');

    expect(await call()).toBe('2');
    expect(await call()).toBe('3');
    expect(await connections()).toBe(1);
    expect(await new JobQueue(admin, 'mail').stats()).toMatchObject({ pending: 3 });
    producer.stdin.end();
    await once(producer, 'exit');
  },
  150_000,
);
