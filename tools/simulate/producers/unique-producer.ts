// A producer of jobs with unique keys. One of two also replaces jobs: then the payloads of a key only grow.
import type { UniqueOptions } from '#queue/enqueue/enqueue-options.js';
import { SimulatedProcess } from '../processes/process.js';
import type { World } from '../world.js';

const ATTEMPTS = 3;
const WINDOW_MS = 1_500;

/** The keys, by how long a job holds them. */
const KEYS: Record<string, UniqueOptions['for']> = {
  'waits-1': 'pending',
  'waits-2': 'pending',
  'ends-1': 'unfinished',
  'ends-2': 'unfinished',
  'time-1': { ms: WINDOW_MS },
};

export class UniqueProducer extends SimulatedProcess {
  private count = 0;

  constructor(
    name: string,
    world: World,
    skewMs: number,
    private readonly replaces: boolean,
  ) {
    super(name, world, skewMs);
  }

  start(): void {
    void this.produce();
  }

  private async produce(): Promise<void> {
    const { random } = this.world;
    while (!this.world.isEnding) {
      const key = random.pick(Object.keys(KEYS));
      const onConflict = this.replaces && random.chance(0.6) ? 'replace' : 'keep';
      await this.enqueue({ key, for: KEYS[key]!, onConflict });
      await this.sleep(random.between(1, 300));
    }
  }

  private async enqueue(unique: UniqueOptions): Promise<void> {
    const { random, history, clock } = this.world;
    const id = `${this.name}-${this.count++}`;
    const sentAtMs = clock.now();
    const payload = history.runs.nextNumber();
    const delayMs = random.chance(0.3) ? random.between(1, 2_000) : 0;
    history.sent(id, 'mixed', ATTEMPTS);
    const options = { id, unique, maxAttempts: ATTEMPTS, ...(delayMs > 0 && { delayMs }) };
    const { id: owner, outcome } = await this.untilAnswered(() => this.queues.mixed.enqueue(payload, options));
    if (outcome === 'new' || outcome === 'existing') {
      history.acknowledged(id);
      return;
    }
    history.jobs.get(id)!.refused = true;
    if (outcome === 'replaced') {
      Object.assign(history.jobs.get(owner)!, { reset: true });
      history.runs.replaced(owner, payload, this.world.sequenceOf('mixed'));
    } else if (typeof unique.for === 'string') {
      history.unique.kept(id, owner, sentAtMs);
    }
  }
}
