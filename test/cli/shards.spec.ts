// A queue with shards on the command line: one row, and its shards if it is asked for alone.
import { expect, it, jest } from '@jest/globals';
import { EXIT } from '#cli/exit-codes.js';
import { Session } from '#cli/redis/session.js';
import { type Job, JobHandler, JobQueueService } from 'nest-job-queue';
import { JobQueue, NonRetryableError } from 'nest-job-queue/core';
import { DeadLetters } from '#queue/dead-letters/dead-letters.js';
import { registerQueues } from '#queue/register/register-queues.js';
import { shardsOf } from '#spread/whole-queue.js';
import { markOfShard, shardNames, shardOfId, shardOfKey } from '#queue/model/spread.js';
import { startWorker } from '../support/worker/workers.js';
import { connect, testRedisUrl, uniqueQueueName } from '../support/redis/redis.js';
import { startApp } from '../nest/app.js';
import { eventually } from '../support/faults/wait.js';
import { cli, cliOnScreen, listedCommands } from './run-cli.js';

async function spreadQueue() {
  const name = uniqueQueueName();
  const shards = shardNames(name, 4).map((each) => new JobQueue(connect(), each));
  for (const [i, queue] of shards.entries()) {
    for (let job = 0; job <= i; job++) await queue.enqueue(job, { name });
  }
  return { name, shards, names: shards.map((queue) => queue.name) };
}

it('has one row, with the sum of the jobs', async () => {
  const { name, names } = await spreadQueue();
  const { queues } = JSON.parse((await cli(['stats', '--json'])).stdout) as {
    queues: Record<string, { pending: number; shards: Record<string, { pending: number }> }>;
  };
  expect(queues[name]!.pending).toBe(10);
  expect(Object.keys(queues).filter((each) => names.slice(1).includes(each))).toEqual([]);
  expect(names.map((each) => queues[name]!.shards[each]!.pending)).toEqual([1, 2, 3, 4]);
});

it('shows the shards of a queue that is asked for alone', async () => {
  const { name, names } = await spreadQueue();
  const { stdout } = await cli(['stats', name]);
  for (const each of names) expect(stdout).toContain(each);
});

it('shows a shard that is asked for by its own name', async () => {
  const { names } = await spreadQueue();
  const { stdout } = await cli(['stats', names[3]!]);
  expect(stdout).toContain(names[3]);
  expect(stdout).not.toContain(names[1]);
});

it('pauses and resumes all shards', async () => {
  const { name, shards } = await spreadQueue();
  const paused = async () => (await Promise.all(shards.map((each) => each.stats()))).map((each) => !!each.pausedAt);
  expect((await cli(['pause', name, '--reason', 'deploy'])).code).toBe(0);
  expect(await paused()).toEqual([true, true, true, true]);
  expect((await cli(['resume', name, '--yes'])).code).toBe(0);
  expect(await paused()).toEqual([false, false, false, false]);
});

it('lists the queue once', async () => {
  const { name, names } = await spreadQueue();
  const listed = (await cli(['queues'])).stdout.split('\n');
  expect(listed.filter((line) => names.includes(line))).toEqual([name]);
});

it('finds a job in the shard that has it, by a generated id and by an own one', async () => {
  const { name, shards } = await spreadQueue();
  await shards[2]!.enqueue(1, { name, id: 'order-17' });
  await shards[3]!.enqueue(1, { name, id: `x${markOfShard(3)}` });
  for (const id of ['order-17', `x${markOfShard(3)}`]) {
    expect(await cli(['show', name, id])).toMatchObject({ code: 0, stderr: '' });
    expect(await cli(['cancel', name, id])).toMatchObject({ code: 0, stdout: 'cancelled\n' });
  }
  expect(await shards[2]!.get('order-17')).toMatchObject({ status: 'cancelled' });
  expect((await cli(['cancel', name, 'nowhere'])).code).toBe(3);
});

it('redrives a dead letter of any shard by its id', async () => {
  const { name, shards } = await spreadQueue();
  await shards[1]!.fail((await shards[1]!.claim())!, new NonRetryableError('no'));
  const [letter] = (await shards[1]!.deadLetters.list()).jobs;
  expect((await cli(['redrive', name, letter!.id])).stdout).toBe('redriven: 1 dead letter\n');
  expect((await shards[1]!.stats()).failed).toBe(0);
});

