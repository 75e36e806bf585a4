// The options of a round: a draw for each option of the tables, or why it has none. A new option does not compile without.
import type { EnqueueOptions } from '#queue/enqueue/enqueue-options.js';
import type { JobOptionName } from '#queue/model/job-options.js';
import type { QueueOptions } from '#queue/model/queue-options.js';
import type { SlotRange } from '#queue/model/slots.js';
import { Random } from '../chaos/random.js';

/** What the draw of a job knows of its round. */
export interface JobScene {
  random: Random;
  index: number;
  /** Ids of earlier jobs of the round. */
  earlier: readonly string[];
  /** True if the queue is paused until all jobs are there, so that short expiries pass. */
  isPaused: boolean;
}

type Draw<Scene> = ((scene: Scene) => unknown) | string;

/** Returns a number whose magnitude is drawn, so that small, odd and large ones occur. */
function magnitude(random: Random, low: number, high: number): number {
  const drawn = Math.round(low * (high / low) ** random.next());
  return Math.min(high, Math.max(low, drawn + random.between(-1, 1)));
}

/** Returns an id that may end, or begin, another one. */
function idOf({ random, index }: JobScene): string {
  return random.pick([
    `${index}`,
    `${random.between(1, 3)}${index}`,
    `a${index}`,
    `${'l'.repeat(60)}${index}`,
    `é ${index}`,
  ]);
}

/** Names of groups of which one ends, or begins, the other. */
const GROUPS = ['a', 'aa', 'b', 'ab', 'a:b'];

/** A job has few of these, so that pairs occur and not only heaps. */
const JOB_DRAWS: Record<JobOptionName, Draw<JobScene>> = {
  name: 'the handler of the round takes each',
  id: idOf,
  delayMs: ({ random }) => random.pick([0, 1, random.between(1, 1_500), 500, 500]),
  runAt: ({ random }) => Date.now() + random.pick([-1_000, 0, 300, random.between(0, 1_500)]),
  priority: ({ random }) => random.pick([0, 1, 2, 999, 1_000, random.between(0, 1_000)]),
  cost: ({ random }) => random.between(1, 4),
  limitCosts: 'no queue here shares a limit; tools/simulate/shared-limits.ts draws them',
  group: ({ random }) => random.pick(GROUPS),
  maxAttempts: ({ random }) => random.between(1, 4),
  maxCrashes: ({ random }) => random.between(1, 1_000),
  backoff: ({ random }) =>
    random.pick([
      0,
      random.between(1, 200),
      { type: 'exponential', delayMs: random.between(1, 50), maxDelayMs: 200, jitter: random.next() },
      { type: 'fixed', delayMs: 20, jitter: 1 },
    ]),
  timeoutMs: ({ random }) => random.between(60_000, 2_073_600_000),
  timeoutGraceMs: 'of a handler',
  slots: 'drawn by `drawSlots`, by a seed of its own',
  maxRateLimitRetries: 'of a handler',
  maxSnoozes: 'of a handler',
  keepResult: ({ random }) => random.chance(0.5),
  resultTtlMs: ({ random }) => magnitude(random, 120_000, 31_536_000_000),
  expiresInMs: ({ random, isPaused }) => (isPaused && random.chance(0.5) ? random.between(1, 50) : 3_600_000),
  unique: ({ random }) => {
    const lasts = random.pick(['pending', 'unfinished', { ms: 3_600_000 }] as const);
    return { key: `${typeof lasts === 'string' ? lasts : 'time'}${random.between(1, 3)}`, for: lasts };
  },
  durability: 'needs a replica',
  after: ({ random, earlier }) => random.shuffled(earlier).slice(0, random.between(1, 3)),
  batch: 'of batches',
  addedBy: 'of batches',
  stopsBatch: 'of batches',
  lifo: ({ random }) => random.chance(0.7),
  metadata: ({ random }) => ({ trace: `${random.next()} ü`, 'A:b/c@d-e.f': '' }),
};

/** Returns the options of a job: each of the table by a small chance. */
export function drawJob(
  scene: JobScene,
  { share, groupShare }: { share: number; groupShare: number },
): EnqueueOptions {
  const { random } = scene;
  const options: Record<string, unknown> = {};
  for (const [name, draw] of Object.entries(JOB_DRAWS)) {
    if (typeof draw !== 'string' && random.chance(name === 'group' ? groupShare : share)) {
      options[name] = draw(scene);
    }
  }
  if (options.delayMs !== undefined) delete options.runAt;
  if (options.priority !== undefined || options.group !== undefined) delete options.lifo;
  if ((options.after as string[] | undefined)?.length === 0) delete options.after;
  if (typeof options.expiresInMs === 'number' && options.expiresInMs < 1_000) {
    // Expires while the queue is paused, so nothing else decides.
    for (const name of ['delayMs', 'runAt', 'after', 'unique']) delete options[name];
  }
  return options;
}

