import { userInfo } from 'node:os';
import type { Command } from 'commander';
import { count } from '../../inspect/words.js';
import type { EnqueueOptions } from '../../queue/enqueue/encode-job.js';
import { CliError, EXIT } from '../exit-codes.js';
import { wholeNumber } from '../numbers.js';
import { clipped, lines, text } from '../text.js';
import type { DeadLetterFilter } from '../../queue/dead-letters/dead-letters.js';
import type { JobQueue } from '../../queue/job-queue.js';
import type { Run } from '../context.js';
import type { Progress } from '../progress.js';
import type { PauseOptions } from '../../queue/model/pause.js';
import type { Output } from '../output.js';

/** The commands that change something. */
export function addChangeCommands(program: Command, run: Run): void {
  addJobCommands(program, run);
  addQueueCommands(program, run);
  addDoctor(program, run);
}

function addJobCommands(program: Command, run: Run): void {
  program
    .command('enqueue <queue> <payload>')
    .description('adds a job; the payload is JSON')
    .option('--name <name>', 'the name of the job, in a queue that several share')
    .option('--delay <ms>', 'start it so many ms from now')
    .option('--id <id>', 'the id; a known one adds nothing')
    .action(
      run(async ({ session, out }, [name, payload], options) => {
        const given = { name: options['name'], id: options['id'], delayMs: wholeNumber('delay', options['delay']) };
        const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
        const queue = await session.audited(name!);
        await session.refuseSecret(queue);
        const [job] = await queue.enqueueMany([{ payload: parsed(payload!), ...(set as EnqueueOptions) }]);
        out.show({ id: job!.id }, () => job!.id);
      }),
    );
  program
    .command('cancel <queue> <id>')
    .description('cancels a job; a running one is asked to end')
    .action(
      run(async ({ session, out }, [name, id]) => {
        const answer = await (await session.known(name!)).cancel(id!);
        if (answer === 'missing') {
          throw new CliError(`Queue ${JSON.stringify(name)} has no job ${JSON.stringify(id)}.`, EXIT.notFound);
        }
        out.show({ id, outcome: answer }, () => String(answer));
      }),
    );
  for (const [verb, all, doing] of [
    ['redrive', 'redriveAll', 'send back to work'],
    ['discard', 'discardAll', 'delete for good'],
  ] as const) {
    program
      .command(`${verb} <queue> [id]`)
      .description(`dead letters: ${doing} one, or with --all those that fit`)
      .option('--all', 'all that fit the filters')
      .option('--name <name>', 'only jobs of this name')
      .option('--error <text>', 'only jobs with this text in their last error')
      .action(
        run(async ({ session, out, confirm, progress }, [name, id], { all: every, name: jobName, error }) => {
          if ((id === undefined) === (every === undefined)) {
            throw new CliError('Say either the id of a dead letter or --all.', EXIT.usage);
          }
          const queue = await session.known(name!);
          if (verb === 'discard') {
            await confirm(
              text`${doing} ${id === undefined ? 'all dead letters that fit' : '1 dead letter'} of ${name!}`,
            );
          }
          const filter = { name: jobName as string | undefined, error: error as string | undefined };
          const done =
            id === undefined
              ? await withProgress(progress, queue, verb, filter, () => queue.deadLetters[all]({ filter }))
              : Number(await queue.deadLetters[verb](id));
          if (id !== undefined && done === 0) {
            throw new CliError(`There is no dead letter ${JSON.stringify(id)}.`, EXIT.notFound);
          }
          out.show({ [verb === 'redrive' ? 'redriven' : 'discarded']: done }, () => count(done));
        }),
      );
  }
}

/** The number of all dead letters is known; that of a filter is not. */
async function withProgress(
  progress: Progress,
  queue: JobQueue,
  verb: string,
  filter: DeadLetterFilter,
  work: () => Promise<number>,
): Promise<number> {
  const { failed } = await queue.stats();
  const isAll = Object.values(filter).every((value) => value === undefined);
  const done = async () => Math.max(0, failed - (await queue.stats()).failed);
  return progress.during(work(), verb === 'redrive' ? 'redriven' : 'discarded', isAll ? failed : undefined, done);
}

function addQueueCommands(program: Command, run: Run): void {
  program
    .command('pause <queue>')
    .description('hands out no job to the whole fleet; what runs goes on')
    .option('--group <name>', 'only one group of the queue')
    .option('--reason <text>', 'why, for whoever wonders later')
    .option('--by <name>', 'who pauses it; without it the user of this machine')
    .action(
      run(async ({ session, out }, [name], options) => {
        const queue = await session.known(name!);
        const {
          group,
          reason,
          by = userOfMachine(),
        } = options as Record<'group' | 'reason' | 'by', string | undefined>;
        const note: PauseOptions = { ...(by !== undefined && { by }), ...(reason !== undefined && { reason }) };
        const changed = await (group === undefined ? queue.pause(note) : queue.groups.pause(group, note));
        showChange(out, { queue: name!, group, changed }, ['paused', 'was paused already']);
      }),
    );
  program
    .command('resume <queue>')
    .description('ends a pause')
    .option('--group <name>', 'only one group of the queue')
    .action(
      run(async ({ session, out }, [name], options) => {
        const queue = await session.known(name!);
        const group = options['group'] as string | undefined;
        const changed = await (group === undefined ? queue.resume() : queue.groups.resume(group));
        showChange(out, { queue: name!, group, changed }, ['resumed', 'was not paused']);
      }),
    );
}

/** Undefined where the machine does not know the user, as in a container with an id of its own. */
function userOfMachine(): string | undefined {
  try {
    return userInfo().username || undefined;
  } catch {
    return undefined;
  }
}

function showChange(
  out: Output,
  { queue, group, changed }: { queue: string; group: string | undefined; changed: boolean },
  [done, already]: readonly [string, string],
): void {
  out.show({ queue, ...(group !== undefined && { group }), changed }, () => (changed ? done : already));
}

function addDoctor(program: Command, run: Run): void {
  program
    .command('doctor <queue>')
    .description('audits a queue beside live traffic; the exit code is 10 where faults are left')
    .option('--mend', 'brings to rights what it finds')
    .action(
      run(async ({ session, out, confirm, progress, exit }, [name], { mend }) => {
        const queue = await session.known(name!);
        if (mend) {
          await confirm(text`mend what is found in ${name!}`);
        }
        const started = performance.now();
        const seconds = () => Math.round((performance.now() - started) / 1_000);
        const report = await progress.during(queue.doctor({ mend: mend === true }), 'seconds', undefined, seconds);
        exit(report.findings.some(({ mended }) => !mended) ? EXIT.warning : EXIT.ok);
        const rows = report.findings.map((each) => [
          each.kind,
          clipped(each.subject, 40),
          clipped(each.found, 60),
          clipped(each.expected, 40),
          each.mended ? 'yes' : 'no',
        ]);
        const head = `${count(report.checked)} jobs looked at, ${rows.length > 0 ? `${count(rows.length)} faults` : 'all well'}`;
        const columns = ['fault', 'what', 'found', 'expected', 'mended'];
        out.show(report, () =>
          lines([head, ...(rows.length > 0 ? [out.table(columns, rows, { whole: ['what'] })] : [])]),
        );
      }),
    );
}

function parsed(payload: string): unknown {
  try {
    return JSON.parse(payload);
  } catch (error) {
    const hint = 'Expected JSON, such as \'{"to":"ada@example.com"}\'.';
    throw new CliError(`The payload is not JSON: ${(error as Error).message}. ${hint}`, EXIT.usage);
  }
}
