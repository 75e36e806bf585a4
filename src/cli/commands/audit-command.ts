import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { AuditEntry } from '../../queue/model/job-event.js';
import { redisWithAllKeys } from '../../queue/redis-access.js';
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
  const { client, keys } = await redisWithAllKeys(queue);
  if ((await session.awaitReply(client.exists(keys.audit))) === 0) {
    const hint = 'Set its option `auditTrail` in all processes, and restart them.';
    throw new CliError(`Queue ${JSON.stringify(name)} has no audit trail. ${hint}`, EXIT.notFound);
  }
  const limit = wholeNumber('limit', options['limit'] as string) ?? 50;
  const content = await session.shownBy(queue);
  const entries = (await queue.auditTrail.latest({ limit })).map((entry) => content.auditEntry(entry)).toReversed();
  if (options['follow'] === undefined) {
    out.show(entries, () =>
      entries.length > 0 ? lines(entries.map((entry) => lineOf(entry, out))) : 'No entries.',
    );
    return;
  }
  let left = wholeNumber('count', options['count'] as string | undefined) ?? Infinity;
  let last: AuditEntry | undefined;
  for (let slice = entries; left > 0;) {
    const shown = slice.slice(0, left);
    shown.forEach((entry) => out.line(entry, () => lineOf(entry, out)));
    left -= shown.length;
    last = slice.at(-1) ?? last;
    if (slice.length === 0) {
      await sleep(FOLLOW_EVERY_MS);
    }
    const next = await queue.auditTrail.read(last && { after: last.entryId });
    slice = next.map((entry) => content.auditEntry(entry));
  }
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
