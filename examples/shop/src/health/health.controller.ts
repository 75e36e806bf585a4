import { Controller, Get } from '@nestjs/common';
import { HealthCheck, HealthCheckService } from '@nestjs/terminus';
import { JobQueueHealthIndicator } from 'nest-job-queue/health';
import { settings } from '../settings.js';

@Controller('health')
export class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly jobs: JobQueueHealthIndicator,
  ) {}

  @Get()
  @HealthCheck()
  check() {
    // Names the shop's own queues. `npm start` also seeds queues for the dashboard, some of them in trouble on purpose.
    const queues = [settings.queue, 'report'];
    return this.health.check([() => this.jobs.check(settings.queue, { queues, maxOldestPendingAgeMs: 60_000 })]);
  }
}
