// What an operator does with one job or one schedule, and what is asked before something is deleted.
import { describe, expect, it, jest } from '@jest/globals';
import { EXIT } from '#cli/exit-codes.js';
import { eventually } from '../support/faults/wait.js';
import { connect, testRedisUrl } from '../support/redis/redis.js';
import { keysLike } from '../support/redis/redis-reads.js';
import { newQueue, startWorker } from '../support/worker/workers.js';
import { cli, cliOnTerminal, cliRunning } from './run-cli.js';

jest.setTimeout(90_000); // a measurement that is interrupted is a process

it('promotes a scheduled job, and runs a cancelled one again', async () => {
  const queue = newQueue();
  await queue.enqueue({}, { id: 'later', delayMs: 3_600_000 });
  const why = await cli(['show', queue.name, 'later']);
  expect(why.stdout).toContain('promote it to start it now');
  expect(await cli(['promote', queue.name, 'later'])).toMatchObject({ code: EXIT.ok, stdout: 'pending\n' });
  expect(await queue.get('later')).toMatchObject({ status: 'pending' });
  expect(await cli(['run-again', queue.name, 'later'])).toMatchObject({
    code: EXIT.failed,
    stderr: expect.stringContaining('It has not ended so'),
  });
  await queue.cancel('later');
  expect(await cli(['promote', queue.name, 'later'])).toMatchObject({
    code: EXIT.failed,
    stderr: 'Job "later" stays as it is. It runs or has ended.\n',
  });
  const again = await cli(['run-again', queue.name, 'later', '--json']);
  expect(JSON.parse(again.stdout)).toEqual({ id: 'later', outcome: 'pending' });
  expect(await queue.get('later')).toMatchObject({ status: 'pending' });
  expect(await cli(['promote', queue.name, 'none'])).toMatchObject({ code: EXIT.notFound });
});

it('signals a job, and says what it waits for', async () => {
  const queue = newQueue();
  const { id } = await queue.enqueue({}, { id: 'order' });
  const claim = (await queue.claim())!;
  await queue.exec((calls) => calls.wait({ claim, name: 'approved', kind: 'signal' }));
  await queue.exec((calls) => calls.release([{ ...claim, reason: 'wait', delayMs: 0 }]));
  expect((await cli(['show', queue.name, id])).stdout).toMatch(/it waits for the signal approved, since/);
  await queue.enqueue({}, { id: 'later', delayMs: 60_000 });
  const listed = await cli(['list', queue.name, 'scheduled', '--search', 'waits:approved']);
  expect(listed.stdout).toMatch(/waits for[^]*order.*approved since/);
  expect(listed.stdout).not.toContain('later');
  expect((await cli(['health', queue.name])).stdout).toContain(
    'nothing waits for a worker, 1 for a signal or a time',
  );
  const signal = (...args: string[]) => cli(['signal', queue.name, ...args]);
  expect(await signal(id, 'approved', '[')).toMatchObject({ code: EXIT.usage });
  expect(await signal(id, 'approved', '{"by":"ada"}')).toMatchObject({ stdout: 'delivered: the job goes on\n' });
  expect(await signal(id, 'approved')).toMatchObject({ stdout: expect.stringContaining('unchanged') });
  expect((await cli(['show', queue.name, id])).stdout).toMatch(/signal +approved: /);
  const [unchanged, done] = await queue.actionLog.latest({ action: 'signal' });
  expect([unchanged?.count, done]).toMatchObject([0, { via: 'cli', count: 1, target: { kind: 'job', id } }]);
  await queue.cancel(id);
  expect(await signal(id, 'other')).toMatchObject({
    code: EXIT.failed,
    stderr: expect.stringContaining('it was cancelled'),
  });
  expect(await signal('none', 'other')).toMatchObject({ code: EXIT.notFound });
});

