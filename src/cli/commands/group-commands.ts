import type { Command } from 'commander';
import { type GroupHold, groupHoldOf, pauseNote } from '../../inspect/why-not-running.js';
import { count } from '../../inspect/words.js';
import type { GroupStats } from '../../queue/model/group.js';
import type { GroupLimits } from '../../queue/model/limits.js';
import { eachShard } from '../../spread/whole-queue.js';
import type { Run } from '../context.js';
import { pageOf } from '../numbers.js';
import type { Output } from '../output.js';
import { age, type Part } from '../text.js';

/** Adds the command that lists groups. */
export function addGroupCommands(program: Command, run: Run): void {
  program
    .command('groups <queue>')
    .description('lists the groups that have jobs, and what holds each back')
    .option('--by <order>', 'depth: the most waiting jobs first; age: the longest wait first', 'depth')
    .option('--limit <n>', 'at most this many, up to 1,000', '20')
    .option('--offset <n>', 'skips the first ones', '0')
    .action(
      run(async ({ session, out }, [name], { by, ...page }) => {
        const queue = await session.known(name!);
        const asked = pageOf(page);
        const found = await queue.groups.list({ by: by as 'depth' | 'age', ...asked });
        const [{ groups: ofAll }] = await eachShard(queue, (shard) => shard.limits.get());
        out.show(found, () => groupTable(found, ofAll, out));
        out.tellOfMore(found.length, asked);
      }),
    );
}

function groupTable(groups: readonly GroupStats[], ofAll: GroupLimits | undefined, out: Output): Part {
  const rows = groups.map((group) => [
    group.name,
    group.pending,
    group.pending > 0 ? age(group.oldestPendingAgeMs) : '–',
    group.running,
    holdInWords(groupHoldOf(group, ofAll, new Date(out.nowMs)), out),
  ]);
  return rows.length > 0
    ? out.table(['group', 'waiting', 'oldest', 'running', 'held back'], rows, { whole: ['group'] })
    : 'No group has jobs.';
}

function holdInWords(hold: GroupHold | undefined, out: Output): string {
  switch (hold?.by) {
    case undefined:
      return '–';
    case 'pause':
      return `paused ${out.ago(hold.since)}${hold.until ? `, ends ${out.ago(hold.until)}` : ''}${pauseNote(hold)}`;
    case 'job':
      return `by job ${hold.id}`;
    case 'rate':
      return `by its rate limit; the next starts ${out.ago(hold.until)}`;
    case 'max-running':
      return `${count(hold.running)} run, as many as may`;
  }
}
