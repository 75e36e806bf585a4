// What an operator relies on: ages in spite of a wrong clock, and words for a command that changed nothing.
import { expect, it } from '@jest/globals';
import { EXIT } from '#cli/exit-codes.js';
import { queueOn } from '../support/queue/queue-state.js';
import { eventually } from '../support/faults/wait.js';
import { startOwnRedis } from '../support/redis/own-redis.js';
import { connect } from '../support/redis/redis.js';
import { newQueue, startWorker } from '../support/worker/workers.js';
import { cli, cliProcess } from './run-cli.js';

/** Sets the clock of a command forward by an hour. */
const AHEAD = encodeURIComponent(`
  const Real = Date;
  const now = () => Real.now() + 3_600_000;
  globalThis.Date = class extends Real {
    constructor(...args) { super(...(args.length > 0 ? args : [now()])); }
    static now() { return now(); }
  };
`);

it('I5: shows ages by the clock of Redis', async () => {
  const queue = newQueue();
  const { id } = await queue.enqueue(1, { group: 'ada' });
  const waiting = newQueue();
  await startWorker(waiting, () => 1);
  const env = { NODE_OPTIONS: `--import data:text/javascript,${AHEAD}` };
  for (const args of [
    ['list', queue.name, 'pending'],
    ['show', queue.name, id],
    ['workers', waiting.name],
  ]) {
    const { code, stdout, stderr } = await cliProcess(args, env);
    expect({ args, code, stderr }).toEqual({ args, code: EXIT.ok, stderr: '' });
    expect(stdout).toMatch(/\bnow\b|\d (ms|s)( ago)?/);
    expect(stdout).not.toMatch(/\d (h|min)\b/);
  }
});

it('redrives and discards no job by its id that a filter might have left out', async () => {
  const queue = newQueue();
  const { id } = await queue.enqueue(1);
  await queue.fail((await queue.claim())!, new Error('down'), { final: true });
  for (const args of [['redrive'], ['discard', '--yes']]) {
    const ran = await cli([...args, queue.name, id, '--name', 'other']);
    expect(ran).toMatchObject({
      code: EXIT.usage,
      stderr: expect.stringContaining('--name, --error and --kind choose among'),
    });
  }
  expect((await queue.stats()).failed).toBe(1);
});

it('shows the attempts that only the handler sets, and when a worker died and the job was brought back', async () => {
  const queue = newQueue();
  const { id } = await queue.enqueue(1);
  const limits = { name: queue.name, maxAttempts: 5, maxCrashes: 3 };
  await queue.exec((calls) => calls.workers.register({ worker: 'w', serves: true, handlers: [limits] }));
  const killed = async (dies: boolean) => {
    const job = (await queue.claim({ worker: 'w' }))!;
    if (dies)
      await queue.exec((calls) => calls.noteDeath({ claims: [job], error: 'Error: heap out of memory' as never }));
    await queue.exec((calls) => calls.sweep.reclaimWorker({ worker: 'w', cursor: '', limit: 100 }));
  };
  await killed(true);
  await killed(false);
  const { stdout } = await cli(['show', queue.name, id]);
  expect(stdout).toMatch(/^attempts +2 of 5$/m);
  expect(stdout).toMatch(/attempt 1 +worker died after \d.* (ms|s), brought back \d.* (ms|s) later/);
  expect(stdout).toMatch(/attempt 2 +worker died, brought back after \d/);
});

it('names the new job of a dead letter that was redriven as one', async () => {
  const queue = newQueue();
  const { id } = await queue.enqueue(1);
  await queue.fail((await queue.claim())!, new Error('down'), { final: true });
  const { stdout } = await cli(['redrive', queue.name, id, '--as-new', '--json']);
  const words = `Dead letter "${id}" was redriven as the job "${(JSON.parse(stdout) as { id: string }).id}". Redrive that one.`;
  for (const asNew of [['--as-new'], []]) {
    const ran = await cli(['redrive', queue.name, id, ...asNew]);
    expect(ran).toMatchObject({ code: EXIT.failed, stderr: expect.stringContaining(words) });
  }
});

it('says that a cancel changed nothing, or is on its way', async () => {
  const queue = newQueue();
  const { id: dead } = await queue.enqueue(1);
  await queue.fail((await queue.claim())!, new Error('down'), { final: true });
  expect(await cli(['cancel', queue.name, dead])).toMatchObject({
    code: EXIT.ok,
    stdout: 'unchanged: it has completed, or is a dead letter\n',
  });
  const { id: running } = await queue.enqueue(2);
  await queue.claim();
  expect(await cli(['cancel', queue.name, running])).toMatchObject({
    stdout: 'requested: it runs, and its signal aborts\n',
  });
});

it('ends a tail of no event at once, and with it the connection that was to listen', async () => {
  const { url } = await startOwnRedis();
  const redis = connect({}, url);
  const queue = newQueue({}, redis);
  await queue.enqueue(1);
  const connections = async () => {
    const info = await redis.info();
    const figure = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)![1]);
    return { now: figure('connected_clients'), ever: figure('total_connections_received') };
  };
  const before = await connections();
  const ran = await cli(['tail', queue.name, '--count', '0'], { REDIS_URL: url });
  expect(ran).toMatchObject({ code: EXIT.ok, stdout: '' });
  await eventually(async () => {
    const { now, ever } = await connections();
    return ever >= before.ever + 2 && now === before.now;
  });
});

it('says how a job ended whose record has gone, and writes the outcomes of a queue that keeps them', async () => {
  const queue = newQueue({ outcomes: {} });
  const [first, second] = await queue.enqueueMany([{ payload: 1 }, { payload: 2 }]);
  await queue.complete((await queue.claim())!);
  expect(await cli(['cancel', queue.name, second!.id])).toMatchObject({ code: EXIT.ok });
  const { redis, keys } = queueOn(connect(), {}, queue.name);
  await redis.del(keys.job(first!.id), keys.job(second!.id));
  const [ran, cancelled] = [
    await cli(['show', queue.name, first!.id]),
    await cli(['show', queue.name, second!.id]),
  ];
  expect([ran.code, ran.stderr]).toEqual([
    EXIT.notFound,
    expect.stringMatching(
      /has no job ".*" any more\. It completed at 20.* UTC after 1 attempt; its record was dropped\./,
    ),
  ]);
  expect(cancelled.stderr).toMatch(/It was cancelled at .* UTC before its first attempt; its record was dropped\./);
});
