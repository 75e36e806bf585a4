// A producer of jobs with unique keys. Some replace the waiting job: then the payloads of a key only grow. Others end or stop the
// older job.
import type { UniqueOptions } from '#queue/enqueue/enqueue-options.js';
import { SimulatedProcess } from '../processes/process.js';
import { LONGEST_WAIT_MS } from '../release.js';
import { type Random } from '../../chaos/random.js';
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

/** What the producer chooses for a job. */
interface Choice {
  unique: UniqueOptions;
  delayMs: number;
}

/** Returns a choice that keeps the waiting job, or one that may replace it. */
export function keepOrReplace(random: Random, replaces: boolean): Choice {
  const key = random.pick(Object.keys(KEYS));
  const onConflict = replaces && random.chance(0.6) ? 'replace' : 'keep';
  return {
    unique: { key, for: KEYS[key]!, onConflict },
    delayMs: random.chance(0.3) ? random.between(1, 2_000) : 0,
  };
}

const NEWEST: readonly Choice[] = [
  { unique: { key: 'stop-1', for: 'unfinished', onConflict: 'cancel-running' }, delayMs: 0 },
  { unique: { key: 'stop-2', for: 'unfinished', onConflict: 'cancel-running' }, delayMs: 200 },
  { unique: { key: 'newest-1', for: 'pending', keep: 'newest' }, delayMs: 0 },
  { unique: { key: 'newest-2', for: 'unfinished', keep: 'newest' }, delayMs: 300 },
  {
    unique: { key: 'bounded', for: 'pending', onConflict: 'replace', maxDelayMs: LONGEST_WAIT_MS },
    delayMs: 900,
  },
];

/** Returns a choice by which the newest job wins. */
export function newestWins(random: Random): Choice {
  return random.pick(NEWEST);
}

export class UniqueProducer extends SimulatedProcess {
  private count = 0;

  constructor(
    name: string,
    world: World,
    skewMs: number,
    private readonly choose: (random: Random) => Choice,
  ) {
    super(name, world, skewMs);
  }

  protected override async work(): Promise<void> {
    const { random } = this.world;
    while (!this.world.isEnding) {
      await this.enqueue(this.choose(random));
      await this.sleep(random.between(1, 300));
    }
  }

  private async enqueue({ unique, delayMs }: Choice): Promise<void> {
    const { history, clock } = this.world;
    const id = `${this.name}-${this.count++}`;
    const sentAtMs = clock.now();
    const payload = history.runs.nextNumber();
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
