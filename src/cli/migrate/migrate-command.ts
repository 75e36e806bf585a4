import { Argument, type Command } from 'commander';
import { count, duration } from '../../inspect/words.js';
import { BeeSource } from '../../migrate/bee-source.js';
import { Source, type SourceEra, type SourceSettings } from '../../migrate/bullmq-source.js';
import { newReport, totalOf, type MoveReport } from '../../migrate/move-report.js';
import { placesOf, type MoveRules, type PriorityRule, priorityOf } from '../../migrate/move-rules.js';
import { Mover, TargetFullError, moveSettings } from '../../migrate/mover.js';
import { planMove, priorityUse, type MovePlan } from '../../migrate/plan.js';
import { readBackoffs, readNames, readPriorities } from '../../migrate/read-maps.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { systemClock } from '../../queue/runtime/clock.js';
import type { CommandOptions, Context, Run } from '../context.js';
import { CliError, EXIT } from '../exit-codes.js';
import { clientOf } from '../redis/address.js';
import { reach } from '../redis/reach.js';
import { text, valueOf, instant, joined, lines, type Text } from '../text.js';
import { flagOf, migrateQueue, ONLY_HERE } from './queue-command.js';
import { figures, leftRows, row } from './queue-text.js';
import { followOf, QUIET_MS, runMover } from './run-mover.js';

/** Adds the command that moves the jobs of another library. @param env has the address of its Redis */
export function addMigrate(program: Command, run: Run, env: NodeJS.ProcessEnv): void {
  program
    .command('migrate')
    .addArgument(
      new Argument('<kind>', 'who wrote the queue; queue for one of ours').choices([
        'bullmq',
        'bull',
        'bee',
        'queue',
      ]),
    )
    .argument('<queue>', 'the name of the queue')
    .description('moves a queue of BullMQ, Bull or bee-queue here, or one of ours elsewhere; see docs/moving.md')
    .option('--to <place>', 'the queue here; of a queue of ours another Redis (or TO_REDIS_URL), or bullmq')
    .option('--from <url>', 'the Redis of the old queue, if it is another one; with a password in BULLMQ_REDIS_URL')
    .option('--from-prefix <text>', 'the beginning of its keys; without it bull, or bq of bee-queue')
    .option('--dry-run', 'only show what would be moved')
    .option('--follow', 'go on until the old queue is quiet')
    .option('--failed', 'move failed jobs too, as dead letters')
    .option('--quiet <ms>', 'how long it must be quiet', String(QUIET_MS))
    .option('--names <map>', 'names of jobs here: resize=image,*=audio')
    .option('--priorities <map>', 'priorities here: none=900,1=800')
    .option('--backoff <map>', 'delays for strategies in code: custom=exponential:1000')
    .option('--new-ids', 'give each job a new id')
    .option('--shift-intervals', 'move intervals whose times differ here')
    .option('--to-name <queue>', 'queue: its name there')
    .option('--to-prefix <text>', 'queue: the beginning of its keys there')
    .option('--to-cluster', 'queue: the new Redis is a Cluster')
    .option('--to-hash-tag', 'queue: its name there has a hash tag')
    .option('--hash-tag', 'queue: its name here has a hash tag, without a Cluster')
    .option('--drop-groups', 'queue to BullMQ: move jobs of groups without their group')
    .option('--leave-related', 'queue: leave the jobs in which another queue has a share')
    .action(
      run(async (context, [library, name], options) => {
        if (library === 'queue') {
          await migrateQueue(context, name!, options, env);
          return;
        }
        refuseQueueOptions(options);
        const isBee = library === 'bee';
        if (isBee && options['failed'] === true) {
          throw new CliError(
            'Failed jobs of bee-queue stay there. Retry them there, or run this without --failed.',
          );
        }
        const old = await oldRedis(context, options, env);
        try {
          const prefix = String(options['fromPrefix'] ?? (isBee ? 'bq' : 'bull'));
          const source = new (isBee ? BeeSource : Source)(old.client, prefix, name!);
          await migrate(context, source, options);
        } finally {
          old.close();
        }
      }),
    );
}

/** @throws CliError for an option of `migrate queue` */
function refuseQueueOptions(options: CommandOptions): void {
  const found = ONLY_HERE.find((option) => options[option] !== undefined);
  if (found !== undefined) {
    throw new CliError(`${flagOf(found)} is an option of "migrate queue" only.`, EXIT.usage);
  }
}

