import type { AnnouncedContent } from '../../queue/codec/announced-content.js';
import { ANY_PAYLOAD, type CodecError, type JobCodec, codecOf, decodeContent } from '../../queue/codec/codec.js';
import { RedisAuditError, describeFinding } from '../../queue/doctor/server-audit.js';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import type { JobQueue } from '../../queue/job-queue.js';
import type { JobStatus, QueueStats } from '../../queue/model/job.js';
import { shardNames, shardOfKey, shardsIn } from '../../queue/model/spread.js';
import { registerQueues } from '../../queue/register/register-queues.js';
import { groupBy } from '../../queue/runtime/collections.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import type { SpreadQueue } from '../../spread/spread-queue.js';
import type { QueueRegistry } from '../connection/queue-registry.js';
import type { HandlerRegistry } from '../handlers/handler-registry.js';
import type { ResolvedModuleOptions } from '../job-queue.options.js';
import { FLEET_BOOT_MS, type UnusedNames } from './unused-names.js';

/** The time the server may take to reply to all calls, in ms. */
const REPLY_MS = 2_000;

/** The parts of a connection that its audit needs. */
export interface AuditParts {
  readonly options: Pick<ResolvedModuleOptions, 'app' | 'audit' | 'maintenance' | 'worker'>;
  readonly queues: QueueRegistry;
  readonly logger: JobQueueLogger;
  readonly names: UnusedNames;
  /** The queues that this process serves. */
  readonly handlers: Pick<HandlerRegistry, 'queueNames'>;
}

/** Checks Redis for risks to jobs, once it is reachable. */
export class BootAudit {
  private asking: Promise<void> | undefined;
  /** The queues without maintenance that were logged. */
  private readonly unmaintained = new Set<string>();
  /** The other apps that were logged. */
  private readonly otherApps = new Set<string>();
  /** The timers of the looks to come. */
  private readonly looks = new Set<NodeJS.Timeout>();
  private isShutDown = false;

  constructor(
    private readonly parts: AuditParts,
    private readonly fleetBootMs: number = FLEET_BOOT_MS,
  ) {}

  /** @throws RedisAuditError with `audit: 'error'` for any warning; RedisUnsuitableError without a reply */
  async run(): Promise<void> {
    if (this.parts.options.audit === 'off') {
      return;
    }
    try {
      this.asking ??= this.parts.queues.redis.ask(REPLY_MS, () => this.audit());
      await this.asking;
    } catch (error) {
      this.asking = undefined;
      if (this.parts.options.audit === 'error') {
        throw error;
      }
      const { redis } = this.parts.queues;
      if (!redis.isClosed) {
        this.parts.logger.warn(`Redis at ${redis.address} could not be audited: ${(error as Error).message}`);
      }
    }
  }

  /** Leaves out the looks to come. Their timers would keep the closed app in memory. */
  onApplicationShutdown(): void {
    this.isShutDown = true; // the audit may be in flight, and plan more
    this.looks.forEach((timer) => clearTimeout(timer));
    this.looks.clear();
  }

  private async audit(): Promise<void> {
    const { redis, all } = this.parts.queues;
    const findings = await redis.audit(all);
    if (findings.length > 0 && this.parts.options.audit === 'error') {
      throw new RedisAuditError(redis.address, findings);
    }
    for (const finding of findings) {
      this.parts.logger.warn(`Redis at ${redis.address}: ${describeFinding(finding)}`);
    }
    await Promise.all(all.map((queue) => this.lookAtCodec(queue)));
    await this.lookForOtherApps();
    // Not at once: another process of the fleet may boot at the same time.
    this.later(this.fleetBootMs, () => this.parts.names.lookAtAll());
    this.later(this.fleetBootMs, () => this.lookForOtherApps());
    if (this.parts.options.maintenance === false) {
      // Again later, because a process that maintained them may end in this deploy. Maintenance is overdue 125 s after that.
      [1, 3].forEach((boots) => this.later(boots * this.fleetBootMs, () => this.lookForMaintenance()));
    }
  }

  /** Looks some ms later, unless the connection is closed then. An error leaves the look out. */
  private later(ms: number, look: () => Promise<void>): void {
    if (this.isShutDown) {
      return;
    }
    const run = async () => (this.parts.queues.redis.isClosed ? undefined : look());
    const timer = setTimeout(() => {
      this.looks.delete(timer);
      void run().catch(() => undefined);
    }, ms).unref();
    this.looks.add(timer);
  }

  private async lookAtCodec(queue: JobQueue): Promise<void> {
    const warnings = await auditCodec(queue);
    warnings.forEach((warning) => this.parts.logger.warn(warning));
  }

