import type { Command } from 'commander';
import type { EnqueueOptions } from '../../queue/enqueue/enqueue-options.js';
import { ACTIONS, JOB_COMMANDS } from '../../queue/model/actions.js';
import type { Run } from '../context.js';
import { CliError, EXIT, noJob } from '../exit-codes.js';
import { wholeNumber } from '../numbers.js';
import { addList } from './list-command.js';
import { withoutUndefined } from '../../queue/runtime/fields.js';
import { readJobSigns } from '../../inspect/job-signs.js';
import { whyNotRunning } from '../../inspect/why-not-running.js';
import { jsonOf } from '../../queue/store/shown-content.js';
import { jobText } from '../job-text.js';

/** The words for outcomes that do not say enough by themselves. */
const OUTCOMES: Readonly<Record<string, string>> = {
  requested: 'requested: it runs, and its signal aborts',
  finished: 'unchanged: it has completed, or is a dead letter',
};

/** Adds the commands for jobs. */
export function addJobCommands(program: Command, run: Run): void {
  addList(program, run);
  addShow(program, run);
  addChanges(program, run);
}

/** Adds the commands that add a job, or change one. */
function addChanges(program: Command, run: Run): void {
  program
    .command('enqueue <queue> <payload>')
    .description('adds a job; the payload is JSON')
    .option('--name <name>', 'the name of the job, in a queue that several share')
    .option('--delay <time>', 'starts it after this time, such as 90s or 15m, or after this many ms')
    .option('--id <id>', 'the id; a known one adds nothing')
    .action(
      run(async ({ session, out }, [name, payload], options) => {
        const given = { name: options['name'], id: options['id'], delayMs: wholeNumber('delay', options['delay']) };
        const content = parsed(payload!);
        const queue = await session.audited(name!);
        const [job] = await queue.enqueueMany([
          { payload: content, ...(withoutUndefined(given) as EnqueueOptions) },
        ]);
        out.show({ id: job!.id }, () => job!.id);
      }),
    );
  for (const name of JOB_COMMANDS) {
    const { verb, command } = ACTIONS[name];
    program
      .command(`${name} <queue> <id>`)
      .description(command.text)
      .action(
        run(async ({ session, out }, [queue, id]) => {
          const outcome = await (await session.known(queue!))[verb.name](id!);
          if (outcome === 'missing') {
            throw noJob(queue!, id!);
          }
          if (outcome === 'refused') {
            throw new CliError(`Job ${JSON.stringify(id)} stays as it is. ${verb.refused}`);
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

/** Adds the command that shows one job. */
function addShow(program: Command, run: Run): void {
  program
    .command('show <queue> <id>')
    .description('shows the details of a job, its attempts, and why it does not run; with --verbose the stacks too')
    .action(
      run(async ({ session, out, verbose }, [name, id]) => {
        const queue = await session.known(name!);
        const stored = await queue.get(id!);
        if (!stored) {
          throw noJob(name!, id!, await queue.outcome(id!));
        }
        const job = (await session.shownBy(queue)).record(stored);
        const signs = await readJobSigns(queue, job);
        const reason = whyNotRunning(job, signs);
        const { remedy: _ofDashboard, ...notRunning } = reason ?? {};
        out.show({ ...jsonOf(job), notRunning: reason ? notRunning : null }, () =>
          jobText({ ...job, maxAttempts: job.maxAttempts ?? signs.maxAttempts }, reason, out, verbose),
        );
      }),
    );
}
