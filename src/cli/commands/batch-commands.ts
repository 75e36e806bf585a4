import type { Command } from 'commander';
import { batchInWords, followUpInWords } from '../../inspect/batch-words.js';
import { unreadable } from '../../inspect/unreadable.js';
import { count } from '../../inspect/words.js';
import { onTarget } from '../../queue/actions/noted-action.js';
import { BatchNotFoundError } from '../../queue/errors/errors.js';
import type { BatchMember, BatchPage, BatchRecord } from '../../queue/model/batch.js';
import { shardsOf } from '../../spread/whole-queue.js';
import type { Run } from '../context.js';
import { CliError, EXIT } from '../exit-codes.js';
import { pageOf } from '../numbers.js';
import type { Output } from '../output.js';
import type { Session } from '../redis/session.js';
import { lines, type Part, text } from '../text.js';

export function addBatchCommands(program: Command, run: Run): void {
  program
    .command('batches <queue>')
    .description('lists the batches that have not ended')
    .option('--limit <n>', 'at most this many, up to 1,000', '20')
    .option('--offset <n>', 'skips the first ones', '0')
    .option('--ended', 'lists the batches that ended within the last week instead')
    .action(
      run(async ({ session, out }, [name], { ended, ...page }) => {
        const isEnded = ended === true;
        const queue = await session.known(name!);
        const asked = pageOf(page);
        const batches = await queue.listBatches({ ...asked, ended: isEnded });
        const none = `No ${asked.offset > 0 ? 'further ' : ''}batch ${isEnded ? 'has ended within the last week' : 'is at work'}.`;
        out.show(batches, () => (batches.length > 0 ? batchTable(batches, out, isEnded) : none));
        out.tellOfMore(batches.length, asked);
      }),
    );
  addBatch(program, run);
}

function addBatch(program: Command, run: Run): void {
  program
    .command('batch <queue> <id>')
    .description('shows the progress of a batch, and a page of its jobs')
    .option('--limit <n>', 'at most this many jobs, up to 1,000', '20')
    .option('--offset <n>', 'skips the first ones', '0')
    .option('--cancel', 'cancels the jobs that have not ended')
    .action(
      run(async ({ session, out, confirm }, [name, id], { cancel, ...page }) => {
        const queue = await session.known(name!);
        const batch = queue.findBatch(id!);
        const asked = pageOf(page);
        try {
          if (cancel) {
            const { open } = await batch.status();
            await confirm(() => text`cancel ${count(open)} ${open === 1 ? 'job' : 'jobs'} of batch ${id!}`);
            const counted = { count: (outcome: string) => (outcome === 'stopped' ? open : 0) };
            const home = shardsOf(queue).find((shard) => shard.name === batch.queue) ?? queue;
            await home.actionLog.record(onTarget('cancel-batch', 'batch', id!), () => batch.cancel(), counted);
          }
          const [status, { members, ...rest }] = await Promise.all([batch.status(), batch.results(asked)]);
          const jobs = { ...rest, members: await shownMembers(session, members) };
          const followUps = await followUpsOf(session, status);
          out.show({ ...status, followUps, ...jobs }, () => batchText(status, followUps, jobs, out));
        } catch (error) {
          throw error instanceof BatchNotFoundError ? new CliError(error.message, EXIT.notFound) : error;
        }
      }),
    );
}

/** Returns the members without what their queues hide. */
async function shownMembers(session: Session, members: readonly BatchMember[]): Promise<BatchMember[]> {
  const queues = [...new Set(members.map(({ queue }) => queue))];
  const contents = await Promise.all(queues.map((name) => session.shownBy(session.queue(name))));
  return members.map((member) => contents[queues.indexOf(member.queue)]!.member(member));
}

/** A follow-up, and the state of its job in words. */
type ShownFollowUp = BatchRecord['followUps'][number] & { state: string };

async function followUpsOf(session: Session, batch: BatchRecord): Promise<ShownFollowUp[]> {
  return Promise.all(
    batch.followUps.map(async (followUp) => {
      const { queue, id } = followUp;
      const state = await session
        .queue(queue)
        .get(id)
        .then(
          (job) => followUpInWords(batch, followUp, job?.status),
          (error: unknown) => unreadable(queue, error).state,
        );
      return { ...followUp, state };
    }),
  );
}

function batchTable(batches: readonly BatchRecord[], out: Output, isEnded: boolean): Part {
  const rows = batches.map((batch) => [
    batch.id,
    out.ago(batch.createdAt),
    batch.total - batch.open - batch.failed,
    batch.failed,
    batch.open,
    batch.total,
    out.ago(isEnded ? batch.endedAt : batch.firedAt),
    batch.state,
  ]);
  const end = isEnded ? 'ended' : 'jobs ended';
  const head = ['batch', 'begun', 'done', 'failed', 'left', 'jobs', end, 'state'];
  return out.table(head, rows, {
    whole: ['batch'],
    dropped: isEnded ? ['state', 'begun'] : ['jobs ended', 'begun'],
  });
}

function batchText(
  batch: BatchRecord,
  shown: readonly ShownFollowUp[],
  { members, next }: BatchPage,
  out: Output,
): Part {
  const rows = members.map(({ id, queue, status, error }) => [id, queue, status, error ?? '']);
  const followUps = shown.map(({ kind, queue, id, state }) => [kind, queue, id, state]);
  return lines([
    batchInWords(batch),
    ...(followUps.length > 0
      ? ['', out.table(['follow-up', 'queue', 'job', 'state'], followUps, { whole: ['job'] })]
      : []),
    ...(rows.length > 0 ? ['', out.table(['job', 'queue', 'status', 'error'], rows, { whole: ['job'] })] : []),
    ...(next === undefined ? [] : ['', `More jobs: --offset ${next}`]),
  ]);
}
