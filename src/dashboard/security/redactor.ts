import { Inject, Injectable } from '@nestjs/common';
import { JobQueueService } from '../../nest/service/job-queue.service.js';
import type { JobRecord } from '../../queue/model/job.js';
import type { BatchMember } from '../../queue/model/batch.js';
import { ShownContent } from '../../queue/store/shown-content.js';
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
    return this.own.record(this.of(job.queue).record(job));
  }

  /** Returns the member of a batch as it may be shown. */
  member(member: BatchMember): BatchMember {
    return this.own.member(this.of(member.queue).member(member));
  }

  private of(queue: string): ShownContent {
    return new ShownContent(this.jobs.queue(queue).options.redact);
  }

  private get own(): ShownContent {
    const { redact } = this.options;
    return new ShownContent(redact.length === 0 ? undefined : redact);
  }
}
