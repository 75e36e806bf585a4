import type { Command } from 'commander';
import { count } from '../../inspect/words.js';
import type { DeadLetterFilter } from '../../queue/dead-letters/dead-letters.js';
import type { JobQueue } from '../../queue/job-queue.js';
import type { CommandOptions, Context, Run } from '../context.js';
import { CliError, EXIT } from '../exit-codes.js';
import type { Progress } from '../progress.js';
import { kindTable, readKinds } from '../error-kinds.js';
import { text, type Text } from '../text.js';

type Verb = 'redrive' | 'discard';

/** The most dead letters that are counted before a question. */
const MOST_COUNTED = 10_000;
const PAGE = 1_000;
/** A redrive of a queue with more dead letters asks on a terminal: they may all fail again. */
const MOST_UNASKED = 100;

/** Adds the commands that list, redrive and discard dead letters by their errors. */
export function addDeadLetterCommands(program: Command, run: Run): void {
  addErrors(program, run);
  for (const [verb, description] of [
    ['redrive', 'makes a dead letter pending again, or with --all each one that matches'],
    ['discard', 'deletes a dead letter for good, or with --all each one that matches'],
  ] as const) {
    const command = program
      .command(`${verb} <queue> [id]`)
      .description(description)
      .option('--all', 'all dead letters, or those that match the filters')
      .option('--name <name>', 'only jobs of this name')
      .option('--error <text>', 'only jobs with this text in their last error')
      .option('--kind <kind>', 'only jobs with this kind of error, as `errors` lists it')
      .action(
        run(async (context, [name, id], options) => {
          if ((id === undefined) === (options['all'] === undefined)) {
            throw new CliError('Pass either the id of a dead letter or --all.', EXIT.usage);
          }
          if (id !== undefined && (options['name'] ?? options['error'] ?? options['kind']) !== undefined) {
            throw new CliError(
              '--name, --error and --kind choose among --all. Leave them out beside an id.',
              EXIT.usage,
            );
          }
          const queue = await context.session.known(name!);
          if (options['asNew'] !== undefined) {
            return redriveAsNew(context, queue, id);
          }
          const done =
            id === undefined ? await all(context, queue, verb, options) : await one(context, queue, verb, id);
          const word = verb === 'redrive' ? 'redriven' : 'discarded';
          context.out.show({ [word]: done }, () => text`${word}: ${letters(done)}`);
        }),
      );
    if (verb === 'redrive') {
      command.option('--as-new', 'one, as a new job: the dead letter stays, and both name each other');
    }
  }
}

function addErrors(program: Command, run: Run): void {
  program
    .command('errors <queue>')
    .description('lists the kinds of error of the dead letters, the most frequent first')
    .action(
      run(async ({ session, out }, [name]) => {
        const kinds = await readKinds(session, await session.known(name!));
        out.show(kinds, () => kindTable(kinds, out));
      }),
    );
}

async function one({ confirm }: Context, queue: JobQueue, verb: Verb, id: string): Promise<number> {
  if (verb === 'discard') {
    if (!(await queue.deadLetters.get(id))) throw noDeadLetter(id);
    await confirm(() => text`delete for good 1 dead letter of ${queue.name}`);
  }
  if (!(await queue.deadLetters[verb](id))) {
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

async function all(
  { confirm, progress }: Context,
  queue: JobQueue,
  verb: Verb,
  options: CommandOptions,
): Promise<number> {
  const { name, error, kind } = options as DeadLetterFilter;
  const filter: DeadLetterFilter = {
    ...(name !== undefined && { name }),
    ...(error !== undefined && { error }),
    ...(kind !== undefined && { kind }),
  };
  if (verb === 'discard') {
    await confirm(async () => text`delete for good ${await howMany(queue, filter)} of ${queue.name}`);
  } else if ((await queue.stats()).failed > MOST_UNASKED) {
    await confirm(async () => text`send back to work ${await howMany(queue, filter)} of ${queue.name}`, {
      onlyOnTerminal: true,
    });
  }
  const work = verb === 'redrive' ? queue.deadLetters.redriveAll(filter) : queue.deadLetters.discardAll(filter);
  return withProgress(progress, queue, verb, filter, work);
}

/** Counts the matches, up to a bound if a filter chooses them. */
async function howMany(queue: JobQueue, filter: DeadLetterFilter): Promise<Text> {
  if (Object.keys(filter).length === 0) {
    return letters((await queue.stats()).failed);
  }
  let found = 0;
  let cursor: string | undefined;
  do {
    const page = await queue.deadLetters.list({ ...filter, limit: PAGE, mostBytes: 0, ...(cursor && { cursor }) });
    found += page.jobs.length;
    cursor = page.cursor;
  } while (cursor !== undefined && found < MOST_COUNTED);
  return cursor === undefined ? letters(found) : text`more than ${letters(found)}`;
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
  return progress.during(work, verb === 'redrive' ? 'redriven' : 'discarded', isAll ? failed : undefined, done);
}
