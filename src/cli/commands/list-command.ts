import { Argument, Option, type Command } from 'commander';
import { openWaits, jobLabel } from '../../inspect/job-words.js';
import type { QueueVerdict } from '../../inspect/queue-signs.js';
import { compileSearch, type Search } from '../../inspect/search.js';
import { unreadable, unreadableByAny } from '../../inspect/unreadable.js';
import { placesOf, walkSlice } from '../../inspect/walk-jobs.js';
import { count } from '../../inspect/words.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { JOB_STATUSES, type JobFilter, type JobStatus } from '../../queue/model/job.js';
import { LARGEST_PAGE } from '../../queue/runtime/bounds.js';
import { jsonOf, type JobFacts, type ShownJob } from '../../queue/store/shown-content.js';
import { shardsOf } from '../../spread/whole-queue.js';
import type { CommandOptions, Context, Run } from '../context.js';
import { CliError, EXIT } from '../exit-codes.js';
import { pageOf, wholeNumber } from '../numbers.js';
import type { Output } from '../output.js';
import type { Session } from '../redis/session.js';
import { type Part, text, type Text } from '../text.js';

/** The size from which a table leaves a payload out, because it does not show payloads. */
const TABLE_BYTES = 1_024;

/** Adds the command that lists the jobs of one state, or searches for jobs. */
export function addList(program: Command, run: Run): void {
  program
    .command('list')
    .argument('[queue]')
    .addArgument(new Argument('[status]', 'the state').choices(JOB_STATUSES))
    .description(`lists the jobs in one state, or what a search finds: ${JOB_STATUSES.join(', ')}`)
    .option('--limit <n>', 'at most this many, up to 1,000', '20')
    .option('--offset <n>', 'skips the first ones', '0')
    .addOption(
      new Option(
        '--search <text>',
        'what the dashboard finds, such as payload.to:ada; the queue and state may be left out',
      ).conflicts(['name', 'metadata', 'olderThan', 'newerThan']),
    )
    .option('--name <name>', 'only jobs of this name')
    .option('--metadata <key=value>', 'only jobs with this metadata; may be given again', gathered)
    .option('--older-than <ms>', 'in the state for this many ms or longer')
    .option('--newer-than <ms>', 'in the state for at most this many ms')
    .hook('preAction', requireArguments)
    .action(
      run((context, [name, status], options) =>
        options['search'] === undefined
          ? ofState(context, name!, status as JobStatus, options)
          : searched(context, name, status as JobStatus | undefined, options),
      ),
    );
}

/** Refuses a missing argument that only a search can do without. */
function requireArguments(_: Command, command: Command): void {
  const missing = ['queue', 'status'].find((__, i) => command.args[i] === undefined);
  if (missing !== undefined && command.opts()['search'] === undefined) {
    command.error(`error: missing required argument '${missing}'`);
  }
}

/** Lists the jobs of one state. */
async function ofState(
  { session, out }: Context,
  name: string,
  status: JobStatus,
  options: CommandOptions,
): Promise<void> {
  const queue = await session.known(name);
  const page = { ...filterOf(options), ...pageOf(options) };
  const shown = out.json ? page : { ...page, mostBytes: TABLE_BYTES };
  const content = await session.shownBy(queue);
  const jobs = (await queue.list(status, shown)).map((job) => content.record(job));
  out.show(jobs.map(jsonOf), () => jobTable(jobs, out));
  out.tellOfMore(jobs.length, page);
}

/** Lists what a search finds: in one queue, or in all. */
async function searched(
  { session, out, progress }: Context,
  name: string | undefined,
  status: JobStatus | undefined,
  options: CommandOptions,
): Promise<void> {
  const { limit, offset } = pageOf(options);
  if (limit > LARGEST_PAGE) {
    throw new CliError(`--limit: expected at most ${count(LARGEST_PAGE)}, found ${limit}.`, EXIT.usage);
  }
  const search = new JobSearch(session, options['search'] as string);
  await progress.during(
    search.run({ name, status, most: offset + limit }),
    'searched',
    undefined,
    () => search.searched,
  );
  const jobs = search.jobs.slice(offset, offset + limit);
  out.show(jobs.map(jsonOf), () => jobTable(jobs, out, { ofSeveral: true }));
  search.unreadable.forEach(({ queue, summary }) => out.tell(text`${queue} is ${summary}`.value));
  const unread = search.unread === 1 ? '1 payload is' : `${count(search.unread)} payloads are`;
  const more = 'There may be more; raise --limit or --offset.';
  const said = [
    `Searched ${count(search.searched)} jobs.`,
    search.unread > 0 && `${unread} too long or encrypted to be searched.`,
    search.isCut && more,
  ];
  out.tell(said.filter(Boolean).join(' '));
}

function gathered(value: string, before: string[] = []): string[] {
  return [...before, value];
}