/** Fails as many jobs of each shard as it has. */
async function failAll(shards: readonly JobQueue[]) {
  for (const shard of shards) {
    for (const job of await shard.claimMany(10)) await shard.fail(job, new NonRetryableError('no'));
  }
}

const json = async (args: readonly string[]) => JSON.parse((await cli([...args, '--json'])).stdout) as never;

it('lists the jobs of all shards in one page, and searches all of them', async () => {
  const { name, shards } = await spreadQueue();
  const ids = async (...args: string[]) => {
    const jobs: { id: string; enqueuedAt: string }[] = await json(['list', name, 'pending', ...args]);
    return jobs.map(({ id }) => id);
  };
  const all = await ids();
  expect(all).toHaveLength(10);
  expect([...(await ids('--limit', '3')), ...(await ids('--limit', '20', '--offset', '3'))]).toEqual(all);
  expect(await json(['list', name, '--search', 'state:pending'])).toHaveLength(10);
  expect((await cli(['list', name, 'pending', '--limit', '3'])).stderr).toBe('There may be more: --offset 3.\n');
  expect(await json(['list', name, 'pending', '--shard', '3'])).toMatchObject(
    Array.from({ length: 4 }, () => ({ queue: shards[3]!.name })),
  );
  expect(await json(['list', shards[1]!.name, 'pending'])).toHaveLength(2);
});

it('joins the kinds of error, redrives and discards all, and marks a kind in each shard', async () => {
  const { name, shards } = await spreadQueue();
  await failAll(shards);
  const [kind] = (await json(['errors', name])) as [{ kind: string; count: number }];
  expect(kind.count).toBe(10);
  const causes: { queues: { queue: string; count: number }[] }[] = await json(['errors']);
  const ours = causes.flatMap(({ queues }) => queues.filter(({ queue }) => queue.startsWith(name)));
  expect(ours).toMatchObject([{ queue: name, count: 10 }]);
  expect(await json(['mark-error', name, kind.kind, '--known'])).toMatchObject({ changed: true });
  expect((await cli(['discard', name, '--all'])).stderr).toContain(`delete for good 10 dead letters of ${name}.`);
  expect(await json(['discard', name, '--all', '--kind', kind.kind, '--shard', '0', '--yes'])).toEqual({
    discarded: 1,
  });
  expect(await json(['redrive', name, '--all'])).toEqual({ redriven: 9 });
  expect(await json(['errors', name])).toEqual([]);
});

it('redrives the newest dead letters of all shards, and says how they ended', async () => {
  const { name, shards } = await spreadQueue();
  await failAll(shards);
  for (const shard of shards) await startWorker([{ queue: shard, handlers: { [name]: () => 1 } }]);
  expect(await json(['redrive', name, '--first', '6'])).toMatchObject({ redriven: 6, completed: 6, left: 4 });
  expect((await shards[0]!.stats()).failed).toBe(1); // whose letters are the oldest
});

it('lists the groups of all shards in one page', async () => {
  const { name, shards } = await spreadQueue();
  for (const [i, shard] of shards.entries())
    await shard.enqueueMany([
      { payload: 1, group: `g${i}` },
      { payload: 2, group: `g${i}` },
    ]);
  await shards[2]!.enqueue(3, { group: 'g2' });
  const found: { name: string; pending: number }[] = await json(['groups', name]);
  expect(found.map((group) => [group.name, group.pending])).toEqual([
    ['g2', 3],
    ...['g0', 'g1', 'g3'].map((each) => [each, 2]),
  ]);
  const second: { name: string }[] = await json(['groups', name, '--offset', '0', '--limit', '1']);
  expect(second.map((group) => group.name)).toEqual(['g2']);
  expect(await json(['pause', name, '--group', 'g3'])).toMatchObject({ changed: true });
});

it('shows an action on all shards once, and audits all of them', async () => {
  const { name } = await spreadQueue();
  await cli(['pause', name, '--reason', 'deploy']);
  const actions: { action: string; count: number }[] = await json(['actions', name]);
  expect(actions).toMatchObject([{ action: 'pause', count: 4 }]);
  expect(await json(['doctor', name])).toMatchObject({ queue: name, checked: 10, findings: [] });
  expect(await json(['workers', name])).toEqual([]);
});

