import type { Command } from 'commander';
import { endsOf, type RedrivenEnds } from '../../inspect/redriven-ends.js';
import { count } from '../../inspect/words.js';
import {
  redriveFilter,
  type DeadLetterFilter,
  type RedriveOptions,
} from '../../queue/dead-letters/dead-letters.js';
import { lastErrorWords } from '../../queue/dead-letters/error-kinds.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { ACTIONS, DEAD_LETTER_COMMANDS, type DeadLetterCommand } from '../../queue/model/actions.js';
import { CRASHED } from '../../queue/model/job.js';
import { LARGEST_PAGE } from '../../queue/runtime/bounds.js';
import { eachShard } from '../../spread/whole-queue.js';
import type { CommandOptions, Context, Run } from '../context.js';
import { CliError, EXIT } from '../exit-codes.js';
import type { Progress } from '../progress.js';
import { timeSpan, wholeNumber } from '../numbers.js';
import { causeTable, jsonOfCauses, kindTable, readCauses, readKinds } from '../error-kinds.js';
import { lines, type Part, text, type Text } from '../text.js';

type Verb = DeadLetterCommand;

/** The most dead letters that are counted before a question. */
const MOST_COUNTED = 10_000;
const PAGE = 1_000;
/** A redrive of a queue with more dead letters asks on a terminal: they may all fail again. */
const MOST_UNASKED = 100;

/** Adds the commands that list, redrive and discard dead letters by their errors. */
export function addDeadLetterCommands(program: Command, run: Run): void {
  addErrors(program, run);
  addMarkError(program, run);
  for (const verb of DEAD_LETTER_COMMANDS) {
    const command = program
      .command(verb === 'redrive' ? 'redrive [queue] [id]' : `${verb} <queue> [id]`)
      .description(ACTIONS[verb].command.text)
      .option('--all', 'all dead letters, or those that match the filters')
      .option('--name <name>', 'only jobs of this name')
      .option('--error <text>', 'only jobs with this text in their last error')
      .option('--kind <kind>', 'only jobs with this kind of error, as `errors` lists it')
      .action(
        run(async (context, [name, id], options) => {
          const isSome = options['all'] !== undefined || options['first'] !== undefined;
          if ((id === undefined) !== isSome) {
            const some = verb === 'redrive' ? '--all or --first' : '--all';
            throw new CliError(`Pass either the id of a dead letter, or ${some}.`, EXIT.usage);
          }
          if (options['rate'] !== undefined && (id ?? options['first']) !== undefined) {
            throw new CliError('--rate slows down --all. Leave it out beside an id or --first.', EXIT.usage);
          }
          if (id !== undefined && (options['name'] ?? options['error'] ?? options['kind']) !== undefined) {
            throw new CliError(
              '--name, --error and --kind choose among --all. Leave them out beside an id.',
              EXIT.usage,
            );
          }
          if (options['cause'] !== undefined) {
            return redriveCause(context, name, options);
          }
          if (name === undefined) {
            throw new CliError('Pass the name of a queue, or --cause for all queues.', EXIT.usage);
          }
          const { session } = context;
          const queue = await (id === undefined ? session.known(name) : session.holder(name, id));
          if (options['asNew'] !== undefined) {
            return redriveAsNew(context, queue, id);
          }
          if (verb === 'redrive' && options['first'] !== undefined) {
            const few = await firstFew(context, queue, options);
            return context.out.show(few.report, () => few.words);
          }
          const done =
            id === undefined
              ? await all(context, queue, verb, options)
              : await one(context, queue, verb, id, options);
          const word = ACTIONS[verb].done;
          const isAll = verb === 'redrive' && id === undefined;
          const left = isAll && !options['crashed'] && !options['kind'] ? await crashedLeft(queue) : 0;
          context.out.show({ [word]: done, ...(left > 0 && { crashed: left }) }, () =>
            left === 0
              ? text`${word}: ${letters(done)}`
              : text`${word}: ${letters(done)}. ${letters(left)} killed their workers and stay: \`redrive ${name} --all --kind ${CRASHED}\` runs each alone`,
          );
        }),
      );
    if (verb === 'redrive') {
      command
        .option('--first <n>', 'only the newest n, at most 1,000; waits up to 30 s and says how they ended')
        .option('--rate <n>', 'with --all: at most n in a second')
        .option(
          '--cause <cause>',
          'with --all or --first: in all queues, those of a root cause that `errors` lists',
        )
        .option('--isolated', 'runs each job alone in its worker; one that killed a worker always runs alone')
        .option('--crashed', 'with --all or --first: also dead letters that killed their workers');
      command.option('--as-new', 'one, as a new job: the dead letter stays, and both name each other');
    }
  }
}

