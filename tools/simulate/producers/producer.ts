// A producer of plain jobs, some of them with a priority, a delay or another name.
import { enqueueMiddleware, RefusedByMiddleware } from '../processes/middleware.js';
import { MOST_COST, SHARED_LIMIT } from '../history/sharing-rules.js';
import { SimulatedProcess } from '../processes/process.js';
import { BULK_NAME, MOST_ATTEMPTS, NEW_NAME } from '../release.js';
import type { QueueName, World } from '../world.js';

export class SimulatedProducer extends SimulatedProcess {
  private count = 0;

  constructor(
    name: string,
    world: World,
    skewMs: number,
    private readonly queue: QueueName,
    private readonly hasMiddleware = false,
  ) {
    super(name, world, skewMs, undefined, hasMiddleware ? enqueueMiddleware(world.random) : undefined);
  }

  protected override async work(): Promise<void> {
    const { random, history } = this.world;
    for (; !this.world.isEnding; this.count++) {
      const id = `${this.name}-${this.count}`;
      const isOrdered = this.queue === 'ordered';
      const maxAttempts = isOrdered ? MOST_ATTEMPTS : random.between(1, 5);
      const options: { delayMs?: number } = isOrdered ? {} : this.options(maxAttempts);
      const payload = isOrdered ? this.count : history.runs.nextNumber();
      history.sent(id, this.queue, maxAttempts, { isPlain: !isOrdered });
      if (options.delayMs !== undefined) {
        history.runs.isDue(id, this.world.clock.now() + options.delayMs);
      }
      if (this.hasMiddleware) {
        history.middleware.sent(id);
      }
      await this.enqueue(id, payload, options);
      await this.sleep(random.between(1, 200));
    }
  }

  private async enqueue(id: string, payload: number, options: object): Promise<void> {
    const { history } = this.world;
    try {
      await this.untilAnswered(() => this.queues[this.queue].enqueue(payload, { ...options, id }));
      history.acknowledged(id);
    } catch (error) {
      if (!(error instanceof RefusedByMiddleware)) throw error;
      history.jobs.get(id)!.refused = true;
    }
  }

  private options(maxAttempts: number): { maxAttempts: number; delayMs?: number } {
    const { random, parts } = this.world;
    const isCostly = parts.has('sharing') && this.queue === 'mixed' && this.count % 4 === 0;
    const name = random.chance(0.1) ? NEW_NAME : parts.has('bulk') && random.chance(0.3) ? BULK_NAME : undefined;
    return {
      maxAttempts,
      ...(random.chance(0.2) && { priority: random.between(1, 3) }),
      ...(random.chance(0.2) && { delayMs: random.between(1, 5_000) }),
      ...(name !== undefined && { name }),
      ...(isCostly && { limitCosts: { [SHARED_LIMIT]: MOST_COST } }),
    };
  }
}
