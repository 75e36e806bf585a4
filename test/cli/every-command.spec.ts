// Every command beside a queue whose every part steers a terminal, or is broken: as text and as JSON.
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { JobQueue } from '#queue/job-queue.js';
import { EXIT } from '#cli/exit-codes.js';
import { eventually } from '../support/faults/wait.js';
import { connect } from '../support/redis/redis.js';
import { leaveBroken, newQueue } from '../support/worker/workers.js';
import { cli, listedCommands, type Ran } from './run-cli.js';

const HOSTILE = 'red\u001B[31m\nforged \u009B31m \u202E \u007F \u2028 end';
/** Whatever a terminal obeys; the line breaks are those of the command line. */
const STEERS = /[^\P{Cc}\n]|[\u202A-\u202E\u2028\u2029\u2066-\u2069]/u;
const NO_TIME = '99999999999999999999';

const FAILED = 'failed-1';
let queue: JobQueue;
let redis: Redis;
let key: string;

/** The arguments of each command. */
const COMMANDS: Record<string, (name: string) => string[]> = {
  queues: () => ['queues'],
  list: (name) => ['list', name, 'pending'],
  show: (name) => ['show', name, FAILED],
  stream: (name) => ['stream', name, FAILED],
  schedules: (name) => ['schedules', name],
  topics: (name) => ['topics', name],
  workers: (name) => ['workers', name],
  health: (name) => ['health', name],
  enqueue: (name) => ['enqueue', name, '{}', '--name', HOSTILE],
  cancel: (name) => ['cancel', name, 'waiting-1'],
  promote: (name) => ['promote', name, 'delayed-1'],
  signal: (name) => ['signal', name, 'delayed-1', 'approved', '{"by":"ada"}'],
  'run-again': (name) => ['run-again', name, 'cancelled-1'],
  redrive: (name) => ['redrive', name, FAILED],
  errors: (name) => ['errors', name],
  'mark-error': (name) => [
    'mark-error',
    name,
    HOSTILE.replaceAll(/\s/g, '').slice(0, 20) || 'a',
    '--note',
    HOSTILE,
  ],
  discard: (name) => ['discard', name, '--all', '--error', 'none', '--yes'],
  pause: (name) => ['pause', name, '--group', HOSTILE],
  resume: (name) => ['resume', name, '--group', HOSTILE, '--yes'],
  doctor: (name) => ['doctor', name],
  limits: (name) => ['limits', name, '--max-running', '3'],
  profile: (name) => ['profile', name, '--last', '--out', PROFILE],
  'shared-limit': (name) => ['shared-limit', name, '--pause', '--reason', HOSTILE],
  groups: (name) => ['groups', name],
  batches: (name) => ['batches', name],
  batch: (name) => ['batch', name, 'pages'],
  tail: (name) => ['tail', name, '--count', '1'],
  stats: (name) => ['stats', name],
  top: (name) => ['top', name, '--count', '1'],
  actions: (name) => ['actions', name],
  audit: (name) => ['audit', name],
  migrate: (name) => ['migrate', 'bullmq', name, '--dry-run'],
  bench: () => ['bench', '--jobs', '20', '--yes'],
};

const PROFILE = join(tmpdir(), `${process.pid}.cpuprofile`);
afterAll(() => rmSync(PROFILE, { force: true }));

beforeAll(() => {
  redis = connect();
});

