// A machine with nothing but Node: no Redis on the PATH, none fetched, no Docker.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { patiently } from '../../support/faults/wait.js';
import { buildShop, startProcess, type ShopProcess } from '../../support/browser/shop.js';

// Whole apps are started, on a machine that also runs the other tests.
jest.setTimeout(90_000);

const root = fileURLToPath(new URL('../../..', import.meta.url));
let machine: string;
let shop: ShopProcess;
let url: string;

/** Starts a program of a copy of the scripts, which has no `.cache` beside it. */
function start(...args: string[]): ShopProcess {
  const env = [`PATH=${join(machine, 'bin')}`, `TMPDIR=${machine}`, 'PORT=0', 'NO_COLOR=1'];
  return startProcess('env', ['-i', ...env, process.execPath, ...args], {});
}

beforeAll(async () => {
  buildShop();
  machine = mkdtempSync(join(tmpdir(), 'nothing-but-node-'));
  cpSync(join(root, 'scripts'), join(machine, 'scripts'), { recursive: true });
  execFileSync('mkdir', [join(machine, 'bin')]);
  symlinkSync(process.execPath, join(machine, 'bin/node'));
  const main = join(root, 'examples/shop/dist/main.js');
  const flags = ['--workers', '3', '--first-jobs', '--seeds', '--story'];
  shop = start(join(machine, 'scripts/redis/with-redis.mjs'), '--quiet', '--or-memory', 'node', main, ...flags);
  url = (await shop.prints(/The shop is open: (\S+)\/\?token=/))[1]!;
}, 240_000);

afterAll(() => rmSync(machine, { recursive: true, force: true }));

async function post(path: string, form: Record<string, string> = {}) {
  const answer = await fetch(url + path, { method: 'POST', body: new URLSearchParams(form) });
  return { status: answer.status, body: (await answer.json()) as { message: string; enqueued: string[] } };
}

it('npm start runs the shop in one process, and says why', async () => {
  expect(shop.output).toContain('There is no Redis, so one process does everything, in its memory.');
  const { body } = await post('/enqueue', { kind: 'email', recipient: 'ada' });
  await patiently(async () => {
    const job = (await (await fetch(`${url}/jobs/${body.enqueued[0]!}`)).json()) as { status: string };
    return job.status === 'completed';
  });
  expect((await fetch(`${url}/health`)).status).toBe(200);
});

it('its story is explained instead of played: a kill would end everything', async () => {
  const { status, body } = await post('/workers/crash');
  expect([status, body.message]).toEqual([409, expect.stringMatching(/^There is no Redis here, so one process/)]);
});

it('it stops like any shop, and warned of nothing', async () => {
  expect(await shop.kill('SIGTERM')).toBe(0);
  expect(shop.output).not.toMatch(/WARN|ERROR/);
});

it('the finder of a Redis ends with one line that names the package', async () => {
  const finder = start(join(machine, 'scripts/redis/redis-server.mjs'));
  expect(await finder.exited).toBe(1);
  expect(finder.output).toMatch(/^No Redis was found: install Redis 7\.0 or later \(.+\), or set REDIS_URL/m);
});
