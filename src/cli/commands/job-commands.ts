import type { Command } from 'commander';
import type { EnqueueOptions } from '../../queue/enqueue/enqueue-options.js';
import { JobNotFoundError, SignalRefusedError } from '../../queue/errors/errors.js';
import { ACTIONS, JOB_COMMANDS } from '../../queue/model/actions.js';
import { shardOfName } from '../../queue/model/spread.js';
import type { SignalOutcome } from '../../queue/model/signal.js';
import type { Run } from '../context.js';
import { CliError, EXIT, noJob } from '../exit-codes.js';
import { wholeNumber } from '../numbers.js';
import { addList } from './list-command.js';
import { withoutUndefined } from '../../queue/runtime/collections.js';
import { readJobSigns, whyNotRunning } from '../../inspect/why-not-running.js';
import { jsonOf } from '../../queue/store/shown-content.js';
import { jobText } from '../job-text.js';

/** The words for outcomes that do not say enough by themselves. */
const OUTCOMES: Readonly<Record<string, string>> = {
  requested: 'requested: it runs, and its signal aborts',
  finished: 'unchanged: it has completed, or is a dead letter',
};

/** The outcomes of a signal, in words. */
const SIGNALLED: Readonly<Record<SignalOutcome, string>> = {
  delivered: 'delivered: the job goes on',
  kept: 'kept: the job does not wait for it yet',
  known: 'unchanged: the job has a signal of that name',
};

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
        const jobName = options['name'] ?? shardOfName(name!)?.queue;
        const given = { name: jobName, id: options['id'], delayMs: wholeNumber('delay', options['delay']) };
        const content = parsed(payload!);
        const queue = await session.shards.toFill(name!);
        const [job] = await queue.enqueueMany([
          { payload: content, ...(withoutUndefined(given) as EnqueueOptions) },
        ]);
        out.show({ id: job!.id }, () => job!.id);
      }),
    );
  program
    .command('signal <queue> <id> <signal> [data]')
    .description(ACTIONS.signal.command.text)
    .action(
      run(async ({ session, out }, [queue, id, signal, data]) => {
        const content = data === undefined ? undefined : parsed(data, 'data');
        const outcome = await sent((await session.holder(queue!, id!)).signal(id!, signal!, content), queue!, id!);
        out.show({ id, outcome }, () => SIGNALLED[outcome]);
      }),
    );
  for (const name of JOB_COMMANDS) {
    const { verb, command } = ACTIONS[name];
    program
      .command(`${name} <queue> <id>`)
      .description(command.text)
      .action(
        run(async ({ session, out }, [queue, id]) => {
          const outcome = await (await session.holder(queue!, id!))[verb.name](id!);
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

/** Returns the outcome of a signal. @throws CliError where the job does not take it */
async function sent(signal: Promise<SignalOutcome>, queue: string, id: string): Promise<SignalOutcome> {
  try {
    return await signal;
  } catch (error) {
    if (error instanceof JobNotFoundError) throw noJob(queue, id);
    throw error instanceof SignalRefusedError ? new CliError(error.message) : error;
  }
}

function parsed(text: string, what = 'payload'): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const hint = 'Expected JSON, such as \'{"to":"ada@example.com"}\'.';
    throw new CliError(`The ${what} is not JSON: ${(error as Error).message}. ${hint}`, EXIT.usage);
  }
}

/** Adds the command that shows one job. */
function addShow(program: Command, run: Run): void {
  program
    .command('show <queue> <id>')
    .description('shows the details of a job, its attempts, and why it does not run; with --verbose the stacks too')
    .action(
      run(async ({ session, out, verbose }, [name, id]) => {
        const queue = await session.holder(name!, id!);
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