it('lists the batches of all shards, and shows and cancels the one of an id', async () => {
  const { name, shards } = await spreadQueue();
  const batches = shards.map((shard, i) => shard.batch(i === 3 ? { id: 'month-3' } : {}));
  for (const batch of batches) await batch.add(name, 1, { delayMs: 3_600_000 });
  const ids = batches.map(({ id }) => id);
  const listed: { id: string; queue: string }[] = await json(['batches', name]);
  expect(listed.map(({ id, queue }) => [id, queue])).toEqual(ids.map((id, i) => [id, shards[i]!.name]));
  expect(await json(['batches', name, '--offset', '1', '--limit', '2'])).toMatchObject([
    { id: ids[1] },
    { id: ids[2] },
  ]);
  expect(await json(['batches', name, '--shard', '2'])).toMatchObject([{ id: ids[2] }]);
  for (const [i, id] of ids.entries()) {
    expect(await json(['batch', name, id])).toMatchObject({
      id,
      queue: shards[i]!.name,
      members: [{ status: 'open' }],
    });
  }
  expect((await cli(['batch', name, 'month-3', '--cancel', '--yes'])).code).toBe(EXIT.ok);
  expect((await batches[3]!.status()).stopped).toBe(true);
  const actions: { action: string }[] = await json(['actions', name]);
  expect(actions).toMatchObject([{ action: 'cancel-batch', count: 1 }]);
  expect((await cli(['batch', name, 'none'])).code).toBe(EXIT.notFound);
});

/** How each command on a queue takes one with shards, and its arguments. `one`: it is refused without --shard. */
const COMMANDS: Record<string, [how: 'all' | 'job' | 'first' | 'one', ...args: string[]]> = {
  stats: ['all'],
  health: ['all'],
  top: ['all', '--count', '1'],
  list: ['all', 'pending'],
  errors: ['all'],
  'mark-error': ['all', '4ddfd7b1f5', '--known'],
  redrive: ['all', '--all'],
  discard: ['all', '--all', '--yes'],
  groups: ['all'],
  pause: ['all'],
  resume: ['all'],
  workers: ['all'],
  actions: ['all'],
  doctor: ['all'],
  tail: ['all', '--count', '0'],
  audit: ['all'],
  enqueue: ['job', '{}', '--id', 'order-18'],
  show: ['job', 'order-17'],
  stream: ['job', 'order-17'],
  signal: ['job', 'order-17', 'approved'],
  promote: ['job', 'order-17'],
  cancel: ['job', 'order-17'],
  'run-again': ['job', 'order-17'],
  schedules: ['first'],
  batches: ['all'],
  batch: ['job', 'pages'],
  limits: ['one'],
  profile: ['one', '--ask'],
};

it('says of each command on a queue how it takes one with shards', async () => {
  const { name, shards } = await spreadQueue();
  await shards[2]!.enqueue(1, { name, id: 'order-17', delayMs: 3_600_000 });
  await shards[2]!.batch({ id: 'pages' }).seal();
  for (const shard of shards) await new JobQueue(connect(), shard.name, { auditTrail: {} }).enqueue(1, { name });
  const helps = await Promise.all(
    (await listedCommands()).map(async (command) => [command, (await cli([command, '--help'])).stdout] as const),
  );
  const ofQueues = helps.filter(([, help]) => help.includes('--shard')).map(([command]) => command);
  expect(ofQueues.toSorted()).toEqual(Object.keys(COMMANDS).toSorted());
  for (const [command, [how, ...args]] of Object.entries(COMMANDS)) {
    const ran = await cli([command, name, ...args]);
    expect([command, ran.code === EXIT.usage]).toEqual([command, how === 'one']);
    if (how === 'one') {
      expect(ran.stderr).toContain('Pass --shard with 0 to 3.');
      expect((await cli([command, name, ...args, '--shard', '2'])).code).not.toBe(EXIT.usage);
    } else {
      expect([EXIT.ok, EXIT.warning, EXIT.critical]).toContain(ran.code);
    }
  }
}, 60_000);

/** Lets some shards fail until the returned function is called. */
function takeAway(...names: readonly string[]): () => void {
  const exec = JobQueue.prototype.exec;
  const away = jest.spyOn(JobQueue.prototype, 'exec').mockImplementation(function (this: JobQueue, call: never) {
    return names.includes(this.name) ? Promise.reject(new Error('no reply')) : exec.call(this, call);
  } as never);
  return () => away.mockRestore();
}

