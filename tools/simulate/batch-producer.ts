// A producer of the simulated fleet that enqueues batches with a follow-up, their members in groups.
import { JobQueueError } from '#queue/errors/errors.js';
import { SimulatedProcess } from './process.js';
import { MOST_ATTEMPTS } from './release.js';

const GROUPS = ['a', 'b', 'c'];

export class BatchProducer extends SimulatedProcess {
  start(): void {
    void this.produce();
  }

  private async produce(): Promise<void> {
    const { random, history } = this.world;
    for (let count = 0; !this.world.isEnding; count++) {
      const id = `${this.name}-${count}`;
      const members = Array.from({ length: random.between(0, 3) }, (_, i) => ({
        payload: i,
        id: `${id}-${i}`,
        group: random.pick(GROUPS),
      }));
      const followUp = `@batch:${id}:finally`;
      members.forEach((member) => history.sent(member.id, 'limited', MOST_ATTEMPTS, member.group));
      history.sent(followUp, 'limited', MOST_ATTEMPTS);
      history.follows(
        followUp,
        members.map((member) => member.id),
      );
      await this.untilAnswered(id, members);
      [...members.map((member) => member.id), followUp].forEach((job) => history.acknowledged(job));
      await this.sleep(random.between(1, 1_000));
    }
  }

  /**
   * Repeats a call with an unknown outcome until it succeeds. All jobs have their own ids, so a repeat adds
   * nothing.
   */
  private async untilAnswered(
    id: string,
    members: readonly { payload: number; id: string; group: string }[],
  ): Promise<void> {
    const { limited } = this.queues;
    for (;;) {
      try {
        const batch = limited.batch({ id, finally: { name: 'limited' } });
        await batch.addMany('limited', members);
        await batch.seal();
        return;
      } catch (error) {
        if (!(error instanceof JobQueueError)) throw error;
      }
    }
  }
}
