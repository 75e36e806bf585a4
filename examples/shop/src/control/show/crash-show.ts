import { setTimeout as wait } from 'node:timers/promises';
import { ConflictException, Injectable, ServiceUnavailableException, type OnModuleDestroy } from '@nestjs/common';
import type { JobRecord, JobStatus } from 'nest-job-queue';
import { QueueAccess } from '../../jobs/queue-access.js';
import type { Conditions } from '../../trouble/messages.js';
import { payloadOf } from '../payloads.js';
import type { PoolEvent } from '../pool/pool-event.js';
import { WorkerPool, type PoolWorker } from '../pool/worker-pool.js';
import { nameOf } from '../story/name-of.js';
import type { Tone } from '../story/story.js';

/** Of the job of the show, so that there is time to see it. */
const WORK: Conditions = { latencyMs: 2_500, failRate: 0, hangRate: 0 };
/** How long a worker is at it before it is killed. */
const KILL_AFTER_MS = 600;
const LOOK_MS = 200;
/** Before all others: a show is watched now, however many jobs wait. */
const PRIORITY = 1_000;

type End = [text: string, tone: Tone];
const ENDS: Partial<Record<JobStatus, End>> = {
  completed: ['Completed. Nothing was lost.', 'good'],
  failed: ['Given up: it is a dead letter now.', 'bad'],
  cancelled: ['It was cancelled.', 'bad'],
};

/** One line of the show. A later text of the same name takes its place. */
export interface ShowStep {
  name: string;
  text: string;
  tone: Tone;
}

interface Show {
  id: string;
  stage: 'waits' | 'killed' | 'back';
  /** The one that was killed. */
  attempt: number;
  /** What the work was like, until it is so again. */
  before: Conditions | undefined;
  /** How many workers there were to be. */
  size: number;
  /** Who works on it again. */
  again?: string;
}

/**
 * One crash from beginning to end: a job, its worker killed in the middle, the claim running out, the job done after
 * all. It goes on and puts everything back as it was, whoever still watches.
 */
@Injectable()
export class CrashShow implements OnModuleDestroy {
  running = false;
  steps: ShowStep[] = [];
  private readonly closing = new AbortController();

  constructor(
    private readonly pool: WorkerPool,
    private readonly queue: QueueAccess,
  ) {}

  onModuleDestroy(): void {
    this.closing.abort();
  }

  /** Forgets a show that has ended. */
  clear(): void {
    if (!this.running) this.steps = [];
  }

  /**
   * Answers the id of its job; the rest follows.
   *
   * @throws ConflictException while one runs; ServiceUnavailableException where Redis is away
   */
  async begin(): Promise<string> {
    if (this.running) throw new ConflictException('A worker is crashed already: one show at a time.');
    this.running = true;
    this.steps = [];
    const { conditions: before, size } = this.pool;
    this.pool.configure(WORK);
    try {
      const payload = payloadOf('email', 'ada@example.com', 1, '');
      const [id] = await this.queue.enqueue('email', [payload], { priority: PRIORITY });
      if (size === 0) void this.pool.resize(1);
      void this.play({ id: id!, stage: 'waits', attempt: 1, before, size });
      return id!;
    } catch (error) {
      this.restore(before);
      this.running = false;
      throw error;
    }
  }

  private async play(show: Show): Promise<void> {
    this.tell('waits', `${nameOf({ name: 'email', id: show.id })} is enqueued.`);
    // Its next attempt may be over before the next look.
    const listening = this.pool.events.subscribe((event) => this.hear(show, event));
    let end: End | undefined;
    try {
      while (!end) {
        await wait(LOOK_MS, undefined, { signal: this.closing.signal });
        end = await this.look(show);
      }
    } catch (error) {
      if (this.closing.signal.aborted) return;
      end = [(error as Error).message, 'bad'];
    } finally {
      listening.unsubscribe();
    }
    this.restore(show.before);
    if (show.size === 0 && this.pool.size === 1) void this.pool.resize(0);
    this.tell('end', ...end);
    this.running = false;
  }

  private async look(show: Show): Promise<End | undefined> {
    const worker = this.pool.list().find(({ job, state }) => job?.id === show.id && state === 'running');
    if (show.stage === 'waits' && worker) this.attack(show, worker);
    try {
      const job = await this.queue.find(show.id);
      if (!job) return ['The job was deleted.', 'bad'];
      if (show.stage === 'killed') await this.lookAtClaim(show, job);
      if (show.stage === 'back' && show.again) this.tell('again', show.again);
      if (ENDS[job.status]) return ENDS[job.status];
      if (this.pool.size === 0) return ['The workers were stopped: nobody is there to take the job.', 'bad'];
    } catch (error) {
      // The page says that Redis is away, and the show goes on when it is back.
      if (!(error instanceof ServiceUnavailableException)) throw error;
    }
    return undefined;
  }

  private hear(show: Show, event: PoolEvent): void {
    if (event.type !== 'began' || event.job.id !== show.id || show.stage === 'waits') return;
    const worker = this.pool.list().find(({ name }) => name === event.worker);
    if (worker) show.again = `${processOf(worker)} works on it: attempt ${event.job.attempt}.`;
  }

  private attack(show: Show, worker: PoolWorker): void {
    this.tell('taken', `${processOf(worker)} works on it.`);
    if (Date.now() - worker.job!.since < KILL_AFTER_MS || !this.pool.kill(worker.name)) return;
    show.stage = 'killed';
    show.attempt = worker.job!.attempt;
    this.restore(show.before);
    show.before = undefined;
    this.tell('killed', `${worker.name} is killed in the middle of it. Nobody tells Redis.`, 'bad');
  }

  private async lookAtClaim(show: Show, { attempts, status }: JobRecord): Promise<void> {
    if (attempts === show.attempt && status === 'processing') {
      const [endsInMs] = await this.queue.claimsEndIn([show.id]);
      const seconds = ((endsInMs ?? 0) / 1_000).toFixed(1);
      const text =
        endsInMs !== undefined && endsInMs > 0
          ? `Its claim runs out in ${seconds} s.`
          : 'Its claim has run out; the next sweep takes it back, or “Take back expired claims”.';
      this.tell('claim', text);
    } else if (attempts > show.attempt || status === 'pending') {
      show.stage = 'back';
      this.tell('claim', 'Its claim ran out.');
      this.tell('back', 'The job is back at the front of the queue.');
    }
  }

  /** What somebody else has set meanwhile stays. */
  private restore(before: Conditions | undefined): void {
    if (!before) return;
    const { conditions: now } = this.pool;
    const kept = (name: keyof Conditions) => (now[name] === WORK[name] ? before[name] : now[name]);
    this.pool.configure({ latencyMs: kept('latencyMs'), failRate: kept('failRate'), hangRate: kept('hangRate') });
  }

  private tell(name: string, text: string, tone: Tone = 'plain'): void {
    const step = { name, text, tone };
    const at = this.steps.findIndex((each) => each.name === name);
    this.steps = at < 0 ? [...this.steps, step] : this.steps.with(at, step);
  }
}

/** A new process has the name of the one whose place it takes. */
function processOf({ name, pid }: PoolWorker): string {
  return `${name} (process ${pid})`;
}
