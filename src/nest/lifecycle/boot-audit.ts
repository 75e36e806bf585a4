import type { JobQueueLogger } from '../../queue/model/logger.js';
import { auditServer, describeFinding, RedisAuditError } from '../../queue/doctor/server-audit.js';
import type { ResolvedModuleOptions } from '../options/job-queue.options.js';
import type { QueueRegistry } from '../connection/queue-registry.js';

/** How long the server may take to answer all questions, in ms. */
const ANSWER_MS = 2_000;

/** Looks once, as soon as Redis is there, for what endangers jobs on it. */
export class BootAudit {
  private asking: Promise<void> | undefined;

  constructor(
    private readonly mode: ResolvedModuleOptions['audit'],
    private readonly queues: QueueRegistry,
    private readonly logger: JobQueueLogger,
  ) {}

  /** @throws RedisAuditError with `audit: 'error'`, where there is something to say; RedisUnsuitableError without an answer */
  async run(): Promise<void> {
    if (this.mode === 'off') {
      return;
    }
    try {
      this.asking ??= this.queues.redis.answer(ANSWER_MS, 0, () => this.look());
      await this.asking;
    } catch (error) {
      this.asking = undefined;
      if (this.mode === 'error') {
        throw error;
      }
      const { client, address } = this.queues.redis;
      if (client.status !== 'end') {
        this.logger.warn(`Redis at ${address} could not be audited: ${(error as Error).message}`);
      }
    }
  }

  private async look(): Promise<void> {
    const { redis, all } = this.queues;
    const { cluster } = await redis.connection.inspect();
    const findings = await auditServer(redis.client, cluster, all);
    if (findings.length > 0 && this.mode === 'error') {
      throw new RedisAuditError(redis.address, findings);
    }
    for (const finding of findings) {
      this.logger.warn(`Redis at ${redis.address}: ${describeFinding(finding)}`);
    }
  }
}