  /** Warns once of each other app whose workers serve queues of this process. Both would take each other's jobs. */
  private async lookForOtherApps(): Promise<void> {
    const { options, queues, handlers, logger } = this.parts;
    const { app, worker } = options;
    if (app === undefined || !worker) {
      return;
    }
    const served = await Promise.all(
      handlers.queueNames.map(async (name) =>
        (await queues.queue(name).workers()).map((record) => ({ ...record, queue: name })),
      ),
    );
    const others = served
      .flat()
      .filter((record) => record.app !== undefined && record.app !== app && !this.otherApps.has(record.app));
    for (const [other, records] of groupBy(others, (record) => record.app!)) {
      this.otherApps.add(other);
      const shared = [...new Set(records.map(({ queue }) => queue))];
      logger.warn(sharedWith(app, other, shared, queues.queue(shared[0]!).options.prefix));
    }
  }

  /** Warns once for a queue, because the process that maintains it may start after this one. */
  private async lookForMaintenance(): Promise<void> {
    const queues = this.parts.queues.all.filter(({ name }) => !this.unmaintained.has(name));
    await Promise.all(
      queues.map(async (queue) => {
        const stats = await queue.stats();
        const isMaintained = !stats.maintenanceOverdue && (stats.maintainedAt !== null || !isUsed(stats));
        if (!isMaintained && !this.unmaintained.has(queue.name)) {
          this.unmaintained.add(queue.name);
          this.parts.logger.warn(unmaintained(queue.name, stats.maintainedAt));
        }
      }),
    );
  }
}

/** Returns the warning that another app serves queues of this one. */
function sharedWith(app: string, other: string, queues: readonly string[], prefix: string): string {
  const named = queues.slice(0, 5).map((queue) => `"${queue}"`);
  const more = queues.length > named.length ? ` and ${queues.length - named.length} more` : '';
  return (
    `Workers of another app, "${other}", serve ${queues.length === 1 ? 'queue' : 'queues'} ${named.join(', ')}${more} too, on this Redis with the ` +
    `prefix "${prefix}". Each takes jobs of the other. Give one of them a \`prefix\` of its own in forRoot. If both are to ` +
    `serve them, give both the same \`app\`; this one is "${app}".`
  );
}

/** Returns whether the queue is used. A queue without jobs and workers keeps no memory of its maintenance. */
function isUsed({ workers, pending, scheduled, processing }: QueueStats): boolean {
  return workers + pending + scheduled + processing > 0;
}

/** Returns the warning that no process maintains a queue, with the consequence and the remedy. */
function unmaintained(queue: string, maintainedAt: Date | null): string {
  const last = maintainedAt ? `since ${maintainedAt.toISOString()}` : 'yet';
  return (
    `No process has maintained queue "${queue}" ${last}, and this one has maintenance: false. Expired claims are not ` +
    'reclaimed, and nothing is deleted by age. Leave maintenance on in at least one process of the fleet.'
  );
}

/** The checked places, with the number of jobs to read in each. */
const SAMPLED_PLACES: readonly JobStatus[] = ['pending', 'scheduled', 'failed'];
const SAMPLED_JOBS = 3;

const CODEC_REMEDY = 'Give all processes of the queue the same codec and keys.';

/** Returns the warnings about a queue's codec: workers have another one, or this process cannot read jobs. */
async function auditCodec(queue: JobQueue): Promise<string[]> {
  const found = await Promise.all([auditWorkers(queue), auditJobs(queue)]);
  return found.filter((warning) => warning !== undefined);
}

/** Compares the codec and its keys with those of the last announced worker. */
async function auditWorkers(queue: JobQueue): Promise<string | undefined> {
  const announced = await queue.exec((calls) => calls.content());
  const own = queue.options.codec;
  if (!announced) {
    return undefined;
  }
  const difference =
    announced.codec === own?.name ? auditKeys(announced.keyIds, own?.keyIds) : auditNames(announced, own);
  return difference && `Queue "${queue.name}" was last served by a worker with ${difference} ${CODEC_REMEDY}`;
}

function auditNames({ codec }: AnnouncedContent, own: JobCodec | undefined): string {
  return (
    `${inWords(codec)}, and this process has ${inWords(own?.name)}. ` +
    'What one of them stores, the other may not read: such jobs become dead letters with a CodecError.'
  );
}

/**
 * Compares the keys. The first key of a list encrypts, all of them decrypt, so each process needs the other's first.
 */
function auditKeys(theirs: readonly string[] = [], own: readonly string[] = []): string | undefined {
  const unknown = theirs.slice(0, 1).filter((id) => !own.includes(id));
  const unknownThere = own.slice(0, 1).filter((id) => !theirs.includes(id));
  if (theirs.length === 0 || unknown.length + unknownThere.length === 0) {
    return undefined;
  }
  const [reader, key] = unknown.length > 0 ? ['this process', unknown[0]!] : ['that worker', unknownThere[0]!];
  return (
    `the keys ${theirs.join(', ')}, and this process has ${own.join(', ')}. ` +
    `Jobs encrypted by the key ${key} become dead letters with a CodecError where ${reader} runs them.`
  );
}

