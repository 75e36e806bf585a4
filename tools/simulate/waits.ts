// Jobs that wait for signals and sleep, while their workers are killed, by a seed. Two senders send each signal, and a call may be
// sent twice. A planted fault changes the text of scripts.
import { JobQueue } from '#queue/job-queue.js';
import { SignalRefusedError } from '#queue/errors/errors.js';
import { ScriptStore } from '#memory/script-store.js';
import { VirtualClock } from '#testing/time/virtual-clock.js';
import type { Job } from '#worker/handlers/job.js';
import { Worker } from '#worker/worker.js';
import { Random } from '../chaos/random.js';
import { faultyStore, type Killed, PlantedServer } from './planted-server.js';
import type { Edit } from './plants/plant.js';
import { settled } from './settled.js';

const QUEUE = 'order';
const JOBS = 20;
const KILLS = 4;
const TIMEOUT_MS = 4_000;
const SLEEP_MS = 1_500;
const LATE = 'late';
/** The time in which all jobs must have ended after the last signal, in ms. */
const PATIENCE_MS = 60_000;

/** The signals of a job. The first has a time limit. */
const SIGNALS = ['first', 'second'] as const;
type Signal = (typeof SIGNALS)[number];

/** What a job and its senders met. */
class Trail {
  readonly got = new Map<Signal, Set<unknown>>();
  readonly accepted = new Map<Signal, unknown[]>();
  readonly known = new Set<Signal>();
  readonly faults = new Set<string>();
  sleptFromMs = Infinity;

  constructor(readonly enqueuedAtMs: number) {}

  answered(signal: Signal, value: unknown, nowMs: number): void {
    this.got.set(signal, (this.got.get(signal) ?? new Set()).add(value));
    if (value === LATE && nowMs < this.enqueuedAtMs + TIMEOUT_MS) this.faults.add('a wait ended too early');
  }

  /** Returns what was wrong, once the job has ended. */
  violations(): string[] {
    for (const signal of SIGNALS) {
      const accepted = this.accepted.get(signal) ?? [];
      const got = [...(this.got.get(signal) ?? [])];
      if (got.length > 1) this.faults.add('two attempts got different answers');
      if (accepted.length > 1) this.faults.add('two senders were accepted');
      if (accepted.length > 0 && got[0] !== accepted[0])
        this.faults.add('a job got another answer than the accepted one');
      if (this.known.has(signal) && accepted.length === 0)
        this.faults.add('a sender was told that nobody else has sent');
    }
    return [...this.faults];
  }
}

function queueOn(store: ScriptStore): JobQueue {
  return new JobQueue(store, QUEUE, { visibilityMs: 2_000, maxAttempts: 100, maxCrashes: 100 });
}

/** Runs jobs that wait, and kills workers meanwhile. Returns what was wrong. */
export async function waited(seed: number, edits: readonly Edit[] = []): Promise<string[]> {
  const random = new Random(seed);
  const clock = new VirtualClock(Date.UTC(2030, 0, 1), seed);
  const server = new PlantedServer(clock, edits);
  const trails = new Map<string, Trail>();
  const fleet = { clock, random, server };

  /** Sends a signal about when its job comes to the wait. */
  const sendMeanwhile = (id: string, signal: Signal) => {
    if (random.chance(0.3)) {
      clock.setTimeout(() => sends.push(send(id, signal, 3)), random.between(0, 80));
    }
  };
  const handle = async (job: Job): Promise<void> => {
    const trail = trails.get(job.id)!;
    sendMeanwhile(job.id, 'first');
    const first = await job.waitFor('first', { timeoutMs: TIMEOUT_MS, timeoutValue: LATE });
    trail.answered('first', first, clock.now());
    trail.sleptFromMs = Math.min(trail.sleptFromMs, clock.now());
    await job.sleep(SLEEP_MS);
    if (clock.now() < trail.sleptFromMs + SLEEP_MS) trail.faults.add('a sleep was too short');
    sendMeanwhile(job.id, 'second');
    trail.answered('second', await job.waitFor('second'), clock.now());
  };
  const workers: { worker: Worker; process: Killed }[] = [];
  const start = async () => {
    const process = { isDead: false };
    const queue = queueOn(faultyStore(fleet, { longestMs: 40, lost: 0.002 }, process));
    const worker = new Worker([{ queue, concurrency: 5, handlers: { [QUEUE]: handle } }], {});
    workers.push({ worker, process });
    await settled(clock, worker.start());
  };

  const sender = queueOn(faultyStore(fleet, { longestMs: 40, lost: 0, repeated: 0.5 }, { isDead: false }));
  const sends: Promise<void>[] = [];
  const send = async (id: string, signal: Signal, data: number) => {
    const trail = trails.get(id)!;
    try {
      const outcome = await sender.signal(id, signal, data);
      if (outcome === 'known') trail.known.add(signal);
      else trail.accepted.set(signal, [...(trail.accepted.get(signal) ?? []), data]);
    } catch (error) {
      const reason = error instanceof SignalRefusedError ? error.reason : String(error);
      const isEarly = reason === 'late' && clock.now() < trail.enqueuedAtMs + TIMEOUT_MS;
      if (reason !== 'ended' && (reason !== 'late' || isEarly)) trail.faults.add(`a signal was refused: ${reason}`);
    }
  };

  const direct = queueOn(new ScriptStore(clock, { server }));
  await start();
  for (let i = 0; i < JOBS; i++) {
    const id = `job-${i}`;
    trails.set(id, new Trail(clock.now()));
    await settled(clock, direct.enqueue({}, { id }));
    for (const signal of SIGNALS) {
      for (let data = 1; data <= 2; data++) {
        clock.setTimeout(() => sends.push(send(id, signal, data)), random.between(0, 2 * TIMEOUT_MS));
      }
    }
  }
  for (let kill = 0; kill < KILLS; kill++) {
    await start();
    await clock.advance(random.between(1, 1_500));
    workers.find(({ process }) => !process.isDead)!.process.isDead = true;
  }
  await start();
  await clock.advance(2 * TIMEOUT_MS);
  await settled(clock, Promise.all(sends));
  const completed = async () => (await direct.stats()).totals['completed'] ?? 0;
  for (const until = clock.now() + PATIENCE_MS; (await completed()) < JOBS && clock.now() < until;) {
    await clock.advance(200);
  }
  const violations = new Set([...trails.values()].flatMap((trail) => trail.violations()));
  for (const id of trails.keys()) {
    const job = (await direct.get(id))!;
    if (job.status !== 'completed')
      violations.add(`a job has not ended: ${job.status}${job.lastError ? `, ${job.lastError}` : ''}`);
    if (job.attempts - job.crashes > 1) violations.add('a wait used an attempt');
  }
  const living = workers.filter(({ process }) => !process.isDead);
  await settled(clock, Promise.all(living.map(({ worker }) => worker.stop({ timeoutMs: 1_000 }))));
  return [...violations];
}
