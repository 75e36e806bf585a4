import type { BulkMember } from './bulk-run.js';
import { BulkGatherer, type BulkOwner } from './bulk-gatherer.js';
import type { ResolvedHandler } from './resolve-bulk.js';

/** The bulk handlers of a queue runner, and the count of its slots. A slot is a call of any handler. */
export class BulkGatherers {
  /** Returns undefined without a bulk handler, so that a plain queue pays nothing. */
  static of(
    handlers: ReadonlyMap<string, ResolvedHandler>,
    concurrency: () => number,
    owner: BulkOwner,
  ): BulkGatherers | undefined {
    const gatherers = new Map(
      [...handlers].flatMap(([name, { bulk }]) => (bulk ? [[name, new BulkGatherer(bulk, owner)] as const] : [])),
    );
    return gatherers.size > 0 ? new BulkGatherers(gatherers, concurrency) : undefined;
  }

  /** The most jobs of one call. */
  readonly size: number;
  private readonly all: readonly BulkGatherer[];

  private constructor(
    private readonly byName: ReadonlyMap<string, BulkGatherer>,
    private readonly concurrency: () => number,
  ) {
    this.all = [...byName.values()];
    this.size = Math.max(...this.all.map(({ size }) => size));
  }

  of(name: string): BulkGatherer | undefined {
    return this.byName.get(name);
  }

  /** Returns how many calls run. @param running jobs of the runner whose handlers run */
  calls(running: number): number {
    const inBulk = this.sum(({ running: jobs }) => jobs);
    return this.sum(({ calls }) => calls) + running - inBulk;
  }

  /** Returns how many more jobs fit. @param others jobs that wait elsewhere, or are in flight */
  room(running: number, others: number): number {
    const free = Math.max(0, this.concurrency() - this.calls(running));
    // Jobs of many groups may need more calls than there are slots: they run before others are claimed.
    const isSpokenFor = this.sum(({ neededCalls }) => neededCalls) > free;
    return isSpokenFor ? 0 : free * this.size - this.sum(({ gathered }) => gathered) - others;
  }

  /** Returns how many slots are in use or reserved. @param others as of room */
  used(running: number, others: number): number {
    return this.calls(running) + Math.ceil((this.sum(({ gathered }) => gathered) + others) / this.size);
  }

  beginDue(): void {
    this.all.forEach((gatherer) => gatherer.beginDue());
  }

  releaseWaiting(): void {
    this.all.forEach((gatherer) => gatherer.releaseWaiting());
  }

  left(attempt: BulkMember): void {
    this.byName.get(attempt.job.name)?.left(attempt);
  }

  private sum(count: (gatherer: BulkGatherer) => number): number {
    return this.all.reduce((sum, gatherer) => sum + count(gatherer), 0);
  }
}
