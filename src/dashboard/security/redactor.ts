import { Inject, Injectable } from '@nestjs/common';
import { JobQueueService } from '../../nest/service/job-queue.service.js';
import type { JobRecord } from '../../queue/model/job.js';
import { redactRecord } from '../../queue/store/redact-record.js';
import type { ResolvedDashboardOptions } from '../dashboard-options.js';
import { DASHBOARD_OPTIONS } from '../tokens.js';

/** Hides the values of the option `redact`, that of the queue and that of the dashboard. */
@Injectable()
export class Redactor {
  constructor(
    @Inject(DASHBOARD_OPTIONS) private readonly options: ResolvedDashboardOptions,
    private readonly jobs: JobQueueService,
  ) {}

  /** Returns true if a part of the payload is hidden, so that the shown one must not be stored. */
  hidesPayload(job: JobRecord): boolean {
    return JSON.stringify(this.record(job).payload) !== JSON.stringify(job.payload);
  }

  /** Returns the job as it may be shown. */
  record(job: JobRecord): JobRecord {
    return redactRecord(this.own, redactRecord(this.jobs.queue(job.queue).options.redact, job));
  }

  private get own() {
    const { redact } = this.options;
    return redact.length === 0 ? undefined : redact;
  }
}
