import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { getJob, JOB_CONTEXT } from 'nest-job-queue';
import { finalize, type Observable } from 'rxjs';

/** Measures the attempts of each kind of job. */
@Injectable()
export class Timings {
  readonly byName = new Map<string, number[]>();

  add(name: string, tookMs: number): void {
    this.byName.set(name, [...(this.byName.get(name) ?? []), tookMs]);
  }
}

/** A global interceptor that also holds for jobs. */
@Injectable()
export class TimingInterceptor implements NestInterceptor {
  constructor(private readonly timings: Timings) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (context.getType<string>() !== JOB_CONTEXT) {
      return next.handle();
    }
    const { name } = getJob(context);
    const startedAt = performance.now();
    return next.handle().pipe(finalize(() => this.timings.add(name, performance.now() - startedAt)));
  }
}
