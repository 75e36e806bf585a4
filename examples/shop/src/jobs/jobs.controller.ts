import { Controller, Get, NotFoundException, Param } from '@nestjs/common';
import { JobQueueService } from 'nest-job-queue';
import { settings } from '../settings.js';
import { toView, type JobView } from './job-view.js';

const QUEUES = [settings.queue, 'report'];

@Controller('jobs')
export class JobsController {
  constructor(private readonly jobs: JobQueueService) {}

  @Get(':id')
  async one(@Param('id') id: string): Promise<JobView> {
    for (const queue of QUEUES) {
      const job = await this.jobs.queue(queue).get(id);
      if (job) return toView(job);
    }
    throw new NotFoundException(`No job ${id}: never enqueued, or its result has expired.`);
  }
}
