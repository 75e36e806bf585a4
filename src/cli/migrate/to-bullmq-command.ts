// `migrate queue <name> --to bullmq`: the way back.
import { newReport } from '../../migrate/move-report.js';
import { BULLMQ, OldPlace } from '../../migrate/queue/places.js';
import { QueueMover } from '../../migrate/queue/queue-mover.js';
import { BullmqTarget, loadBullmq } from '../../migrate/to-bullmq.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { isCluster } from '../../queue/redis/redis-client.js';
import { systemClock } from '../../queue/runtime/clock.js';
import type { CommandOptions, Context } from '../context.js';
import { CliError } from '../exit-codes.js';
import type { Session } from '../redis/session.js';
import { lines, text, valueOf } from '../text.js';
import { figures, queueReportText, row } from './queue-text.js';
import { followOf, runMover } from './run-mover.js';

/** What BullMQ has not, and what it becomes. docs/moving.md has the same list. */
const LIMITS = [
  'stay here: jobs of groups (or --drop-groups), jobs that wait for others, members of batches, payloads of a codec',
  'not moved: completed jobs, limits, pauses, counters; set limits and pauses there yourself',
  'dropped: timeoutMs, slots, expiresInMs, maxCrashes, cost, limitCosts, metadata, steps, checkpoint, progress, stream, waits, signals',
  'priorities: 1000 becomes 1, and jobs without one come last, as here',
  'ids: 7 becomes njq-7, and a colon becomes a dash, because BullMQ refuses these',
];

export async function migrateToBullmq(
  context: Context,
  queue: JobQueue,
  options: CommandOptions,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const { session, out } = context;
  const content = await queue.exec((calls) => calls.content());
  if (content?.encrypted || content?.codec !== undefined) {
    throw new CliError(
      `The queue "${queue.name}" has a codec, and BullMQ could read none of its jobs. Nothing was changed.`,
    );
  }
  const secret = env['TO_REDIS_URL'];
  const there = await session.openBeside(
    { prefix: session.prefix },
    ...(secret === undefined ? [] : [{ ...env, REDIS_URL: secret }]),
  );
  try {
    const old = await OldPlace.of(queue, `${BULLMQ}${there.place}`);
    const [counts, schedules] = await Promise.all([
      old.counts(),
      old.client.zrange(old.keys.scheduleDue, '0', '-1'),
    ]);
    const plan = () =>
      lines([
        text`${old.keys.base}* → ${BULLMQ}${there.place}`,
        row('to move', figures(counts)),
        ...schedules.map((id) => row('schedule', id)),
        ...LIMITS,
      ]);
    if (options['dryRun'] === true) {
      out.show({ counts, schedules, limits: LIMITS }, plan);
      return;
    }
    if (!out.json) {
      out.tell(valueOf(plan(), Infinity));
    }
    await context.confirm(() => text`pause the queue ${queue.name} here, and move its jobs to BullMQ`, {
      onlyOnTerminal: true,
    });
    await move(context, { old, there, hasSchedules: schedules.length > 0, options });
  } finally {
    there.close();
  }
}

interface Move {
  old: OldPlace;
  /** The session of BullMQ's Redis. */
  there: Session;
  hasSchedules: boolean;
  options: CommandOptions;
}

async function move(context: Context, { old, there, hasSchedules, options }: Move): Promise<void> {
  const { out } = context;
  const { client, keys, queue } = old;
  const quietMs = followOf(options);
  const report = newReport({
    from: `${keys.base}*`,
    to: `${BULLMQ}${there.place}`,
    source: 'nest-job-queue',
  });
  const name = String(options['toName'] ?? queue.name);
  const prefix = String(options['toPrefix'] ?? 'bull');
  const library = hasSchedules ? await loadBullmq() : undefined; // before anything is written
  if (library && isCluster(there.client)) {
    throw new CliError(
      'Schedules go only to a BullMQ on a single server. Remove them, or move to one. Nothing was changed.',
    );
  }
  const connection = isCluster(there.client) ? {} : { ...there.client.options, lazyConnect: false };
  const target = new BullmqTarget({
    client: there.client,
    prefix,
    name,
    rules: {
      hasPriorities: (await client.zcard(keys.prioritized)) > 0,
      maxAttempts: queue.options.maxAttempts,
      handlerLimits: await client.hgetall(keys.handlerLimits),
      dropGroups: options['dropGroups'] === true,
      nowMs: out.nowMs,
    },
    dropped: report.dropped,
    open: async () => new (library ?? (await loadBullmq())).Queue(name, { prefix, connection }),
  });
  const mover = new QueueMover({ old, target, clock: systemClock, report, by: context.user ?? 'migrate' });
  const startedAt = performance.now();
  try {
    await runMover(context, mover, { quietMs });
  } finally {
    await target.close();
  }
  report.remaining = await old.counts();
  if (report.left.length > 0) {
    await queue.resume();
    report.settings.push('the queue here is resumed, because some of its jobs stay');
  }
  out.show(report, () =>
    queueReportText(report, { copied: 0, tookMs: performance.now() - startedAt, at: out.nowMs }),
  );
}
