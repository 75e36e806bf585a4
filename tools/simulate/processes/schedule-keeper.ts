// An operator of the simulated fleet that makes, changes, pauses, runs and removes schedules.
import { TICK_ATTEMPTS } from '../release.js';
import { SimulatedProcess } from './process.js';

const IDS = ['by-hand-1', 'by-hand-2'];

export class ScheduleKeeper extends SimulatedProcess {
  protected override async work(): Promise<void> {
    const { random } = this.world;
    const verbs = [this.upsert, this.upsert, this.pause, this.remove, this.run];
    while (!this.world.isEnding) {
      await this.sleep(random.between(100, 1_500));
      await random
        .pick(verbs)
        .call(this, random.pick(IDS))
        .catch(() => undefined); // a call without an answer, or an unknown schedule
    }
  }

  private async upsert(id: string): Promise<void> {
    const { random } = this.world;
    const limit = random.chance(0.3) ? random.between(1, 5) : undefined;
    const everyMs = random.between(300, 2_000);
    await this.queues.mixed.schedules.upsert(
      id,
      { everyMs, ...(limit !== undefined && { limit }) },
      { maxAttempts: TICK_ATTEMPTS, onMissed: random.pick(['once', 'skip']), overlap: random.chance(0.5) },
    );
  }

  private async pause(id: string): Promise<void> {
    const { schedules } = this.queues.mixed;
    await schedules.pause(id);
    await this.sleep(this.world.random.between(10, 2_000));
    await this.untilAnswered(() => schedules.resume(id));
  }

  private async remove(id: string): Promise<void> {
    await this.queues.mixed.schedules.remove(id);
  }

  private async run(id: string): Promise<void> {
    await this.queues.mixed.schedules.runNow(id);
  }
}
