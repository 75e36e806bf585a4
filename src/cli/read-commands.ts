import type { Command } from 'commander';
import { readSigns } from '../inspect/signs.js';
import type { QueueSigns, QueueVerdict } from '../inspect/queue-signs.js';
import { verdictOf, worstOf } from '../inspect/verdict.js';
import { whyNotRunning } from '../inspect/why-not-running.js';
import { count, duration } from '../inspect/words.js';
import {
  JOB_STATUSES,
  type JobFilter,
  type JobRecord,
  type JobStatus,
  type QueueStats,
} from '../queue/model/job.js';
import type { JobQueue } from '../queue/job-queue.js';
import { CliError, EXIT } from './exit-codes.js';
import { wholeNumber } from './numbers.js';
import { type Output, safe, table } from './output.js';
import type { Run } from './context.js';
import type { Session } from './session.js';

/** A table shows no payload, so that of a job is left out from so many bytes on. */
const TABLE_BYTES = 1_024;

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
    .command('list <queue> <status>')
    .description(`lists the jobs in one state: ${JOB_STATUSES.join(', ')}`)
    .option('--limit <n>', 'at most so many, up to 1,000', '20')
    .option('--offset <n>', 'leave out the first so many', '0')
    .option('--name <name>', 'only jobs of this name')
    .option('--metadata <key=value>', 'only jobs with this metadata; may be given again', gathered, [])
    .option('--older-than <ms>', 'in the state for so many ms or longer')
    .option('--newer-than <ms>', 'in the state for at most so many ms')
    .action(
      run(async ({ session, out }, [name, status], options) => {
        const queue = await session.known(name!);
        const page = {
          ...filterOf(options),
          limit: wholeNumber('limit', options['limit']),
          offset: wholeNumber('offset', options['offset']),
        };
        const shown = out.json ? page : { ...page, mostBytes: TABLE_BYTES };
        const jobs = (await queue.list(status as JobStatus, shown)).map((await session.shownBy(queue)).job);
        out.show(jobs, () => jobTable(jobs));
      }),
    );
  program
    .command('show <queue> <id>')
    .description('all that is known of a job, and why it does not run')
    .action(
      run(async ({ session, out }, [name, id]) => {
        const queue = await session.known(name!);
        const stored = await queue.get(id!);
        if (!stored) {
          throw new CliError(`Queue ${JSON.stringify(name)} has no job ${JSON.stringify(id)}.`, EXIT.notFound);
        }
        const job = (await session.shownBy(queue)).job(stored);
        const group = job.group === undefined ? undefined : await queue.groups.get(job.group);
        const [signs, ahead] = await Promise.all([readSigns(queue), jobsAhead(queue, job)]);
        const reason = whyNotRunning(job, { ...signs, ahead, ...(group && { group }) });
        out.show({ ...job, notRunning: reason ?? null }, () => jobText(job, reason));
      }),
    );
  addMoreReads(program, run);
}

function gathered(value: string, before: string[]): string[] {
  return [...before, value];
}

function filterOf({ name, metadata, olderThan, newerThan }: Record<string, unknown>): JobFilter {
  const entries = (metadata as string[]).map((pair) => pair.split(/=(.*)/s).slice(0, 2));
  const wrong = (metadata as string[]).find((pair) => !pair.includes('='));
  if (wrong !== undefined) {
    throw new CliError(`--metadata: expected key=value, found ${JSON.stringify(wrong)}.`, EXIT.usage);
  }
  return {
    ...(name !== undefined && { name: name as string }),
    ...(entries.length > 0 && { metadata: Object.fromEntries(entries) as Record<string, string> }),
    ...(olderThan !== undefined && { olderThanMs: wholeNumber('older-than', olderThan as string) }),
    ...(newerThan !== undefined && { newerThanMs: wholeNumber('newer-than', newerThan as string) }),
  };
}

function addMoreReads(program: Command, run: Run): void {
  program
    .command('schedules <queue>')
    .description('lists the recurring jobs')
    .action(
      run(async ({ session, out }, [name]) => {
        const queue = await session.known(name!);
        const shown = await session.shownBy(queue);
        const stored = await queue.schedules.list({ limit: 1_000 });
        const schedules = stored.map((each) => ({ ...each, payload: shown.payload(each) }));
        const rows = schedules.map((each) => [
          safe(each.id),
          each.cron ?? `every ${duration(each.everyMs ?? 0)}`,
          each.status,
          each.nextAt?.toISOString() ?? '–',
          each.limit === undefined ? each.ticks : `${each.ticks} of ${each.limit}`,
          each.endAt?.toISOString() ?? '–',
        ]);
        out.show(schedules, () => table(['schedule', 'when', 'status', 'next', 'ticks', 'until'], rows));
      }),
    );
  program
    .command('workers <queue>')
    .description('lists the worker processes that announced themselves within 30 s')
    .action(
      run(async ({ session, out }, [name]) => {
        const workers = await (await session.known(name!)).workers();
        const rows = workers.map(({ id, host, version, startedAt, slots, stuck }) => [
          safe(id, 60),
          safe(host ?? '–', 40),
          safe(version ?? '–', 20),
          startedAt?.toISOString().slice(0, 19) ?? '–',
          slots ?? '–',
          stuck?.length ?? 0,
        ]);
        const head = ['worker', 'host', 'version', 'since', 'slots', 'stuck'];
        out.show(workers, () => (rows.length > 0 ? table(head, rows) : 'No worker.'));
      }),
    );
  program
    .command('health [queue]')
    .description('says in words whether work flows; the exit code says how bad it is: 0, 10 or 20')
    .action(
      run(async ({ session, out, exit }, [name]) => {
        const verdicts = (await signsOf(session, name)).map(verdictOf);
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

/** The signs of one queue, or of all. */
export async function signsOf(session: Session, name?: string): Promise<QueueSigns[]> {
  const names = name === undefined ? await session.queueNames() : [(await session.known(name)).name];
  return Promise.all(names.map((each) => readSigns(session.queue(each))));
}

/** By the name of the queue. */
export function statsOf(signs: readonly QueueSigns[]): Record<string, QueueStats> {
  return Object.fromEntries(signs.map(({ queue, stats }) => [queue, stats]));
}

export function statsTable(all: readonly QueueSigns[], out: Output): string {
  const head = ['', 'queue', 'waiting', 'oldest', 'running', 'scheduled', 'dead', 'done', 'workers'];
  const rows = all.map(({ stats, ...signs }) => [
    out.sign(verdictOf({ ...signs, stats }).severity),
    safe(signs.queue, 40),
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
    ['group', job.group],
    ['batch', job.batch && `${job.batch.id} of ${job.batch.queue} (${job.batch.role})`],
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
