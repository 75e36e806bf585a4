import { Injectable } from '@nestjs/common';
import { QueueAccess } from '../../jobs/queue-access.js';
import type { JobRow } from '../live/job-row.js';
import type { CurrentJob } from '../pool/pool-event.js';
import { WorkerPool } from '../pool/worker-pool.js';
import { Wrecks } from './wrecks.js';

/** A job as the picture draws it. */
export interface Card {
  id: string;
  label: string;
  status: 'waiting' | 'later' | 'running' | 'completed' | 'failed';
  attempt: number;
  /** Only of one that runs. Not known: Redis is away. */
  claimEndsInMs?: number;
}

/** A worker process. */
export interface Lane {
  name: string;
  pid?: number;
  state: ReturnType<WorkerPool['list']>[number]['state'] | 'dead';
  job?: Card;
}

export interface Picture {
  /** The next one first. */
  waiting: Card[];
  lanes: Lane[];
  /** Running jobs in processes that this page did not start. */
  elsewhere: number;
  /** The newest first. */
  done: Card[];
}

const MOST = 5;

/** Draws the jobs where they are: waiting, in a worker process, done. */
@Injectable()
export class PictureService {
  constructor(
    private readonly queue: QueueAccess,
    private readonly pool: WorkerPool,
    private readonly wrecks: Wrecks,
  ) {}

  /** @throws ServiceUnavailableException */
  async draw(waiting: JobRow[], ended: JobRow[], processing: number): Promise<Picture> {
    const ids = [...this.pool.list(), ...this.wrecks.all()].flatMap(({ job }) => job?.id ?? []);
    const ends = await this.queue.claimsEndIn(ids);
    const endsIn = new Map(ids.map((id, i) => [id, ends[i]]));
    this.wrecks.clear(endsIn);
    const elsewhere = new Set([...waiting, ...ended].map(({ id }) => id));
    const lanes = this.lanes(endsIn).map((lane, _i, all) =>
      holds(lane, all, elsewhere) ? lane : { ...lane, job: undefined },
    );
    const here = lanes.filter(({ job }) => job?.claimEndsInMs !== undefined).length;
    return {
      waiting: waiting.slice(0, MOST).map((job) => cardOf(job, job.status === 'scheduled' ? 'later' : 'waiting')),
      lanes,
      elsewhere: Math.max(0, processing - here),
      done: ended
        .toSorted((a, b) => b.endedAt - a.endedAt)
        .slice(0, MOST)
        .map((job) => cardOf(job, job.status === 'completed' ? 'completed' : 'failed')),
    };
  }

  /** Draws the picture without the lists that only Redis knows. */
  drawAway(): Picture {
    this.wrecks.clear(new Map());
    return { waiting: [], lanes: this.lanes(new Map()), elsewhere: 0, done: [] };
  }

  private lanes(endsIn: ReadonlyMap<string, number | undefined>): Lane[] {
    const running = this.pool.list().filter(({ pid }) => !this.wrecks.has(pid));
    const alive = running.map(({ name, pid, state, job }) => ({ name, pid, state, job }));
    const dead = this.wrecks.all().map(({ name, pid, job }) => ({ name, pid, state: 'dead' as const, job }));
    return [...dead, ...alive]
      .toSorted((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }))
      .map(({ job, ...lane }) => ({ ...lane, job: job && runningCard(job, endsIn.get(job.id)) }));
  }
}

/**
 * Returns true unless the job is drawn elsewhere. Redis knows earlier than its process that a job has ended or
 * moved.
 */
function holds({ job }: Lane, all: Lane[], elsewhere: ReadonlySet<string>): boolean {
  if (!job) return false;
  if (job.claimEndsInMs === undefined) return !elsewhere.has(job.id);
  return all.every((other) => other.job?.id !== job.id || other.job.attempt <= job.attempt);
}

function cardOf({ id, label, attempts }: JobRow, status: Card['status']): Card {
  return { id, label, status, attempt: attempts };
}

function runningCard({ id, label, attempt }: CurrentJob, claimEndsInMs: number | undefined): Card {
  return { id, label, status: 'running', attempt, claimEndsInMs };
}
