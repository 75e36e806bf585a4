import { Argument, type Command } from 'commander';
import { worstOf } from '../../inspect/verdict.js';
import { JOB_STATUSES, type JobFilter, type JobRecord, type JobStatus } from '../../queue/model/job.js';
import { CliError, EXIT } from '../exit-codes.js';
import { healthText, serverText } from '../overview-text.js';
import { readOverview } from '../overview.js';
import { wholeNumber } from '../numbers.js';
import type { Output } from '../output.js';
import { clipped, lines, type Part, text } from '../text.js';
import type { Run } from '../context.js';
import { addSchedules } from './schedules-command.js';
import { addShow } from './show-command.js';

/** The size from which a table leaves a payload out, because it does not show payloads. */
const TABLE_BYTES = 1_024;

/** Adds the commands that only read. */
export function addReadCommands(program: Command, run: Run): void {
  program
    .command('queues')
    .description('lists the queues')
    .action(
      run(async ({ session, out }) => {
        const names = await session.queueNames();
        out.show(names, () => (names.length > 0 ? lines(names) : session.noQueues().message));
      }),
    );
  program
    .command('list')
    .argument('<queue>')
    .addArgument(new Argument('<status>', 'the state').choices(JOB_STATUSES))
    .description(`lists the jobs in one state: ${JOB_STATUSES.join(', ')}`)
    .option('--limit <n>', 'at most this many, up to 1,000', '20')
    .option('--offset <n>', 'skips the first ones', '0')
    .option('--name <name>', 'only jobs of this name')
    .option('--metadata <key=value>', 'only jobs with this metadata; may be given again', gathered, [])
    .option('--older-than <ms>', 'in the state for this many ms or longer')
    .option('--newer-than <ms>', 'in the state for at most this many ms')
    .action(
      run(async ({ session, out }, [name, status], options) => {
        const queue = await session.known(name!);
        const page = {
          ...filterOf(options),
          limit: wholeNumber('limit', options['limit']),
          offset: wholeNumber('offset', options['offset']),
        };
        const shown = out.json ? page : { ...page, mostBytes: TABLE_BYTES };
        const content = await session.shownBy(queue);
        const jobs = (await queue.list(status as JobStatus, shown)).map((job) => content.record(job));
        out.show(jobs, () => jobTable(jobs, out));
      }),
    );
  addShow(program, run);
  addSchedules(program, run);
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
    .command('workers <queue>')
    .description('lists the worker processes that announced themselves within 30 s')
    .action(
      run(async ({ session, out }, [name]) => {
        const workers = await (await session.known(name!)).workers();
        const rows = workers.map(({ id, host, version, startedAt, seenAt, slots, stuck }) => [
          clipped(id, 60),
          clipped(host ?? '–', 40),
          clipped(version ?? '–', 20),
          startedAt ? out.ago(startedAt) : '–',
          out.ago(seenAt),
          slots ?? '–',
          stuck?.length ?? 0,
        ]);
        const head = ['worker', 'host', 'version', 'started', 'seen', 'slots', 'stuck'];
        const layout = { whole: ['worker'], dropped: ['host', 'version'] };
        const none = text`No worker of ${name!} announced itself within 30 s. Its jobs wait until one starts.`;
        out.show(workers, () => (rows.length > 0 ? out.table(head, rows, layout) : none));
      }),
    );
  program
    .command('health [queue]')
    .description(
      'says in words whether work flows; the exit code says how bad it is: 0, 10 or 20; 3 without a queue',
    )
    .action(
      run(async ({ session, out, exit }, [name]) => {
        const { server, queues } = await readOverview(session, name);
        const verdicts = queues.map(({ verdict }) => verdict);
        const severity = worstOf([...(server ? [server] : []), ...verdicts]);
        if (verdicts.length === 0 && severity === 'ok') {
          throw session.noQueues(server); // a probe beside the wrong database must not be green
        }
        exit(severity === 'critical' ? EXIT.critical : severity === 'warning' ? EXIT.warning : EXIT.ok);
        const words = () => (verdicts.length > 0 ? healthText(verdicts, out) : [session.noQueues().message]);
        out.show({ severity, server: server ?? null, queues: verdicts }, () =>
          lines([...serverText(server, out), ...words()]),
        );
      }),
    );
}

function jobTable(jobs: readonly JobRecord[], out: Output): Part {
  const rows = jobs.map((job) => [
    clipped(job.name, 40),
    clipped(job.id, 40),
    out.ago(job.enqueuedAt),
    `${job.attempts}${job.maxAttempts === undefined ? '' : `/${job.maxAttempts}`}`,
    clipped(job.lastError ?? '', 80),
  ]);
  return rows.length > 0
    ? out.table(['name', 'id', 'enqueued', 'attempts', 'last error'], rows, { whole: ['id'] })
    : 'No job.';
}
