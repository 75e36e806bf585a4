// The limits of a queue on the real command line: what is not named stays.
import { describe, expect, it } from '@jest/globals';
import { EXIT } from '#cli/exit-codes.js';
import { uniqueQueueName } from '../support/redis/redis.js';
import { newQueue, startWorker } from '../support/worker/workers.js';
import { cli } from './run-cli.js';

const ALL = {
  maxRunning: 9,
  rateLimit: { limit: 100, periodMs: 60_000, burst: 10 },
  groups: { maxRunning: 1, onDeadHead: 'hold' as const, ungroupedWeight: 3 },
  maxPending: 5_000,
  maxPendingBytes: 1_000_000,
};

async function limited() {
  const queue = newQueue();
  await queue.enqueue(1);
  await queue.limits.set(ALL);
  return queue;
}

describe('limits', () => {
  it('keeps the limits that are not named, and says so', async () => {
    const queue = await limited();
    const { code, stdout } = await cli(['limits', queue.name, '--max-running', '3']);
    expect(code).toBe(EXIT.ok);
    expect(await queue.limits.get()).toEqual({ ...ALL, maxRunning: 3, source: 'set' });
    expect(stdout).toContain('set: maxRunning; kept: rateLimit, groups, maxPending, maxPendingBytes');
    expect(stdout).toMatch(
      /^limits +at most 3 run at once, 100 start in 1 min and 10 at once, at most 5,000 wait, .*, set by .+ ago\n/m,
    );
    expect(stdout).toMatch(/^each group +at most 1 run at once, waits behind a dead letter$/m);
    expect(stdout).toMatch(/^no group +weight 3$/m);
  });

  it('says that limits of the code are now set, and override it until --clear', async () => {
    const queue = newQueue({ maxRunning: 4, maxPending: 100 });
    await startWorker([{ queue, handlers: { [queue.name]: () => undefined } }]);
    await queue.enqueue(1);
    expect(await queue.limits.get()).toMatchObject({ source: 'configuration' });
    const { stdout } = await cli(['limits', queue.name, '--max-pending', '500']);
    expect(stdout).toContain(
      'set: maxPending; kept: maxRunning\nAll of them, the kept ones too, now win over those in the code until --clear.',
    );
    expect(await queue.limits.get()).toEqual({
      maxRunning: 4,
      maxPending: 500,
      source: 'set',
      configured: { maxRunning: 4 },
    });
    const shown = (await cli(['limits', queue.name])).stdout;
    expect(shown).not.toContain('win over');
    expect(shown).toMatch(/, set by .+ ago; the code says at most 4 run at once$/m);
  });

  it('says that no limit was set, which overrides those of the code, too', async () => {
    const queue = newQueue({ maxRunning: 4 });
    await startWorker([{ queue, handlers: { [queue.name]: () => undefined } }]);
    const { stdout } = await cli(['limits', queue.name, '--max-running', 'none']);
    expect(stdout).toMatch(
      /^removed: maxRunning\nNo limit is left, and those in the code do not count until --clear\.\n/,
    );
    expect(stdout).toMatch(/^limits +none, set by .+ ago; the code says at most 4 run at once$/m);
    expect((await cli(['limits', queue.name, '--clear'])).stdout).not.toContain('set by');
  });

  it('changes a part of the rate, and takes one limit away', async () => {
    const queue = await limited();
    await cli(['limits', queue.name, '--rate', '7', '--max-pending', 'none', '--json']);
    const { maxPending, ...others } = ALL;
    const rateLimit = { ...ALL.rateLimit, limit: 7 };
    expect(maxPending).toBe(5_000);
    expect(await queue.limits.get()).toEqual({ ...others, rateLimit, source: 'set' });
    await cli(['limits', queue.name, '--period', '1000', '--burst', '2']);
    expect(await queue.limits.get()).toMatchObject({ rateLimit: { limit: 7, periodMs: 1_000, burst: 2 } });
    const { stdout } = await cli(['limits', queue.name, '--rate', 'none']);
    expect(stdout).toContain('removed: rateLimit; kept: ');
    expect(await queue.limits.get()).not.toHaveProperty('rateLimit');
  });

  it.each([
    [['--period', '1000'], /--period and --burst belong to a rate; pass --rate/],
    [['--clear', '--max-running', '3'], /--clear removes all limits/],
    [['--max-running', 'few'], /--max-running: expected a whole number or "none", found "few"/],
    [['--max-running', '0'], /maxRunning: expected/],
  ])('refuses %j, and changes nothing', async (args, said) => {
    const queue = newQueue();
    await queue.enqueue(1);
    const ran = await cli(['limits', queue.name, ...args]);
    expect(ran).toMatchObject({ code: EXIT.usage, stderr: expect.stringMatching(said) });
    expect(await queue.limits.get()).toEqual({ source: 'none' });
  });
});

describe('the rates of a queue with several', () => {
  const rateLimit = [
    { limit: 60, periodMs: 60_000, burst: 5 },
    { limit: 1_000, periodMs: 3_600_000, burst: 50 },
  ];

  it('are shown with its limits, and set by the name of its own limit', async () => {
    const queue = newQueue({ rateLimit });
    await queue.enqueue(1);
    const worker = await startWorker([{ queue, handlers: { [queue.name]: () => undefined } }]);
    await worker.event('completed');
    expect((await cli(['limits', queue.name])).stdout).toMatch(
      /^rates +0 run; 60 in 1 min, 5 at once; 1,000 in 1 h, 50 at once$/m,
    );
    await cli(['shared-limit', `@queue:${queue.name}`, '--max-running', '1']);
    expect((await cli(['limits', queue.name])).stdout).toMatch(/^rates +0 of 1 run; .*; set at run time$/m);
  });
});

