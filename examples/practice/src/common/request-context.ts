import { Injectable } from '@nestjs/common';
import type { EnqueueRequest, Job, JobHandle, JobQueueMiddleware } from 'nest-job-queue';
import { ClsService } from 'nestjs-cls';

/** The values of a request that travel with the jobs it enqueues. */
const KEYS = ['requestId', 'practice'] as const;

/** Passes the request id and the practice from a request to its jobs, and to the jobs of those. */
@Injectable()
export class RequestContext implements JobQueueMiddleware {
  constructor(private readonly cls: ClsService) {}

  enqueue(request: EnqueueRequest, next: () => Promise<JobHandle[]>) {
    const known = KEYS.flatMap((key) => {
      const value = this.cls.isActive() ? this.cls.get<string | undefined>(key) : undefined;
      return value === undefined ? [] : [[key, value]];
    });
    for (const { options } of request.jobs) {
      options.metadata = { ...Object.fromEntries(known), ...options.metadata };
    }
    return next();
  }

  attempt(job: Job, next: () => Promise<unknown>) {
    return this.cls.run(() => {
      KEYS.forEach((key) => this.cls.set(key, job.metadata[key]));
      return next();
    });
  }
}
