// Checks that a job and a free slot meet in time. The bounds are those of docs/reliability.md, with the delays of calls.
import type { QueueView } from '#memory/server/observed-server.js';
import type { WakeChannels } from '../../../test/support/memory/cluster-store.js';
import type { HubWorker } from '../processes/hub-worker.js';
import { Since } from './since.js';
import type { SimulatedServer } from './simulated-server.js';

/** A lost wake costs a look, one each second. Each of its calls and of the claim takes up to 80 ms. */
const LONGEST_MS = 1_300;

/** A wake that was not lost costs a message and a claim, behind another one. Two workers may pass it on before. */
const LONGEST_AFTER_WAKE_MS = 500;

/** The right to maintain ends within three rounds of a second. Then come a heartbeat of looks, and the round of the sweep. */
const LONGEST_RECLAIM_MS = 8_000;

export class MeetingCheck {
  private readonly claimable = new Since();
  private readonly pending = new Since();
  private readonly free = new Since();
  private readonly heard = new Since();
  private readonly up = new Since();

  constructor(
    private readonly server: SimulatedServer,
    private readonly channels: WakeChannels,
    private readonly workers: () => readonly HubWorker[],
  ) {}

  /** Looks at the queues after a step. Returns the jobs and claims that wait for too long. */
  look(): string[] {
    const queues = this.server.queues.filter(({ name }) => name.startsWith('hub-'));
    const workers = this.workers();
    workers.forEach((worker) => this.up.note(worker.name, worker.isUp, this.server.now()));
    this.keepJobs(queues);
    return queues.flatMap((queue) => [...this.lateJobs(queue, workers), ...this.lateClaims(queue, workers)]);
  }

  private keepJobs(queues: readonly QueueView[]): void {
    const pending = new Set(queues.flatMap((queue) => queue.pending));
    const due = queues.flatMap(({ scheduled, now }) =>
      scheduled.members().filter((id) => scheduled.score(id)! <= now),
    );
    this.pending.keep(pending);
    this.claimable.keep(new Set([...pending, ...due]));
    const now = this.server.now();
    pending.forEach((id) => this.pending.note(id, true, now));
    [...pending, ...due].forEach((id) => this.claimable.note(id, true, now));
  }

  private lateJobs({ name, pending, scheduled, now }: QueueView, workers: readonly HubWorker[]): string[] {
    const due = scheduled.members().filter((id) => scheduled.score(id)! <= now);
    return workers.flatMap((worker) => {
      const key = `${name} ${worker.name}`;
      this.free.note(key, worker.isFree(name), now);
      this.heard.note(key, this.channels.isHeard(name, worker.name), now);
      const freeMs = (id: string) => now - Math.max(this.claimable.of(id), this.free.of(key));
      // A worker whose wake never came is a waiter again only after its next subscription.
      const isWaiter = (this.channels.lostBy.get(worker.name) ?? -Infinity) < this.heard.of(key);
      const wokenMs = (id: string) =>
        isWaiter && this.channels.lostAt < this.pending.of(id)
          ? now - Math.max(this.pending.of(id), this.free.of(key), this.heard.of(key))
          : -Infinity;
      const text = (id: string) => `late: ${id} of ${name} waits although ${worker.name} has a free slot`;
      return [
        ...[...pending, ...due].filter((id) => freeMs(id) > LONGEST_MS),
        ...pending.filter((id) => wokenMs(id) > LONGEST_AFTER_WAKE_MS),
      ].map(text);
    });
  }

  private lateClaims({ name, claims, now }: QueueView, workers: readonly HubWorker[]): string[] {
    const upSince = Math.min(...workers.map((worker) => this.up.of(worker.name)));
    return claims
      .members()
      .filter((id) => now - Math.max(claims.score(id)!, upSince) > LONGEST_RECLAIM_MS)
      .map((id) => `late: the claim of ${id} of ${name} has expired, and nobody reclaims it`);
  }
}
