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
    return this.health.check([() => this.jobs.check(settings.queue, { maxOldestPendingAgeMs: 60_000 })]);
  }
}
