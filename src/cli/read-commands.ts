import type { Command } from 'commander';
import { signsOf, readSigns } from '../inspect/signs.js';
import { type QueueVerdict, verdictOf, worstOf } from '../inspect/verdict.js';
import { whyNotRunning } from '../inspect/why-not-running.js';
import { count, duration } from '../inspect/words.js';
import { JOB_STATUSES, type JobRecord, type JobStatus, type QueueStats } from '../queue/model/job.js';
import type { JobQueue } from '../queue/job-queue.js';
import { redisAccess } from '../queue/redis-access.js';
import { CliError, EXIT } from './exit-codes.js';
import { wholeNumber } from './numbers.js';
import { type Output, safe, table } from './output.js';
import type { Run } from './context.js';
import type { Session } from './session.js';

/** The commands that only read. */
export function addReadCommands(program: Command, run: Run): void {
  program
    .command('queues')
    .description('lists the queues')
    .action(
      run(async ({ session, out }) => {
        const names = await session.queueNames();
        out.show(names, () =>
          names.length > 0 ? names.map((name) => safe(name)).join('\n') : 'There are no queues.',
        );
      }),
    );
  program
    .command('stats [queue]')
    .description('depths, ages and counters of a queue, or of all')
    .action(
      run(async ({ session, out }, [name]) => {
        const stats = await statsOf(session, name);
        out.show(stats, () => statsTable(stats, out));
      }),
    );
  program
    .command('list <queue> <status>')
    .description(`lists the jobs in one state: ${JOB_STATUSES.join(', ')}`)
    .option('--limit <n>', 'at most so many, up to 1,000', '20')
    .option('--offset <n>', 'leave out the first so many', '0')
    .action(
      run(async ({ session, out }, [name, status], options) => {
        const queue = await session.known(name!);
        const page = {
          limit: wholeNumber('limit', options['limit']),
          offset: wholeNumber('offset', options['offset']),
        };
        const jobs = await queue.list(status as JobStatus, page);
        out.show(jobs, () => jobTable(jobs));
      }),
    );
  program
    .command('show <queue> <id>')
    .description('all that is known of a job, and why it does not run')
    .action(
      run(async ({ session, out }, [name, id]) => {
        const queue = await session.known(name!);
        const job = await queue.get(id!);
        if (!job) {
          throw new CliError(`Queue ${JSON.stringify(name)} has no job ${JSON.stringify(id)}.`, EXIT.notFound);
        }
        const reason = whyNotRunning(job, { ...(await readSigns(queue)), ahead: await jobsAhead(queue, job) });
        out.show({ ...job, notRunning: reason ?? null }, () => jobText(job, reason));
      }),
    );
  addMoreReads(program, run);
}

function addMoreReads(program: Command, run: Run): void {
  program
    .command('schedules <queue>')
    .description('lists the recurring jobs')
    .action(
      run(async ({ session, out }, [name]) => {
        const schedules = await (await session.known(name!)).schedules.list({ limit: 1_000 });
        const rows = schedules.map((each) => [
          safe(each.id),
          each.cron ?? `every ${duration(each.everyMs ?? 0)}`,
          each.status,
          each.nextAt?.toISOString() ?? '–',
          each.ticks,
        ]);
        out.show(schedules, () => table(['schedule', 'when', 'status', 'next', 'ticks'], rows));
      }),
    );
  program
    .command('workers <queue>')
    .description('lists the worker processes that announced themselves within 30 s')
    .action(
      run(async ({ session, out }, [name]) => {
        const workers = await workersOf(session, name!);
        const rows = workers.map(({ worker, seenMsAgo }) => [safe(worker), `${duration(seenMsAgo)} ago`]);
        out.show(workers, () => (rows.length > 0 ? table(['worker', 'seen'], rows) : 'No worker.'));
      }),
    );
  program
    .command('health [queue]')
    .description('says in words whether work flows; the exit code says how bad it is: 0, 10 or 20')
    .action(
      run(async ({ session, out, exit }, [name]) => {
        const names = name === undefined ? await session.queueNames() : [(await session.known(name)).name];
        const verdicts = await Promise.all(
          names.map(async (each) => verdictOf(await readSigns(session.queue(each)))),
        );
        const severity = worstOf(verdicts);
        exit(severity === 'critical' ? EXIT.critical : severity === 'warning' ? EXIT.warning : EXIT.ok);
        out.show({ severity, queues: verdicts }, () => verdictText(verdicts, out));
      }),
    );
}

