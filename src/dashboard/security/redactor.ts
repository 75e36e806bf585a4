import { Inject, Injectable } from '@nestjs/common';
import { announcedRedact, type AnnouncedContent } from '../../queue/codec/announced-content.js';
import type { JobRecord } from '../../queue/model/job.js';
import type { ScheduleRecord } from '../../queue/model/schedule.js';
import type { BatchMember } from '../../queue/model/batch.js';
import { type Redact, visibleForm } from '../../queue/codec/redact.js';
import { ShownContent, type ShownJob } from '../../queue/store/shown-content.js';
import { type ResolvedDashboardOptions, DASHBOARD_OPTIONS } from '../dashboard-options.js';
import { ShownQueues } from '../shown-queues.js';

/** The time after which the announcements of workers are read again, in ms. */
const KEPT_MS = 10_000;
/** Shows nothing of a queue whose workers were not asked. */
const NOTHING = ShownContent.nothing();

/** Hides the values of the option `redact`, that of the queue and that of the dashboard. */
@Injectable()
export class Redactor {
  private readonly announced = new Map<string, { at: number; shown: ShownContent }>();

  constructor(
    @Inject(DASHBOARD_OPTIONS) private readonly options: ResolvedDashboardOptions,
    private readonly queues: ShownQueues,
  ) {}

  /**
   * Reads the parts that the workers of queues hide. Skips a known queue with a `redact` here. Before, nothing of the
   * others is shown.
   */
  async learn(...queues: readonly string[]): Promise<void> {
    const now = performance.now();
    const isUnknown = (queue: string) =>
      this.isAnnounced(queue) && now - (this.announced.get(queue)?.at ?? -Infinity) >= KEPT_MS;
    const unknown = [...new Set(queues)].filter(isUnknown);
    await Promise.all(
      unknown.map(async (queue) => {
        const content = await this.announcedBy(queue);
        const isHidden = content === undefined && this.queues.isOther(queue);
        this.announced.set(queue, {
          at: now,
          shown: isHidden ? NOTHING : this.contentOf(queue, announcedRedact(content)),
        });
      }),
    );
  }

  /** Reads what the workers of a queue hide. Where a queue of another app gives no reply, all of it stays hidden. */
  private announcedBy(queue: string): Promise<AnnouncedContent | undefined> {
    const reading = this.queues.get(queue).exec((calls) => calls.content());
    return this.queues.isOther(queue) ? reading.catch(() => undefined) : reading;
  }

  /** Returns true if nothing of a queue's content is shown, because no worker has said what to show. */
  hidesAll(queue: string): boolean {
    return this.isAnnounced(queue) && (this.announced.get(queue)?.shown ?? NOTHING) === NOTHING;
  }

  /** Returns true if a part of the payload is hidden, so that the shown one must not be stored. */
  hidesPayload(stored: JobRecord | ScheduleRecord): boolean {
    if ('attemptLog' in stored) {
      const { payload } = this.record(stored);
      return payload.is === 'broken'
        ? payload.text !== stored.brokenPayload
        : payload.is !== 'whole' || !isSame(payload.value, stored.payload);
    }
    return !isSame(this.schedule(stored).payload, stored.payload);
  }

  /** Returns the job as it may be shown. */
  record(job: JobRecord): ShownJob {
    return this.of(job.queue).record(job);
  }

  /** Returns a chunk of a job's stream as it may be shown. */
  chunk(chunk: unknown, job: JobRecord): unknown {
    return this.of(job.queue).chunk(chunk, job);
  }

  /** Returns the schedule as it may be shown. */
  schedule(schedule: ScheduleRecord): ScheduleRecord {
    return this.of(schedule.queue).schedule(schedule);
  }

  /** Returns the member of a batch as it may be shown. */
  member(member: BatchMember): BatchMember {
    return this.of(member.queue).member(member);
  }

  /** Returns true if workers say what a queue hides: it has no `redact` here, or is of another app. */
  private isAnnounced(queue: string): boolean {
    return this.queues.get(queue).options.redact === undefined || this.queues.isOther(queue);
  }

  /** Returns what may be shown of a queue by its workers, this app, and this dashboard. */
  private of(queue: string): ShownContent {
    return this.isAnnounced(queue) ? (this.announced.get(queue)?.shown ?? NOTHING) : this.contentOf(queue);
  }

  private contentOf(queue: string, announced?: Redact): ShownContent {
    const { redact } = this.queues.get(queue).options;
    return new ShownContent(
      [announced, redact],
      this.options.redact.length === 0 ? undefined : this.options.redact,
    );
  }
}

/** Returns whether nothing of a value is hidden. */
function isSame(shown: unknown, stored: unknown): boolean {
  return JSON.stringify(shown) === JSON.stringify(visibleForm(stored));
}