it('goes on without a shard that does not reply, names it, and exits with 10', async () => {
  const { name, names } = await spreadQueue();
  const bringBack = takeAway(names[2]!);
  try {
    const { code, stdout, stderr } = await cli(['list', name, 'pending', '--json']);
    expect(JSON.parse(stdout)).toHaveLength(7);
    expect([code, JSON.parse(stderr)]).toEqual([EXIT.warning, { unreached: { [names[2]!]: 'no reply' } }]);
    expect(await cli(['pause', name])).toEqual({
      code: EXIT.warning,
      stdout: 'paused\n',
      stderr: `Not reached: ${names[2]!} (no reply). Repeat this command when they are back.\n`,
    });
    expect(await cli(['list', name, 'pending', '--shard', '2'])).toMatchObject({ code: EXIT.failed });
  } finally {
    bringBack();
  }
});

it('redrives the first few of the other shards, although one stops after the list', async () => {
  const { name, names, shards } = await spreadQueue();
  await failAll(shards);
  let [lists, bringBack] = [0, () => {}];
  const { list } = DeadLetters.prototype;
  const listing = jest.spyOn(DeadLetters.prototype, 'list').mockImplementation(async function (
    this: DeadLetters,
    ...args
  ) {
    const page = await list.apply(this, args);
    if (++lists === shards.length) bringBack = takeAway(names[2]!);
    return page;
  });
  for (const shard of [0, 1, 3]) await startWorker([{ queue: shards[shard]!, handlers: { [name]: () => 1 } }]);
  try {
    const { code, stdout, stderr } = await cli(['redrive', name, '--first', '10', '--json']);
    expect([code, JSON.parse(stderr)]).toEqual([EXIT.warning, { unreached: { [names[2]!]: 'no reply' } }]);
    expect(JSON.parse(stdout)).toMatchObject({ redriven: 7, completed: 7 });
  } finally {
    bringBack();
    listing.mockRestore();
  }
  expect((await shards[2]!.stats()).failed).toBe(3);
});

it('finds a job by its own id, although other shards do not reply', async () => {
  const { name, names, shards } = await spreadQueue();
  await shards[2]!.enqueue(1, { name, id: 'order-17', delayMs: 3_600_000 });
  const bringBack = takeAway(names[0]!, names[3]!);
  try {
    expect(await cli(['promote', name, 'order-17'])).toMatchObject({ code: EXIT.ok, stderr: '' });
    expect(await cli(['promote', name, 'order-18'])).toMatchObject({ code: EXIT.failed });
  } finally {
    bringBack();
  }
});

it('asks no shard twice in a search that did not reply', async () => {
  const { name, names } = await spreadQueue();
  const audited = Session.prototype.audited;
  const away = jest.spyOn(Session.prototype, 'audited').mockImplementation(function (this: Session, each) {
    return each === names[2] ? Promise.reject(new Error('away')) : audited.call(this, each);
  });
  const asked: string[] = [];
  const exec = JobQueue.prototype.exec;
  const noting = jest.spyOn(JobQueue.prototype, 'exec').mockImplementation(function (this: JobQueue, call: never) {
    asked.push(this.name);
    return exec.call(this, call);
  } as never);
  try {
    const { code, stdout } = await cli(['list', name, '--search', 'state:pending', '--json']);
    expect(code).toBe(EXIT.warning);
    expect(JSON.parse(stdout)).toHaveLength(7);
    expect(asked).not.toContain(names[2]);
  } finally {
    away.mockRestore();
    noting.mockRestore();
  }
});

it('says in the live view which shards were not paused, and asks them again', async () => {
  const { name, names, shards } = await spreadQueue();
  const bringBack = takeAway(names[2]!);
  const isPaused = () => Promise.all(shards.map(async (each) => (await each.stats()).pausedAt !== null));
  const top = cliOnScreen(['top', name, '--every', '100'], { columns: 200, rows: 40 });
  try {
    await top.shows(/waiting/);
    top.type('p');
    top.type('y');
    await top.shows(/Not reached: .*@2\./);
  } finally {
    bringBack();
  }
  expect(await isPaused()).toEqual([true, true, false, true]);
  await top.shows(/●.*@2\./);
  top.type('p'); // not all shards are paused
  top.type('y');
  await eventually(async () => (await isPaused()).every(Boolean));
  top.type('q');
  await top.over;
}, 60_000);