it('pauses, resumes, runs and removes a schedule', async () => {
  const queue = newQueue();
  await queue.schedules.upsert('nightly', { cron: '0 3 * * *' }, { payload: { kind: 'report' } });
  const steer = (...args: string[]) => cli(['schedules', queue.name, ...args]);
  const day = /\w{3} \d+ \w{3}(?: \d{4})?, 03:00/.source;
  const row = new RegExp(`nightly +Every day at 03:00 \\(UTC\\) +active +in .* \\(${day}\\) +${day}; ${day}`);
  expect((await steer()).stdout).toMatch(row);
  expect(await steer('pause', 'nightly')).toMatchObject({ code: EXIT.ok, stdout: 'paused\n' });
  expect(await queue.schedules.get('nightly')).toMatchObject({ status: 'paused' });
  const schedule = `queue:${queue.name}:schedule:nightly`;
  await connect().hset(schedule, 'source', 'code'); // which no process declares any more
  expect((await steer()).stdout).toMatch(/\(UTC\) +paused, undeclared +–/);
  await connect().hset(schedule, 'source', 'call');
  expect(await steer('resume', 'nightly')).toMatchObject({ stdout: 'resumed\n' });
  expect(await queue.schedules.get('nightly')).toMatchObject({ status: 'active' });
  const { jobId } = JSON.parse((await steer('run', 'nightly', '--json')).stdout) as { jobId: string };
  expect(await queue.get(jobId)).toMatchObject({ schedule: 'nightly', payload: { kind: 'report' } });
  expect((await steer()).stdout).toMatch(/○ +0$/m);
  const [listed] = JSON.parse((await steer('--json')).stdout) as Record<string, unknown>[];
  expect(listed).toMatchObject({
    runs: [{ jobId, status: 'pending' }],
    nextTimes: [listed!.nextAt, expect.any(String), expect.any(String)],
  });
  expect(await steer('remove', 'nightly')).toMatchObject({
    code: EXIT.usage,
    stderr: expect.stringContaining('remove schedule nightly of'),
  });
  expect(await steer('remove', 'nightly', '--yes')).toMatchObject({ stdout: 'removed\n' });
  for (const action of ['pause', 'resume', 'run', 'remove']) {
    expect(await steer(action, 'nightly', '--yes')).toMatchObject({ code: EXIT.notFound });
  }
  expect(await steer('dance', 'nightly')).toMatchObject({ code: EXIT.usage });
  expect(await steer('pause')).toMatchObject({ code: EXIT.usage });
});

it('lists the late schedules of all queues with the cause and the next step', async () => {
  const [nightly, well] = [newQueue(), newQueue()];
  const redis = connect();
  await nightly.schedules.upsert('nightly', { everyMs: 60_000 }, { payload: { secret: 1 } });
  await redis.zadd(`queue:${nightly.name}:schedule_due`, Date.now() - 600_000, 'nightly');
  await well.schedules.upsert('hourly', { everyMs: 3_600_000 });
  const { stdout, code } = await cli(['schedules', '--late', '--json']);
  expect(code).toBe(EXIT.ok);
  const found = JSON.parse(stdout) as { queue: string; id: string; late: Record<string, string> }[];
  const own = found.filter(({ queue }) => [nightly, well].some(({ name }) => name === queue));
  expect(own.map(({ id, late }) => [id, late])).toEqual([
    [
      'nightly',
      {
        summary: expect.stringMatching(/^late: schedule `nightly` should have run 10 min ago, 1[01] runs missed$/),
        cause: expect.any(String),
        next: 'start a process whose maintenance is on',
      },
    ],
  ]);
  const one = await cli(['schedules', nightly.name, '--late']);
  expect(one.stdout).toMatch(/late: schedule `nightly` should have run .* start a process whose maintenance is on/);
  expect((await cli(['schedules', well.name, '--late'])).stdout).toBe('No schedule is late.\n');
  expect(await cli(['schedules', well.name, 'pause', 'hourly', '--late'])).toMatchObject({ code: EXIT.usage });
});

it('lists the schedules of all queues, the one that is late for longest first', async () => {
  const [one, other] = [newQueue(), newQueue()];
  const redis = connect();
  for (const [queue, id, lateMs] of [
    [one, 'late', 600_000],
    [other, 'later', 1_200_000],
    [other, 'in-time', -60_000],
  ] as const) {
    await queue.schedules.upsert(id, { everyMs: 60_000 });
    await redis.zadd(`queue:${queue.name}:schedule_due`, Date.now() - lateMs, id);
  }
  const found = JSON.parse((await cli(['schedules', '--json'])).stdout) as { queue: string; id: string }[];
  const own = found.filter(({ queue }) => queue === one.name || queue === other.name);
  expect(own.map(({ id }) => id)).toEqual(['later', 'late', 'in-time']);
});

