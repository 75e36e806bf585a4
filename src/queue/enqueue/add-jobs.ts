// The way of jobs from a call of enqueue to the producer: checked, encoded, sent.
import type { JobHandle, JobSource } from '../results/job-handle.js';
import type { EncodedJob } from '../store/enqueue-call.js';
import type { JobDefinition } from './define-job.js';
import { encodeJob, type EncodeTarget } from './encode-job.js';
import type { EnqueueOptions } from './enqueue-options.js';
import { encodeTypedJob, typedSource, type TypedEnqueueOptions } from './encode-typed-job.js';
import {
  checkHandles,
  enqueueChain,
  requestedJob,
  type EnqueueChain,
  type EnqueueMiddleware,
  type EnqueueRequest,
} from './enqueue-middleware.js';
import type { Producer } from './producer.js';

/** The queue that jobs are added to. */
interface EnqueueTarget extends JobSource, EncodeTarget {
  readonly name: string;
  readonly producer: Producer;
}

export type JobToEnqueue = { payload: unknown } & EnqueueOptions;

/**
 * Adds one job without a definition. No function on this way is async: each promise more costs half a microsecond in a
 * process that traces.
 */
export function addOne(
  target: EnqueueTarget,
  payload: unknown,
  options: EnqueueOptions | undefined,
): Promise<JobHandle> {
  try {
    return target.producer.add(encodeJob(target, payload, options), target);
  } catch (error) {
    return Promise.reject(error);
  }
}

/** Adds one job of a definition. */
export async function addTyped(
  target: EnqueueTarget,
  definition: JobDefinition,
  payload: unknown,
  options?: TypedEnqueueOptions,
): Promise<JobHandle> {
  const made = encodeTypedJob(target, definition, payload, options);
  const typed = made instanceof Promise ? await made : made;
  return await target.producer.add(typed, typedSource(target, definition));
}

/** Adds many jobs, with or without a definition. All are checked before the first is sent. */
export async function addMany(
  target: EnqueueTarget,
  definition: JobDefinition | undefined,
  requested: readonly JobToEnqueue[],
): Promise<JobHandle[]> {
  const made = requested.map(({ payload, ...rest }, i) => {
    const options = Object.keys(rest).length > 0 ? rest : undefined;
    const subject = `enqueueMany[${i}]`;
    return definition
      ? encodeTypedJob(target, definition, payload, options, subject)
      : encodeJob(target, payload, options, subject);
  });
  const jobs = allOf(made);
  const encoded = Array.isArray(jobs) ? jobs : await jobs;
  return target.producer.addAll(encoded, definition ? typedSource(target, definition) : target);
}

/** Waits only for an asynchronous schema, so that enqueues of one tick stay together. */
function allOf(made: (EncodedJob | Promise<EncodedJob>)[]): EncodedJob[] | Promise<EncodedJob[]> {
  const waits = made.some((each) => each instanceof Promise);
  return waits ? Promise.all(made.map(async (each) => each)) : (made as EncodedJob[]);
}

/** Sends the enqueues of a queue through its middleware. */
export class EnqueueRequests {
  /** Returns undefined if no middleware acts on enqueues. */
  static of(
    target: EnqueueTarget,
    middleware: readonly EnqueueMiddleware[] | undefined,
  ): EnqueueRequests | undefined {
    const chain = enqueueChain(target.name, middleware, (request) => addRequested(target, request));
    return chain && new EnqueueRequests(target.name, chain);
  }

  private constructor(
    private readonly queue: string,
    private readonly chain: EnqueueChain,
  ) {}

  async one(
    definition: JobDefinition | undefined,
    payload: unknown,
    options: EnqueueOptions | undefined,
  ): Promise<JobHandle> {
    const jobs = [requestedJob(this.queue, definition, payload, options)];
    const handles = await this.chain({ queue: this.queue, method: 'enqueue', definition, jobs });
    checkHandles(this.queue, handles, 1);
    return handles[0]!;
  }

  async many(definition: JobDefinition | undefined, jobs: readonly JobToEnqueue[]): Promise<JobHandle[]> {
    const requested = jobs.map(({ payload, ...options }) => requestedJob(this.queue, definition, payload, options));
    const handles = await this.chain({ queue: this.queue, method: 'enqueueMany', definition, jobs: requested });
    checkHandles(this.queue, handles, jobs.length);
    return handles;
  }
}

/** Checks, encodes and sends the request that the middleware returned. */
function addRequested(target: EnqueueTarget, request: EnqueueRequest): Promise<JobHandle[]> {
  const { method, definition, jobs } = request;
  if (method === 'enqueueMany') {
    const many = jobs.map(({ payload, options }) => ({ ...options, payload }));
    return addMany(target, definition, many);
  }
  const { payload, options: asked } = jobs[0]!;
  const isPlain = typeof asked === 'object' && Object.keys(asked).length === 0;
  const options = isPlain ? undefined : asked;
  const added = definition ? addTyped(target, definition, payload, options) : addOne(target, payload, options);
  return added.then((handle) => [handle]);
}
