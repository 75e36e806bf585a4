// What one process with a few queues sends while nothing happens, by virtual time. test/long/worker/small-app.spec.ts counts
// the commands that a real Redis receives.
import { afterEach, describe, expect, it } from '@jest/globals';
import { JobQueue } from '#queue/job-queue.js';
import { ScriptServer } from '#memory/server/script-server.js';
import { ScriptStore } from '#memory/script-store.js';
import type { StoreCalls } from '#queue/store/store-calls.js';
import { VirtualClock } from '#testing/time/virtual-clock.js';
import { Worker } from '#worker/worker.js';
import type { WorkerOptions } from '#worker/worker-options.js';
import { enqueueUnheard, viewOf } from '../../support/memory/memory-view.js';

const SETTLED_MS = 120_000;
const MINUTES = 10;

interface App {
  readonly clock: VirtualClock;
  readonly server: ScriptServer;
  readonly worker: Worker;
  /** The names of the scripts that were called, and `wait` for each wait. */
  readonly sent: string[];
  /** The queues of each wait, in their order. */
  readonly waits: (readonly StoreCalls[])[];
  /** The times at which jobs started, in ms, by id. */
  readonly ran: Map<string, number>;
}

const apps: App[] = [];

afterEach(async () => {
  for (const { clock, worker } of apps.splice(0)) {
    const stopping = worker.stop({ timeoutMs: 0 });
    await clock.advance(60_000);
    await stopping;
  }
});

/** Starts a process with some queues, on a server of its own or of another app. */
async function startApp(
  queues: number,
  options: WorkerOptions = {},
  { clock = new VirtualClock(undefined, 1), server = new ScriptServer(() => clock.now()) } = {},
): Promise<App> {
  const sent: string[] = [];
  const waits: (readonly StoreCalls[])[] = [];
  const ran = new Map<string, number>();
  const link = <Reply>(script: string, run: () => Reply): Promise<Reply> => {
    sent.push(script);
    return Promise.resolve().then(run);
  };
  const store = new ScriptStore(clock, { server, link });
  const open = store.workerWait.bind(store);
  store.workerWait = (...opened) => {
    const wait = open(...opened);
    const begin = wait.wait.bind(wait);
    wait.wait = (...waited) => {
      sent.push('wait');
      waits.push(waited[0]);
      return begin(...waited);
    };
    return wait;
  };
  const handle = ({ id }: { id: string }) => void ran.set(id, clock.now());
  const served = Array.from({ length: queues }, (_, q) => ({
    queue: new JobQueue(store, `q${q}`),
    handlers: { [`q${q}`]: handle },
  }));
  const worker = new Worker(served, options);
  const starting = worker.start();
  await clock.advance(100);
  await starting;
  const app = { clock, server, worker, sent, waits, ran };
  apps.push(app);
  return app;
}

/** Returns a queue of another process. */
function elsewhere({ clock, server }: App): JobQueue {
  return new JobQueue(new ScriptStore(clock, { server }), 'q0');
}

async function perSecond({ clock, sent }: App): Promise<number> {
  sent.length = 0;
  await clock.advance(MINUTES * 60_000);
  return sent.length / (MINUTES * 60);
}

