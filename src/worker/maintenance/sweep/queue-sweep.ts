import type { JobQueue } from '../../../queue/job-queue.js';
import { UnreachedQueues } from '../../../queue/operate/elsewhere.js';
import { tryToMaintainBatches } from '../../../queue/operate/maintain-batches.js';
import { OpenedQueues } from '../../../queue/operate/opened-queues.js';
import type { JobQueueLogger } from '../../../queue/runtime/logger.js';
import { limitOf } from '../../../queue/runtime/bounds.js';
import type { CallLimit, QueueAccess } from '../../../queue/store/queue-store.js';
import type { StoreCall } from '../../../queue/store/store-call.js';
import type { StoreCalls } from '../../../queue/store/store-calls.js';
import type { TidyReply, Watched } from '../../../queue/verbs/sweep.js';
import { show } from '../../../queue/errors/show.js';
import type { FailureLog } from '../../reports/failure-log.js';
import type { FaultLog } from '../../reports/fault-log.js';
import { heartbeatIntervalMs } from '../../runner/heartbeat.js';
import type { EndReports } from '../end-reports.js';
import type { ForeignClients } from '../foreign-clients.js';

/** The most jobs that one script call of a sweep moves. */
const SLICE = 200;

/** The most slices of a kind in one run. So a run ends even if more expires than it can reclaim. */
const MOST_SLICES = 500;

/** The most kept records of one look. */
const KEPT_SLICE = 100;

/** The most looks at kept records in one run. */
const MOST_KEPT_LOOKS = 50;

/** The most waiting jobs that one call to another queue asks about. */
const MOST_ASKED = 500;

/** How late a sweep may be without a gap, in ms. */
const LEAST_LATE_MS = 1_000;

/** The most unreached queues that a warning names. */
const MOST_NAMED = 5;

/** The longest time that a sweep relies on another process's tidy, in ms. */
const LONGEST_PACE_MS = 30_000;

/** The result of one sweep. */
export interface SweepReport {
  reclaimed: number;
  promoted: number;
  adopted: number;
}

/** The parts of a process that learn from its sweeps. */
interface SweepListeners {
  readonly logger: JobQueueLogger;
  readonly faults: FaultLog;
  readonly failures: FailureLog;
  readonly reports: EndReports;
  readonly foreignClients: ForeignClients;
}

/**
 * Sweeps one queue. Reclaims expired claims, promotes due jobs, and adopts jobs of clients of the Redis pattern. Also
 * deletes old data and maintains batches. A stop ends a sweep with its slice.
 */
export class QueueSweep {
  private stopped = false;

  constructor(
    private readonly intervalMs: number,
    private readonly listeners: SweepListeners,
  ) {}

  /** Ends each sweep with its slice. */
  stop(): void {
    this.stopped = true;
  }

  /** Returns the time without a sweep that means that the server was away, and not that a sweeper was late. */
  gapMs({ options }: JobQueue): number {
    const half = options.visibilityMs / 2;
    return Math.max(half, this.intervalMs + Math.min(this.intervalMs, Math.max(half, LEAST_LATE_MS)));
  }

  /** @param watched the unbroken looks at the queue until now, if the caller looks */
  async run(queue: JobQueue, report: SweepReport, watched?: Watched): Promise<void> {
    await this.reclaim(queue, report, watched);
    await this.inSlices(async () => {
      const moved = await this.exec(queue, (calls) => calls.sweep.promote({ limit: SLICE }));
      report.promoted += moved;
      return moved === SLICE;
    });
    await this.adopt(queue, report);
    let [looksAtKept, looksAtStreams] = [false, false];
    await this.inSlices(async (i) => {
      const tidied = await this.exec(queue, (calls) =>
        calls.sweep.tidy({ limit: SLICE, paceMs: i === 0 ? this.paceMs : 0 }),
      );
      this.listeners.failures.dropped(queue.name, tidied.dropped);
      this.warnOfIds(queue, tidied.remembered);
      ({ looksAtKept, looksAtStreams } = tidied);
      return tidied.more;
    });
    if (looksAtKept) {
      const limit = limitOf(this.intervalMs);
      this.report(queue, 'the records of', await restoreLifetimes(queue, limit, () => this.stopped));
    }
    if (looksAtStreams) {
      await this.inSlices(() => this.exec(queue, (calls) => calls.streams.tidy({ limit: SLICE })));
    }
    await this.maintainBatches(queue);
  }

  /** Says that ids of ended jobs are soon free before their time, or already are. */
  private warnOfIds(queue: JobQueue, remembered: TidyReply['remembered']): void {
    if (remembered) {
      const { ids, bound } = remembered;
      const now = ids < bound ? 'Beyond that' : 'So';
      this.listeners.logger.warn(
        `Queue "${queue.name}" remembers ${ids} of at most ${bound} ids of ended jobs. ${now} the ids that expire first are ` +
          'free before their time. Raise `rememberedIds`, or lower `resultTtlMs`.',
      );
    }
  }

