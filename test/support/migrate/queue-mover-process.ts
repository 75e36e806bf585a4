// A mover of a queue that kills itself after one of its steps. node --import ./tools/chaos/register.mjs queue-mover-process.ts
import { Redis } from 'ioredis';
import { NewPlace } from '#migrate/queue/new-place.js';
import { OldPlace } from '#migrate/queue/old-place.js';
import { QueueMover } from '#migrate/queue/queue-mover.js';
import type { QueueMoveStep } from '#migrate/queue/transit.js';
import { JobQueue } from '#queue/job-queue.js';
import { systemClock } from '#queue/runtime/clock.js';
import { emptyReport } from './empty-report.js';

/** The settings of the process, as JSON in its environment. */
export interface QueueMoverSettings {
  from: string;
  to: string;
  queue: string;
  /** The step after which it dies, and how often that step comes before. Absent: it does not die. */
  dies?: { after: QueueMoveStep; passes: number };
  quietMs: number;
}

const { from, to, queue, dies, quietMs } = JSON.parse(process.env.MOVER_SETTINGS!) as QueueMoverSettings;
let passes = dies?.passes ?? 0;
const mover = new QueueMover({
  old: await OldPlace.of(new JobQueue(new Redis(from), queue), 'elsewhere'),
  target: await NewPlace.of(new JobQueue(new Redis(to), queue)),
  clock: systemClock,
  report: emptyReport(),
  by: 'test',
  onStep: (step) => {
    if (step === dies?.after && passes-- === 0) {
      process.stdout.write(`${step}\n`, () => undefined);
      process.kill(process.pid, 'SIGKILL');
    }
  },
});
await mover.follow(quietMs);
process.stdout.write('quiet\n');
process.exit(0);