describe('shared-limit', () => {
  it('writes a pause and its end to the log of a queue that names the limit, and asks where a reason was given', async () => {
    const limit = uniqueQueueName('openai');
    const queue = newQueue({ limits: [limit] });
    await queue.enqueue(1);
    await startWorker([{ queue, handlers: { [queue.name]: () => undefined } }], undefined, {
      limits: { [limit]: { maxRunning: 2 } },
    });
    await cli(['shared-limit', limit, '--pause', '--for', '15m', '--reason', 'new key', '--by', 'ada']);
    expect(await queue.sharedLimit(limit).get()).toMatchObject({ pausedBy: 'ada', pauseReason: 'new key' });
    const asked = await cli(['shared-limit', limit, '--resume']);
    expect(asked).toMatchObject({ code: EXIT.usage, stderr: expect.stringContaining('new key') });
    await cli(['shared-limit', limit, '--resume', '--yes']);
    await cli(['shared-limit', limit, '--max-running', '7']);
    const log = await queue.actionLog.latest();
    expect(log.map(({ action, subject, count }) => [action, subject, count])).toEqual([
      ['shared-limit', `shared limit ${limit}: at most 7 run at once`, 1],
      ['resume-shared-limit', `shared limit ${limit}`, 1],
      ['pause-shared-limit', `shared limit ${limit}: for 15 min, new key`, 1],
    ]);
  });

  it('acts on one key of a limit', async () => {
    const limit = uniqueQueueName('crm');
    const queue = newQueue({ limits: [{ limit, key: 'group' }] });
    await queue.enqueue(1, { group: 'acme' });
    const worker = await startWorker([{ queue, handlers: { [queue.name]: () => undefined } }], undefined, {
      limits: { [limit]: { maxRunning: 2 } },
    });
    await worker.event('completed');
    await cli(['shared-limit', limit, '--key', 'acme', '--max-running', '7']);
    const { stdout } = await cli(['shared-limit', limit, '--key', 'acme']);
    expect(stdout).toContain(`${limit} of acme: 0 of 7 run; set at run time`);
    await queue.enqueue(1, { group: 'bolt' });
    await worker.event('completed', 2);
    expect((await cli(['shared-limit', limit])).stdout).toContain('0 of 2 run; each key by itself: acme');
    expect((await queue.actionLog.latest())[0]).toMatchObject({
      subject: `shared limit ${limit} of acme: at most 7 run at once`,
    });
  });

  it('lists all limits without a name, also those of a fleet that is away', async () => {
    const [crm, away] = [uniqueQueueName('crm'), uniqueQueueName('away')];
    const queue = newQueue({ limits: [{ limit: crm, key: 'group' }] });
    for (const group of ['acme', 'bolt', 'core']) await queue.enqueue(1, { group });
    const worker = await startWorker([{ queue, handlers: { [queue.name]: () => undefined } }], undefined, {
      limits: { [crm]: { maxRunning: 2, rateLimit: { limit: 500, periodMs: 60_000, burst: 20 } } },
    });
    await worker.event('completed', 3);
    await queue.enqueue(1, { group: 'bolt' });
    await worker.event('completed', 4);
    await cli(['shared-limit', crm, '--key', 'acme', '--max-running', '7']);
    await cli(['shared-limit', away, '--pause', '--by', 'ada', '--reason', 'new key']);

    const { stdout } = await cli(['shared-limit']);
    const rowOf = (name: string) => stdout.split('\n').filter((line) => line.includes(name));
    expect(rowOf(crm)).toEqual([
      expect.stringMatching(
        new RegExp(`^${crm} +0 of 2 +500 in 1 min, 20 at once +${queue.name} +3 +of the code *$`),
      ),
    ]);
    expect(rowOf(away)).toEqual([
      expect.stringMatching(new RegExp(`^${away} +0 .*paused by ada \\(new key\\) +none *$`)),
    ]);
    const all = JSON.parse((await cli(['shared-limit', '--json'])).stdout) as { name: string }[];
    expect(all.filter(({ name }) => [crm, away].includes(name))).toEqual([
      expect.objectContaining({ name: away, pausedBy: 'ada', pauseReason: 'new key' }),
      expect.objectContaining({ name: crm, maxRunning: 2, keys: expect.arrayContaining(['acme', 'bolt', 'core']) }),
    ]);
    expect(all.filter(({ name }) => name.includes('#'))).toEqual([]);
  });

  it('takes options of one limit only with its name', async () => {
    const { code, stderr } = await cli(['shared-limit', '--key', 'acme']);
    expect([code, stderr]).toEqual([EXIT.usage, expect.stringContaining('pass its name')]);
  });

  it('takes a name that no queue may have', async () => {
    const limit = `${uniqueQueueName('openai')}:job`;
    const { code, stdout } = await cli(['shared-limit', limit, '--max-running', '7']);
    expect([code, stdout]).toEqual([EXIT.ok, expect.stringContaining(`${limit}: 0 of 7 run`)]);
    const wrong = await cli(['shared-limit', 'open ai']);
    expect(wrong.stderr).toContain('limit name: expected 1 to 128 of');
  });
});