it('finds the last shards of a queue whose first ones never had a job, also without a worker', async () => {
  const name = uniqueQueueName();
  const shards = shardNames(name, 8).map((each) => new JobQueue(connect(), each));
  registerQueues(...shards);
  await shards[5]!.enqueue(1, { name, id: 'order-5' });
  await eventually(async () => ((await json(['list', name, 'pending'])) as unknown[]).length === 1);
  expect(await json(['list', name, 'pending', '--shard', '5'])).toHaveLength(1);
  expect(await cli(['show', name, 'order-5'])).toMatchObject({ code: EXIT.ok });
  expect(await cli(['list', name, 'pending', '--shard', '8'])).toMatchObject({
    code: EXIT.notFound,
    stderr: `Queue "${name}" has the shards 0 to 7, found --shard 8.\n`,
  });
});

it('takes one shard by its number', async () => {
  const { name, shards } = await spreadQueue();
  for (const shard of [0, 3]) {
    const { stdout } = await cli(['enqueue', name, '{}', '--shard', String(shard)]);
    expect([shardOfId(stdout.trim()), await shards[shard]!.get(stdout.trim())]).toMatchObject([
      shard,
      { payload: {} },
    ]);
    await shards[shard]!.remove(stdout.trim());
  }
  const plain = new JobQueue(connect(), uniqueQueueName());
  await plain.enqueue(1);
  expect(shardOfId((await cli(['enqueue', plain.name, '{}', '--shard', '0'])).stdout.trim())).toBeUndefined();
  expect(await json(['stats', name, '--shard', '0'])).toMatchObject({ queues: { [name]: { pending: 1 } } });
  expect(await json(['pause', name, '--shard', '3'])).toEqual({ queue: shards[3]!.name, changed: true });
  expect(await Promise.all(shards.map(async (each) => (await each.stats()).pausedAt !== null))).toEqual([
    false,
    false,
    false,
    true,
  ]);
  expect(await json(['limits', name, '--shard', '0', '--max-running', '2'])).toMatchObject({ maxRunning: 2 });
  expect(await cli(['stats', name, '--shard', '4'])).toMatchObject({
    code: EXIT.notFound,
    stderr: `Queue "${name}" has the shards 0 to 3, found --shard 4.\n`,
  });
  expect(await cli(['errors', '--shard', '1'])).toMatchObject({ code: EXIT.usage });
});

it('adds a job to the shard where a producer would add it', async () => {
  const name = uniqueQueueName('ingest');
  const ran = new Map<string, string>();

  @JobHandler(name, { spread: 4 })
  class Handler {
    handle({ id, queue }: Job) {
      ran.set(id, queue);
    }
  }
  registerQueues(...shardNames(name, 8).map((each) => new JobQueue(connect(), each))); // as once, with a larger number
  const app = await startApp({ jobs: {}, providers: [Handler] });
  const ids = ['order-1', 'order-2', 'order-3', 'order-4', 'order-5', 'order-6'];
  for (const id of ids)
    expect(await cli(['enqueue', name, '{}', '--id', id])).toMatchObject({ stdout: `${id}\n`, stderr: '' });
  const marked = (await cli(['enqueue', name, '{}'])).stdout.trim();
  const named = (await cli(['enqueue', name, '{}', '--shard', '3'])).stdout.trim();
  await eventually(() => ran.size === 8);
  const names = shardNames(name, 4);
  expect(ids.map((id) => ran.get(id))).toEqual(ids.map((id) => names[shardOfKey(id, 4)]));
  expect(ran.get(marked)).toBe(names[shardOfId(marked)!]);
  expect([ran.get(named), shardOfId(named)]).toEqual([names[3], 3]);
  const jobs = app.get(JobQueueService);
  expect(await jobs.enqueue(name, {}, { id: 'order-1' })).toMatchObject({ outcome: 'existing' });
});

it('counts a shard whose master is away among those of its queue, and opens the others', async () => {
  const { name, names } = await spreadQueue();
  const session = await Session.open({ prefix: 'queue' }, { REDIS_URL: testRedisUrl() }, { via: 'cli', by: 'ada' });
  try {
    const exists = session.client.exists.bind(session.client) as (...keys: string[]) => Promise<number>;
    const isAway = (key: string) =>
      key.includes(names[0]! + ':') || key.includes(names[1]!) || key.includes(names[3]!);
    session.client.exists = ((...keys: string[]) =>
      isAway(keys[0]!) ? Promise.reject(new Error('away')) : exists(...keys)) as never;
    expect(await session.shards.others(name)).toEqual(names.slice(1));
    expect(shardsOf(await session.known(name)).map((queue) => queue.name)).toEqual(names);
  } finally {
    session.close();
  }
});