function addErrors(program: Command, run: Run): void {
  program
    .command('errors [queue]')
    .description('lists the kinds of error of the dead letters; over all queues each root cause once')
    .action(
      run(async ({ session, out }, [name]) => {
        if (name === undefined) {
          const { causes, unreadable } = await readCauses(session);
          out.show(jsonOfCauses(causes), () => causeTable(causes, out));
          unreadable.forEach(({ queue, summary }) => out.tell(text`${queue} is ${summary}`.value));
          return;
        }
        const kinds = await readKinds(session, await session.known(name));
        out.show(kinds, () => kindTable(kinds, out));
      }),
    );
}

function addMarkError(program: Command, run: Run): void {
  program
    .command('mark-error <queue> <kind>')
    .description(ACTIONS['mark-error'].command.text)
    .option('--known', 'no alert tells it until it comes again')
    .option('--quiet <time>', 'no alert tells it for this long, such as 2h; at most 30 days')
    .option('--note <text>', 'a note for other operators')
    .option('--by <name>', 'who says so; without it the user of this machine')
    .option('--forget', 'forgets what was said of it')
    .action(
      run(async ({ session, out, user }, [name, kind], options) => {
        const {
          known,
          note,
          forget,
          by = user,
        } = options as {
          known?: true;
          note?: string;
          forget?: true;
          by?: string;
        };
        const quietForMs = timeSpan('quiet', options['quiet'] as string | undefined);
        const says = known !== undefined || quietForMs !== undefined || note !== undefined;
        if (says === (forget !== undefined)) {
          throw new CliError('Pass --known, --quiet or --note, or --forget alone.', EXIT.usage);
        }
        const queue = await session.known(name!);
        const changed = await queue.deadLetters.markKind(kind!, says ? { known, quietForMs, note, by } : null);
        const done = says ? 'marked' : changed ? 'forgotten' : 'was not marked';
        out.show({ queue: name!, kind: kind!, changed }, () => done);
      }),
    );
}

async function one(
  { confirm }: Context,
  queue: JobQueue,
  verb: Verb,
  id: string,
  options: CommandOptions,
): Promise<number> {
  if (verb === 'discard') {
    if (!(await queue.deadLetters.get(id))) throw noDeadLetter(id);
    await confirm(() => text`delete for good 1 dead letter of ${queue.name}`);
  }
  const isolated = options['isolated'] === true;
  const done = verb === 'redrive' ? queue.deadLetters.redrive(id, { isolated }) : queue.deadLetters.discard(id);
  if (!(await done)) {
    const job = await queue.get(id);
    const isRedriven = job?.status === 'failed' && job.redriven?.as !== undefined;
    throw isRedriven ? redrivenAs(id, job.redriven!.as!) : noDeadLetter(id);
  }
  return 1;
}

