// The queue under test in memory.
import type { ClaimedJob } from '#queue/model/job.js';
import { systemClock } from '#queue/runtime/clock.js';
import { JobQueue } from '#queue/job-queue.js';
import { MemoryServer } from '#testing/memory-store/memory-server.js';
import { MemoryStore } from '#testing/memory-store/memory-store.js';
import type { MemoryQueue } from '#testing/memory-store/state/memory-queue.js';
import type { ScoredSet } from '#testing/memory-store/state/scored-set.js';
import { memoryViolations } from '../support/invariants/memory-invariants.js';
import { LIMITS } from './rules/queue-model.js';
import type { RealQueue } from './real-queue.js';

export class QueueInMemory implements RealQueue {
  readonly queue: JobQueue;
  readonly claimed: ClaimedJob[] = [];
  readonly story: string[] = [];
  private readonly state: MemoryQueue;
  /** Moves with each step only. */
  private time = Date.now();

  constructor(name: string) {
    const clock = { ...systemClock, now: () => this.time };
    const server = new MemoryServer(() => this.time);
    this.queue = new JobQueue(new MemoryStore(clock, { server }), name, LIMITS);
    this.state = server.queue(name, this.queue.options);
  }

  async now(): Promise<number> {
    return this.time;
  }

  async nextMoment(): Promise<number> {
    return ++this.time;
  }

  async endMoment(): Promise<void> {}

  async letTimePass(ms: number): Promise<void> {
    const { scheduled, claims, dead, scheduleDue, uniqueExpiries, scheduleOwners, forgottenAt } = this.state;
    [scheduled, claims, dead, scheduleDue].forEach((set) => shift(set, ms));
    [uniqueExpiries, scheduleOwners, forgottenAt].forEach((map) => map.forEach((at, key) => map.set(key, at - ms)));
    const hashes = [...this.state.jobs.values(), ...this.state.schedules.values()];
    for (const hash of hashes) {
      for (const [field, value] of Object.entries(hash)) {
        if (/_(at|until)_ms$/.test(field) && Number(value) > 0) {
          hash[field] = String(Number(value) - ms);
        }
      }
    }
    if (this.state.pausedAt !== undefined) {
      this.state.pausedAt -= ms;
    }
  }

  async makeDue(schedule: string, sinceMs: number): Promise<number> {
    const due = this.time - sinceMs;
    this.state.scheduleDue.set(schedule, due);
    return due;
  }

  async uniqueKeys(): Promise<Record<string, string>> {
    return Object.fromEntries(this.state.unique);
  }

  async violations(): Promise<string[]> {
    await this.queue.exec((calls) => calls.sweep.tidy(500));
    return memoryViolations(this.state);
  }

  async audit(): Promise<string[]> {
    const { findings } = await this.queue.doctor({ repair: true, exclusive: true });
    return findings.map(({ kind, subject }) => `${kind} ${subject}`);
  }

  async close(): Promise<void> {
    this.queue.close();
  }
}

function shift(set: ScoredSet, ms: number): void {
  for (const member of set.members()) {
    set.set(member, set.score(member)! - ms);
  }
}
