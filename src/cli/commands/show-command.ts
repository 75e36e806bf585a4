import type { Command } from 'commander';
import { readJobSigns } from '../../inspect/job-signs.js';
import { whyNotRunning } from '../../inspect/why-not-running.js';
import type { Run } from '../context.js';
import { noJob } from '../exit-codes.js';
import { jobText } from '../job-text.js';

/** Adds the command that shows one job. */
export function addShow(program: Command, run: Run): void {
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
        const reason = whyNotRunning(job, await readJobSigns(queue, job));
        const { remedy: _ofDashboard, ...notRunning } = reason ?? {};
        out.show({ ...job, notRunning: reason ? notRunning : null }, () => jobText(job, reason, out, verbose));
      }),
    );
}
