import { Body, Controller, Get, HttpCode, Post, Req } from '@nestjs/common';
import type { Request } from 'express';
import { z } from 'zod';
import { ownUrl } from '../http/own-url.js';
import { ZodBody } from '../http/zod-body.pipe.js';
import { labelOf } from '../jobs/label.js';
import { Storage } from '../storage/storage.js';
import { wholeNumber } from './pattern-numbers.js';
import type { StatsView } from './pattern-views.js';
import { Orders } from './orders.js';
import { nameOf, payloadOf } from './payloads.js';
import { WorkerPool } from './pool/worker-pool.js';
import { QueueAccess } from '../jobs/queue-access.js';
import { Stage } from './show/stage.js';
import { StatsService } from './stats.service.js';
import { Labels } from './story/labels.js';
import { Story } from './story/story.js';
import { TotalsSinceReset } from './totals.js';

function textOr(fallback: string) {
  const text = z.string().max(1_000).default('');
  return text.transform((given) => given || fallback);
}

const enqueueSchema = z.object({
  kind: textOr('email'),
  recipient: textOr('user@example.com'),
  count: wholeNumber(1, 50).optional(),
});

/** The time workers may take to finish at a reset, in ms. */
const RESET_STOP_MS = 1_500;

/** The endpoints of the Redis pattern's demo server, with its inputs and outputs. */
@Controller()
export class PatternController {
  constructor(
    private readonly queue: QueueAccess,
    private readonly stats: StatsService,
    private readonly totals: TotalsSinceReset,
    private readonly orders: Orders,
    private readonly labels: Labels,
    private readonly pool: WorkerPool,
    private readonly story: Story,
    private readonly storage: Storage,
    private readonly stage: Stage,
  ) {}

  @Get('stats')
  now(): Promise<StatsView> {
    return this.stats.now();
  }

  @Post('enqueue')
  @HttpCode(200)
  async enqueue(
    @Body(new ZodBody(enqueueSchema)) { kind, recipient, count = 1 }: z.infer<typeof enqueueSchema>,
    @Req() request: Request,
  ): Promise<{ enqueued: string[]; stats: StatsView }> {
    const receiver = `${ownUrl(request)}/webhooks/receiver`;
    const firstOrder = await this.orders.take(count);
    const payloads = Array.from({ length: count }, (_, i) =>
      payloadOf(kind, recipient, { n: i + 1, order: firstOrder + i, receiver }),
    );
    const name = nameOf(kind);
    const enqueued = await this.queue.enqueue(name, payloads);
    enqueued.forEach((id, i) => this.labels.remember(id, labelOf({ name, payload: payloads[i] })));
    const what = count === 1 ? `${this.labels.of({ id: enqueued[0]! })} was` : `${count} × ${name} were`;
    this.story.tell('plain', `${what} enqueued.`, count === 1 ? enqueued[0] : undefined);
    return { enqueued, stats: await this.stats.after(`${what} enqueued: ${enqueued.join(', ')}.`) };
  }

  @Post('reclaim')
  @HttpCode(200)
  async reclaim(): Promise<{ reclaimed: string[]; stats: StatsView }> {
    const reclaimed = await this.queue.reclaim();
    if (reclaimed.length === 0) this.story.tell('plain', 'A sweep by hand found no claim that had expired.');
    return { reclaimed, stats: await this.stats.after(`Reclaimed: ${reclaimed.join(', ') || 'nothing'}.`) };
  }

  /** Stops the workers, deletes all jobs and their output, and counts from zero. */
  @Post('reset')
  @HttpCode(200)
  async reset(): Promise<{ stats: StatsView }> {
    // Without Redis nothing of it is done.
    await this.stats.now();
    await this.pool.resize(0, RESET_STOP_MS);
    const stats = await this.stats.after('The workers are stopped.', async () => {
      await this.queue.purge();
      await this.storage.clear();
      await this.totals.reset();
      await this.orders.reset();
      this.pool.processedTotal = 0;
      this.stage.clear();
      this.story.tell('plain', 'Reset: the workers are stopped, all jobs are deleted, the counters are zero.');
    });
    return { stats };
  }
}