/** Connects to the Redis of the old queue: the same one, unless another is named. */
async function oldRedis({ session }: Context, options: CommandOptions, env: NodeJS.ProcessEnv) {
  const url = options['from'] as string | undefined;
  const secret = env['BULLMQ_REDIS_URL'];
  if (url === undefined && secret === undefined) {
    return { client: session.client, close: () => undefined };
  }
  const found = clientOf({ ...(url !== undefined && { redis: url }) }, { ...env, REDIS_URL: secret });
  await reach(found);
  return { client: found.client, close: () => found.client.disconnect() };
}

async function migrate(context: Context, source: Source, options: CommandOptions): Promise<void> {
  const { session, out } = context;
  if (!(await source.exists())) {
    const key = `${source.prefix}:${source.queue}`;
    throw new CliError(
      `There is no queue ${JSON.stringify(key)} there. Pass --from or --from-prefix.`,
      EXIT.notFound,
    );
  }
  const queue = await session.audited(String(options['to'] ?? source.queue));
  await session.refuseSecret(queue);
  const { era } = await source.settings();
  const chosen = await choosePriorities(source, era, options);
  const rules: MoveRules = {
    names: options['names'] === undefined ? new Map() : readNames(String(options['names'])),
    priorities: chosen.rule,
    backoffs: options['backoff'] === undefined ? new Map() : readBackoffs(String(options['backoff'])),
    newIds: options['newIds'] === true,
    shiftIntervals: options['shiftIntervals'] === true,
    failed: options['failed'] === true,
  };
  const plan = await planMove({ source, queue, rules });
  if (options['dryRun'] === true) {
    out.show({ from: `${source.prefix}:${source.queue}`, to: queue.name, ...plan }, () =>
      planText(plan, { source, queue, rules }),
    );
    return;
  }
  if (!out.json) {
    out.tell(valueOf(planText(plan, { source, queue, rules }), Infinity));
  }
  if (chosen.isGuess) {
    await context.confirm(
      () => text`move jobs with and without a priority by the map above (or pass --priorities)`,
    );
  }
  await move(context, {
    source,
    queue,
    rules,
    plan,
    quietMs: followOf(options),
  });
}

/** Chooses the rule for priorities. Where jobs with and without one wait, BullMQ's order needs a map. */
async function choosePriorities(
  source: Source,
  era: SourceEra,
  options: CommandOptions,
): Promise<{ rule: PriorityRule; isGuess: boolean }> {
  if (options['priorities'] !== undefined) {
    return { rule: readPriorities(String(options['priorities'])), isGuess: false };
  }
  if (era === 'bull') {
    return { rule: { kind: 'reversed', isNoneLast: true }, isGuess: false };
  }
  const { none, used } = await priorityUse(source, placesOf({ failed: options['failed'] === true }));
  if (none > 0 && used.size > 0) {
    return { rule: { kind: 'below', none: 1_000, named: new Map() }, isGuess: true };
  }
  return { rule: used.size > 0 ? { kind: 'reversed', isNoneLast: false } : { kind: 'none' }, isGuess: false };
}

interface Move {
  source: Source;
  queue: JobQueue;
  rules: MoveRules;
  plan: MovePlan;
  quietMs: number | undefined;
}

async function move(context: Context, { source, queue, rules, plan, quietMs }: Move): Promise<void> {
  const { session, out } = context;
  const report = newReport({
    from: `${source.prefix}:${source.queue}`,
    to: queue.name,
    source: sourceName(plan.settings),
    settings: await moveSettings(plan.settings, queue, source),
  });
  const mover = new Mover({ source, era: plan.settings.era, queue, rules, clock: systemClock, report });
  const startedAt = performance.now();
  const total = totalOf(plan.movable);
  let full: TargetFullError | undefined;
  try {
    await runMover(context, mover, { quietMs, total });
  } catch (error) {
    full = error instanceof TargetFullError ? error : undefined;
    if (!full) {
      throw error;
    }
  }
  const after = await planMove({ source, queue, rules, clashes: mover.clashes });
  report.left = after.left;
  report.remaining = after.counts;
  report.unhandled = (await queue.stats()).unserved.map(({ name }) => name);
  out.show(report, () =>
    reportText(report, { place: session.place, tookMs: performance.now() - startedAt, at: out.nowMs }),
  );
  if (full) {
    throw new CliError(`${full.message} Raise its bound, or let its workers catch up, and run this again.`);
  }
}

