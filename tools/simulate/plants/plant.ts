// A fault planted into the store, which the simulation must find.
import type { Hash, MemoryQueue } from '#memory/state/memory-queue.js';
import type { Part } from '../parts.js';

export interface Plant {
  /** The invariant that it breaks. */
  breaks: string;
  /** The part of the library that it is in, or the parts that show it. Undefined if every run exercises it. */
  part?: Part | readonly Part[];
  /** Prepares the fault. Its result is passed to `after`. */
  before?(script: string, queues: readonly MemoryQueue[], isRepeat: boolean): unknown;
  after?(script: string, queues: readonly MemoryQueue[], planted: unknown): void;
}

type Jobs = Map<string, { state: string; payload: string | undefined }>;

/** A job that a call moved: another status or claim than before, or another payload. */
export interface Moved {
  queue: MemoryQueue;
  id: string;
  job: Hash;
  /** Its status and its token before the call; '' for a new job. */
  was: string;
  payloadBefore: string | undefined;
}

/** Returns all jobs, past the count of looks: a plant is no work of the store. */
function entriesOf(jobs: MemoryQueue['jobs']): [string, Hash][] {
  return [...Map.prototype.entries.call(jobs)] as [string, Hash][];
}

function jobsOf(queues: readonly MemoryQueue[]): Jobs {
  return new Map(
    queues.flatMap(({ jobs }) =>
      entriesOf(jobs).map(([id, job]) => [id, { state: `${job.status} ${job.claim_token}`, payload: job.payload }]),
    ),
  );
}

function moved(queues: readonly MemoryQueue[], before: Jobs): Moved[] {
  return queues.flatMap((queue) =>
    entriesOf(queue.jobs).flatMap(([id, job]) => {
      const { state: was = '', payload: payloadBefore } = before.get(id) ?? {};
      const isSame = was === `${job.status} ${job.claim_token}` && payloadBefore === job.payload;
      return isSame ? [] : [{ queue, id, job, was, payloadBefore }];
    }),
  );
}

/** Returns a plant that spoils the jobs that a script moved. */
export function spoils(breaks: string, scripts: string[], spoil: (each: Moved, all: Moved[]) => void): Plant {
  return {
    breaks,
    before: (script, queues) => (scripts.includes(script) ? jobsOf(queues) : undefined),
    after: (script, queues, before) => {
      if (scripts.includes(script)) {
        const all = moved(queues, before as Jobs);
        all.forEach((each) => spoil(each, all));
      }
    },
  };
}

/** Returns a plant that spoils the queues after a script. */
export function spoilsQueues(breaks: string, scripts: string[], spoil: (queue: MemoryQueue) => void): Plant {
  return {
    breaks,
    after: (script, queues) => {
      if (scripts.includes(script)) {
        queues.forEach(spoil);
      }
    },
  };
}
