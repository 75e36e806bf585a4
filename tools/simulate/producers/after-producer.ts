// A producer of chains, whose jobs wait for one or two jobs before them, also of another queue.
import { EnqueueError } from '#queue/errors/enqueue-errors.js';
import { JobQueueError, RedisUnsuitableError } from '#queue/errors/errors.js';
import { SimulatedProcess } from '../processes/process.js';
import { FAILING } from '../release.js';

const ATTEMPTS = 3;
const LONGEST_CHAIN = 4;
const QUEUES = ['mixed', 'limited'] as const;

interface Link {
  id: string;
  queue: (typeof QUEUES)[number];
}

export class AfterProducer extends SimulatedProcess {
  protected override async work(): Promise<void> {
    const { random } = this.world;
    for (let count = 0; !this.world.isEnding; count++) {
      await this.chain(`${this.name}-${count}`);
      await this.sleep(random.between(1, 1_500));
    }
  }

  private async chain(name: string): Promise<void> {
    const { random } = this.world;
    const jobs: Link[] = [];
    for (let i = 0; i < random.between(2, LONGEST_CHAIN); i++) {
      const job: Link = { id: `${name}-${i}`, queue: random.pick(QUEUES) };
      const after = i === 0 ? [] : [...new Set([jobs.at(-1)!, random.pick(jobs)])];
      if (!(await this.isAdded(job, after))) {
        return; // a job before it has ended badly
      }
      jobs.push(job);
    }
  }

  private async isAdded({ id, queue }: Link, after: readonly Link[]): Promise<boolean> {
    const { random, history } = this.world;
    const payload = random.chance(0.1) ? FAILING : history.runs.nextNumber();
    const delayMs = random.chance(0.3) ? random.between(1, 1_000) : 0;
    history.sent(id, queue, ATTEMPTS, { isFinal: payload === FAILING, hasOwnLimit: true });
    history.follow.follows(
      id,
      after.map((each) => each.id),
    );
    const options = {
      id,
      maxAttempts: ATTEMPTS,
      ...(after.length > 0 && { after }),
      ...(delayMs > 0 && { delayMs }),
    };
    try {
      await this.untilAnswered(() => this.queues[queue].producer.one(undefined, payload, options));
      history.acknowledged(id);
      return true;
    } catch (error) {
      const isUnknown = error instanceof EnqueueError || error instanceof RedisUnsuitableError;
      if (isUnknown || !(error instanceof JobQueueError)) throw error;
      history.jobs.get(id)!.refused = true;
      return false;
    }
  }
}