describe('discard', () => {
  it('asks with the number of dead letters, also of those that fit a filter', async () => {
    const queue = newQueue();
    await queue.enqueueMany(Array.from({ length: 12 }, (_, payload) => ({ payload })));
    for (const [i, job] of (await queue.claimMany(12)).entries()) {
      await queue.fail(job, new Error(i < 5 ? 'timeout' : 'down'), { final: true });
    }
    const all = await cliOnTerminal(['discard', queue.name, '--all'], 'n');
    expect(all.stdout).toContain(`This will delete for good 12 dead letters of ${queue.name}. Go on? [y/N]`);
    const some = await cliOnTerminal(['discard', queue.name, '--all', '--error', 'timeout'], 'y');
    expect(some.stdout).toContain('delete for good 5 dead letters of');
    expect((await queue.stats()).failed).toBe(7);
  });

  it('asks about no dead letter that is not there', async () => {
    const queue = newQueue();
    await queue.enqueue(1);
    const { code, stdout, stderr } = await cliOnTerminal(['discard', queue.name, 'nope'], 'y');
    expect(code).toBe(EXIT.notFound);
    expect(`${stdout}${stderr}`).not.toContain('Go on?');
  });
});

it('leaves nothing of a measurement that is interrupted', async () => {
  const redis = connect();
  const command = cliRunning(['bench', '--jobs', '200000', '--yes'], { REDIS_URL: testRedisUrl() });
  await eventually(async () => (await keysLike(redis, 'queue:bench-*:pending')).length > 0, {
    timeoutMs: 30_000,
  });
  command.signal('SIGINT');
  expect(await command.over).toMatchObject({ code: EXIT.failed, stderr: expect.stringContaining('Interrupted') });
  for (const key of await keysLike(redis, 'queue:bench-*')) {
    expect([key, await redis.pttl(key)]).not.toEqual([key, -1]);
  }
});

it('shows how often a rate limit rested a job, and its error', async () => {
  const queue = newQueue({ maxRateLimitRetries: 1 });
  const { id } = await queue.enqueue({});
  for (const outcome of ['released', 'failed']) {
    await queue.limits.clear(); // ends the rest
    const [job] = await queue.claimMany(1);
    const rest = { ...job!, reason: 'rate_limited', delayMs: 60_000 } as const;
    expect(await queue.exec((calls) => calls.release([rest]))).toEqual([outcome]);
  }
  const { stdout } = await cli(['show', queue.name, id]);
  expect(stdout).toMatch(/rests +2 \(by RateLimitedError\)\n/);
  expect(stdout).toMatch(
    /RateLimitRetriesExhaustedError: Job .* met a rate limit more often than its maxRateLimitRetries of 1/,
  );
});

