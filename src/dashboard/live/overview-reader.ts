import { Inject, Injectable } from '@nestjs/common';
import type { JobQueue } from '../../queue/job-queue.js';
import { redisAccess } from '../../queue/redis-access.js';
import type { JobRecord, QueueStats } from '../../queue/model/job.js';
import { JobQueueService } from '../../nest/service/job-queue.service.js';
import { serverNow } from '../actions/run-store.js';
import { JobDescriber } from '../api/describe-job.js';
import type { OverviewView, QueueView, RunningView } from '../api/views.js';
import type { ResolvedDashboardOptions } from '../dashboard-options.js';
import { DASHBOARD_OPTIONS } from '../tokens.js';
import type { LimitsInForce } from '../../queue/store/store-calls.js';
import { limitsInWords } from './limits-in-words.js';
import { RateWindow } from './rate-window.js';
import { overallVerdict, verdictView } from './verdict-view.js';
import { workersOf, type SeenWorker } from './workers-view.js';

/** The most running jobs that one reading takes of a queue. */
const MOST_RUNNING = 100;

/** Reads all queues at one moment: a few commands for each, whatever its length. */
@Injectable()
export class OverviewReader {
  private readonly rates = new RateWindow();

  constructor(
    @Inject(DASHBOARD_OPTIONS) private readonly options: ResolvedDashboardOptions,
    private readonly jobs: JobQueueService,
    private readonly describer: JobDescriber,
  ) {}

  async read(): Promise<Omit<OverviewView, 'runs'>> {
    const names = this.names();
    const at = names.length === 0 ? Date.now() : await serverNow(this.jobs.queue(names[0]!));
    const read = await Promise.all(names.map((name) => this.readQueue(this.jobs.queue(name), at)));
    const queues = read.map(({ view }) => view);
    return {
      at,
      sentence: overallVerdict(queues),
      queues,
      workers: workersOf(
        read.flatMap(({ workers }) => workers),
        read.flatMap(({ running }) => running),
      ),
    };
  }

  /** The queues of this process and of the options, by name. */
  names(): string[] {
    return [...new Set([...this.jobs.queueNames(), ...this.options.queues])].toSorted((a, b) => a.localeCompare(b));
  }

  private async readQueue(queue: JobQueue, atMs: number) {
    const [stats, limits, workers] = await Promise.all([queue.stats(), queue.limits.get(), seenWorkers(queue)]);
    const running = stats.processing > 0 ? await queue.list('processing', { limit: MOST_RUNNING }) : [];
    return {
      view: this.view(queue.name, stats, limits, atMs),
      workers,
      running: running.map((job) => this.running(job)),
    };
  }

  private view(name: string, stats: QueueStats, limits: LimitsInForce, atMs: number): QueueView {
    const { pending, scheduled, processing, completed, failed, cancelled } = stats;
    const rates = this.rates.add(name, stats.totals);
    return {
      name,
      depths: { pending, scheduled, processing, completed, failed, cancelled },
      oldestPendingAgeMs: stats.oldestPendingAgeMs,
      expiredClaims: stats.expiredClaims,
      workers: stats.workers,
      pausedAt: stats.pausedAt?.getTime() ?? null,
      totals: stats.totals,
      rates,
      lastHour: null,
      spark: [],
      limits: limitsInWords(limits),
      verdict: verdictView({ name, stats, limits, rates, atMs }),
    };
  }

  private running(job: JobRecord): RunningView & { worker: string | null } {
    return {
      id: job.id,
      name: job.name,
      queue: job.queue,
      label: this.describer.labelOf(job),
      attempt: job.attempts,
      claimedAt: job.claimedAt?.getTime() ?? null,
      worker: job.worker ?? null,
    };
  }
}

/** The workers that announced themselves to a queue within the last 30 s. */
async function seenWorkers(queue: JobQueue): Promise<SeenWorker[]> {
  const { client, keys, ask } = await redisAccess(queue);
  const found = await ask(() => client.zrange(keys.workers, '0', '-1', 'WITHSCORES'));
  const workers: SeenWorker[] = [];
  for (let i = 0; i + 1 < found.length; i += 2) {
    workers.push({ id: found[i]!, queue: queue.name, seenAt: Number(found[i + 1]) });
  }
  return workers;
}
