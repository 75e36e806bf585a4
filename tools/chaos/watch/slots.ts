// Polls how many claims of a limited queue are held, with one command, so that each figure is exact.
import type { JobQueue } from '#queue/job-queue.js';
import type { RedisClient } from '#queue/redis/redis-client.js';
import { inside } from '../../../test/support/queue/inside.js';

const LOOK_MS = 20;

export class SlotWatch {
  private most = 0;
  private looks = 0;
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly queue: JobQueue,
    private readonly admin: RedisClient,
    private readonly limit: number,
  ) {
    this.timer = setInterval(() => void this.look().catch(() => undefined), LOOK_MS);
  }

  /** Returns counts beyond the limit, and a remark if the limit was never reached, because that proves nothing. */
  stop(): string[] {
    clearInterval(this.timer);
    const { most, looks, limit } = this;
    if (most > limit) return [`limits: ${most} claims were held at once, and maxRunning is ${limit}`];
    return looks > 0 && most < limit
      ? [`limits: of ${limit} slots ${most} were in use at most, so nothing was shown`]
      : [];
  }

  private async look(): Promise<void> {
    if (this.admin.status !== 'ready') return;
    const { keys } = await inside(this.queue).scripts();
    this.most = Math.max(this.most, await this.admin.zcard(keys.claims));
    this.looks++;
  }
}
