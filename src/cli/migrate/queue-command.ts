// `migrate queue`: moves a queue of ours to another Redis, prefix, name or hash tag.
import { newReport, totalOf, type Left } from '../../migrate/move-report.js';
import { NewPlace, OldPlace } from '../../migrate/queue/places.js';
import { QueueMover } from '../../migrate/queue/queue-mover.js';
import { planQueueMove, type QueuePlan } from '../../migrate/queue/queue-plan.js';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { redisWithAllKeys } from '../../queue/redis-access.js';
import { isCluster } from '../../queue/redis/redis-client.js';
import { systemClock } from '../../queue/runtime/clock.js';
import type { CommandOptions, Context } from '../context.js';
import { CliError, EXIT } from '../exit-codes.js';
import { noQueue, type Session } from '../redis/session.js';
import { text, valueOf } from '../text.js';
import { followOf, runMover } from './run-mover.js';
import { migrateToBullmq } from './to-bullmq-command.js';
import { queuePlanText, queueReportText } from './queue-text.js';

const SKEW_MS = 1_000;
/** The address with a password stands here, because other users see the arguments of a process. */
const SECRET = 'TO_REDIS_URL';

/** The options of the other kinds of moves, which a move of a queue does not have. */
const NOT_HERE = {
  from: 'Its Redis is that of --redis.',
  fromPrefix: 'Its prefix is that of --prefix.',
  failed: 'Dead letters always move along.',
  names: 'Jobs keep their names.',
  priorities: 'Jobs keep their priorities.',
  backoff: 'Jobs keep their backoff.',
  newIds: 'Jobs keep their ids.',
  shiftIntervals: 'Schedules keep their times.',
} as const;

/** The options that only a move of a queue has. */
export const ONLY_HERE = [
  'toName',
  'toPrefix',
  'toHashTag',
  'toCluster',
  'hashTag',
  'leaveRelated',
  'dropGroups',
] as const;

/** Moves a queue, or shows what would move. @param env may have the address of the new Redis, with its password */
export async function migrateQueue(
  context: Context,
  name: string,
  options: CommandOptions,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  refuseOptions(options);
  const { session } = context;
  const queue = session.queue(name, options['hashTag'] === true ? { hashTag: true } : {});
  await refuseUnknown(session, queue);
  if (options['to'] === 'bullmq') {
    await migrateToBullmq(context, queue, options, env);
    return;
  }
  if (options['dropGroups'] !== undefined) {
    throw new CliError('--drop-groups is for --to bullmq. Groups move with their jobs.', EXIT.usage);
  }
  const there = await openTarget(context, options, env);
  try {
    const tagged = options['toHashTag'] === true ? { hashTag: true } : {};
    const target = there.queue(textOf(options, 'toName') ?? name, tagged);
    await move(context, { queue, target, there, options });
  } finally {
    there.close();
  }
}

function refuseOptions(options: CommandOptions): void {
  for (const [option, why] of Object.entries(NOT_HERE)) {
    if (options[option] !== undefined) {
      throw new CliError(`${flagOf(option)} is no option of "migrate queue". ${why}`, EXIT.usage);
    }
  }
}

