// A mover that kills itself at drawn steps. node --import ./tools/chaos/register.mjs mover-process.ts
import { Redis } from 'ioredis';
import { BeeSource } from '#migrate/bee/bee-source.js';
import { Source } from '#migrate/bullmq/source.js';
import { Mover } from '#migrate/mover.js';
import type { MoveReport } from '#migrate/move-report.js';
import { JobQueue } from '#queue/job-queue.js';
import { systemClock } from '#queue/runtime/clock.js';

/** The settings of the process, as JSON in its environment. */
export interface MoverSettings {
  redis: string;
  queue: string;
  /** The share of steps after which it dies. */
  deadly: number;
  isBull: boolean;
  isBee?: boolean;
  quietMs: number;
}

const {
  redis: url,
  queue: name,
  deadly,
  isBull,
  isBee = false,
  quietMs,
} = JSON.parse(process.env.MOVER_SETTINGS!) as MoverSettings;
const redis = new Redis(url);
const source = isBee ? new BeeSource(redis, 'bq', name) : new Source(redis, 'bull', name);
const { era } = await source.settings();
const report = {
  moved: {},
  deduplicated: 0,
  deleted: 0,
  schedules: [],
  dropped: {},
} as unknown as MoveReport;
const mover = new Mover({
  source,
  era,
  queue: new JobQueue(redis, name),
  rules: {
    names: new Map(),
    priorities: isBull ? { kind: 'reversed', isNoneLast: true } : { kind: 'below', none: 1_000, named: new Map() },
    backoffs: new Map(),
    newIds: false,
    shiftIntervals: true,
    failed: !isBee,
  },
  clock: systemClock,
  report,
  onStep: (step) => {
    if (Math.random() < deadly) {
      process.stdout.write(`${step}\n`, () => undefined);
      process.kill(process.pid, 'SIGKILL');
    }
  },
});
await mover.follow(quietMs);
process.stdout.write('quiet\n');
redis.disconnect();
