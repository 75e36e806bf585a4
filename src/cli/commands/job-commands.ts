import { Argument, type Command } from 'commander';
import { jobLabel } from '../../inspect/display/job-label.js';
import type { EnqueueOptions } from '../../queue/enqueue/enqueue-options.js';
import { JOB_STATUSES, type JobFilter, type JobRecord, type JobStatus } from '../../queue/model/job.js';
import type { Run } from '../context.js';
import { CliError, EXIT, noJob } from '../exit-codes.js';
import { wholeNumber } from '../numbers.js';
import type { Output } from '../output.js';
import { type Part, text, type Text } from '../text.js';
import { addShow } from './show-command.js';

/** The words for outcomes that do not say enough by themselves. */
const OUTCOMES: Readonly<Record<string, string>> = {
  requested: 'requested: it runs, and its signal aborts',
  finished: 'unchanged: it has completed, or is a dead letter',
};

/** The size from which a table leaves a payload out, because it does not show payloads. */
const TABLE_BYTES = 1_024;

/** Adds the commands for jobs. */
export function addJobCommands(program: Command, run: Run): void {
  addList(program, run);
  addShow(program, run);
  addChanges(program, run);
}

function addList(program: Command, run: Run): void {
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

/** Returns the jobs of one state. A column that says nothing of any job is left out. */
function jobTable(jobs: readonly JobRecord[], out: Output): Part {
  const columns: [name: string, cell: (job: JobRecord) => Part, isWanted?: (job: JobRecord) => unknown][] = [
    ['name', ({ name }) => name, ({ name, queue }) => name !== queue],
    ['id', ({ id }) => id],
    ['when', (job) => since(job, out)],
    ['attempts', ({ attempts, maxAttempts }) => `${attempts}${maxAttempts === undefined ? '' : `/${maxAttempts}`}`],
    ['group', ({ group }) => group ?? '', ({ group }) => group],
    ['label', (job) => jobLabel(job), (job) => jobLabel(job)],
    ['last error', ({ lastError }) => lastError ?? '', ({ lastError }) => lastError],
  ];
  const shown = columns.filter(([, , isWanted]) => !isWanted || jobs.some((job) => isWanted(job)));
  const rows = jobs.map((job) => shown.map(([, cell]) => cell(job)));
  const head = shown.map(([name]) => name);
  return rows.length > 0 ? out.table(head, rows, { whole: ['id'], dropped: ['attempts'] }) : 'No job.';
}

/** The last change of a job in each state. */
const CHANGES = {
  pending: ['enqueued', 'enqueuedAt'],
  scheduled: ['due', 'dueAt'],
  processing: ['claimed', 'claimedAt'],
  completed: ['completed', 'completedAt'],
  failed: ['failed', 'failedAt'],
  cancelled: ['cancelled', 'cancelledAt'],
} as const satisfies Record<JobStatus, [verb: string, at: keyof JobRecord]>;

/** Returns since when a job is in its state, such as "failed 3 s ago", or when it is due. */
function since(job: JobRecord, out: Output): Text {
  const [verb, at] = CHANGES[job.status];
  return job[at] ? text`${verb} ${out.ago(job[at])}` : text`enqueued ${out.ago(job.enqueuedAt)}`;
}

/** Adds the commands that add a job, or change one. */
function addChanges(program: Command, run: Run): void {
  program
    .command('enqueue <queue> <payload>')
    .description('adds a job; the payload is JSON')
    .option('--name <name>', 'the name of the job, in a queue that several share')
    .option('--delay <ms>', 'starts it this many ms from now')
    .option('--id <id>', 'the id; a known one adds nothing')
    .action(
      run(async ({ session, out }, [name, payload], options) => {
        const given = { name: options['name'], id: options['id'], delayMs: wholeNumber('delay', options['delay']) };
        const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
        const content = parsed(payload!);
        const queue = await session.audited(name!);
        await session.refuseSecret(queue);
        const [job] = await queue.enqueueMany([{ payload: content, ...(set as EnqueueOptions) }]);
        out.show({ id: job!.id }, () => job!.id);
      }),
    );
  for (const [command, verb, description, refused] of [
    ['cancel', 'cancel', 'cancels a job; a running one gets an aborted signal', ''],
    ['promote', 'promote', 'starts a scheduled job now', 'It runs or has ended.'],
    [
      'run-again',
      'runAgain',
      'runs a job again that completed or was cancelled',
      'It has not ended so. A dead letter is sent back to work by "redrive".',
    ],
  ] as const) {
    program
      .command(`${command} <queue> <id>`)
      .description(description)
      .action(
        run(async ({ session, out }, [name, id]) => {
          const outcome = await (await session.known(name!))[verb](id!);
          if (outcome === 'missing') {
            throw noJob(name!, id!);
          }
          if (outcome === 'refused') {
            throw new CliError(`Job ${JSON.stringify(id)} stays as it is. ${refused}`);
          }
          out.show({ id, outcome }, () => OUTCOMES[outcome] ?? outcome);
        }),
      );
  }
}

function parsed(payload: string): unknown {
  try {
    return JSON.parse(payload);
  } catch (error) {
    const hint = 'Expected JSON, such as \'{"to":"ada@example.com"}\'.';
    throw new CliError(`The payload is not JSON: ${(error as Error).message}. ${hint}`, EXIT.usage);
  }
}
