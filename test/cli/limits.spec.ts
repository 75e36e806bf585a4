// The limits of a queue on the real command line: what is not named stays.
import { describe, expect, it } from '@jest/globals';
import { EXIT } from '#cli/exit-codes.js';
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