function inWords(codec: string | undefined): string {
  return codec === undefined ? 'no codec' : `the codec "${codec}"`;
}

/** Reads a few jobs of a queue. Returns a warning if this process cannot read one of them; undefined if it reads all. */
async function auditJobs(queue: JobQueue): Promise<string | undefined> {
  const pages = await Promise.all(SAMPLED_PLACES.map((status) => queue.list(status, { limit: SAMPLED_JOBS })));
  const unreadable = pages.flat().find(({ payload }) => codecOf(payload) !== undefined);
  if (!unreadable) {
    return undefined;
  }
  try {
    decodeContent(queue.options.codec, unreadable.payload, 'payload', {
      queue: queue.name,
      id: unreadable.id,
      payloadId: ANY_PAYLOAD,
    });
    return undefined;
  } catch (error) {
    return (
      `Queue "${queue.name}" has jobs that this process cannot read, such as ${unreadable.id}: ${(error as CodecError).message} ` +
      `Handlers here would fail them. ${CODEC_REMEDY}`
    );
  }
}

/** The most names of the register that the check reads. */
const MOST_NAMES = 10_000;
/** The most groups of a shard that are counted. */
const MOST_GROUPS = 1_000;

/**
 * Compares the number of shards of each queue with that in the register of Redis. Then it adds the shards of this process to
 * the register. See docs/internals/spread.md.
 *
 * @throws InvalidOptionError for a smaller number while the other shards are in use. Also for a larger one while jobs of groups
 * wait that would get another shard
 */
export async function checkSpreads(
  queues: QueueRegistry,
  logger: JobQueueLogger,
  spreads: readonly SpreadQueue[] = queues.spreads,
): Promise<void> {
  if (spreads.length === 0) {
    return;
  }
  const [door] = spreads[0]!.shards as [JobQueue];
  const read: ReadOr = async (fallback, ask) => {
    try {
      return await ask();
    } catch (error) {
      logger.warn(
        `Could not compare the number of shards with that of other processes. It must be the same in all: ${(error as Error).message}`,
      );
      return fallback;
    }
  };
  const known = await read([], async () =>
    door.store.queues.registered(await door.calls(), MOST_NAMES, door.callLimit),
  );
  await Promise.all(spreads.map((spread) => checkSpread(spread, shardsIn(spread.name, known), queues, read)));
  registerQueues(...spreads.flatMap(({ shards }) => shards));
}

/** Returns what a read returns. If it fails, because a master may be away, it warns and returns the fallback. */
type ReadOr = <Reply>(fallback: Reply, ask: () => Promise<Reply>) => Promise<Reply>;

async function checkSpread(
  { name, shards }: SpreadQueue,
  known: number,
  queues: QueueRegistry,
  read: ReadOr,
): Promise<void> {
  const others = shardNames(name, known).slice(shards.length);
  await Promise.all(
    others.map((other) => refuseInUse(name, { number: shards.length, known }, queues.reference(other), read)),
  );
  if (known < shards.length) {
    await refuseMovedGroups(name, shards.slice(0, known), shards.length, read);
  }
}

/** @throws InvalidOptionError for a shard beyond the number of this process, which has jobs or workers */
async function refuseInUse(
  queue: string,
  { number, known }: { number: number; known: number },
  shard: JobQueue,
  read: ReadOr,
): Promise<void> {
  const stats = await read(undefined, () => shard.stats());
  if (stats === undefined) {
    return;
  }
  const { pending, scheduled, processing, failed, workers } = stats;
  const jobs = pending + scheduled + processing + failed;
  if (jobs + workers > 0) {
    throw new InvalidOptionError(
      `spread of queue "${queue}"`,
      `${known}, as in another process`,
      String(number),
      `Shard "${shard.name}" has ${jobs} jobs and ${workers} workers. Set the same number in all processes. ` +
        'For a smaller one stop the others, and let a worker of the larger number end all jobs.',
    );
  }
}

/** @throws InvalidOptionError with the count of jobs whose groups would get another shard */
async function refuseMovedGroups(
  queue: string,
  known: readonly JobQueue[],
  number: number,
  read: ReadOr,
): Promise<void> {
  const lists = await Promise.all(known.map((shard) => read([], () => shard.groups.list({ limit: MOST_GROUPS }))));
  const isMoved = (group: string) => shardOfKey(group, known.length) !== shardOfKey(group, number);
  const moved = lists.flat().filter((group) => group.name !== '' && isMoved(group.name));
  const jobs = moved.reduce((sum, { pending, running }) => sum + pending + running, 0);
  if (jobs > 0) {
    throw new InvalidOptionError(
      `spread of queue "${queue}"`,
      `${known.length} while jobs of groups wait that would get another shard`,
      String(number),
      `${jobs} jobs of ${moved.length} groups wait or run, such as those of "${moved[0]!.name}". ` +
        'Stop the producers of groups, and let these jobs end. Then start processes with the new number.',
    );
  }
}