// What a move shows: its plan, and a report for a ticket.

/** The library whose failed jobs stay there. */
const BEE = 'bee-queue';

/** Returns the library that wrote a queue, with its version. */
function sourceName({ era, version }: SourceSettings): string {
  return (
    version?.replace('bullmq:', 'BullMQ ') ?? { bull: 'Bull', bullmq5: 'BullMQ', bullmq6: 'BullMQ', bee: BEE }[era]
  );
}

function dropped(record: Record<string, number>): Text[] {
  return Object.keys(record).length === 0 ? [] : [row('dropped options', figures(record))];
}

/** Returns what a move would do. */
function planText(
  plan: MovePlan,
  { source, queue, rules }: { source: Source; queue: JobQueue; rules: MoveRules },
): Text {
  const { settings } = plan;
  const moving = plan.schedulers.filter(({ reason }) => reason === undefined);
  return lines([
    text`${source.prefix}:${source.queue} (${sourceName(settings)}) → ${queue.name}`,
    row('there', figures(plan.counts)),
    row('to move', figures(plan.movable)),
    row('names', figures(plan.names)),
    ...priorityRows(plan, rules),
    ...moving.map(({ id, nextAt }) => row('schedule', text`${id}, next at ${nextAt} there and here`)),
    ...(settings.isPaused ? [row('pause', 'the queue here is paused, too')] : []),
    ...(settings.concurrency === undefined ? [] : [row('limit', text`maxRunning ${settings.concurrency}`)]),
    ...(settings.rate
      ? [row('limit', text`${settings.rate.max} starts in ${settings.rate.duration} ms, spread evenly here`)]
      : []),
    ...dropped(plan.dropped),
    ...leftRows('stays there', plan.left),
  ]);
}

/** Shows the map of priorities where jobs with and without one wait. */
function priorityRows(_plan: MovePlan, rules: MoveRules): Text[] {
  const { priorities } = rules;
  if (priorities.kind === 'none') {
    return [];
  }
  const olds = priorities.kind === 'below' ? [0, 1, 10, 100, ...priorities.named.keys()] : [1, 10, 100];
  const shown = [...new Set(olds)].map((old) => text`${old === 0 ? 'none' : old} → ${priorityOf(rules, old)}`);
  return [row('priorities', joined(shown, ', '))];
}

/** Returns what a move did. */
function reportText(
  report: MoveReport,
  { place, tookMs, at }: { place: string; tookMs: number; at: number },
): Text {
  const { moved, deduplicated, deleted, schedules, settings, left, remaining, unhandled } = report;
  const total = totalOf(moved);
  return lines([
    text`Moved ${report.from} (${report.source}) to the queue ${report.to} at ${place}`,
    row('when', text`${instant(new Date(at))}, in ${duration(tookMs)}`),
    row('moved', text`${count(total)} jobs: ${figures(moved)}`),
    ...(deduplicated > 0 ? [row('deduplicated', count(deduplicated))] : []),
    ...(deleted > 0 ? [row('deleted there', count(deleted))] : []),
    ...(schedules.length > 0 ? [row('schedules', joined(schedules, ', '))] : []),
    ...(settings.length > 0 ? [row('set here', joined(settings, '; '))] : []),
    ...dropped(report.dropped),
    ...leftRows('stays there', left),
    row('still there', figures(remaining)),
    ...(unhandled.length > 0 ? [row('no worker here', joined(unhandled, ', '))] : []),
    row('next', nextStep(report)),
  ]);
}

const WAITING = ['wait', 'paused', 'prioritized', 'delayed', 'active', 'waiting-children', 'transit'];

function nextStep({ left, remaining, source }: MoveReport): string {
  const waiting = WAITING.reduce((sum, state) => sum + (remaining[state] ?? 0), 0);
  if (waiting > 0 || left.length > 0) {
    return 'keep the old workers running, and run this again';
  }
  if ((remaining['failed'] ?? 0) === 0) {
    return 'stop the old workers';
  }
  return source === BEE
    ? 'retry failed jobs there if they must run, and run this again; then stop the old workers'
    : 'stop the old workers, and decide about the failed jobs there (--failed moves them)';
}