describe('a process in which nothing happens', () => {
  it.each([
    [1, {}, 0.4],
    [1, { concurrency: 20 }, 0.4],
    [4, {}, 0.85],
    [5, {}, 0.6],
    [12, {}, 0.6],
  ])('with %d queues and %j sends at most %d commands a second', async (queues, options, most) => {
    const app = await startApp(queues, options);
    await app.clock.advance(SETTLED_MS);
    expect(await perSecond(app)).toBeLessThanOrEqual(most);
  });

  it('sends as little while a job waits for tomorrow, but for looks at maintenance', async () => {
    const app = await startApp(1);
    await elsewhere(app).enqueue({}, { delayMs: 86_400_000 });
    await app.clock.advance(SETTLED_MS);
    expect(await perSecond(app)).toBeLessThanOrEqual(0.9);
  });

  it('begins each wait with the next queue, because Redis serves the first one with a marker', async () => {
    const app = await startApp(3);
    await app.clock.advance(MINUTES * 60_000);
    expect(new Set(app.waits.slice(-3).map(([first]) => first)).size).toBe(3);
  });

  it.each([1, 5])('starts a job at once, with %d queues', async (queues) => {
    const app = await startApp(queues);
    await app.clock.advance(SETTLED_MS + 3_456);
    await elsewhere(app).enqueue({}, { id: 'a' });
    const enqueuedMs = app.clock.now();
    await app.clock.advance(50);
    expect(app.ran.get('a')! - enqueuedMs).toBeLessThanOrEqual(5);
  });

  it.each([1, 5])('starts a delayed job of another process when it is due, with %d queues', async (queues) => {
    const app = await startApp(queues);
    await app.clock.advance(SETTLED_MS);
    await elsewhere(app).enqueue({}, { id: 'a', delayMs: 2_000 });
    const dueMs = app.clock.now() + 2_000;
    await app.clock.advance(3_000);
    expect(app.ran.get('a')! - dueMs).toBeLessThanOrEqual(20);
  });

  it.each([1, 5])(
    'makes the ticks of a schedule that another process has just made, with %d queues',
    async (queues) => {
      const app = await startApp(queues);
      await app.clock.advance(SETTLED_MS);
      const queue = elsewhere(app);
      await queue.schedules.upsert('often', { everyMs: 1_000 }, { payload: {} });
      await app.clock.advance(3_500);
      expect(app.ran.size).toBeGreaterThanOrEqual(2);
      await queue.schedules.pause('often');
      await app.clock.advance(60_000);
      app.ran.clear();
      await queue.schedules.resume('often');
      await app.clock.advance(2_500);
      expect(app.ran.size).toBeGreaterThanOrEqual(1);
    },
  );

  it.each([1, 5])(
    'finds a job without a marker within ten seconds, and each further one within a second, with %d queues',
    async (queues) => {
      const app = await startApp(queues);
      await app.clock.advance(SETTLED_MS);
      const add = async (id: string) => {
        const { keys } = await viewOf(elsewhere(app));
        app.server.send('HSET', [keys.job(id), 'payload', '{}', 'status', 'pending', 'attempts', '0']);
        app.server.send('LPUSH', [keys.pending, id]);
        return app.clock.now();
      };
      const first = await add('a');
      await app.clock.advance(11_000);
      expect(app.ran.get('a')! - first).toBeLessThanOrEqual(10_100);
      for (const id of ['b', 'c']) {
        await app.clock.advance(60_000);
        const at = await add(id);
        await app.clock.advance(2_000);
        expect(app.ran.get(id)! - at).toBeLessThanOrEqual(1_100);
      }
    },
  );

  it('asks each second while the queue has a limit, because the worker that waits for it may die', async () => {
    const app = await startApp(1);
    await elsewhere(app).limits.set({ rateLimit: { limit: 10, periodMs: 1_000 } });
    await elsewhere(app).enqueue({});
    await app.clock.advance(SETTLED_MS);
    expect(await perSecond(app)).toBeGreaterThan(1.5);
  });

  it.each([5, 6])('looks each second while another worker may die with a wake, with %d queues', async (queues) => {
    const app = await startApp(queues);
    const other = await startApp(queues - 1, {}, app); // of another fleet
    await app.clock.advance(SETTLED_MS);
    await enqueueUnheard(elsewhere(app), { id: 'a' });
    const at = app.clock.now();
    await app.clock.advance(2_000);
    expect(Math.min(app.ran.get('a') ?? Infinity, other.ran.get('a') ?? Infinity) - at).toBeLessThanOrEqual(1_100);
  });
});
