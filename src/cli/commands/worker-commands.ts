import type { Command } from 'commander';
import type { Run } from '../context.js';
import { text } from '../text.js';

/** Adds the command that lists workers. */
export function addWorkerCommands(program: Command, run: Run): void {
  program
    .command('workers <queue>')
    .description('lists the worker processes that announced themselves within 30 s')
    .action(
      run(async ({ session, out }, [name]) => {
        const workers = await (await session.known(name!)).workers();
        const rows = workers.map(({ id, host, version, startedAt, seenAt, slots, stuck }) => [
          id,
          host ?? '–',
          version ?? '–',
          out.ago(startedAt),
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
}
