import { type Command, Option } from 'commander';
import type { ActionFilter } from '../../queue/actions/action-log.js';
import type { ActionEntry } from '../../queue/store/action-entry.js';
import { count } from '../../inspect/words.js';
import type { Run } from '../context.js';
import { wholeNumber } from '../numbers.js';

/** Adds the command that reads the action log. */
export function addActions(program: Command, run: Run): void {
  program
    .command('actions <queue>')
    .description('prints who did what to the queue: in the dashboard, on the command line, in the code of apps')
    .option('--limit <n>', 'at most this many, up to 1,000', '20')
    .option('--action <name>', 'only this action, such as pause')
    .option('--by <text>', 'only of those with this text in their name')
    .addOption(new Option('--via <way>', 'only by this way').choices(['dashboard', 'cli', 'app']))
    .action(
      run(async ({ session, out }, [name], { limit, ...given }) => {
        const queue = await session.known(name!);
        const entries = await queue.actionLog.latest({
          limit: wholeNumber('limit', limit)!,
          ...(given as ActionFilter),
        });
        out.show(entries, () =>
          entries.length > 0
            ? out.table(
                ['when', 'who', 'by', 'action', 'changed', 'what'],
                entries.map((entry) => rowOf(entry, out.ago(entry.at))),
              )
            : 'No action.',
        );
      }),
    );
}

function rowOf({ by, via, action, subject, other, count: changes }: ActionEntry, when: string) {
  const changed = changes === null ? '?' : count(changes);
  return [when, by, via, action, changed, other ? `${subject}: ${other.kind} ${other.id}` : subject];
}