async function redriveAsNew({ out }: Context, queue: JobQueue, id: string | undefined): Promise<void> {
  if (id === undefined) {
    throw new CliError('--as-new redrives one dead letter: pass its id.', EXIT.usage);
  }
  const redriven = await queue.deadLetters.redriveAsNew(id);
  if (redriven.outcome === 'missing') {
    throw noDeadLetter(id);
  } else if (redriven.outcome === 'known') {
    throw redrivenAs(id, redriven.id);
  }
  out.show({ redriven: 1, id: redriven.id }, () => text`redriven as the job ${redriven.id}`);
}

function noDeadLetter(id: string): CliError {
  return new CliError(`There is no dead letter ${JSON.stringify(id)}.`, EXIT.notFound);
}

function redrivenAs(id: string, job: string): CliError {
  return new CliError(
    `Dead letter ${JSON.stringify(id)} was redriven as the job ${JSON.stringify(job)}. Redrive that one.`,
  );
}

function filterOf(options: CommandOptions): DeadLetterFilter {
  const { name, error, kind } = options as DeadLetterFilter;
  return {
    ...(name !== undefined && { name }),
    ...(error !== undefined && { error }),
    ...(kind !== undefined && { kind }),
  };
}

/** Returns how many dead letters killed their workers. */
async function crashedLeft(queue: JobQueue): Promise<number> {
  return (await queue.deadLetters.kinds()).find(({ kind }) => kind === CRASHED)?.count ?? 0;
}

/** Redrives the dead letters of a root cause in each queue that has some. */
async function redriveCause(context: Context, name: string | undefined, options: CommandOptions): Promise<void> {
  const { session, out, confirm } = context;
  const { cause, kind, name: jobName, error, first } = options;
  if ((name ?? kind ?? jobName ?? error) !== undefined) {
    throw new CliError(
      '--cause chooses in all queues. Leave out the queue, --name, --error and --kind.',
      EXIT.usage,
    );
  }
  const found = (await readCauses(session)).causes.find(({ key }) => key === cause);
  if (!found) {
    throw new CliError(`There is no cause ${JSON.stringify(cause)}. "errors" lists all causes.`, EXIT.notFound);
  }
  if (first === undefined && found.count > MOST_UNASKED) {
    await confirm(() => text`send back to work ${letters(found.count)} of ${found.queues.join(', ')}`, {
      onlyOnTerminal: true,
    });
  }
  const reports: object[] = [];
  const told: Part[] = [];
  for (const each of found.kinds) {
    const queue = await session.known(each.queue);
    const meant = { ...options, kind: each.kind };
    if (first === undefined) {
      const redriven = await all(context, queue, 'redrive', { ...meant, asked: true });
      reports.push({ queue: each.queue, redriven });
      told.push(text`${each.queue}: redriven: ${letters(redriven)}`);
    } else {
      const few = await firstFew(context, queue, meant);
      reports.push({ queue: each.queue, ...few.report });
      told.push(text`${each.queue}: ${few.words}`);
    }
  }
  out.show(reports, () => lines(told));
}

