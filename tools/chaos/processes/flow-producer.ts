// A producer of batches with a follow-up. All its jobs have their own ids, so it repeats calls without a reply.
import type { JobQueueError } from '#queue/errors/errors.js';
import { JobQueue } from '#queue/job-queue.js';
import { sleep } from '../../../test/support/faults/wait.js';
import { Random } from '../random.js';
import { BATCH_NUMBERS, drawKind, flowOptions, groupOf, MEMBERS } from './flow-work.js';
import { PULSE_MS } from './process-options.js';
import type { Stop, Tools } from './role.js';
import type { Work } from './workload.js';

const PAUSE_MS = 60;
const BACKLOG = 200;

export async function startFlowProducer(tools: Tools): Promise<Stop> {
  const { options, redis, report } = tools;
  const name = `${options.queue}-flow`;
  const queue = new JobQueue(redis, name, flowOptions());
  const random = new Random(options.seed);
  const stopping = new AbortController();
  let answeredAt: number | undefined;
  const pulse = setInterval(() => {
    if (answeredAt !== undefined) report({ type: 'pulse', answerAgoMs: performance.now() - answeredAt });
  }, PULSE_MS);
  const loop = (async () => {
    for (let first = 0; !stopping.signal.aborted; first += BATCH_NUMBERS) {
      const batch = await note(tools, first, random);
      while (!(await isWritten(tools, queue, name, batch)) && !stopping.signal.aborted) await sleep(50);
      answeredAt = performance.now();
      do {
        await sleep(PAUSE_MS);
      } while (!stopping.signal.aborted && (await isFull(queue)));
    }
  })();
  return async () => {
    stopping.abort();
    await loop;
    clearInterval(pulse);
    queue.close();
  };
}

/**
 * Returns true if the queue is full. If the queue does not reply, it is not full, and the next batch waits for a
 * reply.
 */
async function isFull(queue: JobQueue): Promise<boolean> {
  const stats = await queue.stats().catch(() => undefined);
  return stats !== undefined && stats.pending > BACKLOG;
}

/** Records the members and the follow-up that are about to be enqueued. */
async function note({ options, history }: Tools, first: number, random: Random): Promise<Work[]> {
  const members = Array.from({ length: MEMBERS }, (_, i): Work => ({
    p: options.number,
    n: first + i,
    kind: i === 0 ? 'grows' : drawKind(random),
  }));
  history.add(['enqueue', first, BATCH_NUMBERS]);
  for (const { n, kind } of members) {
    if (kind !== 'plain') history.add(['kind', n, kind, 0]);
  }
  await history.written();
  return members;
}

/** Returns whether every call of the batch got a reply. */
async function isWritten(
  { history, logger }: Tools,
  queue: JobQueue,
  name: string,
  members: Work[],
): Promise<boolean> {
  const { p, n: first } = members[0]!;
  const followUp = first + BATCH_NUMBERS - 1;
  const payload: Work = { p, n: followUp, kind: 'plain' };
  try {
    const batch = queue.batch({ id: `batch-${p}-${first}`, finally: { name, payload } });
    await batch.addMany(
      name,
      members.map((work) => ({ payload: work, id: `flow-${p}-${work.n}`, group: groupOf(work.n)! })),
    );
    await batch.seal();
    history.add(['enqueued', first, MEMBERS]);
    history.add(['enqueued', followUp, 1]);
    return true;
  } catch (error) {
    logger.warn((error as JobQueueError).message);
    return false;
  }
}