function filterOf({ name, metadata = [], olderThan, newerThan }: Record<string, unknown>): JobFilter {
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

/** Returns jobs as a table. A column that says nothing of any job is left out. */
function jobTable(jobs: readonly ShownJob[], out: Output, { ofSeveral = false } = {}): Part {
  const columns: [name: string, cell: (job: ShownJob) => Part, isWanted?: (job: ShownJob) => unknown][] = [
    ['queue', ({ queue }) => queue, () => ofSeveral],
    ['name', ({ name }) => name, ({ name, queue }) => name !== queue],
    ['id', ({ id }) => id],
    ['when', (job) => since(job, out)],
    [
      'attempts',
      ({ attempts, maxAttempts }) => `${attempts}${maxAttempts === undefined ? '' : `/${maxAttempts}`}`,
      ({ attempts }) => attempts > 0,
    ],
    ['group', ({ group }) => group ?? '', ({ group }) => group],
    ['waits for', (job) => waitOf(job, out), (job) => openWaits(job).length > 0],
    ['label', (job) => jobLabel(job), (job) => jobLabel(job)],
    ['last error', ({ lastError }) => lastError ?? '', ({ lastError }) => lastError],
  ];
  const shown = columns.filter(([, , isWanted]) => !isWanted || jobs.some((job) => isWanted(job)));
  const rows = jobs.map((job) => shown.map(([, cell]) => cell(job)));
  const head = shown.map(([name]) => name);
  return rows.length > 0 ? out.table(head, rows, { whole: ['id'], dropped: ['attempts'] }) : 'No job.';
}

/** Returns the oldest wait of a parked job, such as "approved since 3 h ago". */
function waitOf(job: ShownJob, out: Output): Part {
  const [wait] = openWaits(job);
  return wait ? text`${wait.name} since ${out.ago(wait.since)}` : '';
}

/** The last change of a job in each state. */
const CHANGES = {
  pending: ['enqueued', 'enqueuedAt'],
  scheduled: ['due', 'dueAt'],
  processing: ['claimed', 'claimedAt'],
  completed: ['completed', 'completedAt'],
  failed: ['failed', 'failedAt'],
  cancelled: ['cancelled', 'cancelledAt'],
} as const satisfies Record<JobStatus, [verb: string, at: keyof JobFacts]>;

/** Returns since when a job is in its state, such as "failed 3 s ago", or when it is due. */
function since(job: ShownJob, out: Output): Text {
  const [verb, at] = Object.hasOwn(CHANGES, job.status) ? CHANGES[job.status] : CHANGES.pending; // another program wrote it
  return job[at] ? text`${verb} ${out.ago(job[at])}` : text`enqueued ${out.ago(job.enqueuedAt)}`;
}

// Searches jobs as the dashboard does, for `list --search`.

/** Where a search looks, and where it ends. */
interface Scope {
  /** Undefined for all queues. */
  name: string | undefined;
  /** Undefined for all states. */
  status: JobStatus | undefined;
  /** The search ends at this many matches, or a few more. */
  most: number;
}

/** Searches the jobs of a queue, or of all. Dead letters are looked at first. */
class JobSearch {
  /** The matches. */
  readonly jobs: ShownJob[] = [];
  /** The queues that cannot be read. */
  readonly unreadable: QueueVerdict[] = [];
  /** The number of jobs that were looked at. */
  searched = 0;
  /** The number of payloads that could not be looked into. */
  unread = 0;
  /** True if it has ended because it found enough. */
  isCut = false;

  private readonly search: Search;

  /** @throws InvalidOptionError for a bad term */
  constructor(
    private readonly session: Session,
    words: string,
  ) {
    this.search = compileSearch(words);
  }

  async run({ name, status, most }: Scope): Promise<void> {
    const queues = name === undefined ? undefined : shardsOf(await this.session.known(name));
    const all = queues?.map((queue) => queue.name) ?? (await this.session.queueNames());
    const names = all.filter((each) => !this.session.shards.unreached.has(each)); // which the command names at its end
    const places = placesOf(names, this.search, null).filter(({ state }) => (status ?? state) === state);
    for (const { queue, state } of places) {
      if (this.isCut || this.unreadable.some((verdict) => verdict.queue === queue)) {
        continue;
      }
      try {
        await this.look(this.session.queue(queue), state, most);
      } catch (error) {
        if (queues?.length === 1) {
          throw error;
        }
        this.unreadable.push(queues ? unreadableByAny(queue, error) : unreadable(queue, error));
      }
    }
  }

  /** Looks at the jobs of one state, slice by slice. */
  private async look(queue: JobQueue, state: JobStatus, most: number): Promise<void> {
    const content = await this.session.shownBy(queue);
    let cursor: string | null = null;
    do {
      const slice = await walkSlice(queue, state, cursor, this.search);
      for (const job of slice.jobs.map((each) => content.record(each))) {
        const looked = this.search.look(job);
        this.unread += Number(looked === 'unread');
        if (looked === 'match') {
          this.jobs.push(job);
        }
      }
      this.searched += slice.looked;
      cursor = slice.cursor;
      this.isCut = this.jobs.length >= most;
    } while (cursor !== null && !this.isCut);
  }
}