/** Redrives the newest dead letters, and waits up to 30 s for their ends. */
async function firstFew(
  { session }: Context,
  queue: JobQueue,
  options: CommandOptions,
): Promise<{ report: object; words: Text }> {
  const limit = wholeNumber('first', options['first'])!;
  if (limit < 1 || limit > LARGEST_PAGE) {
    throw new CliError(`--first: expected 1 to ${count(LARGEST_PAGE)}, found ${limit}.`, EXIT.usage);
  }
  const meant = redriveFilter(filterOf(options), options['crashed'] === true);
  const pages = await eachShard(queue, async (shard) => {
    const { jobs } = await shard.deadLetters.list({ ...meant, limit, mostBytes: 0 });
    return jobs.map((job) => ({ shard, job }));
  });
  const newest = pages
    .flat()
    .toSorted((a, b) => Number(b.job.failedAt ?? 0) - Number(a.job.failedAt ?? 0))
    .slice(0, limit);
  const isolated = options['isolated'] === true;
  const ofShards = await eachShard(queue, async (shard) => {
    const own = newest.filter((each) => each.shard === shard);
    const done = await Promise.all(own.map(({ job }) => shard.deadLetters.redrive(job.id, { isolated })));
    return own.filter((_, i) => done[i]).map(({ job }) => ({ queue: shard, id: job.id }));
  });
  const redriven = ofShards.flat();
  let ends: RedrivenEnds = { completed: 0, failed: [], gone: 0, open: redriven.length };
  for await (ends of endsOf(redriven)); // the last look counts
  const { completed, failed, gone, open } = ends;
  const shown = await session.shownBy(queue);
  const error = failed[0] && lastErrorWords(shown.record(failed[0]));
  const { failed: left } = await queue.stats();
  const report = { redriven: redriven.length, completed, failed: failed.length, open, left };
  const why = error === undefined ? '' : text`: ${error}`;
  const away = gone > 0 ? text`, ${count(gone)} gone` : '';
  const later = open > 0 ? text`, ${count(open)} not ended yet` : '';
  return {
    report: { ...report, ...(gone > 0 && { gone }), ...(error !== undefined && { error }) },
    words: text`redriven: ${letters(redriven.length)}; ${count(completed)} completed, ${count(failed.length)} failed${why}${away}${later}; ${letters(left)} left`,
  };
}

async function all(context: Context, queue: JobQueue, verb: Verb, options: CommandOptions): Promise<number> {
  const { confirm, progress } = context;
  const filter = filterOf(options);
  if (verb === 'discard') {
    await confirm(async () => text`delete for good ${await howMany(queue, filter)} of ${queue.name}`);
  } else if (options['asked'] !== true && (await queue.stats()).failed > MOST_UNASKED) {
    await confirm(async () => text`send back to work ${await howMany(queue, filter)} of ${queue.name}`, {
      onlyOnTerminal: true,
    });
  }
  const how: RedriveOptions = {
    isolated: options['isolated'] === true,
    crashed: options['crashed'] === true,
    perSecond: wholeNumber('rate', options['rate']),
  };
  const work =
    verb === 'redrive' ? queue.deadLetters.redriveAll(filter, how) : queue.deadLetters.discardAll(filter);
  return withProgress(progress, queue, verb, filter, work);
}

/** Counts the matches, up to a bound if a filter chooses them. */
async function howMany(queue: JobQueue, filter: DeadLetterFilter): Promise<Text> {
  if (Object.keys(filter).length === 0) {
    return letters((await queue.stats()).failed);
  }
  const counts = await eachShard(queue, (shard) => counted(shard, filter));
  const found = counts.reduce((sum, each) => sum + each.found, 0);
  return counts.every(({ isAll }) => isAll) ? letters(found) : text`more than ${letters(found)}`;
}

async function counted(shard: JobQueue, filter: DeadLetterFilter): Promise<{ found: number; isAll: boolean }> {
  let found = 0;
  let cursor: string | undefined;
  do {
    const page = await shard.deadLetters.list({ ...filter, limit: PAGE, mostBytes: 0, ...(cursor && { cursor }) });
    found += page.jobs.length;
    cursor = page.cursor;
  } while (cursor !== undefined && found < MOST_COUNTED);
  return { found, isAll: cursor === undefined };
}

function letters(found: number): Text {
  return text`${count(found)} dead ${found === 1 ? 'letter' : 'letters'}`;
}

/** Shows progress until the work ends. Only all dead letters have a known total, a filter has none. */
async function withProgress(
  progress: Progress,
  queue: JobQueue,
  verb: Verb,
  filter: DeadLetterFilter,
  work: Promise<number>,
): Promise<number> {
  work.catch(() => undefined); // it is awaited below
  const { failed } = await queue.stats();
  const isAll = Object.keys(filter).length === 0;
  const done = async () => Math.max(0, failed - (await queue.stats()).failed);
  return progress.during(work, ACTIONS[verb].done, isAll ? failed : undefined, done);
}