it('shows each attempt of a job with its wait, its length and its error', async () => {
  const queue = newQueue();
  const { id } = await queue.enqueue(
    {},
    { maxAttempts: 3, backoff: 60_000, metadata: { tenant: 'acme' }, group: 'eu' },
  );
  const [first] = await queue.claimMany(1);
  const cause = new Error('socket hang up');
  await queue.fail(first!, new TypeError('502 Bad Gateway', { cause }));
  const { stdout } = await cli(['show', queue.name, id]);
  expect(stdout).toMatch(/○ enqueued {3}(now|\d+ s ago) \(20\d\d-/);
  expect(stdout).toMatch(/┄ waited +\d[\d.]* m?s\n {2}✕ attempt 1 {2}failed after \d/);
  expect(stdout).toMatch(
    /TypeError: 502 Bad Gateway {2}\(stack: --verbose\)\n +caused by\n +Error: socket hang up/,
  );
  expect(stdout).toMatch(/┄ backoff +ends in \d+ (s|min) \(20/);
  expect(stdout).toMatch(/group +eu\n/);
  expect(stdout).toMatch(/metadata +\{"tenant":"acme"\}/);
  expect(stdout).not.toMatch(/^\s+at /m);
  expect((await cli(['show', queue.name, id, '--verbose'])).stdout).toMatch(/^\s+at /m);
});

it('asks before a resume that ends a pause with a reason, and may start only the first', async () => {
  const queue = newQueue();
  await queue.enqueueMany(Array.from({ length: 12 }, () => ({ payload: {} })));
  await queue.pause({ by: 'ada', reason: 'wrong template, wait for me' });
  const asked = await cliOnTerminal(['resume', queue.name], 'n\n');
  expect(asked.stdout + asked.stderr).toMatch(
    /resume .*, paused by ada (?:now|.* ago): wrong template, wait for me; 12 jobs start/,
  );
  expect((await cli(['resume', queue.name])).code).toBe(EXIT.usage);
  expect((await queue.stats()).pausedAt).not.toBeNull();
  expect((await cli(['resume', queue.name, '--first', '10', '--yes'])).stdout).toBe('resumed\n');
  const started = async () => {
    let count = 0;
    while (await queue.claim()) count += 1;
    return count;
  };
  expect(await started()).toBe(10);
  await queue.limits.clear();
  expect(await started()).toBe(2);
});

it('does not wait for a redriven job that was removed', async () => {
  const queue = newQueue();
  const { id } = await queue.enqueue({});
  await queue.fail((await queue.claim())!, new Error('no'), { final: true });
  const running = cli(['redrive', queue.name, '--first', '1']);
  await eventually(async () => (await queue.stats()).pending === 1);
  await queue.remove(id);
  expect((await running).stdout).toBe(
    'redriven: 1 dead letter; 0 completed, 0 failed, 1 gone; 0 dead letters left\n',
  );
});

it('redrives the first few and says how they ended; those that killed their workers only where asked', async () => {
  const queue = newQueue();
  const bury = async (id: string) => {
    await queue.enqueue({}, { id });
    const job = await queue.claim();
    await queue.fail(job!, new Error(`no ${id}`), { final: true });
  };
  for (const id of ['a', 'b', 'killer']) {
    await bury(id);
  }
  const [redis, key] = [connect(), `queue:${queue.name}`];
  await redis.hdel(`${key}:error_kinds`, (await redis.hget(`${key}:job:killer`, 'error_kind'))!);
  await redis.hset(`${key}:error_kinds`, '@crash', '1 1 1 1 1 0 killer');
  await redis.hset(`${key}:job:killer`, 'error_kind', '@crash');
  const paced = await cli(['redrive', queue.name, '--first', '2', '--rate', '1']);
  expect(paced.stderr).toContain('--rate slows down --all. Leave it out beside an id or --first.');
  const running = cli(['redrive', queue.name, '--first', '2', '--json']);
  await eventually(async () => (await queue.stats()).pending === 2);
  for (const job of [await queue.claim(), await queue.claim()]) {
    await (job!.id === 'a' ? queue.complete(job!) : queue.fail(job!, new Error('no b'), { final: true }));
  }
  expect(JSON.parse((await running).stdout)).toEqual({
    redriven: 2,
    completed: 1,
    failed: 1,
    open: 0,
    left: 2,
    error: 'no b',
  });
  expect((await cli(['redrive', queue.name, '--all'])).stdout).toContain('redriven: 1 dead letter');
  expect((await queue.get('killer'))?.status).toBe('failed');
});

it('lists the subscriptions of topics, and removes one that no worker handles', async () => {
  const queue = newQueue();
  const [topic, other] = [queue.name, newQueue().name];
  const subscriptions = [
    { topic, name: 'receipts', queue: queue.name },
    { topic, name: 'stock', queue: queue.name },
    { topic: other, name: 'receipts', queue: queue.name },
  ];
  await queue.enqueue(1);
  await queue.exec((calls) => calls.topics.declare({ subscriptions }));
  expect((await cli(['topics', topic])).stdout).toMatch(/receipts .* no live worker has its handler\n.*stock/);
  expect((await cli(['topics'])).stdout).toContain(other);
  const remove = (...args: string[]) => cli(['topics', topic, 'remove', ...args]);
  expect(await remove()).toMatchObject({ code: EXIT.usage });
  expect(await remove('stock')).toMatchObject({
    code: EXIT.usage,
    stderr: expect.stringContaining('remove subscription'),
  });
  expect(await remove('stock', '--yes')).toMatchObject({ code: EXIT.ok, stdout: 'removed\n' });
  expect(await remove('stock', '--yes')).toMatchObject({ code: EXIT.notFound });
  expect(await queue.actionLog.latest()).toMatchObject([
    { action: 'remove-subscription', subject: `subscription stock of topic ${topic}`, via: 'cli', count: 1 },
  ]);
  expect(JSON.parse((await cli(['topics', topic, '--json'])).stdout)).toMatchObject([
    { name: 'receipts', isHandled: false },
  ]);

  const doctor = await cli(['doctor', queue.name]);
  expect(doctor).toMatchObject({
    code: EXIT.warning,
    stdout: expect.stringContaining(`topics ${topic} remove receipts`),
  });
  await startWorker([{ queue, handlers: { [`${topic}/receipts`]: () => 1 } }]);
  expect(await remove('receipts', '--yes')).toMatchObject({ code: EXIT.failed });
});
