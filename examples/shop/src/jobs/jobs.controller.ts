import { Controller, Get, NotFoundException, Param } from '@nestjs/common';
import { settings } from '../settings.js';
import { toView, type JobView } from './job-view.js';
import { QueueAccess } from './queue-access.js';

const QUEUES = [settings.queue, 'report'];

@Controller('jobs')
export class JobsController {
  constructor(private readonly queue: QueueAccess) {}

  @Get(':id')
  async one(@Param('id') id: string): Promise<JobView> {
    for (const queue of QUEUES) {
      const job = await this.queue.find(id, queue);
      if (job) return toView(job);
    }
    const [ended] = (await Promise.all(QUEUES.map((queue) => this.queue.outcome(id, queue)))).filter(
      (each) => each,
    );
    throw new NotFoundException(
      ended
        ? `Job ${id} is gone: ${ended.status} at ${ended.at.toISOString()}, attempts: ${ended.attempts}; its record was dropped.`
        : `No job ${id}: never enqueued, or its result has expired.`,
    );
  }
}
