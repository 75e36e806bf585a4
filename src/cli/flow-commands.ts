import type { Command } from 'commander';
import { batchInWords } from '../inspect/batch-words.js';
import { count, duration } from '../inspect/words.js';
import { BatchNotFoundError } from '../queue/errors/batch-errors.js';
import type { BatchPage, BatchRecord } from '../queue/model/batch.js';
import type { GroupStats } from '../queue/model/group.js';
import type { Run } from './context.js';
import { CliError, EXIT } from './exit-codes.js';
import { wholeNumber } from './numbers.js';
import { type Cell, safe, table } from './output.js';

/** The commands for groups and batches. */
export function addFlowCommands(program: Command, run: Run): void {
  program
    .command('groups <queue>')
    .description('lists the groups that have jobs, and what holds each back')
    .option('--by <order>', 'depth: the most waiting jobs first; age: the longest wait first', 'depth')
    .option('--limit <n>', 'at most so many, up to 1,000', '20')
    .option('--offset <n>', 'leave out the first so many', '0')
    .action(
      run(async ({ session, out }, [name], { by, ...page }) => {
        const { groups } = await session.known(name!);
        const found = await groups.list({
          by: by as 'depth' | 'age',
          limit: wholeNumber('limit', page['limit'])!,
          offset: wholeNumber('offset', page['offset'])!,
        });
        out.show(found, () => groupTable(found));
      }),
    );
  program
    .command('batches <queue>')
    .description('lists the batches that have not ended')
    .option('--limit <n>', 'at most so many, up to 1,000', '20')
    .action(
      run(async ({ session, out }, [name], { limit }) => {
        const batches = await (await session.known(name!)).listBatches({ limit: wholeNumber('limit', limit)! });
        out.show(batches, () => batchTable(batches));
      }),
    );
  addBatch(program, run);
}

function addBatch(program: Command, run: Run): void {
  program
    .command('batch <queue> <id>')
    .description('shows how far a batch is, and a page of its jobs')
    .option('--limit <n>', 'at most so many jobs, up to 1,000', '20')
    .option('--offset <n>', 'leave out the first so many', '0')
    .option('--cancel', 'cancels the jobs that have not ended')
    .action(
      run(async ({ session, out, confirm }, [name, id], { cancel, ...page }) => {
        const batch = (await session.known(name!)).findBatch(id!);
        const limit = wholeNumber('limit', page['limit'])!;
        const offset = wholeNumber('offset', page['offset'])!;
        try {
          if (cancel) {
            const { open } = await batch.status();
            await confirm(`cancel ${count(open)} ${open === 1 ? 'job' : 'jobs'} of batch ${safe(id!)}`);
            await batch.cancel();
          }
          const [status, jobs] = await Promise.all([batch.status(), batch.results({ limit, offset })]);
          out.show({ ...status, ...jobs }, () => batchText(status, jobs));
        } catch (error) {
          throw error instanceof BatchNotFoundError ? new CliError(error.message, EXIT.notFound) : error;
        }
      }),
    );
}

function groupTable(groups: readonly GroupStats[]): string {
  const rows = groups.map((group): Cell[] => [
    safe(group.name, 40),
    group.pending,
    group.pending > 0 ? duration(group.oldestPendingAgeMs) : '–',
    group.running,
    safe(holdOf(group), 80),
  ]);
  return rows.length > 0
    ? table(['group', 'waiting', 'oldest', 'running', 'held back'], rows)
    : 'No group has jobs.';
}

function holdOf({ pausedAt, heldBy, opensAt }: GroupStats): string {
  if (pausedAt) {
    return `paused since ${pausedAt.toISOString()}`;
  }
  if (heldBy !== null) {
    return `by job ${heldBy}`;
  }
  return opensAt ? `by its rate limit until ${opensAt.toISOString()}` : '–';
}

function batchTable(batches: readonly BatchRecord[]): string {
  const rows = batches.map((batch) => [
    safe(batch.id, 40),
    `${duration(Date.now() - batch.createdAt.getTime())} ago`,
    batch.total - batch.open,
    batch.total,
    batch.failed,
    batch.state,
  ]);
  const head = ['batch', 'created', 'ended', 'jobs', 'failed', 'state'];
  return rows.length > 0 ? table(head, rows) : 'No batch is at work.';
}

function batchText(batch: BatchRecord, { members, next }: BatchPage): string {
  const rows = members.map(({ id, queue, status, error }) => [
    safe(id, 40),
    safe(queue, 40),
    status,
    safe(error ?? '', 80),
  ]);
  return [
    batchInWords(batch),
    ...(rows.length > 0 ? ['', table(['job', 'queue', 'status', 'error'], rows)] : []),
    ...(next === undefined ? [] : ['', `More jobs: --offset ${next}`]),
  ].join('\n');
}
