// The real command line, as a process of its own.
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { EXIT } from '#cli/exit-codes.js';
import { freePort } from '../../scripts/redis-server.mjs';
import { rowsOf } from '../docs/table.js';
import { newQueue, startWorker } from '../support/worker/workers.js';
import { cli, cliOnTerminal } from './run-cli.js';

const HOSTILE = 'red\u001B[31m\nforged line\u202E';

// The first run compiles the sources.
beforeAll(() => cli(['--help']), 120_000);

describe('on a pipe', () => {
  it('enqueues a job, lists and shows it, and says why it does not run', async () => {
    const { name } = newQueue();
    const made = await cli(['enqueue', name, '{"to":"ada"}', '--id', 'a1', '--json']);
    expect(made).toMatchObject({ code: EXIT.ok, stdout: '{"id":"a1"}\n' });
    const listed = await cli(['list', name, 'pending', '--json']);
    expect(JSON.parse(listed.stdout)).toMatchObject([{ id: 'a1', payload: { to: 'ada' } }]);
    const shown = await cli(['show', name, 'a1']);
    expect(shown.stdout).toContain('not running  it is next');
    expect(shown.stdout).toContain('{"to":"ada"}');
  });

  it('finds the queues, and counts them without a colour', async () => {
    const queue = newQueue();
    await queue.enqueue({});
    const queues = await cli(['queues', '--json']);
    expect(JSON.parse(queues.stdout)).toContain(queue.name);
    const stats = await cli(['stats', queue.name]);
    expect(stats.stdout).toMatch(/queue\s+waiting\s+oldest/);
    expect(stats.stdout).not.toContain('\u001B');
  });

  it('lets no id and no error of a job steer the terminal', async () => {
    const queue = newQueue();
    await startWorker(queue, () => {
      throw new Error(HOSTILE);
    });
    const job = await queue.enqueue({}, { maxAttempts: 1 });
    await job.result().catch(() => undefined);
    for (const args of [
      ['list', queue.name, 'failed'],
      ['show', queue.name, job.id],
    ]) {
      const { stdout } = await cli(args);
      expect(stdout).toContain('\\x1b[31m\\nforged line\\u202e');
      expect(stdout).not.toContain('\u001B');
      expect(stdout).not.toContain('\u202E');
    }
  });

  it('redrives and discards dead letters; what destroys wants a yes', async () => {
    const queue = newQueue();
    await queue.enqueueMany([{ payload: 1 }, { payload: 2 }]);
    for (const job of await queue.claimMany(2)) await queue.fail(job, new Error('down'), { final: true });
    expect(await cli(['redrive', queue.name, '--all', '--error', 'up'])).toMatchObject({ stdout: '0\n' });
    const [first] = await queue.list('failed');
    expect(await cli(['redrive', queue.name, first!.id])).toMatchObject({ code: EXIT.ok, stdout: '1\n' });
    const asked = await cli(['discard', queue.name, '--all']);
    expect(asked).toMatchObject({ code: EXIT.usage, stderr: expect.stringContaining('--yes') });
    expect((await queue.stats()).failed).toBe(1);
    expect(await cli(['discard', queue.name, '--all', '--yes'])).toMatchObject({ stdout: '1\n' });
    expect((await queue.stats()).failed).toBe(0);
  });

  it('pauses, resumes, cancels, and sets limits', async () => {
    const queue = newQueue();
    const { id } = await queue.enqueue({});
    expect(await cli(['pause', queue.name])).toMatchObject({ stdout: 'paused\n' });
    expect((await queue.stats()).pausedAt).not.toBeNull();
    expect(await cli(['resume', queue.name])).toMatchObject({ stdout: 'resumed\n' });
    expect(await cli(['cancel', queue.name, id])).toMatchObject({ stdout: 'cancelled\n' });
    const limits = await cli(['limits', queue.name, '--max-running', '3', '--json']);
    expect(JSON.parse(limits.stdout)).toMatchObject({ maxRunning: 3, source: 'set' });
    expect(await queue.limits.get()).toMatchObject({ maxRunning: 3 });
  });

  it('says what is wrong, and how bad it is by its exit code', async () => {
    const queue = newQueue();
    await startWorker(queue, () => 1);
    await (await queue.enqueue({})).result();
    expect(await cli(['health', queue.name])).toMatchObject({
      code: EXIT.ok,
      stdout: expect.stringContaining('idle'),
    });
    await queue.pause();
    await queue.enqueue({});
    const paused = await cli(['health', queue.name, '--json']);
    expect(paused.code).toBe(EXIT.warning);
    expect(JSON.parse(paused.stdout)).toMatchObject({ severity: 'warning', queues: [{ state: 'paused' }] });
    await queue.resume();
  });

  it('lists workers and audits a queue', async () => {
    const queue = newQueue();
    await startWorker(queue, () => 1, { id: 'worker-7' });
    expect((await cli(['workers', queue.name])).stdout).toContain('worker-7');
    expect(await cli(['doctor', queue.name])).toMatchObject({
      code: EXIT.ok,
      stdout: expect.stringContaining('all well'),
    });
  });
});

