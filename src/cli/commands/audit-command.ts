import { setTimeout as sleep } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import { count } from '../../inspect/words.js';
import type { ActionFilter } from '../../queue/actions/action-log.js';
import type { JobQueue } from '../../queue/job-queue.js';
import type { AuditEntry } from '../../queue/model/job-event.js';
import { redisWithAllKeys } from '../../queue/redis-access.js';
import type { ActionEntry } from '../../queue/store/action-entry.js';
import { eachShard } from '../../spread/whole-queue.js';
import type { Context, Run } from '../context.js';
import { CliError, EXIT } from '../exit-codes.js';
import { wholeNumber } from '../numbers.js';
import type { Output } from '../output.js';
import { instant, joined, lines, padded, text, type Text } from '../text.js';

/** The interval at which a followed trail is read, in ms. */
const FOLLOW_EVERY_MS = 500;

/** Adds the command that reads the audit trail. */
export function addAudit(program: Command, run: Run): void {
  program
    .command('audit <queue>')
    .description('prints the transitions of the jobs, if the option `auditTrail` writes them down')
    .option('--limit <n>', 'the last entries, up to 1,000', '50')
    .option('--follow', 'continues with new ones until it is interrupted')
    .option('--count <n>', 'with --follow: ends after this many entries')
    .action(run(audit));
}

async function audit(context: Context, [name]: string[], options: Record<string, unknown>): Promise<void> {
  const { session, out } = context;
  const queue = await session.known(name!);
  const written = await eachShard(queue, async (shard) => {
    const { client, keys } = await redisWithAllKeys(shard);
    return session.awaitReply(client.exists(keys.audit));
  });
  if (!written.includes(1)) {
    const hint = 'Set its option `auditTrail` in all processes, and restart them.';
    throw new CliError(`Queue ${JSON.stringify(name)} has no audit trail. ${hint}`, EXIT.notFound);
  }
  const limit = wholeNumber('limit', options['limit'] as string) ?? 50;
  const content = await session.shownBy(queue);
  const trails = await eachShard(queue, async (shard) => ({
    shard,
    entries: (await shard.auditTrail.latest({ limit })).toReversed(),
  }));
  const found = inOrder(trails.map(({ entries }) => entries)).slice(-limit);
  const entries = found.map((entry) => content.auditEntry(entry));
  if (options['follow'] === undefined) {
    out.show(entries, () =>
      entries.length > 0 ? lines(entries.map((entry) => lineOf(entry, out))) : 'No entries.',
    );
    return;
  }
  let left = wholeNumber('count', options['count'] as string | undefined) ?? Infinity;
  const lasts = new Map(trails.map((each) => [each.shard, each.entries.at(-1)?.entryId]));
  for (let slice = entries; left > 0;) {
    const shown = slice.slice(0, left);
    shown.forEach((entry) => out.line(entry, () => lineOf(entry, out)));
    left -= shown.length;
    if (slice.length === 0) {
      await sleep(FOLLOW_EVERY_MS);
    }
    const next = await eachShard(queue, (shard) => newOf(shard, lasts));
    slice = inOrder(next).map((entry) => content.auditEntry(entry));
  }
}

/** Returns the entries of all shards, the oldest first. */
function inOrder(entries: readonly (readonly AuditEntry[])[]): AuditEntry[] {
  return entries.flat().toSorted((a, b) => a.at.getTime() - b.at.getTime());
}

/** Reads the entries behind the last one, which it notes. */
async function newOf(shard: JobQueue, lasts: Map<JobQueue, string | undefined>): Promise<AuditEntry[]> {
  const after = lasts.get(shard);
  const entries = await shard.auditTrail.read(after === undefined ? {} : { after });
  lasts.set(shard, entries.at(-1)?.entryId ?? after);
  return entries;
}

function lineOf({ at, jobId, name, transition, from, to, attempt, worker, error }: AuditEntry, out: Output): Text {
  const moved = text`${from ?? '–'} → ${to ?? '–'}`;
  const parts = [
    instant(at),
    padded(transition, 10),
    padded(moved, 24),
    text`#${attempt}`,
    out.clipped(name, 40),
    out.clipped(jobId, 40),
    ...(worker === undefined ? [] : [out.clipped(worker, 40)]),
    ...(error === undefined ? [] : [out.clipped(error, 80)]),
  ];
  return joined(parts, '  ');
}

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
