import { Injectable } from '@nestjs/common';
import { JobQueueService, type JobRecord } from 'nest-job-queue';
import { labelOf } from '../../jobs/label.js';
import { QueueAccess } from '../../jobs/queue-access.js';
import { Orders } from '../orders.js';
import { payloadOf } from '../payloads.js';
import { WorkerPool, type PoolWorker } from '../pool/worker-pool.js';
import { Labels } from '../story/labels.js';
import { processOf } from './crash-show.js';
import { Stage, type End } from './stage.js';

/** The duration of the work in ms: shorter than the time that a process has to stop. */
const WORK_MS = 2_000;
const JOBS = 15;
/** Before all others, as in the crash. */
const PRIORITY = 1_000;

interface Deploy {
  ids: readonly string[];
  /** The processes of the old version that still have to stop. Undefined until they work. */
  old?: PoolWorker[];
  /** The process that stops now. */
  leaving?: PoolWorker;
  replaced: number;
  /** Stops the workers of the story. */
  dismiss: () => void;
}

/** A deploy while jobs run. Each process finishes its job and stops. Then a new one takes its place. */
@Injectable()
export class DeployShow {
  constructor(
    private readonly stage: Stage,
    private readonly pool: WorkerPool,
    private readonly queue: QueueAccess,
    private readonly jobs: JobQueueService,
    private readonly orders: Orders,
    private readonly labels: Labels,
  ) {}

  /** @throws ConflictException while a story runs; ServiceUnavailableException while Redis is away */
  async begin(): Promise<readonly string[]> {
    const ids = await this.stage.begin('deploy', () => this.enqueue());
    void this.play({ ids, replaced: 0, dismiss: this.pool.staff() });
    return ids;
  }

  private async enqueue(): Promise<string[]> {
    const order = await this.orders.take(JOBS);
    const payloads = Array.from({ length: JOBS }, (_, i) => ({
      ...payloadOf('email', 'ada@example.com', { n: i + 1, order: order + i, receiver: '' }),
      pace: { firstMs: WORK_MS, againMs: WORK_MS },
    }));
    const jobs = payloads.map((payload) => ({ payload, priority: PRIORITY }));
    const handles = await this.queue.ask(() => this.jobs.enqueueMany('email', jobs, { queue: this.queue.name }));
    handles.forEach(({ id }, i) => this.labels.remember(id, labelOf({ name: 'email', payload: payloads[i] })));
    this.stage.jobs = handles.map(({ id }) => id);
    this.stage.tell('enqueued', `${JOBS} mails are enqueued.`);
    return handles.map(({ id }) => id);
  }

  private async play(deploy: Deploy): Promise<void> {
    await this.stage.play(() => this.look(deploy));
    deploy.dismiss();
  }

  private async look(deploy: Deploy): Promise<End | undefined> {
    if (this.pool.size === 0) return ['The workers were stopped: nobody is there to take the jobs.', 'bad'];
    this.replace(deploy);
    const found = await Promise.all(deploy.ids.map((id) => this.queue.find(id)));
    const jobs = found.filter((job): job is JobRecord => job !== null);
    if (jobs.length < JOBS) return ['The jobs were deleted.', 'bad'];
    const done = jobs.filter(({ status }) => status === 'completed');
    if (deploy.replaced > 0) this.stage.tell('goes-on', `${done.length} of ${JOBS} mails are sent meanwhile.`);
    const isOver = deploy.old?.length === 0 && !deploy.leaving;
    if (!isOver || jobs.some(({ status }) => ['pending', 'scheduled', 'processing'].includes(status)))
      return undefined;
    const again = jobs.filter(({ attempts }) => attempts > 1).length;
    if (done.length < JOBS) return [`${JOBS - done.length} mails failed.`, 'bad'];
    return again > 0
      ? [`All are sent, ${again} at a second attempt.`, 'warn']
      : [`All ${JOBS} mails are sent, each at its first attempt. Nothing was lost or done twice.`, 'good'];
  }

  /** Stops one process of the old version after the other. The supervisor starts a new one in its place. */
  private replace(deploy: Deploy): void {
    const now = this.pool.list();
    if (!deploy.old) {
      const busy = now.filter(({ job }) => job && deploy.ids.includes(job.id));
      if (busy.length === 0 || busy.length < this.pool.size) return;
      deploy.old = now;
      this.stage.tell('taken', `${busy.length} processes work. A deploy begins: each of them is to be replaced.`);
    }
    const { leaving } = deploy;
    if (leaving) {
      const successor = now.find(({ name }) => name === leaving.name);
      if (successor && (successor.pid === leaving.pid || successor.state !== 'running')) return;
      deploy.leaving = undefined;
      deploy.replaced += 1;
      if (successor) this.stage.tell('new', `${processOf(successor)} is new, and takes the next mail.`);
    }
    const next = deploy.old.shift();
    if (!next || !this.pool.replace(next.name)) return;
    deploy.leaving = next;
    this.stage.tell(
      'stops',
      `${processOf(next)} gets SIGTERM: it takes no other job, and finishes the one it has.`,
    );
  }
}
