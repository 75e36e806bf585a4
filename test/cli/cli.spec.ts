// The command line: within this process, and where a process is the point, as one.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, jest } from '@jest/globals';
import { createClient } from '@libsql/client';
import { encrypted, JobQueue } from 'nest-job-queue/core';
import { fromLibsql } from 'nest-job-queue/outbox';
import { EXAMPLES } from '#cli/program.js';
import { EXIT } from '#cli/exit-codes.js';
import { DeadLetters } from '#queue/dead-letters/dead-letters.js';
import { freePort } from '../../scripts/redis/redis-server.mjs';
import { eventually, gate } from '../support/faults/wait.js';
import { rowsOf } from '../docs/table.js';
import { makeTables } from '../support/databases/outbox.js';
import { startOwnRedis } from '../support/redis/own-redis.js';
import { connect, uniqueQueueName } from '../support/redis/redis.js';
import { keysLike } from '../support/redis/redis-reads.js';
import { newQueue, startWorker } from '../support/worker/workers.js';
import { cli, cliOnScreen, cliOnTerminal, cliProcess, listedCommands } from './run-cli.js';

const HOSTILE = 'red\u001B[31m\nforged line\u202E';

describe('on a pipe', () => {
  it('enqueues a job, lists and shows it, and says why it does not run', async () => {
    const { name } = newQueue();
    const made = await cliProcess(['enqueue', name, '{"to":"ada"}', '--id', 'a1', '--json']);
    expect(made).toMatchObject({ code: EXIT.ok, stdout: '{"id":"a1"}\n' });
    const listed = await cli(['list', name, 'pending', '--json']);
    expect(JSON.parse(listed.stdout)).toMatchObject([{ id: 'a1', payload: { to: 'ada' } }]);
    const shown = await cli(['show', name, 'a1']);
    expect(shown.stdout).toContain('not running  no worker serves the queue now; it is next');
    expect(shown.stdout).toContain('{"to":"ada"}');
  });

  it('takes any text as an id', async () => {
    const queue = newQueue();
    const id = `/ada+x@example.com | "é" {1}`;
    const made = await cli(['enqueue', queue.name, '{"to":"ada"}', '--id', id, '--json']);
    expect(JSON.parse(made.stdout)).toEqual({ id });
    expect((await cli(['show', queue.name, id])).stdout).toContain(id);
    expect(await cli(['cancel', queue.name, id])).toMatchObject({ code: EXIT.ok });
    expect(await queue.get(id)).toMatchObject({ status: 'cancelled' });
  });

  it('leaves a queue with keys of a newer version alone, and names the remedy', async () => {
    const name = uniqueQueueName();
    const redis = connect();
    await redis.hset(`queue:${name}:sweep`, 'layout', 99);
    const { code, stderr } = await cli(['enqueue', name, '{}']);
    expect(code).toBe(EXIT.failed);
    expect(stderr).toContain('Upgrade nest-job-queue');
    expect(await redis.exists(`queue:${name}:pending`)).toBe(0);
  });

  it('lists the jobs that match', async () => {
    const queue = newQueue();
    await queue.enqueueMany(
      ['acme', 'zeta'].map((tenant) => ({ payload: 1, id: tenant, metadata: { tenant, note: 'a=b' } })),
    );
    const found = async (...filter: string[]) => {
      const { stdout } = await cli(['list', queue.name, 'pending', '--json', ...filter]);
      return (JSON.parse(stdout) as { id: string }[]).map(({ id }) => id);
    };
    expect(await found('--metadata', 'tenant=acme', '--metadata', 'note=a=b')).toEqual(['acme']);
    expect(await found('--name', 'other')).toEqual([]);
    expect(await found('--name', queue.name, '--newer-than', '3600000')).toEqual(['acme', 'zeta']);
    expect(await found('--older-than', '3600000')).toEqual([]);
    expect(await cli(['list', queue.name, 'pending', '--metadata', 'tenant'])).toMatchObject({ code: EXIT.usage });
  });

  it('hides the fields that workers hide, and encrypts where they encrypt', async () => {
    const { name } = newQueue();
    const key = { id: 'a', key: randomBytes(32) };
    const queue = new JobQueue(connect(), name, { codec: encrypted([key]), redact: ['iban'] });
    await startWorker(queue, () => undefined);
    const plain = new JobQueue(connect(), name);
    const [job] = await plain.enqueueMany([{ payload: { iban: 'DE02-1203', to: 'ada' }, delayMs: 60_000 }]);
    for (const args of [
      ['list', name, 'scheduled', '--json'],
      ['show', name, job!.id],
    ]) {
      const { stdout } = await cli(args);
      expect(stdout).toContain('"to":"ada"');
      expect(stdout).not.toContain('DE02-1203');
    }
    expect(await cli(['enqueue', name, '{}'])).toMatchObject({
      code: EXIT.failed,
      stderr: expect.stringContaining('is encrypted, and the payload is not'),
    });
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

  it('redrives and discards dead letters, and destroys them only after a yes', async () => {
    const queue = newQueue();
    await queue.enqueueMany([{ payload: 1 }, { payload: 2 }]);
    for (const job of await queue.claimMany(2)) await queue.fail(job, new Error('down'), { final: true });
    expect(await cli(['redrive', queue.name, '--all', '--error', 'up'])).toMatchObject({
      stdout: 'redriven: 0 dead letters\n',
    });
    expect(await cli(['redrive', queue.name, '--all', '--kind', 'up'])).toMatchObject({
      stdout: 'redriven: 0 dead letters\n',
    });
    expect((await cli(['list', queue.name, 'failed'])).stdout).toMatch(/\n.* failed (now|\d+ s ago) /);
    const [first] = await queue.list('failed');
    expect(await cli(['redrive', queue.name, first!.id])).toMatchObject({
      code: EXIT.ok,
      stdout: 'redriven: 1 dead letter\n',
    });
    const asked = await cli(['discard', queue.name, '--all']);
    expect(asked).toMatchObject({ code: EXIT.usage, stderr: expect.stringContaining('--yes') });
    expect((await queue.stats()).failed).toBe(1);
    expect(await cli(['discard', queue.name, '--all', '--yes'])).toMatchObject({
      stdout: 'discarded: 1 dead letter\n',
    });
    expect((await queue.stats()).failed).toBe(0);
  });

  it('lists a root cause of several queues as one row', async () => {
    const queues = [newQueue(), newQueue()];
    const address = `${queues[0]!.name}.test:443`;
    for (const queue of queues) {
      await queue.enqueue({});
      const cause = Object.assign(new Error(`connect ECONNREFUSED ${address}`), { code: 'ECONNREFUSED' });
      await queue.fail((await queue.claim())!, new Error(`${queue.name} failed`, { cause }), { final: true });
    }
    const rows = (await cli(['errors'])).stdout.split('\n').filter((line) => line.includes(address));
    expect(rows).toEqual([expect.stringMatching(/^[\da-f]{10} +2 +2 .*, .* connect ECONNREFUSED /)]);
    const json = JSON.parse((await cli(['errors', '--json'])).stdout) as { error: string; cause: string }[];
    const found = json.filter(({ error }) => error.includes(address));
    expect(found).toMatchObject([{ count: 2, queues: [{ count: 1 }, { count: 1 }] }]);
    const { cause } = found[0]!;
    const redriven = JSON.parse((await cli(['redrive', '--all', '--cause', cause, '--json'])).stdout) as object[];
    expect(redriven).toHaveLength(2);
    expect(redriven).toMatchObject([{ redriven: 1 }, { redriven: 1 }]);
    expect(await Promise.all(queues.map(async (queue) => (await queue.stats()).pending))).toEqual([1, 1]);
    expect(await cli(['redrive', '--all', '--cause', cause])).toMatchObject({ code: 3 });
    expect(await cli(['redrive', queues[0]!.name, '--all', '--cause', cause])).toMatchObject({ code: 2 });
  });

  it('lists the kinds of error, and discards one', async () => {
    const queue = newQueue();
    await queue.enqueueMany([1, 2, 3].map((payload) => ({ payload })));
    for (const [i, job] of (await queue.claimMany(3)).entries()) {
      await queue.fail(job, new Error(i < 2 ? `no user ${i}` : 'down'), { final: true });
    }
    const [first, second] = await queue.deadLetters.kinds();
    const { stdout } = await cli(['errors', queue.name]);
    expect(stdout).toMatch(new RegExp(`${first!.kind} +2 +2 .* new +no user [01]\\n`));
    expect(stdout).toMatch(new RegExp(`${second!.kind} +1 +1 .* new +down\\n`));
    const json = JSON.parse((await cli(['errors', queue.name, '--json'])).stdout) as object[];
    expect(json).toMatchObject([
      { kind: first!.kind, count: 2, isNew: true },
      { count: 1, error: 'down' },
    ]);
    const mark = (...words: string[]) => cli(['mark-error', queue.name, first!.kind, ...words]);
    expect(await mark('--known', '--note', 'ticket 7', '--by', 'ada')).toMatchObject({ stdout: 'marked\n' });
    expect((await cli(['errors', queue.name])).stdout).toMatch(/known, “ticket 7” \(ada\)/);
    expect(await mark('--quiet', '5')).toMatchObject({ code: 2 });
    expect(await mark()).toMatchObject({ code: 2, stderr: expect.stringContaining('--known, --quiet or --note') });
    expect(await mark('--forget')).toMatchObject({ stdout: 'forgotten\n' });
    expect(await cli(['discard', queue.name, '--all', '--kind', first!.kind, '--yes'])).toMatchObject({
      stdout: 'discarded: 2 dead letters\n',
    });
    expect(await cli(['errors', queue.name])).toMatchObject({ stdout: expect.stringContaining('down') });
    await queue.deadLetters.discardAll();
    expect(await cli(['errors', queue.name])).toMatchObject({ stdout: 'No dead letters.\n' });
  });

  it.each([
    ['90s', 90_000],
    ['90000', 90_000],
    ['15m', 900_000],
    ['5000ms', 5_000],
  ])('takes a delay of %s', async (text, ms) => {
    const queue = newQueue();
    expect(await cli(['enqueue', queue.name, '1', '--id', 'later', '--delay', text])).toMatchObject({
      code: EXIT.ok,
    });
    const { dueAt, enqueuedAt } = (await queue.get('later'))!;
    expect(dueAt!.getTime() - enqueuedAt.getTime()).toBe(ms);
  });

  it('pauses, resumes, cancels, and sets limits', async () => {
    const queue = newQueue();
    const { id } = await queue.enqueue({});
    expect(await cli(['pause', queue.name])).toMatchObject({ stdout: 'paused\n' });
    expect(await queue.stats()).toMatchObject({ pausedAt: expect.any(Date), pausedBy: userInfo().username });
    expect(await cli(['pause', queue.name])).toMatchObject({ stdout: 'was paused already\n' });
    await cli(['resume', queue.name, '--yes']);
    await cli(['resume', queue.name, '--yes']);
    expect(await cli(['pause', queue.name, '--for', '2h'])).toMatchObject({ stdout: 'paused for 2 h\n' });
    const { pausedUntil } = await queue.stats();
    expect(await cli(['pause', queue.name])).toMatchObject({
      stdout: `was paused already, until ${pausedUntil!.toISOString()}\n`,
    });
    expect((await cli(['health', queue.name])).stdout).toMatch(
      /, for another 2 h: .*\n.*\n.*it resumes by itself at /,
    );
    for (const wrong of ['2 hours', '15', '0s']) {
      expect(await cli(['pause', queue.name, '--for', wrong])).toMatchObject({ code: EXIT.usage });
    }
    const ofGroup = ['pause', queue.name, '--for', '2h', '--group', 'a'];
    expect(await cli(ofGroup)).toMatchObject({ stdout: 'paused for 2 h\n' });
    expect(await cli(ofGroup)).toMatchObject({ stdout: 'paused for 2 h\n' }); // its end is later now
    expect((await cli(['pause', queue.name, '--group', 'a'])).stdout).toMatch(/^was paused already, until 20/);
    await cli(['resume', queue.name, '--yes']);
    await cli(['pause', queue.name, '--by', 'ada', '--reason', 'red\u001B[31m']);
    const { stdout } = await cli(['health', queue.name]);
    expect(stdout).toContain('paused by ada for');
    expect(stdout).toContain('(red\\x1b[31m): 1 waiting');
    expect(await cli(['resume', queue.name, '--yes'])).toMatchObject({ stdout: 'resumed\n' });
    expect(await cli(['cancel', queue.name, id])).toMatchObject({ stdout: 'cancelled\n' });
    const limits = await cli(['limits', queue.name, '--max-running', '3', '--json']);
    expect(JSON.parse(limits.stdout)).toMatchObject({ maxRunning: 3, source: 'set' });
    expect(await queue.limits.get()).toMatchObject({ maxRunning: 3 });
  });

  it('prints the audit trail, and continues with it', async () => {
    const queue = newQueue({ auditTrail: {} });
    await queue.enqueue({ secret: 1 }, { name: HOSTILE });
    expect(await cli(['enqueue', queue.name, '{}', '--id', 'by-hand'])).toMatchObject({ code: EXIT.ok });
    expect(await cli(['cancel', queue.name, 'by-hand'])).toMatchObject({ stdout: 'cancelled\n' });
    const { stdout, code } = await cli(['audit', queue.name]);
    expect({ code, lines: stdout.trim().split('\n').length }).toEqual({ code: EXIT.ok, lines: 3 });
    expect(stdout).toMatch(/cancel +pending → cancelled/);
    expect(stdout).not.toContain('\u001B');
    const following = cli(['audit', queue.name, '--limit', '1', '--follow', '--count', '5', '--json']);
    const state = { isOver: false };
    const over = following.finally(() => (state.isOver = true));
    await eventually(async () => (await queue.enqueue(2)) && state.isOver, { timeoutMs: 60_000, everyMs: 50 });
    const ids = (await over).stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { entryId: string }).entryId);
    expect(ids).toHaveLength(5);
    expect(ids).toEqual([...new Set(ids)].toSorted());
    const without = newQueue();
    await without.enqueue(1);
    expect(await cli(['audit', without.name])).toMatchObject({
      code: EXIT.notFound,
      stderr: expect.stringContaining('has no audit trail'),
    });
  }, 90_000); // a process for each command

  it('names the problem, and returns its severity as exit code', async () => {
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

  it('says that Redis takes no jobs before it speaks of queues', async () => {
    const server = await startOwnRedis();
    const redis = connect({}, server.url);
    const queue = new JobQueue(redis, 'email');
    await queue.enqueue(1);
    await redis.config('SET', 'maxmemory', '500kb');
    const { code, stdout } = await cli(['health'], { REDIS_URL: server.url });
    expect(code).toBe(EXIT.critical);
    expect(stdout).toMatch(/^\S+ Redis is full: .* and it refuses enqueues\n +next: +raise maxmemory/);
    expect(stdout).toContain('email');
    queue.close();
  });

  it('looks at a queue again and again', async () => {
    const queue = newQueue();
    await queue.enqueue(1);
    const { code, stdout } = await cli(['stats', queue.name, '--watch', '100', '--count', '3', '--json']);
    expect(code).toBe(EXIT.ok);
    const seen = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { queues: Record<string, { pending: number }> });
    expect(seen.map((stats) => stats.queues[queue.name]!.pending)).toEqual([1, 1, 1]);
  });

  it('prints its version, and no stack with an error of its own', async () => {
    expect(await cliProcess(['--version'])).toMatchObject({
      code: EXIT.ok,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    });
    const ran = await cli(['stats', 'no-such-queue', '--verbose']);
    expect(ran).toMatchObject({ code: EXIT.notFound, stderr: expect.not.stringMatching(/^\s+at /m) });
  });

  it('takes the word after --watch for the queue, unless it is an interval', async () => {
    const queue = newQueue();
    await queue.enqueue(1);
    const { code, stdout } = await cli(['stats', '--watch', queue.name, '--count', '1', '--json']);
    expect(code).toBe(EXIT.ok);
    expect(JSON.parse(stdout)).toMatchObject({ queues: { [queue.name]: { pending: 1 } } });
    expect(await cli(['stats', queue.name, '--watch', 'often'])).toMatchObject({
      code: EXIT.usage,
      stderr: expect.stringContaining(
        '--watch: expected a whole number of ms, or a time such as 90s or 15m, found "often"',
      ),
    });
  });

  it('measures Redis in a queue of its own, of which nothing is left', async () => {
    const asked = await cli(['bench', '--jobs', '300']);
    expect(asked).toMatchObject({ code: EXIT.usage, stderr: expect.stringContaining('put load on Redis at') });
    const measured = await cli(['bench', '--jobs', '300', '--yes', '--json']);
    expect(measured).toMatchObject({ code: EXIT.ok, stderr: '' });
    const { jobs, processedPerSecond, pickUpMs } = JSON.parse(measured.stdout) as Record<string, never>;
    expect(jobs).toBe(300);
    expect(processedPerSecond).toBeGreaterThan(0);
    expect(pickUpMs).toMatchObject({ p50: expect.any(Number) });
    const redis = connect();
    for (const key of await keysLike(redis, 'queue:bench-*')) {
      expect([key, await redis.pttl(key)]).toEqual([expect.stringContaining('batch:'), expect.any(Number)]);
      expect(await redis.pttl(key)).not.toBe(-1);
    }
  });

  it.each(['bash', 'zsh', 'fish'])('completes commands and options in %s', async (shell) => {
    const { code, stdout } = await cli(['completion', shell]);
    expect(code).toBe(EXIT.ok);
    for (const word of ['redrive', 'discard', 'bench', 'sentinel', 'max-running']) expect(stdout).toContain(word);
  });

  it('judges the outbox beside the queues, where health is asked to', async () => {
    const queue = newQueue();
    await queue.enqueue({});
    const folder = mkdtempSync(join(tmpdir(), 'health-'));
    const url = `file:${join(folder, 'app.db')}`;
    writeFileSync(join(folder, 'app.db'), '');
    const health = (...args: string[]) => cli(['health', queue.name, ...args], { DATABASE_URL: url });
    const unread = await health('--outbox');
    expect(unread).toMatchObject({ code: EXIT.critical });
    expect(unread.stdout).toMatch(/the outbox cannot be read: .*job_outbox/);
    const client = createClient({ url });
    await makeTables(fromLibsql(client));
    client.close();
    expect((await health('--outbox')).stdout).toMatch(/the outbox flows: 0 rows\n[^]*(idle|flowing|waiting)/);
    expect(JSON.parse((await health('--outbox', '--json')).stdout)).toMatchObject({ outbox: { severity: 'ok' } });
    expect((await health()).stdout).not.toContain('outbox');
    expect(await health('--database', url)).toMatchObject({ code: EXIT.usage });
    rmSync(folder, { recursive: true });
  });

  it('lists workers and audits a queue', async () => {
    const queue = newQueue();
    await startWorker(queue, () => 1, { id: 'worker-7' });
    expect((await cli(['workers', queue.name])).stdout).toContain('worker-7');
    const at = (await queue.stats()).at.getTime();
    await connect().zadd(`queue:${queue.name}:workers`, at - 40_000, 'web-3:1:x');
    expect((await cli(['workers', queue.name])).stdout).toMatch(/web-3:1:x .* silent, holds 0/);
    expect(await cli(['doctor', queue.name])).toMatchObject({
      code: EXIT.ok,
      stdout: expect.stringContaining('all well'),
    });
  });
});

describe('a failing command', () => {
  it.each<[string, string[], number, RegExp]>([
    ['a queue that is not there', ['stats', 'no-such-queue'], EXIT.notFound, /There is no queue "no-such-queue"/],
    [
      'events of a queue that is not there',
      ['tail', 'no-such-queue'],
      EXIT.notFound,
      /There is no queue "no-such-queue"/,
    ],
    ['an unknown command', ['dance'], EXIT.usage, /There is no command dance/],
    ['a payload that is no JSON', ['enqueue', 'cli-spec', '{'], EXIT.usage, /not JSON/],
    ['a password in the arguments', ['queues', '--redis', 'redis://:pw@localhost'], EXIT.usage, /REDIS_URL/],
  ])('%s', async (_, args, code, said) => {
    const ran = await cli(args);
    expect(ran).toMatchObject({ code, stderr: expect.stringMatching(said) });
    expect(ran.stderr).not.toMatch(/^\s+at /m);
  });

  it('a key of another type, of which only --verbose shows a stack', async () => {
    const [redis, name] = [connect(), uniqueQueueName()];
    await redis.hset(`queue:${name}:stats`, 'enqueued_total', 1);
    await redis.set(`queue:${name}:audit`, 'text');
    const ran = await cli(['audit', name]);
    expect(ran).toMatchObject({
      code: EXIT.failed,
      stderr: expect.stringMatching(/expected stream, found string/),
    });
    expect(ran.stderr).not.toMatch(/^\s+at /m);
    expect((await cli(['audit', name, '--verbose'])).stderr).toMatch(/^\s+at /m);
    await redis.del(`queue:${name}:stats`, `queue:${name}:audit`);
  });

  it('Redis that is away', async () => {
    const ran = await cliProcess(['queues'], { REDIS_URL: `redis://127.0.0.1:${await freePort()}` });
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

it('draws a bar for long work on a terminal', async () => {
  const queue = newQueue();
  await queue.enqueueMany(Array.from({ length: 101 }, (_, payload) => ({ payload })));
  const jobs = await queue.claimMany(101);
  await Promise.all(jobs.map((job) => queue.fail(job, new Error('down'), { final: true })));
  const isDrawn = gate();
  const { redriveAll } = DeadLetters.prototype;
  const slow = jest.spyOn(DeadLetters.prototype, 'redriveAll').mockImplementation(async function (
    this: DeadLetters,
    ...given
  ) {
    await isDrawn.promise;
    return redriveAll.apply(this, given);
  });
  const command = cliOnScreen(['redrive', queue.name, '--all']);
  await command.said(/This will send back to work 101 dead letters of .*\[y\/N\]/s);
  command.type('y\n');
  await command.said(/▯{24} redriven 0 of 101/);
  isDrawn.open();
  const { code, stdout } = await command.over;
  slow.mockRestore();
  expect(code).toBe(EXIT.ok);
  expect(stdout).toContain('redriven: 101 dead letters');
});

it('prints events as they happen', async () => {
  const queue = newQueue();
  await startWorker(queue, () => 1);
  const listening = cli(['tail', queue.name, '--count', '1', '--json']);
  const state = { isOver: false };
  const over = listening.finally(() => (state.isOver = true));
  while (!state.isOver) {
    const job = await queue.enqueue({});
    await job.result();
  }
  const { stdout } = await over;
  expect(JSON.parse(stdout)).toMatchObject({ queue: queue.name, status: 'completed' });
});

it('the help lists the commands in the order of use, each with an example', async () => {
  expect(await listedCommands()).toEqual([...Object.keys(EXAMPLES), 'help']);
  expect((await cli(['redrive', '--help'])).stdout).toContain('\nExample:\n  nest-job-queue redrive email --all ');
});

it('the docs name each exit code and each command', async () => {
  const codes = rowsOf('exit codes', 'docs/cli.md').slice(2);
  expect(codes.map(([code]) => Number(code))).toEqual(Object.values(EXIT));
  const commands = (await listedCommands()).filter((name) => name !== 'help');
  expect(commands).toContain('run-again');
  const told = rowsOf('commands', 'docs/cli.md')
    .slice(2)
    .flatMap(([names]) => [...names!.matchAll(/`([a-z-]+)/g)]);
  expect(told.map(([, name]) => name)).toEqual(expect.arrayContaining(commands));
});
