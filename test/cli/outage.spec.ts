// Redis that freezes or dies under a command: it ends with words and exit code 4, and hangs never.
import { beforeAll, describe, expect, it } from '@jest/globals';
import { JobQueue } from 'nest-job-queue/core';
import { EXIT } from '#cli/exit-codes.js';
import { eventually } from '../support/faults/wait.js';
import { type OwnRedis, startOwnRedis } from '../support/redis/own-redis.js';
import { connect } from '../support/redis/redis.js';
import { cli, cliHere, cliRunning, type Running } from './run-cli.js';

/** Well beyond the five seconds that a server may keep silent; the rest is for a busy machine. */
const SOON_MS = 30_000;

async function serve(): Promise<{ server: OwnRedis; env: { REDIS_URL: string }; queue: JobQueue }> {
  const server = await startOwnRedis();
  const client = connect({ retryStrategy: () => null }, server.url);
  client.on('error', () => undefined);
  const queue = new JobQueue(client, 'email', { auditTrail: {} });
  await queue.enqueue({});
  return { server, env: { REDIS_URL: server.url }, queue };
}

type Command = Pick<Running, 'over'>;

async function endsUnreachable(args: string[], command: Command, said: RegExp): Promise<void> {
  const started = performance.now();
  const { code, stderr } = await command.over;
  expect({ args, code, stderr }).toEqual({ args, code: EXIT.unreachable, stderr: expect.stringMatching(said) });
  expect(stderr).not.toMatch(/^\s+at /m);
  expect(performance.now() - started).toBeLessThan(SOON_MS);
}

/** Starts commands on one server within this process. Resolves once each has said its word. */
async function begun(rows: [string[], string][]): Promise<{ server: OwnRedis; commands: [string[], Command][] }> {
  const { server, env } = await serve();
  const commands = rows.map(([args, first]) => ({ args, first, command: cliHere(args, env) }));
  await Promise.all(commands.map(({ first, command }) => command.said(first)));
  return { server, commands: commands.map(({ args, command }) => [args, command]) };
}

describe('Redis that is frozen or silent', () => {
  // All at once, because each command waits five seconds.
  const cases: [string, () => Promise<void>][] = [
    [
      'at the start of a command',
      async () => {
        const { server, env } = await serve();
        await server.kill('SIGSTOP');
        const said = /cannot be reached \(no answer within 5 s\)\. It takes connections and is silent/;
        const here = [['queues'], ['stats'], ['tail', 'email']].map((args) =>
          endsUnreachable(args, cliHere(args, env), said),
        );
        // A process that keeps its connection would never end.
        const pause = ['pause', 'email'];
        await Promise.all([...here, endsUnreachable(pause, cliRunning(pause, env), said)]);
      },
    ],
    [
      'under a command',
      async () => {
        const { server, commands } = await begun([
          [['top', '--every', '100', '--json'], '"pending":1'],
          [['top', 'email', '--every', '100'], 'email'],
          [['stats', '--watch', '100'], 'email'],
          [['tail', 'email'], 'Listening'],
          [['audit', 'email', '--follow'], 'enqueue'],
        ]);
        await server.kill('SIGSTOP');
        const said = /gave no answer|no answer within/;
        await Promise.all(commands.map(([args, command]) => endsUnreachable(args, command, said)));
      },
    ],
    [
      'for TLS, which it does not speak',
      async () => {
        const { env } = await serve();
        const tls = { REDIS_URL: env.REDIS_URL.replace('redis:', 'rediss:') };
        await endsUnreachable(['health'], cliHere(['health'], tls), /whether this port speaks TLS/);
      },
    ],
    [
      'under a command that ends by itself',
      async () => {
        const { server, env } = await serve();
        const args = ['health', 'email'];
        const command = cliRunning(args, env);
        await connected(server);
        await server.kill('SIGSTOP');
        await endsUnreachable(args, command, /gave no answer|no answer within/);
      },
    ],
  ];
  const outcomes = new Map<string, PromiseSettledResult<void>>();

  beforeAll(async () => {
    const settled = await Promise.allSettled(cases.map(([, run]) => run()));
    cases.forEach(([name], i) => outcomes.set(name, settled[i]!));
  });

  it.each(cases.map(([name]) => name))('%s', (name) => {
    expect(outcomes.get(name)).toEqual({ status: 'fulfilled', value: undefined });
  });

  it('does not hold up Ctrl+C', async () => {
    const { server, env } = await serve();
    const command = cliRunning(['top', '--every', '100'], env);
    await command.said('email');
    await server.kill('SIGSTOP');
    command.signal('SIGINT');
    expect(await command.over).toMatchObject({ code: EXIT.ok, stderr: '' });
  });
});

describe('Redis that dies', () => {
  it('under a command', async () => {
    const { server, commands } = await begun([
      [['top', '--every', '100'], 'email'],
      [['stats', '--watch', '100', '--json'], '"pending":1'],
      [['tail', 'email'], 'Listening'],
      [['audit', 'email', '--follow'], 'enqueue'],
    ]);
    await server.kill('SIGKILL');
    await Promise.all(commands.map(([args, command]) => endsUnreachable(args, command, /was cut/)));
  });

  it('under the doctor', async () => {
    const { server, env, queue } = await serve();
    for (let i = 0; i < 20; i++) {
      await queue.enqueueMany(Array.from({ length: 500 }, (_, payload) => ({ payload })));
    }
    const command = cliRunning(['doctor', 'email'], env);
    await connected(server);
    await server.kill('SIGKILL');
    await endsUnreachable(['doctor'], command, /was cut|cannot be reached/);
  });
});

it('tail continues after its subscriber alone was cut', async () => {
  const { server, env, queue } = await serve();
  const admin = connect({}, server.url);
  const command = cliHere(['tail', 'email', '--count', '1'], env);
  await command.said('Listening');
  await admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
  const state = { isOver: false };
  const over = command.over.finally(() => (state.isOver = true));
  const event = JSON.stringify({ id: '1', status: 'completed' });
  await eventually(async () => (await admin.publish('queue:email:events', event)) >= 0 && state.isOver, {
    timeoutMs: SOON_MS,
    everyMs: 50,
  });
  expect(await over).toMatchObject({ code: EXIT.ok, stdout: expect.stringContaining('completed') });
  queue.close();
});

it.each<[string[], number, string]>([
  [['stats', 'no-such-queue'], EXIT.notFound, 'NOT_FOUND'],
  [['dance'], EXIT.usage, 'USAGE'],
  [['list', 'email', 'asleep', '--redis', 'redis://:pw@localhost'], EXIT.usage, 'USAGE'],
])('with --json an error of %j is JSON', async (args, code, word) => {
  const ran = await cli([...args, '--json']);
  expect(ran).toMatchObject({ code, stdout: '' });
  expect(JSON.parse(ran.stderr)).toEqual({ error: { code: word, message: expect.any(String) } });
});

/** Waits until the command is there. */
async function connected(server: OwnRedis): Promise<void> {
  const admin = connect({ retryStrategy: () => null }, server.url);
  admin.on('error', () => undefined);
  await eventually(async () => String(await admin.client('LIST')).includes('name=nest-job-queue'), { everyMs: 1 });
}
