// A producer whose jobs wake nobody, as those of a client of the Redis pattern. Only a look finds them.
import { JobQueue } from '#queue/job-queue.js';
import type { ScriptStore, StoreLink } from '#memory/script-store.js';
import { TURNED_OPTIONS, TURNED_QUEUES } from '../processes/turned-worker.js';
import { SimulatedProcess } from '../processes/process.js';

export class TurnedProducer extends SimulatedProcess {
  protected override openStore(link: StoreLink): ScriptStore {
    const { server } = this.world;
    return super.openStore((script, run) => link(script, () => server.wakingNobody(run)));
  }

  protected override async work(): Promise<void> {
    const { random, history } = this.world;
    const queues = TURNED_QUEUES.map((name) => new JobQueue(this.store, name, TURNED_OPTIONS));
    for (let count = 0; !this.world.isEnding; count++) {
      const queue = random.pick(queues);
      const id = `${this.name}-${count}`;
      history.sent(id, queue.name, TURNED_OPTIONS.maxAttempts);
      await this.untilAnswered(() => queue.enqueue(history.runs.nextNumber(), { id }));
      history.acknowledged(id);
      await this.sleep(random.between(100, 2_000));
    }
  }
}
