import { Injectable } from '@nestjs/common';
import { JobQueueService, type JobRecord, type JobStatus } from 'nest-job-queue';
import { QueueAccess } from '../../jobs/queue-access.js';
import { labelOf } from '../../jobs/label.js';
import { settings } from '../../settings.js';
import { Orders } from '../orders.js';
import { payloadOf } from '../payloads.js';
import type { PoolEvent } from '../pool/pool-event.js';
import { WorkerPool, type PoolWorker } from '../pool/worker-pool.js';
import { Labels } from '../story/labels.js';
import { Stage, type End } from './stage.js';

/** The time until the worker is killed, in ms: long enough to see a heartbeat extend the claim. */
const KILL_AFTER_MS = Math.min(3_000, Math.max(600, 0.45 * settings.visibilityMs));
/** The duration of its work in ms, long enough to watch. */
const PACE = { firstMs: 2 * KILL_AFTER_MS + 2_000, againMs: 1_500 };
/** A claim with less time left than this was not reclaimed at once, in ms. */
const NEARLY_MS = 0.5 * settings.visibilityMs;
/** Before all others: a show is watched now, however many jobs wait. */
const PRIORITY = 1_000;

const ENDS: Partial<Record<JobStatus, End>> = {
  completed: ['Completed. Nothing was lost.', 'good'],
  failed: ['Given up: it is a dead letter now.', 'bad'],
  cancelled: ['It was cancelled.', 'bad'],
};

interface Show {
  id: string;
  stage: 'waits' | 'killed' | 'back';
  /** The killed attempt. */
  attempt: number;
  /** Stops the workers of the story. */
  dismiss: () => void;
  /** The worker that took the job over. */
  again?: string;
}

/**
 * One crash from beginning to end: a job, its killed worker, the reclaimed job, and the completed job. It continues
 * without a viewer.
 */
@Injectable()
export class CrashShow {
  constructor(
    private readonly stage: Stage,
    private readonly pool: WorkerPool,
    private readonly queue: QueueAccess,
    private readonly jobs: JobQueueService,
    private readonly orders: Orders,
    private readonly labels: Labels,
  ) {}

  /**
   * Returns the id of its job, before the rest happens.
   *
   * @throws ConflictException while a story runs; ServiceUnavailableException while Redis is away
   */
  async begin(): Promise<string> {
    const id = await this.stage.begin('crash', () => this.enqueue());
    void this.play({ id, stage: 'waits', attempt: 1, dismiss: this.pool.staff() });
    return id;
  }

  private async enqueue(): Promise<string> {
    const order = await this.orders.take(1);
    const payload = { ...payloadOf('email', 'ada@example.com', { n: 1, order, receiver: '' }), pace: PACE };
    const options = { queue: this.queue.name, priority: PRIORITY };
    const { id } = await this.queue.ask(() => this.jobs.enqueue('email', payload, options));
    this.stage.jobs = [id];
    this.labels.remember(id, labelOf({ name: 'email', payload }));
    this.stage.tell('enqueued', `${this.labels.of({ id })} is enqueued.`);
    return id;
  }

  private async play(show: Show): Promise<void> {
    // Its next attempt may be over before the next look.
    const listening = this.pool.events.subscribe((event) => this.hear(show, event));
    await this.stage.play(() => this.look(show));
    listening.unsubscribe();
    show.dismiss();
  }

  private async look(show: Show): Promise<End | undefined> {
    const worker = this.pool.list().find(({ job, state }) => job?.id === show.id && state === 'running');
    if (show.stage === 'waits' && worker) this.attack(show, worker);
    const job = await this.queue.find(show.id);
    if (!job) return ['The job was deleted.', 'bad'];
    if (show.stage === 'killed') await this.lookAtClaim(show, job);
    if (show.stage === 'back' && show.again) this.stage.tell('again', show.again);
    if (ENDS[job.status]) return ENDS[job.status];
    if (this.pool.size === 0) return ['The workers were stopped: nobody is there to take the job.', 'bad'];
    return undefined;
  }

  private hear(show: Show, event: PoolEvent): void {
    if (event.type !== 'began' || event.job.id !== show.id || show.stage === 'waits') return;
    const worker = this.pool.list().find(({ name }) => name === event.worker);
    if (worker)
      show.again = `${processOf(worker)} takes it: attempt ${event.job.attempt}, under the same message id.`;
  }

  private attack(show: Show, worker: PoolWorker): void {
    this.stage.tell('taken', `${processOf(worker)} claims it. Its heartbeat keeps the claim alive.`);
    if (Date.now() - worker.job!.since < KILL_AFTER_MS || !this.pool.kill(worker.name)) return;
    show.stage = 'killed';
    show.attempt = worker.job!.attempt;
    this.stage.tell('killed', `${worker.name} is killed with SIGKILL in the middle of the job.`, 'bad');
  }

  private async lookAtClaim(show: Show, { attempts, status, attemptLog }: JobRecord): Promise<void> {
    if (attempts === show.attempt && status === 'processing') {
      const [endsInMs] = await this.queue.claimsEndIn([show.id]);
      if (endsInMs !== undefined && endsInMs > NEARLY_MS) return; // the supervisor is about to see the end
      const seconds = ((endsInMs ?? 0) / 1_000).toFixed(1);
      const text =
        endsInMs !== undefined && endsInMs > 0
          ? `No heartbeat any more: its claim expires in ${seconds} s.`
          : 'Its claim has expired; the next sweep reclaims it, or “Reclaim expired claims”.';
      this.stage.tell('claim', text, 'warn');
    } else if (attempts > show.attempt || status === 'pending') {
      show.stage = 'back';
      const crash = attemptLog.find(({ attempt }) => attempt === show.attempt)?.error;
      const isAtOnce = crash?.message.startsWith('worker process ended') === true;
      this.stage.tell(
        'claim',
        isAtOnce ? 'The supervisor saw its end, before the claim expired.' : 'Its claim expired.',
      );
      this.stage.tell('back', 'Another process reclaimed it: the job is at the front of the queue.');
    }
  }
}

/** Names a process by its pid too, because a new process has the name of the process that it replaces. */
export function processOf({ name, pid }: PoolWorker): string {
  return `${name} (process ${pid})`;
}
