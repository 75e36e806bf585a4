import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import { describeFinding, RedisAuditError } from '../../queue/doctor/server-audit.js';
import type { ResolvedModuleOptions } from '../options/job-queue.options.js';
import type { QueueStats } from '../../queue/model/job.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { auditCodec } from './codec-audit.js';
import type { QueueRegistry } from '../connection/queue-registry.js';
import { FLEET_BOOT_MS, type UnusedNames } from './unused-names.js';

/** The time the server may take to reply to all calls, in ms. */
const REPLY_MS = 2_000;

/** The parts of a connection that its audit needs. */
export interface AuditParts {
  readonly options: Pick<ResolvedModuleOptions, 'audit' | 'maintenance'>;
  readonly queues: QueueRegistry;
  readonly logger: JobQueueLogger;
  readonly names: UnusedNames;
}

/** Checks Redis for risks to jobs, once it is reachable. */
export class BootAudit {
  private asking: Promise<void> | undefined;
  /** The queues without maintenance that were logged. */
  private readonly unmaintained = new Set<string>();

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
    // Not at once: another process of the fleet may boot at the same time.
    this.later(this.fleetBootMs, () => this.parts.names.lookAtAll());
    if (this.parts.options.maintenance === false) {
      // Again later, because a process that maintained them may end in this deploy. Maintenance is overdue 125 s after that.
      [1, 3].forEach((boots) => this.later(boots * this.fleetBootMs, () => this.lookForMaintenance()));
    }
  }

  /** Looks some ms later, unless the connection is closed then. An error leaves the look out. */
  private later(ms: number, look: () => Promise<void>): void {
    const run = async () => (this.parts.queues.redis.isClosed ? undefined : look());
    setTimeout(() => void run().catch(() => undefined), ms).unref();
  }

  private async lookAtCodec(queue: JobQueue): Promise<void> {
    const warnings = await auditCodec(queue);
    warnings.forEach((warning) => this.parts.logger.warn(warning));
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
