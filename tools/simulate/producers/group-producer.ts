// A producer of bursts of quick jobs in groups. Workers claim the jobs ahead, except those of one group with a limit.
import { SimulatedProcess } from '../processes/process.js';
import { MIXED_GROUPS } from '../release.js';

const MOST_IN_BURST = 16;

export class GroupProducer extends SimulatedProcess {
  protected override async work(): Promise<void> {
    const { random, history } = this.world;
    for (let count = 0; !this.world.isEnding;) {
      const jobs = Array.from({ length: random.between(1, MOST_IN_BURST) }, () => ({
        id: `${this.name}-${count++}`,
        payload: history.runs.nextNumber(),
        group: random.pick(MIXED_GROUPS),
        maxAttempts: random.between(1, 5),
      }));
      jobs.forEach(({ id, maxAttempts }) => history.sent(id, 'mixed', maxAttempts, { isPlain: true }));
      await this.untilAnswered(() => this.queues.mixed.enqueueMany(jobs));
      jobs.forEach(({ id }) => history.acknowledged(id));
      await this.sleep(random.between(100, 2_000));
    }
  }
}
