import { Inject, Injectable } from '@nestjs/common';
import { announcedRedact } from '../../queue/codec/announced-content.js';
import { REDACTED } from '../../queue/codec/redact.js';
import type { JobRecord } from '../../queue/model/job.js';
import type { BatchMember } from '../../queue/model/batch.js';
import { ShownContent } from '../../queue/store/shown-content.js';
import type { ResolvedDashboardOptions } from '../dashboard-options.js';
import { DASHBOARD_OPTIONS } from '../tokens.js';
import { ShownQueues } from '../shown-queues.js';

/** The time after which the announcements of workers are read again, in ms. */
const KEPT_MS = 10_000;
/** Shows nothing of a queue whose workers were not asked. */
const NOTHING = new ShownContent(() => REDACTED);

/** Hides the values of the option `redact`, that of the queue and that of the dashboard. */
@Injectable()
export class Redactor {
  private readonly announced = new Map<string, { at: number; shown: ShownContent }>();

  constructor(
    @Inject(DASHBOARD_OPTIONS) private readonly options: ResolvedDashboardOptions,
    private readonly queues: ShownQueues,
  ) {}

  /**
   * Reads the parts that the workers of queues hide, where this process has no `redact` for them. Before, nothing of
   * such a queue is shown.
   */
  async learn(...queues: readonly string[]): Promise<void> {
    const now = performance.now();
    const isUnknown = (queue: string) =>
      this.queues.get(queue).options.redact === undefined &&
      now - (this.announced.get(queue)?.at ?? -Infinity) >= KEPT_MS;
    const unknown = [...new Set(queues)].filter(isUnknown);
    await Promise.all(
      unknown.map(async (queue) => {
        const content = await this.queues.get(queue).exec((calls) => calls.content());
        this.announced.set(queue, { at: now, shown: new ShownContent(announcedRedact(content)) });
      }),
    );
  }

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
    const { redact } = this.queues.get(queue).options;
    return redact === undefined ? (this.announced.get(queue)?.shown ?? NOTHING) : new ShownContent(redact);
  }

  private get own(): ShownContent {
    const { redact } = this.options;
    return new ShownContent(redact.length === 0 ? undefined : redact);
  }
}
