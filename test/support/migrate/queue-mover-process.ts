// A mover of a queue that kills itself after one of its steps. node --import ./tools/chaos/register.mjs queue-mover-process.ts
import { Cluster, Redis } from 'ioredis';
import { BULLMQ, NewPlace, OldPlace } from '#migrate/queue/places.js';
import { QueueMover } from '#migrate/queue/queue-mover.js';
import type { MoveTarget, QueueMoveStep } from '#migrate/queue/transit.js';
import { BullmqTarget } from '#migrate/to-bullmq.js';
import { JobQueue } from '#queue/job-queue.js';
import { systemClock } from '#queue/runtime/clock.js';
import { emptyReport } from './empty-report.js';

/** The settings of the process, as JSON in its environment. */
export interface QueueMoverSettings {
  /** The address of the old Redis. Those of the nodes of a Cluster have commas between. */
  from: string;
  /** The address of the new Redis, likewise. */
  to: string;
  queue: string;
  /** The step after which it dies, and how often that step comes before. Absent: it does not die. */
  dies?: { after: QueueMoveStep; passes: number };
  quietMs: number;
  /** True if the new place is a queue of BullMQ. */
  isBullmq?: boolean;
}

const {
  from,
  to,
  queue,
  dies,
  quietMs,
  isBullmq = false,
} = JSON.parse(process.env.MOVER_SETTINGS!) as QueueMoverSettings;
const report = emptyReport();

const clientOf = (address: string) =>
  address.includes(',') ? new Cluster(address.split(',')) : new Redis(address);

async function newPlace(): Promise<MoveTarget> {
  const client = clientOf(to);
  const rules = { hasPriorities: true, maxAttempts: 10, handlerLimits: {}, dropGroups: false, nowMs: Date.now() };
  return isBullmq
    ? new BullmqTarget({
        client,
        prefix: 'bull',
        name: queue,
        rules,
        dropped: report.dropped,
        open: () => Promise.reject(new Error('The queue has no schedules.')),
      })
    : NewPlace.of(new JobQueue(client, queue));
}

let passes = dies?.passes ?? 0;
const mover = new QueueMover({
  old: await OldPlace.of(new JobQueue(clientOf(from), queue), isBullmq ? `${BULLMQ}${to}` : 'elsewhere'),
  target: await newPlace(),
  clock: systemClock,
  report,
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
