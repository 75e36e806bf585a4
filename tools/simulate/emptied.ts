// A server that loses its data while workers of a limited queue claim from it, by a seed. Claims, announcements and the
// loss cross each other: each call and each reply has a delay of its own.
import { JobQueue } from '#queue/job-queue.js';
import { ScriptStore, type StoreLink } from '#memory/script-store.js';
import { ScriptServer } from '#memory/server/script-server.js';
import { VirtualClock } from '#testing/time/virtual-clock.js';
import type { WorkerRegistration } from '#worker/maintenance/worker-reports.js';
import { Worker } from '#worker/worker.js';
import { settled } from './settled.js';
import { Random } from '../chaos/random.js';

/** The delay of a call or its reply, in ms, at most. */
const LONGEST_MS = 40;

/** The limit of the queue for the whole fleet. */
export const MOST_RUNNING = 3;

/** How often the server loses its data in a run. */
const LOSSES = 12;

/** The time after a loss in which a job must start, in ms. */
export const SOON_MS = 2_000;

/** Changes the registration of each worker of a run. */
export type Planted = (registration: WorkerRegistration) => void;

/**
 * Loses all data of the server again and again.
 *
 * @returns how long no job started after each loss, in ms, and the most later jobs at once
 */
export async function emptied(seed: number, planted?: Planted): Promise<{ waits: number[]; mostRunning: number }> {
  const random = new Random(seed);
  const clock = new VirtualClock(Date.UTC(2030, 0, 1), seed);
  const server = new ScriptServer(() => clock.now(), { random: () => clock.random() });
  const queueOf = () => new JobQueue(storeOf(clock, server, random), 'mail', { maxRunning: MOST_RUNNING });
  const seen = { started: 0, losses: 0, running: 0, mostRunning: 0 };
  const handle = async () => {
    const since = seen.losses; // nobody knows of a job from before a loss any more
    seen.mostRunning = Math.max(seen.mostRunning, ++seen.running);
    seen.started++;
    await new Promise((resolve) => clock.setTimeout(() => resolve(undefined), random.between(0, 30)));
    if (since === seen.losses) seen.running--;
  };
  const workers = [0, 1].map(() => new Worker([{ queue: queueOf(), concurrency: 5, handlers: { mail: handle } }]));
  await settled(clock, Promise.all(workers.map((worker) => worker.start())));
  for (const worker of workers) planted?.(worker['reports']!['registration']);
  const producer = queueOf();
  const waits: number[] = [];
  for (let loss = 0; loss < LOSSES; loss++) {
    await enqueue(producer, clock);
    await clock.advance(random.between(1, 3_000));
    server.keys.clear();
    const lostAt = clock.now();
    [seen.started, seen.running] = [0, 0];
    seen.losses++;
    await enqueue(producer, clock);
    while (seen.started === 0 && clock.now() - lostAt < 10 * SOON_MS) await clock.advance(10);
    waits.push(clock.now() - lostAt);
  }
  await settled(clock, Promise.all(workers.map((worker) => worker.stop({ timeoutMs: 1_000 }))));
  return { waits, mostRunning: seen.mostRunning };
}

/** Returns a store of its own for each process. Its calls and replies overtake each other, as over several connections. */
function storeOf(clock: VirtualClock, server: ScriptServer, random: Random): ScriptStore {
  const delay = () =>
    new Promise((resolve) => clock.setTimeout(() => resolve(undefined), random.between(0, LONGEST_MS)));
  const link: StoreLink = async (_script, run) => {
    await delay();
    const reply = run();
    await delay();
    return reply;
  };
  return new ScriptStore(clock, { server, link });
}

async function enqueue(queue: JobQueue, clock: VirtualClock): Promise<void> {
  const jobs = Array.from({ length: 20 }, (_, i) => ({ payload: i }));
  await settled(
    clock,
    queue.enqueueMany(jobs).catch(() => undefined),
  );
}
