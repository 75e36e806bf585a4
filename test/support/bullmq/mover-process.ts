// A mover that kills itself after one of its steps. node --import ./tools/chaos/register.mjs mover-process.ts
import { Redis } from 'ioredis';
import { BeeSource } from '#migrate/bee-source.js';
import { Source } from '#migrate/bullmq-source.js';
import { Mover } from '#migrate/mover.js';
import type { MoveStep } from '#migrate/move-report.js';
import { JobQueue } from '#queue/job-queue.js';
import { systemClock } from '#queue/runtime/clock.js';
import { emptyReport } from '../migrate/empty-report.js';

/** The settings of the process, as JSON in its environment. */
export interface MoverSettings {
  redis: string;
  queue: string;
  /** The step after which it dies, and how often that step comes before. Absent: it does not die. */
  dies?: { after: MoveStep; passes: number };
  isBull: boolean;
  isBee?: boolean;
  quietMs: number;
}

const {
  redis: url,
  queue: name,
  dies,
  isBull,
  isBee = false,
  quietMs,
} = JSON.parse(process.env.MOVER_SETTINGS!) as MoverSettings;
const redis = new Redis(url);
const source = isBee ? new BeeSource(redis, 'bq', name) : new Source(redis, 'bull', name);
const { era } = await source.settings();
let passes = dies?.passes ?? 0;
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
  report: emptyReport(),
  onStep: (step) => {
    if (step === dies?.after && passes-- === 0) {
      process.stdout.write(`${step}\n`, () => undefined);
      process.kill(process.pid, 'SIGKILL');
    }
  },
});
await mover.follow(quietMs);
process.stdout.write('quiet\n');
redis.disconnect();
