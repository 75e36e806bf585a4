import { describe, expect, it, jest } from '@jest/globals';
import { JobQueueService, type JobQueue, type VerdictNotice } from 'nest-job-queue';
import { QueueRegistry } from '#nest/connection/queue-registry.js';
import type { OutboxSigns } from '#queue/store/outbox-writer.js';
import { VerdictWatch } from '#nest/lifecycle/verdict-watch.js';
import { show } from '#queue/errors/show.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { eventually } from '../../support/faults/wait.js';
import { handlerOf, KeptLog, onEachStore, passTime, startApp } from '../app.js';

/** Starts an app with a queue. `watch` makes the watch of one more process of the fleet. */
async function started(isWorker = false) {
  const name = uniqueQueueName();
  const fail = handlerOf(name, () => Promise.reject(new Error(`410 Gone from ${name}.test:443`)));
  const jobs = { queues: { [name]: {} }, maintenance: false, maxAttempts: 1, logFailures: false } as const;
  const app = await startApp({ jobs, providers: isWorker ? [fail] : [] });
  const log = new KeptLog();
  return {
    name,
    log,
    app,
    queue: app.get(JobQueueService).queue(name),
    watch: (onVerdict: (notice: VerdictNotice) => unknown, fleetEveryMs = 0) => {
      const queues = app.get(QueueRegistry, { strict: false });
      return new VerdictWatch({ options: { onVerdict }, queues, logger: log }, fleetEveryMs);
    },
  };
}

/** Writes the record of each shard, as if a shard could not be read for a long time. */
async function beUnread(shards: readonly JobQueue[]): Promise<void> {
  for (const shard of shards) {
    await shard.exec(({ alerts }) => alerts.takeTurn({ token: 'seed', everyMs: 0 }));
    const record = JSON.stringify({ kinds: {}, unreadMs: 1, copy: 1 });
    await shard.exec(({ alerts }) => alerts.told({ token: 'seed', record }));
  }
}

/** Returns the number of a shard's copy of the record. */
async function copyOf(shard: JobQueue): Promise<number> {
  const turn = await shard.exec(({ alerts }) => alerts.takeTurn({ token: 'look', everyMs: 0 }));
  return (JSON.parse(turn!.record) as { copy: number }).copy;
}

