import { EnqueueError, type EnqueueItem, QueueFullError } from '../errors/enqueue-errors.js';
import { InvalidOptionError } from '../errors/errors.js';
import type { JobHandle } from '../results/job-handle.js';
import type { EncodedJob } from '../store/enqueue-call.js';
import type { FollowReplies } from '../store/queue-store.js';
import type { JobDefinition } from './define-job.js';
import { DurabilityTimeoutError, mayBeRefused } from './enqueue-batcher.js';
import { type EncodeTarget, encodeJob, encodeTypedJob } from './encode-job.js';
import type { EnqueueOptions } from './enqueue-options.js';
import type { Producer } from './producer.js';

/** A queue of a call that adds jobs of several queues. */
interface MixedTarget extends EncodeTarget {
  readonly producer: Producer;
  readonly follow?: FollowReplies | undefined;
}

/** A job of a call that adds jobs of several names or queues. */
export interface MixedJob {
  /** Its name in errors. */
  subject: string;
  target: MixedTarget;
  definition: JobDefinition | undefined;
  payload: unknown;
  options: EnqueueOptions | undefined;
}

/** Jobs of one queue and one definition, with their places in the call. */
interface Group extends Pick<MixedJob, 'target' | 'definition'> {
  places: number[];
}

/**
 * Adds jobs of several names and queues. All are checked before the first is sent, then each queue gets its own.
 *
 * @throws InvalidOptionError, InvalidPayloadError: nothing was written. EnqueueError or QueueFullError, whose `items` have
 *   the outcome of each
 */
export async function enqueueMixed(jobs: readonly MixedJob[]): Promise<JobHandle[]> {
  const encoded = await checkAll(jobs);
  const groups = groupsOf(jobs);
  const gate = groups.length > 1 && encoded.some(mayBeRefused) ? new Gate(groups.length) : undefined;
  const outcomes = await Promise.allSettled(groups.map((group, g) => send(group, jobs, gate, g)));
  const failed = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as Error] : []));
  if (failed.length > 0) {
    throw failureOf(jobs, groups, outcomes, gate?.refusal ? [gate.refusal, ...failed] : failed);
  }
  const handles: JobHandle[] = [];
  outcomes.forEach((outcome, g) => {
    const { value } = outcome as PromiseFulfilledResult<JobHandle[]>;
    groups[g]!.places.forEach((place, i) => (handles[place] = value[i]!));
  });
  return handles;
}

/** Lets the parts of a call go on once each was checked, and none of them if one was refused. */
class Gate {
  private readonly passed = new Set<number>();
  private readonly opened: Promise<void>;
  private open!: () => void;
  private shut!: (error: Error) => void;
  /** The error of the first part that was refused. */
  refusal: Error | undefined;

  constructor(private readonly parts: number) {
    this.opened = new Promise((resolve, reject) => {
      this.open = resolve;
      this.shut = reject;
    });
    this.opened.catch(() => undefined); // nobody may wait for it yet
  }

  /** Waits for the other parts. A part that has ended without waiting counts too. */
  pass(part: number): Promise<void> {
    if (this.passed.add(part).size === this.parts) {
      this.open();
    }
    return this.opened;
  }

  /** Refuses the call, unless this part has passed. */
  refuse(part: number, error: Error): void {
    if (!this.passed.has(part)) {
      this.refusal ??= error;
      this.shut(error);
    }
  }
}

async function checkAll(jobs: readonly MixedJob[]): Promise<EncodedJob[]> {
  const checks = jobs.map(async ({ subject, target, definition, payload, options }) =>
    definition
      ? encodeTypedJob(target, definition, payload, options, subject)
      : encodeJob(target, payload, options, subject),
  );
  return Promise.all(checks);
}

export function groupsOf(jobs: readonly MixedJob[]): Group[] {
  const groups: Group[] = [];
  jobs.forEach(({ target, definition }, place) => {
    const group = groups.find((each) => each.target === target && each.definition === definition);
    if (group) {
      group.places.push(place);
    } else {
      groups.push({ target, definition, places: [place] });
    }
  });
  return groups;
}

/** Sends the jobs of one queue. @param part its number at the gate */
async function send(
  { target, definition, places }: Group,
  jobs: readonly MixedJob[],
  gate: Gate | undefined,
  part: number,
): Promise<JobHandle[]> {
  const own = places.map((place) => ({ ...jobs[place]!.options, payload: jobs[place]!.payload }));
  try {
    const passes = gate && (() => gate.pass(part));
    const add = () => target.producer.many(definition, own, undefined, 'enqueueMany', passes);
    const handles = await (target.follow ? target.follow(add) : add());
    void gate?.pass(part); // middleware may have made a request of its own
    return handles;
  } catch (error) {
    const named = ofCall(error as Error, places, jobs);
    gate?.refuse(part, named);
    throw named;
  }
}

/** Names the job as in the whole call. The error has its place among those of its queue. */
export function ofCall(error: Error, places: readonly number[], jobs: readonly MixedJob[]): Error {
  if (!(error instanceof InvalidOptionError)) {
    return error;
  }
  const { subject, expected, found, hint } = error;
  const named = subject.replace(/^enqueueMany\[(\d+)\]/, (_, place) => jobs[places[Number(place)]!]!.subject);
  return new InvalidOptionError(named, expected, found, hint);
}

/** Returns the error of one queue unchanged, if all jobs were for that queue or nothing was written. */
function failureOf(
  jobs: readonly MixedJob[],
  groups: readonly Group[],
  outcomes: readonly PromiseSettledResult<JobHandle[]>[],
  failed: readonly Error[],
): Error {
  const [first] = failed;
  if (groups.length === 1) {
    return first!;
  }
  const items: EnqueueItem[] = [];
  outcomes.forEach((outcome, g) => {
    groups[g]!.places.forEach((place, i) => (items[place] = itemOf(outcome, i, jobs[place]!)));
  });
  if (failed.every((error) => error instanceof QueueFullError)) {
    const { queue, group, limit, unit } = failed[0] as QueueFullError;
    return new QueueFullError(queue, { group, limit, unit }, items);
  }
  const nothingWritten = items.every(({ outcome }) => outcome === 'not-sent');
  if (nothingWritten && !(first instanceof EnqueueError || first instanceof QueueFullError)) {
    return first!;
  }
  const queues = [...new Set(groups.map(({ target }) => target.name))].join(', ');
  const reason = first instanceof EnqueueError ? first.reason : first!.message;
  const ids = items.map(({ id }) => id);
  return new EnqueueError(nothingWritten ? 'not-sent' : 'unknown', queues, ids, reason, { cause: first, items });
}

/** Returns the outcome of a job. A job that was not sent gets an id for the repeat, if it has none. */
function itemOf(outcome: PromiseSettledResult<JobHandle[]>, i: number, { target, options }: MixedJob): EnqueueItem {
  if (outcome.status === 'fulfilled') {
    const { id, outcome: answer } = outcome.value[i]!;
    return { id, outcome: answer };
  }
  const error: unknown = outcome.reason;
  if (error instanceof EnqueueError || error instanceof QueueFullError) {
    return error.items[i]!;
  }
  if (error instanceof DurabilityTimeoutError) {
    const { id, outcome: answer } = error.handles[i]!;
    return { id, outcome: answer };
  }
  return { id: options?.id ?? target.store.clock.randomId() + (target.idMark ?? ''), outcome: 'not-sent' };
}