/** Returns an option as it is typed. */
export function flagOf(option: string): string {
  return `--${option.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

function textOf(options: CommandOptions, name: string): string | undefined {
  const value = options[name];
  return value === undefined ? undefined : String(value);
}

/** @throws CliError */
async function refuseUnknown(session: Session, queue: JobQueue): Promise<void> {
  const { keys, client } = await redisWithAllKeys(queue);
  const { stats, pending, workers, scheduleDue } = keys;
  if ((await session.awaitReply(client.exists(stats, pending, workers, scheduleDue))) === 0) {
    throw noQueue(`with keys ${keys.base}*`, 'For a queue with the option hashTag pass --hash-tag.');
  }
}

/** Connects to the Redis of the new place: the same one, unless another is named. */
async function openTarget({ session }: Context, options: CommandOptions, env: NodeJS.ProcessEnv): Promise<Session> {
  const url = textOf(options, 'to');
  const secret = env[SECRET];
  const prefix = textOf(options, 'toPrefix') ?? session.prefix;
  if (url === undefined && secret === undefined) {
    if (['toName', 'toPrefix', 'toHashTag'].every((option) => options[option] === undefined)) {
      throw new InvalidOptionError(
        '--to',
        'the address of the new Redis, or for the same one --to-name, --to-prefix or --to-hash-tag',
        show(undefined),
      );
    }
    return session.openBeside({ prefix });
  }
  if (url !== undefined && URL.canParse(url) && new URL(url).password !== '') {
    throw new CliError(
      `--to: put an address with a password into ${SECRET}, because other users see arguments.`,
      EXIT.usage,
    );
  }
  const cluster = options['toCluster'] === true;
  return session.openBeside(
    { ...(url !== undefined && { redis: url }), cluster, prefix },
    { ...env, REDIS_URL: secret },
  );
}

interface Move {
  queue: JobQueue;
  target: JobQueue;
  /** The session of the new place. */
  there: Session;
  options: CommandOptions;
}

async function move(context: Context, { queue, target, there, options }: Move): Promise<void> {
  const { session, out } = context;
  const to = `${there.place}, ${(await redisWithAllKeys(target)).keys.base}*`;
  const [old, place] = await Promise.all([OldPlace.of(queue, to), NewPlace.of(target)]);
  await refuseSamePlace(old, place);
  await refuseEncrypted(queue, target);
  const plan = await planQueueMove(old);
  const names = { from: `${session.place}, ${old.keys.base}*`, to };
  const skewMs = Math.abs(there.skewMs - session.skewMs);
  const notes = skewMs > SKEW_MS ? [`the clocks of the servers differ by ${Math.round(skewMs)} ms: due times are instants`] : []; // prettier-ignore
  if (options['dryRun'] === true) {
    out.show({ ...names, ...plan, notes }, () => queuePlanText(plan, names, notes));
    return;
  }
  if (!out.json) {
    out.tell(valueOf(queuePlanText(plan, names, notes), Infinity));
  }
  const leavesRelated = options['leaveRelated'] === true;
  if (plan.related.length > 0 && !leavesRelated) {
    throw new CliError(refusal(plan), EXIT.failed);
  }
  await context.confirm(() => text`pause the queue ${queue.name} here, and move it to ${to}`, {
    onlyOnTerminal: true,
  });
  const quietMs = followOf(options);
  const report = newReport({ ...names, source: 'nest-job-queue' });
  const mover = new QueueMover({ old, target: place, clock: systemClock, report, by: context.user ?? 'migrate' });
  const startedAt = performance.now();
  const total = totalOf(plan.counts);
  await runMover(context, mover, { quietMs, total });
  report.remaining = await old.counts();
  if (leavesRelated && report.left.length > 0) {
    await queue.resume();
    report.settings.push('the queue here is resumed, because some of its jobs stay');
  }
  report.unhandled = (await target.stats()).unserved.map(({ name }) => name);
  out.show({ ...report, ended: mover.copiedCount }, () =>
    queueReportText(report, { copied: mover.copiedCount, tookMs: performance.now() - startedAt, at: out.nowMs }),
  );
}

/** @throws CliError if both places are one */
async function refuseSamePlace(old: OldPlace, target: NewPlace): Promise<void> {
  if (old.keys.base !== target.keys.base) {
    return;
  }
  const [here, there] = await Promise.all([old.client, target.client].map(serverOf));
  if (old.client === target.client || here === there) {
    throw new CliError(
      `The new place is the old one: ${old.keys.base}* of the same Redis. Pass another --to, --to-name, --to-prefix or --to-hash-tag.`,
      EXIT.usage,
    );
  }
}

/** Returns what identifies a server and its database. */
async function serverOf(client: OldPlace['client']): Promise<string> {
  if (isCluster(client)) {
    const slots = await client.cluster('SHARDS').catch(() => []);
    return JSON.stringify(slots);
  }
  const info = await client.info('server').catch(() => '');
  const [, run = String(Math.random())] = /^run_id:(\w+)/m.exec(info) ?? [];
  return `${run} ${client.options.db ?? 0}`;
}

/** @throws CliError if a cipher protects the name that would change */
async function refuseEncrypted(queue: JobQueue, target: JobQueue): Promise<void> {
  const content = await queue.exec((calls) => calls.content());
  if (content?.encrypted && queue.name !== target.name) {
    throw new CliError(
      `The queue ${show(queue.name)} is encrypted, and the name of a queue is part of what the cipher protects. ` +
        'Its jobs could not be read under another name. Leave out --to-name.',
    );
  }
}

function refusal({ related }: QueuePlan): string {
  const words = related.map(({ what, reason, count, ids }: Left) => `${count} ${what}${count === 1 ? '' : 's'}: ${reason} (${ids.join(', ')})`); // prettier-ignore
  return (
    `Other queues have a share in ${related.length === 1 ? 'a part' : 'parts'} of this queue, and this move takes only one queue. ` +
    `${words.join('; ')}. Nothing was changed. Wait until they have ended, or pass --leave-related: they stay, and the ` +
    'workers here finish them.'
  );
}
