// An operator of the simulated fleet that changes limits and groups at run time.
import { SimulatedProcess } from './process.js';

/** The group whose settings change. The order of the others holds. */
export const CHANGED_GROUP = 'c';

const PAUSED_GROUPS = ['a', 'b', CHANGED_GROUP];

export class LimitsOperator extends SimulatedProcess {
  protected override async work(): Promise<void> {
    const { random } = this.world;
    const verbs = [this.set, this.change, this.clear, this.setGroup, this.clearGroup, this.pauseGroup];
    while (!this.world.isEnding) {
      await this.sleep(random.between(100, 1_500));
      await random
        .pick(verbs)
        .call(this)
        .catch(() => undefined); // a call without an answer
    }
  }

  private async set(): Promise<void> {
    const { random } = this.world;
    await this.queues.limited.limits.set({
      maxRunning: random.between(2, 4),
      ...(random.chance(0.5) && { rateLimit: { limit: random.between(10, 30), periodMs: 1_000, burst: 3 } }),
      groups: { maxRunning: 1, weight: random.between(1, 3) },
    });
  }

  private async change(): Promise<void> {
    const { random } = this.world;
    await this.queues.limited.limits.change({ maxRunning: random.chance(0.3) ? null : random.between(2, 5) });
  }

  private async clear(): Promise<void> {
    await this.queues.limited.limits.clear();
  }

  private async setGroup(): Promise<void> {
    const { random } = this.world;
    await this.queues.limited.groups.set(CHANGED_GROUP, {
      maxRunning: random.between(1, 3),
      weight: random.between(1, 5),
    });
  }

  private async clearGroup(): Promise<void> {
    await this.queues.limited.groups.clear(CHANGED_GROUP);
  }

  private async pauseGroup(): Promise<void> {
    const { random } = this.world;
    const { groups } = this.queues.limited;
    const group = random.pick(PAUSED_GROUPS);
    await groups.pause(group).catch(() => undefined); // it may be paused even if the call failed
    await this.sleep(random.between(10, 2_000));
    await this.untilAnswered(() => groups.resume(group));
  }
}
