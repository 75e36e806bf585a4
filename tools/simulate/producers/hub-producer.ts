// A producer for many queues. Some jobs are for later, and some of these are due before others that were enqueued first.
import { JobQueue } from '#queue/job-queue.js';
import type { StoreLink } from '#memory/script-store.js';
import { ClusterStore } from '../../../test/support/memory/cluster-store.js';
import { HUB_OPTIONS, HUB_QUEUES } from '../processes/hub-worker.js';
import { SimulatedProcess } from '../processes/process.js';

export class HubProducer extends SimulatedProcess {
  protected override openStore(link: StoreLink): ClusterStore {
    const { channels, server } = this.world;
    return new ClusterStore(this.clock, channels!, { server, link });
  }

  protected override async work(): Promise<void> {
    const { random, history } = this.world;
    const queues = HUB_QUEUES.map((name) => new JobQueue(this.store, name, HUB_OPTIONS));
    for (let count = 0; !this.world.isEnding; count++) {
      const queue = random.pick(queues);
      const id = `${this.name}-${count}`;
      const fate = random.next();
      const delayMs = fate < 0.05 ? 20_000 : fate < 0.3 ? random.between(1, 4_000) : undefined;
      history.sent(id, queue.name, HUB_OPTIONS.maxAttempts);
      const options = { id, ...(delayMs !== undefined && { delayMs }) };
      await this.untilAnswered(() => queue.enqueue(history.runs.nextNumber(), options));
      history.acknowledged(id);
      await this.sleep(random.between(1, 200));
    }
  }
}