/** Makes a queue with hostile texts and invalid times everywhere. */
async function plant(): Promise<void> {
  queue = newQueue({ auditTrail: {} });
  leaveBroken(queue);
  key = `queue:${queue.name}:`;
  const batch = queue.batch({ id: 'pages', then: { name: queue.name } });
  await batch.addMany(queue.name, [{ payload: { text: HOSTILE }, id: FAILED, metadata: { note: HOSTILE } }]);
  const [job] = await queue.claimMany(1);
  const chunks = [{ kind: 'j' as const, json: JSON.stringify({ text: HOSTILE }) as never }];
  await queue.exec((calls) => calls.streams.write({ writes: [{ claim: job!, first: 1, chunks }] }));
  const content = gzipSync('{}').toString('base64');
  const measured = {
    id: HOSTILE,
    state: 'done',
    kind: 'cpu',
    worker: HOSTILE,
    job: HOSTILE,
    attempt: NO_TIME,
    content,
  };
  await redis.hset(`${key}profile`, { ...measured, ended_at_ms: NO_TIME });
  await queue.fail(job!, Object.assign(new Error(HOSTILE), { name: HOSTILE }), { final: true });
  await queue.enqueue({ text: HOSTILE }, { id: 'waiting-1', name: HOSTILE, group: HOSTILE });
  await queue.enqueue({ text: HOSTILE }, { id: 'delayed-1', delayMs: 60_000 });
  await queue.groups.pause(HOSTILE, { by: HOSTILE, reason: HOSTILE });
  await queue.pause({ by: HOSTILE, reason: HOSTILE });
  await queue.enqueue({ text: HOSTILE }, { id: 'cancelled-1', name: HOSTILE });
  await queue.cancel('cancelled-1');
  await redis.lpush(`${key}pending`, HOSTILE);
  await redis.hset(`${key}job:${HOSTILE}`, 'payload', '{}', 'status', 'pending', 'name', HOSTILE);
  await redis.hset(`bull:${queue.name}:${HOSTILE}`, {
    name: HOSTILE,
    data: '{}',
    opts: `{"${JSON.stringify(HOSTILE).slice(1, -1)}":1}`,
  });
  await redis.lpush(`bull:${queue.name}:wait`, HOSTILE, HOSTILE.slice(1));
  await queue.schedules.upsert('nightly', { cron: '0 3 * * *' });
  await queue.schedules.pause('nightly');
  const recurrence = JSON.stringify({ cron: HOSTILE, endAt: 'no date' });
  await redis.hset(`${key}schedule:nightly`, 'recurrence', recurrence, 'paused_at_ms', NO_TIME);
  await redis.zadd(`${key}workers`, Date.now() + 60_000, HOSTILE);
  const details = JSON.stringify({ host: HOSTILE, pid: 1, version: HOSTILE, slots: 1 });
  await redis.hset(`${key}worker_details`, HOSTILE, `${NO_TIME} ${details}`);
  const fields = ['id', 'name', 'transition', 'from', 'to', 'worker', 'error'].flatMap((field) => [field, HOSTILE]);
  await redis.xadd(`${key}audit`, '*', ...fields, 'attempt', '1', 'at', 'no time');
  const log = JSON.stringify({ at: 'no time', message: HOSTILE });
  const attempt = {
    attempt: 1,
    startedAt: 'no time',
    endedAt: NO_TIME,
    worker: HOSTILE,
    outcome: HOSTILE,
    error: null,
  };
  for (const [id, times] of [
    [FAILED, ['last_error_at_ms', 'failed_at_ms']],
    ['waiting-1', ['enqueued_at_ms', 'due_at_ms', 'cancel_requested_at_ms', 'expires_at_ms']],
  ] as const) {
    const broken = times.flatMap((field) => [field, 'no time']);
    await redis.hset(
      `${key}job:${id}`,
      ...broken,
      'log',
      log,
      'progress',
      JSON.stringify(HOSTILE),
      'worker',
      HOSTILE,
    );
    await redis.hset(`${key}job:${id}`, 'name', HOSTILE, 'attempt_log', JSON.stringify(attempt));
  }
}

/** Runs one command; while `tail` listens, something happens. */
async function run(args: string[]): Promise<Ran> {
  const ran = cli(args);
  if (args[0] !== 'tail') return ran;
  const state = { isOver: false };
  const over = ran.finally(() => (state.isOver = true));
  const event = { id: HOSTILE, status: HOSTILE, name: HOSTILE, error: HOSTILE, progress: HOSTILE };
  await eventually(async () => (await redis.publish(`${key}events`, JSON.stringify(event))) >= 0 && state.isOver, {
    timeoutMs: 60_000,
    everyMs: 50,
  });
  return over;
}

describe.each(Object.keys(COMMANDS))('%s', (command) => {
  it.each([[[]], [['--json']]])('steers no terminal, and shows broken records, with %j', async (options) => {
    await plant();
    const { code, stdout, stderr } = await run([...COMMANDS[command]!(queue.name), ...options]);
    expect({ stderr, code }).toMatchObject({
      code: ['health', 'doctor'].includes(command) ? EXIT.warning : EXIT.ok,
    });
    expect(stdout + stderr).not.toMatch(STEERS);
    expect(stdout).not.toMatch(/^forged/m);
    if (options.length > 0) expect(() => JSON.parse(stdout) as unknown).not.toThrow();
    else expect(stdout).not.toMatch(/\b(?:Invalid|NaN)/); // inside of a random id it means nothing
  });
});

it('leaves out keys that can be those of no queue', async () => {
  await plant();
  const foreign = `queue:${HOSTILE}:stats`;
  await redis.hset(foreign, 'enqueued_total', '1');
  const stats = await cli(['stats', '--json']);
  expect(stats).toMatchObject({ code: EXIT.ok, stderr: '' });
  expect(Object.keys((JSON.parse(stats.stdout) as { queues: object }).queues)).toContain(queue.name);
  await redis.del(foreign);
}, 60_000);

it('has every command in its table', async () => {
  const commands = await listedCommands();
  expect(Object.keys(COMMANDS).toSorted()).toEqual(
    commands.filter((name) => !['help', 'completion', 'outbox', 'dashboard', 'mcp'].includes(name)).toSorted(),
  );
});

it('keeps the value of an escaped text in JSON', async () => {
  await plant();
  const { stdout } = await cli(['show', queue.name, FAILED, '--json']);
  expect(JSON.parse(stdout)).toMatchObject({ payload: { text: HOSTILE }, name: HOSTILE, lastError: HOSTILE });
});