  private async maintainBatches(queue: JobQueue): Promise<void> {
    const { reports } = this.listeners;
    const unreached = await tryToMaintainBatches(queue, {
      limit: limitOf(this.intervalMs),
      isStopped: () => this.stopped,
      onFailed: (ids) => reports.unmet(queue, ids),
    });
    this.report(queue, 'the batches of', unreached);
  }

  /** Logs which other queues could not be reached; it is no reason to stop. */
  private report(queue: JobQueue, subject: string, unreached: ReadonlyMap<string, unknown>): void {
    const { faults } = this.listeners;
    const step = `other queues for ${subject} ${queue.name}`;
    if (unreached.size > 0) {
      const what = `Could not reach other queues for ${subject} queue "${queue.name}"; the next sweep tries again`;
      faults.failed(step, what, new Error(textOf(unreached)));
    } else {
      faults.succeeded(step);
    }
  }

  /** Reclaims expired claims. After a gap live workers get one heartbeat before that. */
  private async reclaim(queue: JobQueue, report: SweepReport, watched: Watched | undefined): Promise<void> {
    await this.inSlices(async () => {
      const { reclaimed, more } = await this.exec(queue, (calls) =>
        calls.sweep.reclaim({
          limit: SLICE,
          gapMs: this.gapMs(queue),
          waitMs: heartbeatIntervalMs(queue.options),
          everyMs: this.intervalMs,
          watched,
        }),
      );
      report.reclaimed += reclaimed.length;
      await this.listeners.reports.reclaimed(queue, reclaimed);
      return more;
    });
  }

  private async adopt(queue: JobQueue, report: SweepReport): Promise<void> {
    const { failures, reports, foreignClients } = this.listeners;
    const adopted = await this.exec(queue, (calls) =>
      calls.sweep.adoptForeign({ limit: SLICE, paceMs: this.paceMs }),
    );
    report.adopted += adopted.reclaimed.length + adopted.deadLetters;
    failures.adopted(queue.name, adopted.deadLetters);
    await reports.reclaimed(queue, adopted.reclaimed);
    await foreignClients.saw(queue, adopted);
  }

  /** Less than the interval, so that a lone process misses no turn if its timer is slightly early. */
  private get paceMs(): number {
    return Math.floor(0.75 * Math.min(this.intervalMs, LONGEST_PACE_MS));
  }

  private exec<Reply>(queue: JobQueue, build: (calls: StoreCalls) => StoreCall<Reply>): Promise<Reply> {
    return queue.exec(build, limitOf(this.intervalMs));
  }

  private async inSlices(slice: (i: number) => Promise<boolean>): Promise<void> {
    for (let i = 0; i < MOST_SLICES && !this.stopped; i++) {
      if (!(await slice(i))) {
        return;
      }
    }
  }
}

/**
 * Gives the records of ended jobs back their lifetimes, once nobody waits to read them. Asks other queues about the jobs
 * there. A record whose queues cannot be asked is kept until a later run.
 *
 * @returns the other queues that raised an error, each with its first
 */
export async function restoreLifetimes(
  queue: QueueAccess,
  limit: CallLimit,
  isStopped: () => boolean,
): Promise<ReadonlyMap<string, unknown>> {
  const others = new OpenedQueues(queue, limit);
  const unreached = new UnreachedQueues(queue.name, others);
  let read: string[] = [];
  for (let i = 0; i < MOST_KEPT_LOOKS && !isStopped(); i++) {
    const { more, kept } = await queue.exec((calls) => calls.sweep.lookAtKept({ limit: KEPT_SLICE, read }), limit);
    const readers = kept.flatMap(({ id, waiting }) => waiting.map((job) => ({ ...job, record: id })));
    const left = new Map(kept.map(({ id, waiting }) => [id, waiting.length]));
    await unreached.callOthers(readers, async (name, each) => {
      for (let start = 0; start < each.length; start += MOST_ASKED) {
        const slice = each.slice(start, start + MOST_ASKED);
        const stillRead = await others.run(name, (calls) =>
          calls.batches.readers({ ids: slice.map(({ id }) => id) }),
        );
        slice.forEach(({ record }, at) => left.set(record, left.get(record)! - (stillRead[at] ? 0 : 1)));
      }
      return 0;
    });
    read = [...left].filter(([, count]) => count === 0).map(([id]) => id);
    if (!more && read.length === 0) {
      break;
    }
  }
  return unreached.all;
}

/** Returns the errors of the first unreached queues, and how many more there are. */
function textOf(unreached: ReadonlyMap<string, unknown>): string {
  const named = [...unreached].slice(0, MOST_NAMED);
  const errors = named.map(([name, error]) => `queue ${show(name)}: ${(error as Error).message}`);
  const others = unreached.size - named.length;
  return [...errors, ...(others > 0 ? [`and ${others} more`] : [])].join('; ');
}
