// with-redis --or-memory, as `npm start` runs it, on a machine without a Redis. Its Docker is a script of the test.
import { spawn } from 'node:child_process';
import { chmodSync, cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, expect, it } from '@jest/globals';
import { eventually } from '../../support/faults/wait.js';
import { folderWith } from '../folder.js';

const FOUND = 'console.log("found", process.env.REDIS_URL)';
/** Notes each call. Its `run` never ends by itself. */
const DOCKER = `#!/bin/sh
echo "$*" >> "$DOCKER_CALLS"
if [ "$1" = run ]; then exec /bin/sleep 60; fi
`;
let machine: string;
let calls: string;

beforeAll(() => {
  machine = folderWith({ 'bin/docker': DOCKER });
  chmodSync(join(machine, 'bin/docker'), 0o755);
  // The copy has no .cache beside it, so no Redis is found.
  cpSync(join(import.meta.dirname, '../../../scripts'), join(machine, 'scripts'), { recursive: true });
  calls = join(machine, 'calls');
});

beforeEach(() => writeFileSync(calls, ''));

const dockerCalls = () => readFileSync(calls, 'utf8').trim().split('\n');

function start(env: Record<string, string>) {
  const args = [join(machine, 'scripts/redis/with-redis.mjs'), '--quiet', '--or-memory', process.execPath];
  const child = spawn(process.execPath, [...args, '-e', FOUND], {
    env: { PATH: join(machine, 'bin'), DOCKER_CALLS: calls, ...env },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += String(chunk)));
  const ended = new Promise<{ code: number | null; output: string }>((resolve) => {
    child.once('close', (code) => resolve({ code, output }));
  });
  return { child, ended };
}

it('takes REDIS_URL=memory as it is', async () => {
  expect(await start({ REDIS_URL: 'memory' }).ended).toEqual({ code: 0, output: 'found memory\n' });
  expect(dockerCalls()).toEqual(['']);
});

it.each([
  ['REDIS_URL', 'localhost', 'REDIS_URL: expected a URL such as redis://'],
  ['REDIS_SERVER_BIN', '/none/there', 'REDIS_SERVER_BIN: expected an executable file, found "/none/there"'],
])('replaces no Redis that %s names, and names the problem', async (name, value, message) => {
  const { code, output } = await start({ [name]: value }).ended;
  expect([code, output]).toEqual([1, expect.stringContaining(message)]);
  expect(dockerCalls()).toEqual(['']);
});

it('says why no Redis was found, and leaves no container when interrupted', async () => {
  const { child, ended } = start({});
  await eventually(() => dockerCalls().some((call) => call.startsWith('run ')));
  child.kill('SIGTERM');
  const { code, output } = await ended;
  expect([code, output]).toEqual([143, expect.stringContaining('No Redis was found: install Redis 7.0 or later')]);
  const [info, run, remove, ...more] = dockerCalls();
  const name = / --name (\S+) /.exec(run!)?.[1];
  expect([info, remove, more]).toEqual(['info', `rm --force ${name}`, []]);
});