/** Returns the range of the slots of a handler, or undefined. Takes a seed of its own, so that other draws stay as they were. */
export function drawRange(seed: number, concurrency: number): SlotRange | undefined {
  const random = new Random(seed ^ 0x51075);
  if (concurrency === 1 || random.chance(0.4)) return undefined;
  const most = random.between(2, concurrency);
  return { most, ...(random.chance(0.5) && { default: random.between(1, most) }) };
}

/** Returns the slots of the enqueue of a job; undefined for none. */
export function drawSlots(seed: number, index: number): number | undefined {
  const random = new Random(seed ^ Math.imul(index + 1, 0x9e3779b1));
  return random.chance(0.4) ? random.pick([1, 2, random.between(1, 20), 1_000]) : undefined;
}

const QUEUE_DRAWS: Record<keyof QueueOptions, Draw<Random>> = {
  visibilityMs: (random) => magnitude(random, 20_000, 31_536_000_000),
  maxAttempts: (random) => random.between(1, 4),
  maxCrashes: (random) => random.between(1, 1_000),
  maxRateLimitRetries: (random) => magnitude(random, 1, 1_000_000),
  maxSnoozes: (random) => magnitude(random, 1, 1_000_000),
  backoff: (random) => random.pick([0, 1, random.between(1, 200)]),
  completedHistory: (random) => random.pick([0, 1, 10, 1_000, 1_000_000]),
  failedHistory: (random) => random.pick([0, 1, 1_000]),
  cancelledHistory: (random) => random.pick([0, 1, 1_000]),
  rememberedIds: (random) => magnitude(random, 10_000, 10_000_000),
  deadLetterCap: (random) => magnitude(random, 10_000, 10_000_000),
  deadLetterAgeMs: (random) => magnitude(random, 600_000, 31_536_000_000),
  resultTtlMs: (random) => magnitude(random, 120_000, 31_536_000_000),
  cancelledTtlMs: (random) => magnitude(random, 120_000, 31_536_000_000),
  codec: 'changes no promise of the oracle',
  redact: 'changes no promise of the oracle',
  errorKind: 'changes no promise of the oracle',
  stream: 'of a handler',
  maxPayloadBytes: (random) => magnitude(random, 1_000, 536_870_912),
  events: (random) => random.pick(['listened', 'always', 'off']),
  eventExtras: (random) => ({
    results: random.chance(0.5),
    enqueued: random.chance(0.5),
    drained: random.chance(0.5),
  }),
  foreignVisibilityMs: (random) => magnitude(random, 20_000, 31_536_000_000),
  unhandledAgeMs: (random) => random.pick([0, 86_400_000]),
  enqueueTimeoutMs: (random) => magnitude(random, 30_000, 2_073_600_000),
  durability: 'needs a replica',
  replicas: 'needs a replica',
  durabilityTimeoutMs: 'needs a replica',
  history: (random) => random.chance(0.5),
  auditTrail: (random) => ({ maxEntries: magnitude(random, 1_000, 100_000_000) }),
  outcomes: (random) => ({
    cap: magnitude(random, 1_000, 10_000_000),
    ageMs: magnitude(random, 60_000, 31_536_000_000),
  }),
  maxRunning: (random) => random.pick([1, 2, 3, random.between(1, 20), 1_000_000]),
  rateLimit: (random) => drawRate(random),
  groups: (random) => ({
    ...(random.chance(0.7) && { maxRunning: random.pick([1, 1, 2, 3]) }),
    ...(random.chance(0.3) && { rateLimit: drawRate(random) }),
    ...(random.chance(0.4) && { weight: random.between(1, 1_000) }),
    ...(random.chance(0.3) && { ungroupedWeight: random.between(1, 1_000) }),
  }),
  limits: 'needs the limits of the worker',
  lateAfterMs: (random) => magnitude(random, 1_000, 31_536_000_000),
  maxPending: 'drawn by the round, which counts',
  maxPendingBytes: 'drawn by the round, which counts',
  onFull:
    'a dropped job never runs, which the round would take for a loss; test/lua/job/enqueue-newest.spec.ts has its cases',
  prefix: (random) => random.pick(['queue', 'fuzz-a', 'fuzz_b']),
  hashTag: (random) => random.chance(0.5),
};

/** Returns a rate that starts a round's jobs within seconds: any limit, in a period that fits. */
function drawRate(random: Random) {
  const perSecond = magnitude(random, 15, 2_000);
  const periodMs = magnitude(random, 1, 3_000);
  const limit = Math.max(1, Math.round((perSecond * periodMs) / 1_000));
  return {
    limit,
    periodMs: Math.max(1, Math.min(periodMs, Math.ceil((limit * 1_000) / 15))),
    ...(random.chance(0.5) && { burst: magnitude(random, 1, 50) }),
  };
}

/** Returns the options of a queue: each of the table by a small chance. */
export function drawQueue(random: Random, share: number): QueueOptions {
  const options: Record<string, unknown> = {};
  for (const [name, draw] of Object.entries(QUEUE_DRAWS)) {
    if (typeof draw !== 'string' && random.chance(share)) {
      options[name] = draw(random);
    }
  }
  return options;
}
