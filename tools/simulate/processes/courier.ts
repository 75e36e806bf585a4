// A process that sends follow-ups to other queues, and stalls at any point of it while others send them too.
import { maintainBatches } from '#queue/operate/maintain-batches.js';
import { SimulatedProcess } from './process.js';

export class SimulatedCourier extends SimulatedProcess {
  protected override async work(): Promise<void> {
    const { random, clock } = this.world;
    while (!this.world.isEnding) {
      if (random.chance(0.3)) {
        clock.setTimeout(() => this.stall(), random.between(0, 100));
      }
      await maintainBatches(this.queues.limited).catch(() => undefined); // a call without a reply
      await this.forgetOne().catch(() => undefined);
      await this.sleep(random.between(1, 200));
    }
  }

  /** Removes a follow-up that has run. So its id keeps no second one away. */
  private async forgetOne(): Promise<void> {
    const { mixed } = this.queues;
    const done = await mixed.list('completed', { limit: 20 });
    const followUp = done.find(({ id }) => id.startsWith('@batch-of:'));
    await (followUp && mixed.remove(followUp.id));
  }

  private stall(): void {
    const { random, clock, isEnding } = this.world;
    if (!isEnding) {
      this.clock.freeze();
      clock.setTimeout(() => this.clock.thaw(), random.between(100, 3_000));
    }
  }
}
