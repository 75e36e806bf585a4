import type { Command } from 'commander';
import { bucketOf, Histogram } from '../../queue/runtime/histogram.js';
import { count, duration } from '../../inspect/words.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { redisWithAllKeys } from '../../queue/redis-access.js';
import type { Job } from '../../worker/handlers/job.js';
import { Worker } from '../../worker/worker.js';
import type { Context, Run } from '../context.js';
import { CliError, EXIT } from '../exit-codes.js';
import { Interruption } from '../live/interruption.js';
import { wholeNumber } from '../numbers.js';
import { lines, text, type Text } from '../text.js';

const PAYLOAD = { to: 'ada@example.com', subject: 'Your order has shipped' };
const SLICE = 500;
const MOST_JOBS = 1_000_000;

interface Measured {
  jobs: number;
  concurrency: number;
  enqueuedPerSecond: number;
  processedPerSecond: number;
  /** The times from the enqueue to the start, one job at a time. */
  pickUpMs: { p50: number | null; p95: number | null };
}

/** The context of a measurement. */
interface Bench {
  queue: JobQueue;
  /** Interrupts it, so that its queue is deleted also then. */
  interruption: Interruption;
}

/** Adds a small measurement on the user's Redis, in a separate queue that is deleted afterwards. */
export function addBench(program: Command, run: Run): void {
  program
    .command('bench')
    .description('measures this machine and its Redis with jobs that do nothing; it puts load on that Redis')
    .option('--jobs <n>', 'how many jobs', '10000')
    .option('--concurrency <n>', 'how many at once', '100')
    .action(run(runBench));
}

async function runBench(context: Context, _args: string[], options: Record<string, unknown>): Promise<void> {
  const { session, out, confirm } = context;
  const jobs = wholeNumber('jobs', options['jobs'] as string)!;
  const concurrency = wholeNumber('concurrency', options['concurrency'] as string)!;
  if (jobs < 1 || jobs > MOST_JOBS || concurrency < 1) {
    throw new CliError(`--jobs: expected 1 to ${count(MOST_JOBS)}, and at least 1 at once.`, EXIT.usage);
  }
  await confirm(
    () =>
      text`put load on Redis at ${session.place}: ${count(jobs)} jobs in a queue of their own, which is then deleted`,
  );
  const queue = session.queue(`bench-${process.pid}-${Date.now().toString(36)}`);
  queue.author = null; // its own queue leaves no log
  const interruption = new Interruption(session);
  try {
    const measured = await measure(context, { queue, interruption }, jobs, concurrency);
    out.show(measured, () => words(measured));
  } finally {
    interruption.close();
    await queue.purge({ confirm: queue.name });
    await session.awaitReply(forget(queue));
  }
}

async function measure({ progress }: Context, bench: Bench, jobs: number, concurrency: number): Promise<Measured> {
  const enqueueMs = await timed(enqueueAll(bench, jobs));
  let done = 0;
  const handle = () => void done++;
  const processMs = await timed(
    progress.during(
      work(bench, concurrency, handle, () => done === jobs),
      'running',
      jobs,
      () => done,
    ),
  );
  return {
    jobs,
    concurrency,
    enqueuedPerSecond: Math.round((jobs / enqueueMs) * 1_000),
    processedPerSecond: Math.round((jobs / processMs) * 1_000),
    pickUpMs: await pickUp(bench),
  };
}

async function enqueueAll({ queue, interruption }: Bench, jobs: number): Promise<void> {
  for (let left = jobs; left > 0; left -= SLICE) {
    await goOn(interruption);
    await queue.enqueueMany(Array.from({ length: Math.min(SLICE, left) }, () => ({ payload: PAYLOAD })));
  }
}

/** Runs a worker until `isOver` says so, as of the end of some job. */
async function work(
  { queue, interruption }: Bench,
  concurrency: number,
  handle: (job: Job) => void,
  isOver: () => boolean,
  begin: () => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  let end!: () => void;
  const over = new Promise<void>((resolve) => (end = resolve));
  const onEvent = () => (isOver() ? end() : undefined);
  const worker = new Worker([{ queue, concurrency, handlers: { [queue.name]: handle } }], {
    sweepIntervalMs: 0,
    onEvent,
  });
  await worker.start();
  try {
    await Promise.race([begin().then(() => over), interruption.over]);
    await goOn(interruption);
  } finally {
    await worker.stop();
  }
}

async function pickUp(bench: Bench): Promise<Measured['pickUpMs']> {
  const times = new Histogram();
  const tries = 100;
  let sentAt = 0;
  let arrived!: () => void;
  const handle = () => {
    times.add(bucketOf(performance.now() - sentAt));
    arrived();
  };
  const oneByOne = async () => {
    for (let i = 0; i < tries; i++) {
      const arrival = new Promise<void>((resolve) => (arrived = resolve));
      sentAt = performance.now();
      await bench.queue.enqueue(PAYLOAD);
      await arrival;
    }
  };
  await work(bench, 1, handle, () => times.count === tries, oneByOne);
  return { p50: times.quantile(0.5), p95: times.quantile(0.95) };
}

/** @throws CliError after Ctrl+C, or where Redis is away */
async function goOn({ isOver, over }: Interruption): Promise<void> {
  if (isOver) {
    await over;
    throw new CliError('Interrupted; the queue of the measurement is deleted.');
  }
}

async function timed(action: Promise<unknown>): Promise<number> {
  const started = performance.now();
  await action;
  return Math.max(1, performance.now() - started);
}

/** Deletes the counters and the history that a purge keeps, because no app uses this queue. */
async function forget(queue: JobQueue): Promise<void> {
  const { client, keys } = await redisWithAllKeys(queue);
  await client.unlink(keys.stats, keys.sequence, keys.history, keys.historyOpen, keys.historyMarks);
}

function words({ jobs, concurrency, enqueuedPerSecond, processedPerSecond, pickUpMs }: Measured): Text {
  return lines([
    `${count(jobs)} jobs that do nothing, ${count(concurrency)} at once, one process`,
    `  enqueued   ${count(enqueuedPerSecond)}/s`,
    `  processed  ${count(processedPerSecond)}/s`,
    `  picked up  ${duration(pickUpMs.p50 ?? 0)} p50, ${duration(pickUpMs.p95 ?? 0)} p95, one job at a time`,
  ]);
}