/** How many jobs are before one that waits; undefined where they are too many to look. */
async function jobsAhead(queue: JobQueue, { id, status }: JobRecord): Promise<number | undefined> {
  const first = status === 'pending' ? await queue.list('pending', { limit: 100 }) : [];
  const place = first.findIndex((each) => each.id === id);
  return place < 0 ? undefined : place;
}

async function workersOf(session: Session, name: string): Promise<{ worker: string; seenMsAgo: number }[]> {
  const { keys } = await redisAccess(await session.known(name));
  const [[seconds], flat] = await Promise.all([
    session.client.time(),
    session.client.zrevrange(keys.workers, 0, 999, 'WITHSCORES'),
  ]);
  const now = Number(seconds) * 1_000;
  const workers = [];
  for (let i = 0; i < flat.length; i += 2) {
    workers.push({ worker: flat[i]!, seenMsAgo: Math.max(0, now - Number(flat[i + 1])) });
  }
  return workers.filter(({ seenMsAgo }) => seenMsAgo <= 30_000);
}

/** By the name of the queue. */
export async function statsOf(session: Session, name?: string): Promise<Record<string, QueueStats>> {
  const names = name === undefined ? await session.queueNames() : [(await session.known(name)).name];
  const all = await Promise.all(names.map(async (each) => [each, await session.queue(each).stats()] as const));
  return Object.fromEntries(all);
}

export function statsTable(all: Record<string, QueueStats>, out: Output): string {
  const head = ['', 'queue', 'waiting', 'oldest', 'running', 'scheduled', 'dead', 'done', 'workers'];
  const rows = Object.entries(all).map(([name, stats]) => [
    out.sign(verdictOf(signsOf(name, stats)).severity),
    safe(name, 40),
    stats.pending,
    stats.pending > 0 ? duration(stats.oldestPendingAgeMs) : '–',
    stats.processing,
    stats.scheduled,
    stats.failed,
    stats.totals['completed'] ?? 0,
    stats.workers,
  ]);
  return rows.length > 0 ? table(head, rows) : 'There are no queues.';
}

export function verdictText(verdicts: readonly QueueVerdict[], out: Output): string {
  if (verdicts.length === 0) {
    return 'There are no queues.';
  }
  return verdicts
    .map(({ queue, severity, summary, cause, next }) =>
      [
        `${out.sign(severity)} ${safe(queue, 60)}  ${safe(summary, 400)}`,
        ...(cause === undefined ? [] : [`    cause: ${safe(cause, 400)}`]),
        ...(next === undefined ? [] : [`    next:  ${safe(next, 400)}`]),
      ].join('\n'),
    )
    .join('\n');
}

function jobTable(jobs: readonly JobRecord[]): string {
  const now = Date.now();
  const rows = jobs.map((job) => [
    safe(job.name, 40),
    safe(job.id, 40),
    `${duration(now - job.enqueuedAt.getTime())} ago`,
    `${job.attempts}${job.maxAttempts === undefined ? '' : `/${job.maxAttempts}`}`,
    safe(job.lastError ?? '', 80),
  ]);
  return rows.length > 0
    ? table(['name', 'id', 'enqueued', 'attempts', 'last error'], rows)
    : `No job (${count(0)}).`;
}

function jobText(job: JobRecord, reason: ReturnType<typeof whyNotRunning>): string {
  const facts: [string, unknown][] = [
    ['job', `${job.name}  ${job.id}`],
    ['status', job.status],
    ['not running', reason?.because],
    ['next', reason?.next],
    ['attempts', `${job.attempts}${job.maxAttempts === undefined ? '' : ` of ${job.maxAttempts}`}`],
    ['enqueued', job.enqueuedAt.toISOString()],
    ['due', job.dueAt?.toISOString()],
    ['worker', job.worker],
    ['last error', job.lastError],
    ['payload', JSON.stringify(job.payload)],
    ['result', JSON.stringify(job.result)],
    ['progress', JSON.stringify(job.progress)],
    ...job.log.slice(-5).map(({ at, message }): [string, unknown] => ['log', `${at.toISOString()} ${message}`]),
  ];
  return facts
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name.padEnd(12)} ${safe(String(value), 2_000)}`)
    .join('\n');
}
