import { Injectable } from '@nestjs/common';
import { settings } from '../../settings.js';
import type { CurrentJob, PoolEvent } from '../pool/pool-event.js';
import { WorkerPool } from '../pool/worker-pool.js';

/** A dead worker process, with the job that it left behind. */
export interface Wreck {
  name: string;
  pid: number | undefined;
  at: number;
  job: CurrentJob | undefined;
}

/** The time a process is shown at least, in ms: another takes its job at once. */
const SHOWN_MS = 4_000;
const MOST = 8;
/** A claim that lasts longer than the dead worker can have asked for is another's. */
const SLACK_MS = 1_000;

/** The worker processes that died: for a moment, and until their jobs have been reclaimed. */
@Injectable()
export class Wrecks {
  private wrecks: Wreck[] = [];

  constructor(private readonly pool: WorkerPool) {
    pool.events.subscribe((event) => this.hear(event));
  }

  all(): readonly Wreck[] {
    return this.wrecks;
  }

  /** Returns whether a process has died, which its supervisor may not know yet. */
  has(pid: number | undefined): boolean {
    return this.wrecks.some((wreck) => wreck.pid === pid);
  }

  /** Forgets each older wreck whose claim has ended. `endsIn` returns the ms until the claim of a job expires. */
  clear(endsIn: ReadonlyMap<string, number | undefined>): void {
    const alive = this.pool.list().filter(({ pid }) => !this.has(pid));
    const taken = new Set(alive.map(({ job }) => job?.id));
    this.wrecks = this.wrecks.filter(({ job, at }) => {
      const since = Date.now() - at;
      if (!job || since < SHOWN_MS) return since < SHOWN_MS;
      // This process died after the question was asked.
      if (!endsIn.has(job.id)) return true;
      const left = endsIn.get(job.id);
      return left !== undefined && !taken.has(job.id) && left <= settings.visibilityMs - since + SLACK_MS;
    });
  }

  private hear(event: PoolEvent): void {
    if (event.type !== 'killed' && event.type !== 'died' && event.type !== 'silent') return;
    const { worker: name, pid, job } = event;
    this.wrecks = [...this.wrecks, { name, pid, job, at: Date.now() }].slice(-MOST);
  }
}