describe('what goes wrong', () => {
  it.each<[string, string[], number, RegExp]>([
    ['a queue that is not there', ['stats', 'no-such-queue'], EXIT.notFound, /There is no queue "no-such-queue"/],
    ['an unknown command', ['dance'], EXIT.usage, /unknown command/],
    ['a payload that is no JSON', ['enqueue', 'cli-spec', '{'], EXIT.usage, /not JSON/],
    ['a password in the arguments', ['queues', '--redis', 'redis://:pw@localhost'], EXIT.usage, /REDIS_URL/],
  ])('%s', async (_, args, code, said) => {
    const ran = await cli(args);
    expect(ran).toMatchObject({ code, stderr: expect.stringMatching(said) });
    expect(ran.stderr).not.toMatch(/^\s+at /m);
  });

  it('Redis that is away', async () => {
    const ran = await cli(['queues'], { REDIS_URL: `redis://127.0.0.1:${await freePort()}` });
    expect(ran).toMatchObject({ code: EXIT.unreachable, stderr: expect.stringContaining('ECONNREFUSED') });
  });
});

it('shows a live view with colours on a terminal of 80 columns', async () => {
  const queue = newQueue();
  await queue.enqueue({});
  const { code, stdout } = await cliOnTerminal(['top', queue.name, '--count', '2', '--every', '100']);
  expect(code).toBe(EXIT.ok);
  expect(stdout).toContain('\u001B[H');
  expect(stdout).toContain('\u001B[32m●');
});

it('prints events as they happen', async () => {
  const queue = newQueue();
  const listening = cli(['tail', queue.name, '--count', '1', '--json']);
  await startWorker(queue, () => 1);
  const state = { isOver: false };
  const over = listening.finally(() => (state.isOver = true));
  while (!state.isOver) {
    const job = await queue.enqueue({});
    await job.result();
  }
  const { stdout } = await over;
  expect(JSON.parse(stdout)).toMatchObject({ queue: queue.name, status: 'completed' });
});

it('the docs name each exit code and each command', () => {
  const codes = rowsOf('exit codes', 'docs/cli.md').slice(2);
  expect(codes.map(([code]) => Number(code))).toEqual(Object.values(EXIT));
  const commands = ['read', 'change', 'live'].flatMap((kind) =>
    [...readFileSync(`src/cli/${kind}-commands.ts`, 'utf8').matchAll(/\.command\('([a-z]+)/g)].map(
      ([, name]) => name!,
    ),
  );
  const told = rowsOf('commands', 'docs/cli.md')
    .slice(2)
    .flatMap(([names]) => [...names!.matchAll(/`([a-z]+)/g)]);
  expect(told.map(([, name]) => name)).toEqual(expect.arrayContaining(commands));
});