onEachStore('onVerdict', () => {
  it('is called once for an incident, by one process of the fleet', async () => {
    const { name, queue, watch } = await started();
    const told: VerdictNotice[] = [];
    const fleet = [watch((notice) => told.push(notice)), watch((notice) => told.push(notice))];
    const lookTwice = async () => {
      for (const each of [...fleet, ...fleet]) await each.runOnce();
    };
    await lookTwice();
    expect(told).toEqual([]);
    await queue.enqueue({});
    await queue.pause({ by: 'ada', reason: 'the provider is down' });
    await lookTwice();
    expect(told).toMatchObject([
      { event: 'began', queue: name, verdict: { severity: 'warning', state: 'paused' } },
    ]);
    expect(told[0]!.text).toContain(`${name} paused`);
    await queue.resume();
    await lookTwice();
    await watch((notice) => told.push(notice)).runOnce(); // a process that starts later
    expect(told).toHaveLength(1);
  });

  it('is called with a new kind of error', async () => {
    const { name, queue, watch } = await started(true);
    const told: VerdictNotice[] = [];
    const watcher = watch((notice) => told.push(notice));
    await queue.enqueue({ secret: 1 });
    await eventually(async () => (await queue.stats()).failed === 1);
    await watcher.runOnce();
    await watcher.runOnce();
    expect(told.map(({ event, text }) => [event, text])).toEqual([
      ['new-error', `${name}: a new error, 1 died: 410 Gone from ${name}.test:443`],
    ]);
    expect(told[0]!.kinds).toMatchObject([{ count: 1, error: `410 Gone from ${name}.test:443` }]);
    expect(JSON.stringify(told)).not.toContain('secret');
  });

  it('tells a known kind that comes again, although its cause was told a moment ago', async () => {
    const { name, app, queue, watch } = await started(true);
    const told: VerdictNotice[] = [];
    const watcher = watch((notice) => told.push(notice));
    const die = async () => {
      await queue.enqueue({}, { delayMs: 10 }); // a death in the millisecond of the mark is no return
      await passTime(app);
      await eventually(async () => (await queue.stats()).failed === 1);
      await watcher.runOnce();
    };
    await die();
    const [{ kind } = { kind: '' }] = await queue.deadLetters.kinds();
    await queue.deadLetters.markKind(kind, { known: true });
    await queue.deadLetters.discardAll();
    await die();
    await watcher.runOnce();
    expect(told.map(({ text }) => text)).toEqual([
      `${name}: a new error, 1 died: 410 Gone from ${name}.test:443`,
      expect.stringContaining(`${name}: a known error comes again`),
    ]);
  });

  it('tells an error of several queues once, whichever processes look at them', async () => {
    const names = ['payment', 'webhook', 'invoice'].map((name) => uniqueQueueName(name));
    const address = `${names[0]}.test:443`;
    const refused = (name: string) =>
      handlerOf(name, () => {
        const cause = Object.assign(new Error(`connect ECONNREFUSED ${address}`), { code: 'ECONNREFUSED' });
        return Promise.reject(new Error(`${name} failed`, { cause }));
      });
    const jobs = { maintenance: false, maxAttempts: 1, logFailures: false } as const;
    const app = await startApp({ jobs, providers: names.map(refused) });
    const queues = names.map((name) => app.get(JobQueueService).queue(name));
    const told: VerdictNotice[] = [];
    const registry = app.get(QueueRegistry, { strict: false });
    const watch = () =>
      new VerdictWatch(
        { options: { onVerdict: (each) => told.push(each) }, queues: registry, logger: new KeptLog() },
        0,
      );
    for (const queue of queues) await queue.enqueue({});
    await eventually(async () =>
      (await Promise.all(queues.map((queue) => queue.stats()))).every(({ failed }) => failed === 1),
    );
    await Promise.all([watch().runOnce(), watch().runOnce()]);
    await watch().runOnce();
    const errors = told.filter(({ event }) => event === 'new-error');
    expect(errors).toHaveLength(1);
    expect(errors[0]!.queues!.toSorted()).toEqual(names.toSorted());
    expect(errors[0]!.text).toMatch(
      new RegExp(`^connect ECONNREFUSED ${address} in .+ since \\d\\d:\\d\\d UTC: 3 died$`),
    );
  });

  describe('of a queue with shards', () => {
    const SHARDS = 4;

    /** Starts an app with a queue of four shards. */
    async function startShards() {
      const name = uniqueQueueName('ingest');
      const fail = handlerOf(name, () => Promise.reject(new Error(`410 Gone from ${name}.test:443`)), {
        spread: SHARDS,
      });
      const jobs = { maintenance: false, maxAttempts: 1, logFailures: false } as const;
      const app = await startApp({ jobs, providers: [fail] });
      const queues = app.get(QueueRegistry, { strict: false });
      const told: VerdictNotice[] = [];
      const log = new KeptLog();
      const onVerdict = (notice: VerdictNotice) => told.push(notice);
      const look = () => new VerdictWatch({ options: { onVerdict }, queues, logger: log }, 0).runOnce();
      const service = app.get(JobQueueService);
      return { name, jobs: service, shards: service.shards(name) as JobQueue[], told, look, log };
    }

    it('is called once for all of them', async () => {
      const { name, jobs, told, look } = await startShards();
      await jobs.pause(name, { by: 'ada' });
      await Promise.all(Array.from({ length: 8 }, () => jobs.enqueue(name, null)));
      await look();
      await look();
      expect(told).toMatchObject([{ event: 'began', queue: name, verdict: { queue: name, state: 'paused' } }]);
      expect(told[0]!.text).toContain('8 waiting');
    });

    it('is called once with a kind of error that jobs of several shards died of', async () => {
      const { name, jobs, shards, told, look } = await startShards();
      await Promise.all(Array.from({ length: 8 }, () => jobs.enqueue(name, null)));
      await eventually(async () =>
        (await Promise.all(shards.map((shard) => shard.stats()))).every(({ failed }) => failed === 2),
      );
      await look();
      await look();
      expect(told.map(({ event, text }) => [event, text])).toEqual([
        ['new-error', `${name}: a new error, 8 died: 410 Gone from ${name}.test:443`],
      ]);
      expect(told[0]).not.toHaveProperty('queues');
    });

    it.each([0, 2])('names shard %i while its master is away, and forgets nothing meanwhile', async (away) => {
      const { name, shards, told, look, log } = await startShards();
      const exec = jest.spyOn(shards[away]!, 'exec').mockRejectedValue(new Error('no reply'));
      await look();
      expect(told).toEqual([]); // its master may be back in a moment
      exec.mockRestore();
      await beUnread(shards);
      const again = jest.spyOn(shards[away]!, 'exec').mockRejectedValue(new Error('no reply'));
      await look();
      await look();
      again.mockRestore();
      await look();
      expect(told).toMatchObject([{ event: 'began', queue: name, verdict: { state: 'unreadable' } }]);
      expect(told[0]!.text).toBe(`${name} shard "${shards[away]!.name}": unreadable: no reply`);
      expect(log.lines).toEqual([]);
    });

    it('writes the copies once, and again for a shard whose copy is old', async () => {
      const { shards, look } = await startShards();
      const copies = () => Promise.all(shards.map(copyOf));
      await look();
      await look();
      expect(await copies()).toEqual([1, 1, 1, 1]);
      await shards[2]!.exec(({ alerts }) => alerts.takeTurn({ token: 'old', everyMs: 0 }));
      await shards[2]!.exec(({ alerts }) => alerts.told({ token: 'old', record: '{"kinds":{},"copy":0}' }));
      await look();
      await look();
      expect(await copies()).toEqual([2, 2, 2, 2]);
    });
  });

  it.each([
    ['an error', new Error('no route'), 'no route'],
    ['nothing', undefined, show(undefined)],
    ['a text', 'no route', show('no route')],
  ])('is called again if it rejects with %s, and the log says so once', async (_, reason, words) => {
    const { name, queue, watch, log } = await started();
    await queue.enqueue({});
    await queue.pause();
    let calls = 0;
    const watcher = watch(() => {
      calls++;
      return calls < 3 ? Promise.reject(reason) : undefined;
    });
    for (let i = 0; i < 5; i++) await watcher.runOnce();
    expect(calls).toBe(3);
    expect(log.lines).toEqual([
      `warn Could not tell the verdict on queue "${name}"; the next look tries again: ${words}`,
    ]);
  });

  it('does not hold up the end of the app beyond its time', async () => {
    const { queue, watch } = await started();
    await queue.enqueue({});
    await queue.pause();
    let told!: () => void;
    const isTold = new Promise<void>((resolve) => (told = resolve));
    let end!: () => void;
    const ended = new Promise<void>((resolve) => (end = resolve));
    const watcher = watch(() => {
      told();
      return ended;
    });
    const run = watcher.runOnce();
    await isTold;
    const first = await Promise.race([watcher.stop(1).then(() => 'stop'), run.then(() => 'look')]);
    end();
    await run;
    expect(first).toBe('stop');
  });

  it('leaves a queue alone while another process has the turn', async () => {
    const { queue, watch } = await started();
    const told: VerdictNotice[] = [];
    await watch(() => undefined, 60_000).runOnce();
    await queue.enqueue({});
    await queue.pause();
    await watch((notice) => told.push(notice), 60_000).runOnce();
    expect(told).toEqual([]);
  });

  it('is called when the outbox waits, and when it is well again', async () => {
    const { app, watch } = await started();
    let signs: OutboxSigns | undefined = { waiting: 3, setAside: 0, failed: 0, oldestAgeMs: 20_000 };
    const unused = { store: async () => undefined, markDone: async () => true };
    app.get(QueueRegistry, { strict: false }).outbox = { ...unused, signs: async () => signs };
    const told: VerdictNotice[] = [];
    const fleet = [watch((notice) => told.push(notice)), watch((notice) => told.push(notice))];
    const look = async () => {
      for (const each of fleet) await each.runOnce();
    };
    await look();
    expect(told).toEqual([]); // it may be gone in a moment
    signs = { ...signs, oldestAgeMs: 31_000 };
    await look();
    signs = { ...signs, oldestAgeMs: 61_000 };
    await look();
    expect(told.map(({ event, queue, text }) => [event, queue, text])).toEqual([
      [
        'began',
        undefined,
        expect.stringMatching(/^The outbox waits: 3 rows, the oldest for 31 s\. Cause: no relay/),
      ],
      ['worse', undefined, expect.stringContaining('the oldest for 1 min')],
    ]);
    signs = undefined; // this process may not read it, so it says nothing
    await look();
    expect(told).toHaveLength(2);
  });

  it('must be a function', async () => {
    await expect(startApp({ jobs: { onVerdict: 'https://hooks.example.com' as never } })).rejects.toThrow(
      'JobQueueModule.forRoot.onVerdict: expected a function of a notice',
    );
  });
});
