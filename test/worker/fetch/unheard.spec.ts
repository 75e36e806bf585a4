// A server or a proxy may confirm the channels of a worker and then count none of them. The claims notice it.
import { expect, it, jest } from '@jest/globals';
import { ScriptServer } from '#memory/server/script-server.js';
import { JobQueue } from '#queue/job-queue.js';
import { VirtualClock } from '#testing/time/virtual-clock.js';
import type { IdleWait } from '#worker/fetch/idle-wait.js';
import type { QueueRunner } from '#worker/runner/queue-runner.js';
import { ClaimOutlook } from '#worker/runner/claims.js';
import { UnheardQueues } from '#worker/fetch/directed-wait.js';
import { Worker } from '#worker/worker.js';
import { unheardText } from '../../../src/health/health-report.js';
import { ClusterStore, WakeChannels } from '../../support/memory/cluster-store.js';

const QUEUES = 6;

/** The longest time until a start by a wake or a marker. By a look it takes up to a second. */
const FAST_MS = 50;

async function start(isDeaf: boolean, count = QUEUES) {
  const clock = new VirtualClock();
  const server = new ScriptServer(() => clock.now(), { random: () => clock.random() });
  const channels = new WakeChannels(server);
  channels.isDeaf = isDeaf;
  const store = new ClusterStore(clock, channels, { server });
  const queues = Array.from({ length: count }, (_, i) => new JobQueue(store, `q${i}`));
  const started = new Map<string, number>();
  const handle = ({ id }: { id: string }) => void started.set(id, clock.now());
  const lines: string[] = [];
  const note = (message: string) => void lines.push(message);
  const logger = { log: note, warn: note, error: note };
  const served = queues.map((queue) => ({ queue, handlers: { [queue.name]: handle } }));
  const worker = new Worker(served, { sweepIntervalMs: 0, logger });
  const starting = worker.start();
  await clock.advance(1_500);
  await starting;
  /** Returns the ms until a job of each queue has started. */
  const startTimes = async () => {
    const from = clock.now();
    const jobs = await Promise.all(queues.map((queue) => queue.enqueue({})));
    await clock.advance(1_110);
    return jobs.map(({ id }) => started.get(id)! - from);
  };
  const stop = async () => {
    const stopping = worker.stop({ timeoutMs: 100 });
    await clock.advance(2_000);
    await stopping;
  };
  return { clock, channels, worker, queues, lines, startTimes, stop };
}

it('a worker waits as without a hub while no wake reaches it, says so once, and comes back', async () => {
  const { clock, channels, worker, lines, startTimes, stop } = await start(true);
  expect(Math.max(...(await startTimes()))).toBeGreaterThan(FAST_MS);
  await clock.advance(15_000);
  expect(worker.unheard).toHaveLength(QUEUES);
  expect(unheardText(worker.unheard)).toEqual([expect.stringContaining('cannot wake this worker in 6 queues')]);
  expect(Math.max(...(await startTimes()))).toBeLessThan(FAST_MS);
  expect(lines).toEqual([expect.stringContaining('Redis counts no subscriber of the wake channel')]);

  channels.isDeaf = false;
  await clock.advance(10_000);
  expect(worker.unheard).toEqual([]);
  expect(lines.slice(1)).toEqual(['The scripts of Redis wake this worker again in all its queues.']);
  expect(Math.max(...(await startTimes()))).toBeLessThan(FAST_MS);
  await stop();
});

it('a worker keeps no wait for a short time without being heard, as after a failover', async () => {
  const { clock, channels, worker, lines, startTimes, stop } = await start(false);
  channels.isDeaf = true;
  channels.cut(worker.id);
  await clock.advance(8_000);
  channels.isDeaf = false;
  await clock.advance(12_000);
  expect(worker.unheard).toEqual([]);
  expect(lines).toEqual([]);
  expect(Math.max(...(await startTimes()))).toBeLessThan(FAST_MS);
  await stop();
});

it('a worker looks only, where more queues are not heard than get a wait', async () => {
  const { clock, worker, startTimes, stop } = await start(true, 66);
  await clock.advance(15_000);
  expect(worker.unheard).toHaveLength(66);
  const times = await startTimes();
  expect(Math.max(...times)).toBeLessThan(1_100);
  expect(times.filter((ms) => ms < FAST_MS)).toHaveLength(64);
  await stop();
});

it('a worker waits for nothing more once it stops', async () => {
  const { clock, worker, lines, stop } = await start(true);
  await clock.advance(15_000);
  expect(lines).toHaveLength(1);
  await stop();
  expect(worker.unheard).toEqual([]);
  expect(lines).toHaveLength(1);
});

it('a job costs no look at the last claims of other queues', async () => {
  const { queues, clock, stop } = await start(false, 60);
  await clock.advance(1_000);
  const looks = jest.spyOn(ClaimOutlook.prototype, 'isUnheard', 'get');
  const job = await queues[0]!.enqueue({});
  await clock.advance(100);
  expect(await queues[0]!.get(job.id)).toMatchObject({ status: 'completed' });
  expect(looks.mock.calls.length).toBeGreaterThan(0);
  expect(looks.mock.calls.length).toBeLessThan(10);
  looks.mockRestore();
  await stop();
});

it('a queue gets a wait after three claims in ten seconds that were not heard, each counted once', async () => {
  const clock = new VirtualClock();
  const calls: string[] = [];
  const wait = Object.fromEntries(
    ['start', 'check', 'interrupt', 'abandon', 'stop'].map((name) => [name, async () => void calls.push(name)]),
  ) as unknown as IdleWait;
  const logger = { log() {}, warn() {}, error() {} };
  const queues = new UnheardQueues({ clock, logger, openWait: () => wait });
  const outlook = { isUnheard: true, replies: 1 };
  const runner = { name: 'q', outlook } as unknown as QueueRunner;
  const checkAt = async (ms: number, replies: number) => {
    await clock.advance(ms);
    Object.assign(outlook, { replies });
    queues.check(runner);
    return queues.names;
  };
  expect(await checkAt(0, 1)).toEqual([]);
  expect(queues.missing).toEqual([runner]);
  expect(await checkAt(20_000, 1)).toEqual([]); // the same reply again
  expect(await checkAt(0, 11)).toEqual([]);
  expect(await checkAt(0, 111)).toEqual(['q']);
  queues.interrupt();
  queues.abandon();
  expect(calls).toEqual(['start', 'check', 'interrupt', 'abandon']);
  expect(await checkAt(20_000, 112)).toEqual(['q']);
  expect(calls).toHaveLength(4); // it has stopped
});

it('a queue that is heard again within ten seconds begins its count anew', async () => {
  const clock = new VirtualClock();
  const queues = new UnheardQueues({ clock, logger: console, openWait: () => { throw new Error('opened'); } }); // prettier-ignore
  const outlook = { isUnheard: true, replies: 0 };
  const runner = { name: 'q', outlook } as unknown as QueueRunner;
  for (const isUnheard of [true, true, true, false, true, true, true]) {
    Object.assign(outlook, { isUnheard, replies: outlook.replies + 1 });
    queues.check(runner);
    expect(queues.missing).toEqual(isUnheard ? [runner] : []);
    await clock.advance(3_333);
  }
  expect(queues.names).toEqual([]);
});
